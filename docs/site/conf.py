# SPDX-License-Identifier: BSD-3-Clause
"""The site that `make docs` builds from the documents where they lie: its root is the tree's."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "python")]

from lacuna import VERSION  # noqa: E402

project = "lacuna"
author = "the lacuna authors"
copyright = author
version = release = VERSION

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "header_pages",
    "command_pages",
    "tree_links",
]

# Every document of the tree, and the pages beside this file.
root_doc = "README"
include_patterns = ["*.md", "**/*.md", "docs/site/*.rst"]
exclude_patterns = [".*", "build", "dist", "**/.*", "docs/site/contents.md"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
nitpicky = False
highlight_language = "none"  # blocks that name no language are commands or output
default_role = "code"  # docstrings are written in plain text with `code`

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4  # links such as page.md#a-heading, as they work in the tree

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"
maximum_signature_line_length = 110
smartquotes = False  # options begin with two dashes

# Everything the pages load is in the site: furo has no fonts or scripts from elsewhere.
html_theme = "furo"
html_title = f"lacuna {VERSION}"
html_static_path = ["style.css"]
html_css_files = ["style.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"top_of_page_buttons": []}
pygments_style = "default"
pygments_dark_style = "monokai"
copybutton_exclude = ".linenos, .gp, .go"
