# SPDX-License-Identifier: BSD-3-Clause
"""The figure of `lacuna bench preload`: speed with lacuna over size, one panel for each library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.ticker import FuncFormatter

from lacuna import mpis, preload_rows
from lacuna.preload_criteria import LEAST_SPEED, Row
from lacuna.provenance import caption


def draw(folder: Path, provenance: dict[str, Any], rows: list[Row]) -> list[Path]:
    """Writes the PNG file and returns its path."""
    names = list(dict.fromkeys(row.mpi for row in rows))
    figure, panels = plt.subplots(
        1,
        len(names),
        figsize=(5.2 * len(names) + 0.8, 4.8),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    colors = plt.get_cmap("tab20")
    for panel, name in zip(panels[0], names, strict=True):
        for index, shape in enumerate(preload_rows.SHAPES):
            chosen = [row for row in rows if row.mpi == name and row.id.startswith(f"{shape}/")]
            sizes = [row.times.about["bytes"] for row in chosen]
            speeds = [row.times.speedup("ll").median for row in chosen]
            panel.plot(sizes, speeds, label=shape, color=colors(index), marker=".")
        panel.axhline(1, color="#444444", linewidth=0.8)
        panel.axhline(LEAST_SPEED, color="#aa0000", linewidth=0.8, linestyle=":")
        panel.set_title(mpis.TITLE[name], fontsize=10)
        panel.set_xscale("log", base=2)
        panel.set_yscale("log", base=2)
        panel.xaxis.set_major_formatter(FuncFormatter(lambda n, _: preload_rows.size_name(int(n))))
        panel.yaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:g}"))
        panel.set_xlabel("bytes of data")
        panel.grid(alpha=0.3)
    panels[0][0].set_ylabel("time of the library alone over time with lacuna")
    panels[0][0].legend(fontsize=7, ncols=2)
    figure.suptitle("Ping-pong of derived types, two ranks of one node", fontsize=11)
    figure.supxlabel(caption(provenance), fontsize=7, color="#555555")
    path = folder / "preload.png"
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return [path]
