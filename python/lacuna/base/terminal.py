# SPDX-License-Identifier: BSD-3-Clause
"""The console on which tables are printed, and tables for narrow ones."""

from __future__ import annotations

from collections.abc import Collection

from rich.console import Console
from rich.markup import escape
from rich.table import Table

_BETWEEN = 3  # columns
_LEAST_WIDTH = 8  # of a column whose words may go to several lines


def console(width: int) -> Console:
    """Standard output, as wide as the terminal; `width` columns where it is not a terminal."""
    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=width)


def show(
    console: Console,
    table: Table,
    names: list[str],
    rows: list[list[str]],
    in_lines: Collection[str],
    right: Collection[str] = (),
) -> None:
    """Adds columns and rows to a table, without columns that have no words, and prints it. Only the
    columns `in_lines` get narrower where the console is narrow: their words go to several lines.
    Where that is not enough, the table is wider than the console.
    """
    kept = [at for at in range(len(names)) if not rows or {row[at] for row in rows} - {"", "-"}]
    for at in kept:
        name = names[at]
        widest = max(len(line) for row in rows for line in [name, *row[at].split("\n")])
        is_whole = name not in in_lines
        table.add_column(
            name,
            no_wrap=is_whole,
            min_width=widest if is_whole else min(widest, _LEAST_WIDTH),
            overflow="fold",
            justify="right" if name in right else "left",
        )
    for row in rows:
        table.add_row(*(escape(row[at]) for at in kept))
    width = console.width
    least = sum(column.min_width or 0 for column in table.columns) + _BETWEEN * (len(kept) + 1)
    console.width = max(width, least)
    console.print(table, crop=False, markup=True)
    console.width = width
