# SPDX-License-Identifier: BSD-3-Clause
"""The figures of `lacuna bench apps`, after figures 5 and 6 of Schneider et al. (2012)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lacuna.base import figures
from lacuna.bench.apps import summary as apps_summary
from lacuna.bench.apps.summary import Apps
from lacuna.launch import mpis

_DPI = 110
# Colours for all kinds of sight.
_METHODS = {
    "native": ("derived type, library alone", "#d55e00", "s"),
    "by_hand": ("packed by hand", "#e69f00", "^"),
    "mpi_pack": ("MPI_Pack", "#cc79a7", "D"),
    "lacuna": ("derived type under lacuna", "#0072b2", "o"),
    "mpi_pack_lacuna": ("MPI_Pack under lacuna", "#56b4e9", "v"),
}
_PARTS = {
    "type": ("create, commit and free the type", "#999999"),
    "pack": ("pack", "#e69f00"),
    "communicate": ("communicate", "#0072b2"),
    "unpack": ("unpack", "#cc79a7"),
}
_CLASS_COLOR = dict(zip(apps_summary.CLASSES, ("#0072b2", "#d55e00", "#009e73"), strict=True))


def draw(folder: Path, provenance: dict[str, Any], found: Apps) -> list[tuple[Path, str]]:
    """Writes the PNG files; returns their paths, each with what it shows."""
    drawn = [_overheads(folder / "overheads.png", provenance, found)]
    for mpi in found.mpis:
        drawn.append(_absolute(folder / f"absolute-{mpi}.png", provenance, found, mpi))
    if "lacuna" in found.methods and "native" in found.methods:
        drawn.append(_gains(folder / "gains.png", provenance, found))
    return drawn


def _panels(found: Apps, width: float) -> tuple[Figure, list[Axes]]:
    """One panel for each MPI library, all with the same tests from top to bottom."""
    names = found.ids(found.mpis[0])
    figure, panels = plt.subplots(
        1,
        len(found.mpis),
        figsize=(width * len(found.mpis) + 2, 0.19 * len(names) + 2),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for panel, mpi in zip(panels[0], found.mpis, strict=True):
        panel.set_title(mpis.TITLE[mpi], fontsize=10)
        panel.grid(alpha=0.3)
    panels[0][0].set_yticks(range(len(names)), names, fontsize=7)
    panels[0][0].set_ylim(len(names) - 0.5, -0.5)
    return figure, list(panels[0])


def _overheads(path: Path, provenance: dict[str, Any], found: Apps) -> tuple[Path, str]:
    figure, panels = _panels(found, 3.6)
    names = found.ids(found.mpis[0])
    for panel, mpi in zip(panels, found.mpis, strict=True):
        for method, (label, color, marker) in _METHODS.items():
            if method not in found.methods:
                continue
            places, values = [], []
            for place, name in enumerate(names):
                value = found.overhead(mpi, name, method)
                if value is not None:
                    places.append(place)
                    values.append(100 * max(value, -1.0))
            panel.plot(values, places, marker, color=color, label=label, markersize=4, alpha=0.8)
        panel.axvline(0, color="#777777", linewidth=0.8)
        panel.set_xlabel("overhead, % of the transfer", fontsize=8)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", fontsize=7, ncols=3)
    figures.save(figure, path, provenance, dpi=_DPI)
    return path, (
        "Relative overhead of packing (Schneider et al. 2012, figure 5): the share of a transfer "
        "that a contiguous message of the same bytes does not take. Below 0: faster than that."
    )


def _absolute(path: Path, provenance: dict[str, Any], found: Apps, mpi: str) -> tuple[Path, str]:
    largest: dict[str, str] = {}
    for name in found.ids(mpi):
        test, row = name.partition("-")[0], found.row(mpi, name, "contiguous")
        if (
            test not in largest
            or row["bytes"] > found.row(mpi, largest[test], "contiguous")["bytes"]
        ):
            largest[test] = name
    columns = 4
    rows = -(-len(largest) // columns)
    figure, panels = plt.subplots(
        rows, columns, figsize=(11, 2.3 * rows + 0.8), squeeze=False, layout="constrained"
    )
    methods = [name for name in _METHODS if name in found.methods] + ["contiguous"]
    for panel in panels.flat:
        panel.set_visible(False)
    for panel, name in zip(panels.flat, largest.values(), strict=False):
        panel.set_visible(True)
        _stacks(panel, found, mpi, name, methods)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside upper center",
        title=mpis.TITLE[mpi],
        fontsize=7,
        ncols=len(_PARTS),
    )
    figures.save(figure, path, provenance, dpi=_DPI)
    return path, (
        f"Absolute times on {mpis.TITLE[mpi]} (figure 6), each test at its largest size: one "
        "transfer, and what making the type and freeing it costs once. A derived type packs inside "
        "the communication."
    )


def _stacks(panel: Axes, found: Apps, mpi: str, name: str, methods: list[str]) -> None:
    for place, method in enumerate(methods):
        row = found.get(mpi, name, method)
        if row is None:
            continue
        base = 0.0
        parts = {part: row[f"{part}_s"] for part in ("pack", "communicate", "unpack")}
        for part, value in {"type": row["create_s"] + row["destroy_s"], **parts}.items():
            label, color = _PARTS[part]
            panel.bar(place, value * 1e6, bottom=base, color=color, label=None if place else label)
            base += value * 1e6
    panel.use_sticky_edges = False  # parts that take no time would stick the stack to the frame
    panel.set_ylim(bottom=0)
    panel.set_title(name, fontsize=8)
    panel.set_xticks(
        range(len(methods)), methods, fontsize=6, rotation=30, ha="right", rotation_mode="anchor"
    )
    panel.tick_params(axis="y", labelsize=7)
    panel.set_ylabel("us", fontsize=7)


def _gains(path: Path, provenance: dict[str, Any], found: Apps) -> tuple[Path, str]:
    figure, panels = _panels(found, 3.2)
    names = found.ids(found.mpis[0])
    for panel, mpi in zip(panels, found.mpis, strict=True):
        ratios = found.ratios(mpi, "native", "lacuna")
        for place, name in enumerate(names):
            if name in ratios:
                color = _CLASS_COLOR[apps_summary.access_class(name.partition("-")[0])]
                panel.barh(place, ratios[name] - 1, left=1, color=color)
        panel.axvline(1, color="#555555", linewidth=0.8)
        panel.set_xscale("log")
        panel.set_xlabel("times faster under lacuna", fontsize=8)
    handles = [plt.Rectangle((0, 0), 1, 1, color=color) for color in _CLASS_COLOR.values()]
    figure.legend(handles, list(_CLASS_COLOR), loc="outside upper center", fontsize=7, ncols=3)
    figures.save(figure, path, provenance, dpi=_DPI)
    return path, "Which patterns gain: time of the library alone over time under lacuna."
