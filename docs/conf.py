"""Sphinx settings; `make docs` builds with warnings as errors."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent

project = "tangere"
author = "The tangere authors"
copyright = author
version = release = importlib.metadata.version("tangere")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinxcontrib.bibtex",
]
exclude_patterns = ["_build", "_generated", "results"]
nitpicky = False
default_role = "code"  # docstrings write `name`

myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"
autodoc_typehints = "description"
autodoc_member_order = "bysource"
autoclass_content = "both"
autodoc_type_aliases = {"Array": "Array"}

html_theme = "furo"
html_title = "tangere"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_theme_options = {"navigation_with_keys": True}


def _mathjax() -> str | None:
    """Formulas without a network: the one MathJax file that draws as SVG, from the package."""
    for file in importlib.metadata.files("sphinx-mathjax-offline") or ():
        if file.name == "tex-svg.js":
            return str(file.locate())
    return None


if _found := _mathjax():
    html_static_path.append(_found)
    mathjax_path = os.path.basename(_found)


def setup(app: Any) -> None:
    """Fill docs/_generated before the pages are read; mark pages that quote stale results."""
    sys.path.insert(0, str(DOCS))
    import build_gallery

    def mark(app: Any, name: str, source: list[str]) -> None:
        source[0] = build_gallery.with_stale_note(source[0])

    def quoting(app: Any, env: Any, *_: Any) -> list[str]:
        """Pages to be read again in every build: a result may have become stale."""
        pages = {name: Path(env.doc2path(name)) for name in env.found_docs}
        return [name for name, path in pages.items() if build_gallery.quotes(path)]

    app.connect("builder-inited", lambda _: build_gallery.build())
    app.connect("env-get-outdated", quoting)
    app.connect("source-read", mark)
