# SPDX-License-Identifier: BSD-3-Clause
"""The figures of `lacuna bench engine`: for each row, every rival's time over memcpy's, as bars."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt

from lacuna.base import figures
from lacuna.base.results import Row
from lacuna.bench import corpus
from lacuna.bench.corpus import CorpusRow
from lacuna.bench.engine.times import CACHES, OPS, Times
from lacuna.launch import mpis

_INCHES_A_ROW = 0.42
_INCHES_A_PANEL = 3.1
_LEAST_WIDTH = 6.0
# Colours for all kinds of sight, as in the other figures.
_COLORS = {
    "mpich": "#d55e00",
    "openmpi": "#cc79a7",
    "intelmpi": "#009e73",
    "mpiabi": "#56b4e9",
    "by-hand": "#e69f00",
    "lacuna": "#0072b2",
}


def draw(
    folder: Path, provenance: dict[str, Any], rows: list[CorpusRow], found: list[Row]
) -> list[Path]:
    """Writes one PNG file for each direction and state of the caches; returns their paths."""
    times = Times(found)
    written = []
    for cache in CACHES:
        for op in OPS:
            if any(row["op"] == op and row["cache"] == cache for row in found):
                path = folder / f"engine-{op}-{cache}.png"
                _figure(path, op, cache, rows, times, provenance)
                written.append(path)
    return written


def _bars(times: Times) -> list[tuple[str, str, str | None, str]]:
    """(label, rival, MPI library, color) in the order of the bars."""
    native = [(mpis.TITLE[mpi], "mpi", mpi, _COLORS[mpi]) for mpi in times.mpis]
    return [
        *native,
        ("by hand", "by-hand", None, _COLORS["by-hand"]),
        ("lacuna", "lacuna", None, _COLORS["lacuna"]),
    ]


def _figure(
    path: Path,
    op: str,
    cache: str,
    rows: list[CorpusRow],
    times: Times,
    provenance: dict[str, Any],
) -> None:
    families = [family for family in corpus.FAMILIES if any(row.family == family for row in rows)]
    most = max(sum(row.family == family for row in rows) for family in families)
    figure, panels = plt.subplots(
        len(families),
        1,
        figsize=(max(most * _INCHES_A_ROW, _LEAST_WIDTH), _INCHES_A_PANEL * len(families) + 0.8),
        squeeze=False,
        layout="constrained",
    )
    bars = _bars(times)
    width = 0.8 / len(bars)
    for panel, family in zip(panels[:, 0], families, strict=True):
        members = [row for row in rows if row.family == family]
        for index, (label, rival, mpi, color) in enumerate(bars):
            ratios = [
                times.faster(row.id, op, cache, rival, mpi, "memcpy") or 0.0 for row in members
            ]
            places = [at + (index - (len(bars) - 1) / 2) * width for at in range(len(members))]
            panel.bar(places, ratios, width, label=label, color=color)
        panel.axhline(1.0, color="#777777", linewidth=0.8)
        panel.set_yscale("log")
        panel.set_ylabel("time over memcpy")
        panel.set_title(family, fontsize=10, loc="left")
        names = [row.id.partition("/")[2] for row in members]
        panel.set_xticks(range(len(members)), names, rotation=40, ha="right", fontsize=7)
        panel.grid(axis="y", alpha=0.3)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", fontsize=8, ncols=len(bars))
    title = f"{op}, {cache} caches: time over memcpy of the same bytes"
    figures.save(figure, path, provenance, title, dpi=110)
