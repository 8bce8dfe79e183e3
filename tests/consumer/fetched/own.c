int own(void) { return 0; }
