"""Sphinx: MyST Markdown for the prose, Breathe for what Doxygen read in the headers, graphviz and sequence.py for figures."""
import logging
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
project = "Weft"
copyright = "the Weft authors"  # noqa: A001

extensions = ["myst_parser", "breathe", "sphinx.ext.graphviz", "sequence"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["**/__pycache__"]

graphviz_output_format = "svg"
graphviz_dot_args = ["-Gbgcolor=white", "-Gfontname=sans-serif", "-Gfontsize=11", "-Nfontname=sans-serif", "-Nfontsize=11",
                     "-Nshape=box", "-Nstyle=rounded", "-Efontname=sans-serif", "-Efontsize=10", "-Gpad=0.15"]

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["style.css"]
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
