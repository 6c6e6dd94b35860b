# SPDX-License-Identifier: BSD-3-Clause
"""What all figures have in common: a panel for each library, axes of sizes, how they are saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from lacuna.base.provenance import caption
from lacuna.base.units import size_name

_INCHES_A_PANEL = 5.2


def panels(
    columns: int, height: float, rows: int = 1, width: float = _INCHES_A_PANEL, **more: Any
) -> tuple[Any, Any]:
    """A figure of `rows` x `columns` panels. `height`: inches of the whole figure; `width`: inches
    of one panel.
    """
    return plt.subplots(
        rows,
        columns,
        figsize=(width * columns + 0.8, height),
        squeeze=False,
        layout="constrained",
        **more,
    )


def over_bytes(panel: Axes, base: int = 10) -> None:
    """Makes both axes logarithmic and labels the x axis with bytes of data."""
    panel.set_xscale("log", base=2)
    panel.set_yscale("log", base=base)
    panel.xaxis.set_major_formatter(FuncFormatter(lambda n, _: size_name(int(n))))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    panel.set_xlabel("bytes of data")
    panel.grid(alpha=0.3)


def save(
    figure: Any, path: Path, provenance: dict[str, Any], title: str = "", dpi: int = 150
) -> Path:
    """Writes the PNG file, with the provenance of the numbers as a caption."""
    if title:
        figure.suptitle(title, fontsize=11, wrap=True)
    figure.supxlabel(caption(provenance), fontsize=7, color="#555555")
    figure.savefig(path, dpi=dpi)
    plt.close(figure)
    return path
