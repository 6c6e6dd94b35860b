# SPDX-License-Identifier: BSD-3-Clause
"""The figure of `lacuna bench preload`: speed with lacuna over size, one panel for each library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib import colormaps

from lacuna.base import figures
from lacuna.bench.preload.row import LEAST_SPEED, Row
from lacuna.launch import mpis
from lacuna.messages import shapes


def draw(folder: Path, provenance: dict[str, Any], rows: list[Row]) -> list[Path]:
    """Writes the PNG file and returns its path."""
    names = list(dict.fromkeys(row.mpi for row in rows))
    figure, panels = figures.panels(len(names), 4.8, sharey=True)
    colors = colormaps["tab20"]
    for panel, name in zip(panels[0], names, strict=True):
        for index, shape in enumerate(shapes.SHAPES):
            chosen = [row for row in rows if row.mpi == name and row.id.startswith(f"{shape}/")]
            sizes = [row.times.about["bytes"] for row in chosen]
            speeds = [row.times.speedup("ll").median for row in chosen]
            panel.plot(sizes, speeds, label=shape, color=colors(index), marker=".")
        panel.axhline(1, color="#444444", linewidth=0.8)
        panel.axhline(LEAST_SPEED, color="#aa0000", linewidth=0.8, linestyle=":")
        panel.set_title(mpis.TITLE[name], fontsize=10)
        figures.over_bytes(panel, base=2)
    panels[0][0].set_ylabel("time of the library alone over time with lacuna")
    panels[0][0].legend(fontsize=7, ncols=2)
    title = "Ping-pong of derived types, two ranks of one node"
    return [figures.save(figure, folder / "preload.png", provenance, title)]
