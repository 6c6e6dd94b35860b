# SPDX-License-Identifier: BSD-3-Clause
"""The figure of `lacuna tune`: which of lacuna's ways, or the library, moves which messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from lacuna.base.figures import over_bytes, panels, save

COLOURS = {
    "through shared memory": "#2ca02c",
    "packed first": "#1f77b4",
    "left to the MPI library": "#9a9a9a",
}
Cell = dict[str, Any]


def _holds(rules: list[list[float | None]], size: int, run: float) -> bool:
    """Whether a message is within rules as interpose/policy/table.hpp explains them."""
    for most_bytes, most_run, *least_run in rules:
        if most_bytes is None or size <= most_bytes:
            return run <= (most_run or 0) and all(run >= (least or 0) for least in least_run)
    return False


def decision(book: dict[str, Any], cell: Cell) -> tuple[str, float]:
    """(way, speed): how the table sends a message that was measured, and how many times as fast as
    the library alone that was.
    """

    def says(side: str) -> bool:
        rules = book.get(side, {}).get(cell["pattern"], [])
        return _holds(rules, cell["bytes"], cell["run"])

    if says("direct"):
        return "through shared memory", cell["direct_speeds"].get("ll", 1.0)
    if says("send"):
        return "packed first", cell["speeds"]["ll" if says("receive") else "ln"]
    return "left to the MPI library", 1.0


def draw(table: dict[str, Any], transport: str, path: Path) -> Path:
    """A panel for each pattern, with a square for each message by size and run length."""
    cells: list[Cell] = table["evidence"][transport]
    patterns = list(dict.fromkeys(cell["pattern"] for cell in cells))
    figure, axes = panels(3, 7.6, rows=(len(patterns) + 2) // 3, width=4.4, sharex=True)
    rest = list(axes.flat)
    for pattern in patterns:
        panel = rest.pop(0)
        over_bytes(panel)
        panel.set_title(pattern)
        panel.set_ylabel("mean bytes of a run")
        # Several shapes may have the same run length: the one that gains least is drawn.
        found: dict[tuple[int, float], tuple[float, str]] = {}
        for cell in cells:
            if cell["pattern"] == pattern:
                way, speed = decision(table[transport], cell)
                at = (cell["bytes"], cell["run"])
                found[at] = min(found.get(at, (speed, way)), (speed, way))
        for (size, run), (speed, way) in found.items():
            panel.scatter(size, run, s=230, marker="s", color=COLOURS[way], linewidths=0)
            if way != "left to the MPI library":
                text = f"{speed:.1f}" if speed < 9.95 else f"{speed:.0f}"
                panel.annotate(
                    text, (size, run), ha="center", va="center", fontsize=6.5, color="white"
                )
        panel.margins(0.1, 0.15)
        panel.tick_params(labelbottom=True, labelsize=8)
        panel.yaxis.set_minor_formatter(NullFormatter())
    marks = [Line2D([], [], marker="s", ls="", color=c, label=n) for n, c in COLOURS.items()]
    for panel in rest:
        panel.set_axis_off()
    (rest or [axes[0][0]])[0].legend(handles=marks, loc="upper left", title="the sender's data are")
    where = "two nodes" if transport == "network" else "one node"
    name = table["mpi"].replace(" Version:", "")
    title = f"{name}, {where}: how many times as fast as the MPI library alone"
    return save(figure, path, table["provenance"], title, dpi=110)
