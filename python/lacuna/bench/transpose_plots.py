# SPDX-License-Identifier: BSD-3-Clause
"""The two figures of the transpose experiment, after figures 6 and 7 of Byna et al. (2003)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from lacuna.base import figures
from lacuna.base.results import Row
from lacuna.launch import mpis

# What the paper compares, and a contiguous send of the same bytes. Colours for all kinds of sight.
_LINES = {
    "native": ("the MPI library alone", "#d55e00", "s"),
    "by_hand": ("packed by hand", "#e69f00", "^"),
    "lacuna": ("the same program under lacuna", "#0072b2", "o"),
    "contiguous": ("contiguous data", "#777777", "x"),
}


def draw(folder: Path, provenance: dict[str, Any], found: list[Row]) -> list[Path]:
    """Writes the PNG files and returns their paths."""
    return [
        _figure(
            folder / "byna-fig6.png",
            "Time of one transfer of an n x n transpose, per 8-byte reference",
            "ns per reference",
            lambda row: row["median_s"] / row["n"] ** 2 * 1e9,
            provenance,
            found,
        ),
        _figure(
            folder / "byna-fig7.png",
            "Bandwidth of an n x n transpose between two ranks",
            "MB/s",
            lambda row: row["bytes"] / row["median_s"] / 1e6,
            provenance,
            found,
        ),
    ]


def _figure(
    path: Path,
    title: str,
    unit: str,
    value: Callable[[Row], float],
    provenance: dict[str, Any],
    found: list[Row],
) -> Path:
    names = list(dict.fromkeys(row["mpi"] for row in found))
    figure, panels = figures.panels(len(names), 4.4, sharey=True)
    for panel, name in zip(panels[0], names, strict=True):
        for method, (label, color, marker) in _LINES.items():
            rows = [row for row in found if row["mpi"] == name and row["method"] == method]
            rows.sort(key=lambda row: row["n"])
            orders, values = [row["n"] for row in rows], [value(row) for row in rows]
            panel.plot(orders, values, label=label, color=color, marker=marker)
        panel.set_title(mpis.TITLE[name], fontsize=10)
        panel.set_xscale("log", base=2)
        panel.xaxis.set_major_locator(FixedLocator(sorted({row["n"] for row in found})))
        panel.xaxis.set_minor_locator(NullLocator())
        panel.xaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:g}"))
        panel.set_xlabel("n")
        panel.grid(alpha=0.3)
    panels[0][0].set_ylim(bottom=0)  # after all lines are there: the axis is shared
    panels[0][0].set_ylabel(unit)
    panels[0][0].legend(fontsize=8)
    return figures.save(figure, path, provenance, title)
