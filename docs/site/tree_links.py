# SPDX-License-Identifier: BSD-3-Clause
"""Makes the documents of the tree a site: its contents, and links to folders."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Pages whose folder is below them in the contents.
PARENTS = {
    "docs/internals/README": "/docs/internals/*",
    "docs/results/README": "/docs/results/*",
    "docs/experiments/README": "/docs/experiments/*",
    "docs/decisions/README": "/docs/decisions/*",
    "examples/README": "/examples/*/README",
}
CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:\s]+)\)")


def on_read(app: Sphinx, name: str, source: list[str]) -> None:
    """Links to folders lead to their pages; the front page gets the contents."""
    here = Path(app.env.doc2path(name)).parent

    def link(found: re.Match[str]) -> str:
        target = (here / found[1]).resolve()
        if not target.is_dir():
            return found[0]
        up = "/".join([".."] * len(here.relative_to(ROOT).parts)) or "."
        return f"]({up}/{target.relative_to(ROOT).as_posix()}/README.md)"

    parts = CODE.split(source[0])
    source[0] = "".join(part if i % 2 else LINK.sub(link, part) for i, part in enumerate(parts))
    if name == app.config.root_doc:
        source[0] += (HERE / "contents.md").read_text(encoding="utf-8")
    if name in PARENTS:
        source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n\n{PARENTS[name]}\n```\n"


def on_docstring(_app, _what, _name, _object, _options, lines: list[str]) -> None:
    """Documents that docstrings name become links."""
    lines[:] = [re.sub(r"\bdocs/(\w+/\w+)\.md\b", r":doc:`/docs/\1`", line) for line in lines]


def on_finish(app: Sphinx, problem: Exception | None) -> None:
    """The front page under the name that web servers and people look for."""
    if problem is None and app.builder.format == "html":
        shutil.copy(Path(app.outdir, "README.html"), Path(app.outdir, "index.html"))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", on_read)
    app.connect("autodoc-process-docstring", on_docstring)
    app.connect("build-finished", on_finish)
    return {"parallel_read_safe": True}
