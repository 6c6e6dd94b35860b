# SPDX-License-Identifier: BSD-3-Clause
"""Where tables are printed."""

from __future__ import annotations

from rich.console import Console


def console(width: int) -> Console:
    """Stdout, as wide as the terminal, or `width` where it is none."""
    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=width)
