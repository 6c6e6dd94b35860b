# SPDX-License-Identifier: BSD-3-Clause
"""The figures of `lacuna costs machine`, from its result file."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from lacuna.base import figures
from lacuna.costs import shapes as costs_shapes
from lacuna.costs.pieces import MODES
from lacuna.launch import mpis

Result = dict[str, Any]

_COLORS = {
    "o": "#999999",
    "L": "#56b4e9",
    "l_p": "#e69f00",
    "l_m": "#d55e00",
    "rest": "#000000",
}
_LANES = {
    "m": ("one message", "#0072b2"),
    "s": ("in a stream", "#009e73"),
    "c": ("memcpy", "#999999"),
}
_LEVELS = {
    "l1": ("L1", "#0072b2"),
    "l2": ("L2", "#009e73"),
    "l3": ("L3", "#d55e00"),
    "tlb": ("TLB", "#cc79a7"),
}
_ORDER = ["o", "L", "l_p", "l_m"]  # from below, what grows most on top


def draw(folder: Path, result: Result) -> list[tuple[Path, str]]:
    """Writes the PNG files; each with what it shows."""
    found = []
    for make in (_pieces, _strides, _thresholds):
        drawn = make(folder, result)
        if drawn:
            found.append(drawn)
    return found


def _panels(result: Result, rows: int) -> Any:
    names = list(result["provenance"]["mpi"])
    figure, panels = figures.panels(len(names), 3.8 * rows + 0.4, rows)
    return figure, panels, names


def _save(figure: Any, path: Path, title: str, result: Result) -> Path:
    return figures.save(figure, path, result["provenance"], title)


def _over_bytes(panel: Axes) -> None:
    figures.over_bytes(panel)
    panel.tick_params(axis="x", labelsize=8, labelrotation=30)


def _pieces(folder: Path, result: Result) -> tuple[Path, str] | None:
    """The parts of each message as stacked bars, after Byna 2003, figure 2."""
    chosen = [row for row in result["rows"] if row["id"].startswith("transpose/")]
    if not chosen:
        return None
    figure, panels, names = _panels(result, len(MODES))
    for line, mode in zip(panels, MODES, strict=True):
        for panel, name in zip(line, names, strict=True):
            rows = [row for row in chosen if row["mpi"] == name and row["method"] == mode]
            _stack(panel, sorted(rows, key=lambda row: row["bytes"]))
            panel.set_title(f"{mpis.TITLE[name]}, {mode}", fontsize=10)
        line[0].set_ylabel("ns per 8 bytes")
    for column in zip(*panels, strict=True):  # with lacuna and without are there to be compared
        ends = [end for panel in column for end in panel.get_ylim()]
        for panel in column:
            panel.set_ylim(min(ends), max(ends))
    panels[0][0].legend(fontsize=8, ncols=5, loc="lower center", bbox_to_anchor=(0.5, 1.08))
    title = "A transposed matrix sent: what each piece costs (after Byna et al. 2003, figure 2)"
    words = (
        "o: one copy; L: a contiguous message minus that copy; l_p: packing minus that copy; "
        "l_m: what the library adds for the type. Below zero: time that the library saves."
    )
    return _save(figure, folder / "costs-pieces.png", title, result), words


def _stack(panel: Axes, rows: list[Result]) -> None:
    places = range(len(rows))
    above = [0.0] * len(rows)
    below = [0.0] * len(rows)
    for piece in _ORDER:
        values = [row[f"{piece}_s"] / (row["bytes"] / 8) * 1e9 for row in rows]
        bottoms = [a if v >= 0 else b for v, a, b in zip(values, above, below, strict=True)]
        panel.bar(places, values, bottom=bottoms, color=_COLORS[piece], label=piece, width=0.7)
        above = [a + max(v, 0) for v, a in zip(values, above, strict=True)]
        below = [b + min(v, 0) for v, b in zip(values, below, strict=True)]
    panel.plot(
        places,
        [row["median_s"] / (row["bytes"] / 8) * 1e9 for row in rows],
        "k_",
        markersize=18,
        label="the message",
    )
    orders = [costs_shapes.order_of(row["bytes"]) for row in rows]
    panel.set_xticks(list(places), [f"{n} x {n}" for n in orders], fontsize=8)
    panel.axhline(0, color="#444444", linewidth=0.6)


def _strides(folder: Path, result: Result) -> tuple[Path, str] | None:
    """Packing over stride, after Byna, Cameron and Sun 2003, figure 2, and below it the misses of
    packing.
    """
    strided = f"stride-{costs_shapes.STRIDE}-block-1/"
    chosen = [row for row in result["rows"] if row["id"].startswith(strided)]
    if not chosen:
        return None
    figure, panels, names = _panels(result, 2)
    for panel, name in zip(panels[0], names, strict=True):
        for mode, color, marker in (("native", "#d55e00", "s"), ("lacuna", "#0072b2", "o")):
            rows = [row for row in chosen if row["mpi"] == name and row["method"] == mode]
            rows.sort(key=lambda row: row["bytes"])
            sizes = [row["bytes"] for row in rows]
            times = [row["median_s"] * 1e6 for row in rows]
            panel.plot(sizes, times, label=f"stride 16, {mode}", color=color, marker=marker)
            if mode == "native":
                flat = [row["contiguous_s"] * 1e6 for row in rows]
                panel.plot(sizes, flat, label="stride 1", color="#777777", marker="x")
        panel.set_title(mpis.TITLE[name], fontsize=10)
        _over_bytes(panel)
    for panel in panels[1]:
        _misses(panel, result.get("misses", []))
    panels[0][0].set_ylabel("microseconds of a message")
    panels[1][0].set_ylabel("misses of packing, for 8 bytes")
    panels[0][0].legend(fontsize=8)
    panels[1][0].legend(fontsize=7, ncols=2)
    title = "Doubles sent side by side, and every sixteenth one (after Byna, Cameron and Sun 2003)"
    words = (
        f"{title}. Below: cache and TLB misses when the message is packed repeatedly; filled "
        "marks: simulated, empty ones: by the cost model."
    )
    return _save(figure, folder / "costs-strides.png", title, result), words


def _misses(panel: Axes, rows: list[Result]) -> None:
    for stride, style in ((costs_shapes.STRIDE, "-"), (1, ":")):
        points = sorted((row for row in rows if row["stride"] == stride), key=lambda r: r["bytes"])
        sizes = [row["bytes"] for row in points]
        for level, (label, color) in _LEVELS.items():
            shares = [row[level] / (row["bytes"] / 8) for row in points]
            panel.plot(sizes, shares, style, label=f"{label}, stride {stride}", color=color)
            for row, share in zip(points, shares, strict=True):
                face = color if row["how"] == "simulated" else "none"
                panel.plot(
                    row["bytes"], share, "o", markersize=4, color=color, markerfacecolor=face
                )
    _over_bytes(panel)
    panel.set_yscale("linear")


def _thresholds(folder: Path, result: Result) -> tuple[Path, str] | None:
    """Time over size, and the thresholds and cells that were found."""
    if not result["sweeps"]:
        return None
    figure, panels, names = _panels(result, 1)
    for panel, name in zip(panels[0], names, strict=True):
        for lane, (label, color) in _LANES.items():
            points = sorted(
                (one["bytes"], statistics.median(one["seconds"]) * 1e6)
                for one in result["sweeps"]
                if one["mpi"] == name and one["lane"] == lane
            )
            panel.plot(
                *zip(*points, strict=True), label=label, color=color, marker=".", markersize=4
            )
        for one in result["findings"]:
            if one["mpi"] == name and one["kind"] in ("step", "bend"):
                style = "-" if one["kind"] == "step" else ":"
                panel.axvline(
                    (one["low"] + one["high"]) / 2, color="#d55e00", linestyle=style, linewidth=0.9
                )
        panel.set_title(mpis.TITLE[name], fontsize=10)
        _over_bytes(panel)
    panels[0][0].set_ylabel("microseconds")
    panels[0][0].legend(fontsize=8)
    title = "Messages without gaps: where the time jumps (lines) and where it bends (dots)"
    return _save(figure, folder / "costs-thresholds.png", title, result), title
