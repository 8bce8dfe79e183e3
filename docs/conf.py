"""Sphinx: MyST Markdown for the prose, Breathe for what Doxygen read in the headers."""
import logging
project = "Weft"
copyright = "the Weft authors"  # noqa: A001

extensions = ["myst_parser", "breathe"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = []

html_theme = "furo"
html_title = "Weft"
html_show_copyright = False

highlight_language = "cpp"
primary_domain = "cpp"
cpp_id_attributes = ["WEFT_API", "WEFT_DEVICE", "WEFT_HOST_DEVICE"]

breathe_projects = {"weft": ""}  # the folder comes from CMake
breathe_default_project = "weft"
breathe_show_include = False
breathe_domain_by_extension = {"hpp": "cpp", "h": "cpp"}


class NamespacesRepeat(logging.Filter):
    """Every header opens namespace weft; that is no duplicate declaration."""

    def filter(self, record):
        return not record.getMessage().endswith(("cpp:type:: weft'.", "cpp:type:: dev'.", "cpp:type:: kernels'."))


logging.getLogger("sphinx.sphinx.domains.cpp").addFilter(NamespacesRepeat())
