# SPDX-License-Identifier: BSD-3-Clause
"""The plots of docs/results: how far below the peak each way stays.

The peak is the top of every plot: a contiguous message, or memcpy. The files are SVG with text as
text, and carry the digest of their data (data.py).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from lacuna.base import figures
from lacuna.base.provenance import caption
from lacuna.base.units import size_name
from lacuna.bench.apps.summary import Apps
from lacuna.bench.engine.times import CACHES, OPS, Times
from lacuna.bench.results import tables
from lacuna.bench.results.data import Data
from lacuna.launch import mpis

# Colours for all kinds of sight.
_LIBRARY, _BY_HAND, _LACUNA, _PEAK = "#d55e00", "#e69f00", "#0072b2", "#444444"
_WAYS = {
    "native": ("the MPI library alone", _LIBRARY, "s"),
    "by_hand": ("packed by hand", _BY_HAND, "^"),
    "lacuna": ("with lacuna", _LACUNA, "o"),
}
_ABOVE_PEAK = 1.06  # the top of an axis
_PANEL_INCHES = 3.4
_LEGEND_INCHES = 1.7  # of an entry


def draw(data: Data, path: Path) -> None:
    """Writes the plot of a benchmark."""
    figure = _DRAWN[data.kind](data)
    # Above the panels: in them it would hide the peak.
    handles, labels = figure.axes[0].get_legend_handles_labels()
    columns = max(2, int(figure.get_figwidth() / _LEGEND_INCHES))
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, fontsize=7)
    figure.supxlabel(caption(data.provenance), fontsize=7, color="#555555")
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "lacuna"}):
        about = {"Date": None, "Description": data.mark()}
        figure.savefig(path, metadata=about)
    figures.plt.close(figure)


def _over_sizes(panel: Axes, places: list[int], name: Callable[[int], str]) -> None:
    """A logarithmic axis with marks where something was measured, at most some six of them."""
    panel.set_xscale("log", base=2)
    panel.xaxis.set_major_locator(FixedLocator(places[:: max(1, len(places) // 5)]))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(FuncFormatter(lambda at, _: name(int(at))))
    panel.grid(alpha=0.3)


def _peak(panel: Axes, places: list[int], values: list[float], label: str) -> None:
    panel.plot(places, values, color=_PEAK, linestyle="--", label=label)


def _transpose(data: Data) -> Any:
    found = tables.Transposes(data.rows)
    libraries = tables.names(data.rows)
    figure, panels = figures.panels(len(libraries), 3.6, width=_PANEL_INCHES)
    for panel, mpi in zip(panels[0], libraries, strict=True):
        orders = sorted(n for name, n in found.keys if name == mpi)
        for way, (label, color, marker) in _WAYS.items():
            speeds = [found.speed(mpi, n, way) for n in orders]
            panel.plot(orders, speeds, label=label, color=color, marker=marker)
        peak = [found.speed(mpi, n, "contiguous") for n in orders]
        _peak(panel, orders, peak, "contiguous data: the peak")
        panel.set_ylim(0, _ABOVE_PEAK * max(panel.get_ylim()[1] / 1.05, *peak))
        _over_sizes(panel, orders, str)
        panel.set_title(mpis.TITLE[mpi], fontsize=10)
        panel.set_xlabel("n")
    panels[0][0].set_ylabel("GB/s, n x n doubles by columns")
    return figure


def _preload(data: Data) -> Any:
    libraries = tables.names(data.rows)
    figure, panels = figures.panels(len(libraries), 3.6, width=_PANEL_INCHES, sharey=True)
    most = 1.0
    for panel, mpi in zip(panels[0], libraries, strict=True):
        places = tables.sizes(data.rows, mpi)
        both = [tables.shares(data.rows, mpi, size) for size in places]
        for index, way in enumerate(("native", "lacuna")):
            label, color, marker = _WAYS[way]
            values = [one[index] for one in both if one]
            panel.plot(places, values, label=label, color=color, marker=marker)
            most = max(most, *values)
        _peak(panel, places, [1.0] * len(places), "a contiguous message: the peak")
        _over_sizes(panel, places, size_name)
        panel.set_title(mpis.TITLE[mpi], fontsize=10)
        panel.set_xlabel("bytes of data")
    panels[0][0].set_ylim(0, _ABOVE_PEAK * most)
    panels[0][0].set_ylabel("share of the peak's speed")
    return figure


def _apps(data: Data) -> Any:
    found = Apps(data.rows)
    figure, panels = figures.panels(1, 2.4 * len(found.mpis) + 0.6, len(found.mpis), 9.2)
    for mpi, panel in zip(found.mpis, panels[:, 0], strict=True):
        tests = tables.by_test(found, mpi)
        width, most = 0.8 / len(_WAYS), 1.0
        for index, (way, (label, color, _)) in enumerate(_WAYS.items()):
            heights = [tables.share(found, mpi, inputs, way) for inputs in tests.values()]
            most = max(most, *heights)
            left = [at + (index - 1) * width for at in range(len(tests))]
            panel.bar(left, heights, width, label=label, color=color)
        panel.axhline(1, color=_PEAK, linestyle="--", label="without gaps: the peak")
        panel.set_ylim(0, _ABOVE_PEAK * most)
        panel.set_xticks(range(len(tests)), tests, fontsize=7, rotation=30)
        panel.grid(alpha=0.3, axis="y")
        panel.set_title(mpis.TITLE[mpi], fontsize=9)
        panel.set_ylabel("share of the peak")
    return figure


def _engine(data: Data) -> Any:
    found = Times(data.rows)
    members = tables.families(data.rows)
    caches = [one for one in CACHES if any(row["cache"] == one for row in data.rows)]
    figure, panels = figures.panels(len(OPS), 2.4 * len(caches) + 0.6, len(caches), 4.6)
    most = 1.0
    for cache, row in zip(caches, panels, strict=True):
        for op, panel in zip(OPS, row, strict=True):
            where = (op, cache)
            bars = [(mpis.TITLE[mpi], _LIBRARY, ("mpi", mpi)) for mpi in found.mpis]
            bars += [("by hand", _BY_HAND, ("by-hand", None)), ("lacuna", _LACUNA, None)]
            width = 0.8 / len(bars)
            for index, (label, color, rival) in enumerate(bars):
                heights = []
                for rows in members.values():
                    share = tables.mean(found, rows, where, "memcpy") or 0.0
                    slower = tables.mean(found, rows, where, *rival) if rival else 1.0
                    heights.append(share / slower if slower else 0.0)
                most = max(most, *heights)
                left = [at + (index - len(bars) / 2 + 0.5) * width for at in range(len(members))]
                # Libraries have one colour, in shades.
                shade = 1 - 0.3 * index if color == _LIBRARY else 1
                panel.bar(left, heights, width, label=label, color=color, alpha=shade)
            panel.axhline(1, color=_PEAK, linestyle="--", label="memcpy: the peak")
            panel.set_xticks(range(len(members)), members, fontsize=7, rotation=30)
            panel.grid(alpha=0.3, axis="y")
            panel.set_title(
                f"{op}, data {'in cache' if cache == 'warm' else 'in DRAM'}", fontsize=9
            )
    for panel in panels.flat:
        panel.set_ylim(0, _ABOVE_PEAK * most)
    for row in panels:
        row[0].set_ylabel("share of memcpy's speed")
    return figure


def _gpu(data: Data) -> Any:
    families = tables.gpu_families(data.rows)
    bars = [("a thread an element", _LIBRARY, "element"), ("by hand", _BY_HAND, "hand")]
    bars.append(("lacuna", _LACUNA, "us"))
    figure, panels = figures.panels(1, 2.4 * len(OPS) + 0.6, len(OPS), 9.2)
    width, most = 0.8 / len(bars), 1.0
    for op, panel in zip(OPS, panels[:, 0], strict=True):
        for index, (label, color, way) in enumerate(bars):
            rows = [[row for row in found if row["op"] == op] for found in families.values()]
            heights = [tables.gpu_share(chosen, way) or 0.0 for chosen in rows]
            most = max(most, *heights)
            left = [at + (index - 1) * width for at in range(len(families))]
            panel.bar(left, heights, width, label=label, color=color)
        panel.axhline(1, color=_PEAK, linestyle="--", label="the device's own copy: the peak")
        panel.set_xticks(range(len(families)), families, fontsize=7, rotation=30)
        panel.grid(alpha=0.3, axis="y")
        panel.set_title(op, fontsize=9)
        panel.set_ylabel("share of the peak")
    for panel in panels[:, 0]:
        panel.set_ylim(0, _ABOVE_PEAK * most)
    return figure


_DRAWN: dict[str, Callable[[Data], Any]] = {
    "transpose": _transpose,
    "preload": _preload,
    "apps": _apps,
    "engine": _engine,
    "gpu": _gpu,
}
