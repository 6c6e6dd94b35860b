# SPDX-License-Identifier: BSD-3-Clause
"""The command line of `lacuna docs`."""

from __future__ import annotations

from typing import Annotated

import typer

from lacuna.base import paths
from lacuna.base.errors import Exit, LacunaError


def docs_command(
    page: Annotated[
        str | None, typer.Argument(metavar="[PAGE]", help="Such as run; none: list them.")
    ] = None,
) -> None:
    """Show a page of the documents for users, on a terminal by PAGER; without a page, list them."""
    pages = {file.stem: file for file in sorted(paths.user_pages().glob("[a-z]*.md"))}
    if not pages:
        remedy = "read docs/user in the sources of lacuna, if it was installed without libraries"
        raise LacunaError(Exit.ENVIRONMENT, f"no pages in {paths.user_pages()}", remedy)
    if page is None:
        for name, file in pages.items():
            title = file.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
            print(f"{name:11}{title}")
    elif page in pages:
        import pydoc

        pydoc.pager(pages[page].read_text(encoding="utf-8"))
    else:
        raise LacunaError(Exit.USAGE, f"no page {page}", f"known are {', '.join(pages)}")
