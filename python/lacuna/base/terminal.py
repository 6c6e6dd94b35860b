# SPDX-License-Identifier: BSD-3-Clause
"""The console on which tables are printed."""

from __future__ import annotations

from rich.console import Console


def console(width: int) -> Console:
    """Standard output, as wide as the terminal; `width` columns where it is not a terminal."""
    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=width)
