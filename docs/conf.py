"""Sphinx settings; `make docs` builds the site with warnings as errors."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from docutils.nodes import Element
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

import alldags

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))


def is_not_empty_glob(record: logging.LogRecord) -> bool:
    """Tell whether a warning is about something else than a pattern without pages.

    Pages of results are there once their experiment was run, and Sphinx gives this warning no name to suppress it by.
    """
    return "didn't match any documents" not in str(record.msg)


def resolve_short_name(app: Sphinx, env: BuildEnvironment, node: pending_xref, text: Element) -> Element | None:
    """Link `Effect.mean` and the like from docstrings of any module."""
    if node.get("refdomain") != "py":
        return None
    for module in ("alldags", "alldags.engines", "alldags.nodes"):
        target = f"{module}.{node['reftarget']}"
        link = env.domains["py"].resolve_xref(env, node["refdoc"], app.builder, "obj", target, node, text)
        if link is not None:
            return link
    return None


def setup(app: Sphinx) -> None:
    app.connect("missing-reference", resolve_short_name)


logging.getLogger("sphinx.sphinx.directives.other").addFilter(is_not_empty_glob)

project = "alldags"
author = "The alldags developers"
project_copyright = "2026, The alldags developers"
version = release = alldags.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "command_output",
    "mathml",
]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.zip", "gallery/*.json"]
default_role = "py:obj"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"/data/",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "reset_modules": ("matplotlib",),
}

html_theme = "furo"
html_title = f"alldags {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_math_renderer = "mathml"
copybutton_exclude = ".linenos, .gp, .go"
