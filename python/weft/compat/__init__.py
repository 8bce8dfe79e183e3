"""Names of other projects, so that their programs run when their imports change."""
