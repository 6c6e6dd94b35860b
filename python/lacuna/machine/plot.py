# SPDX-License-Identifier: BSD-3-Clause
"""The figure of `lacuna machine`: where latency steps up, over working set and over pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from lacuna.base.errors import Exit, LacunaError
from lacuna.base.units import size

# From short strides to long; the line of huge pages apart.
_COLORS = ("#0072b2", "#56b4e9", "#009e73", "#e69f00", "#d55e00", "#cc79a7")
_HUGE = "#000000"
_CACHES = (("l1_bytes", "L1"), ("l2_bytes", "L2"), ("l3_bytes", "L3"))
_TLBS = (("tlb_entries", "TLB"), ("tlb2_entries", "TLB 2"))


def draw(path: Path, found: dict[str, Any]) -> None:
    """Writes the PNG file from the facts of `lacuna machine`."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(12, 5), layout="constrained", width_ratios=[3, 2]
    )
    numbers = {name: number["value"] for name, number in found["numbers"].items()}
    _latency(left, found["curves"], numbers)
    _tlb(right, found["curves"], numbers)
    date = found["provenance"].get("date", "")
    figure.supxlabel(f"{found['cpu']}, {date}", fontsize=7, color="#555555")
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        what = getattr(error, "strerror", None) or str(error)
        raise LacunaError(
            Exit.ENVIRONMENT, f"cannot write {path}: {what}", "give another place for it"
        ) from error
    finally:
        plt.close(figure)


def _latency(axes: Axes, curves: list[dict[str, Any]], numbers: dict[str, Any]) -> None:
    drawn = [curve for curve in curves if curve["name"] == "latency"]
    drawn.sort(key=lambda curve: (curve["pages"] == "huge", curve["stride_bytes"]))
    for index, curve in enumerate(drawn):
        is_huge = curve["pages"] == "huge"
        axes.plot(
            *zip(*curve["points"], strict=True),
            label=f"{curve['stride_bytes']} bytes" + (", huge pages" if is_huge else ""),
            color=_HUGE if is_huge else _COLORS[index % len(_COLORS)],
            linestyle="--" if is_huge else "-",
            marker=".",
            markersize=4,
            linewidth=1.2,
        )
    _scales(axes, "working set", "Latency of a load, random order, by stride", size)
    for name, title in _CACHES:
        _mark(axes, numbers[name], f"{title} {size(numbers[name])}", "-")
    for name, title in _TLBS:
        _mark(axes, numbers[name] * numbers["page_bytes"], f"{title} reach", ":")
    axes.set_ylabel("ns")
    axes.legend(fontsize=8, title="stride", title_fontsize=8, loc="upper left")


def _tlb(axes: Axes, curves: list[dict[str, Any]], numbers: dict[str, Any]) -> None:
    for curve in (curve for curve in curves if curve["name"] == "tlb"):
        is_spread = curve["stride_bytes"] > numbers["page_bytes"]
        axes.plot(
            *zip(*curve["points"], strict=True),
            label="one line of each page" if is_spread else "the same number side by side",
            color=_COLORS[4 if is_spread else 0],
            marker=".",
            markersize=4,
            linewidth=1.2,
        )
    _scales(axes, "lines", "What the TLB costs", lambda count: f"{count}")
    for name, title in _TLBS:
        _mark(axes, numbers[name], f"{title}: {numbers[name]}", ":")
    axes.legend(fontsize=8, loc="upper left")


def _scales(axes: Axes, what: str, title: str, text: Any) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(LogLocator(base=4, numticks=20))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: text(round(x))))
    axes.yaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5), numticks=20))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    axes.tick_params(axis="x", labelsize=8, labelrotation=30)
    axes.set_xlabel(what)
    axes.set_title(title, fontsize=10)
    axes.grid(alpha=0.25)


def _mark(axes: Axes, x: float, title: str, style: str) -> None:
    """A vertical line with its name, where it is inside the figure."""
    low, high = axes.get_xlim()
    if not low < x < high:
        return
    axes.axvline(x, color="#777777", linestyle=style, linewidth=0.9)
    axes.annotate(
        title,
        (x, 0.02),
        xycoords=("data", "axes fraction"),
        rotation=90,
        fontsize=7,
        color="#444444",
        ha="right",
        va="bottom",
    )
    axes.set_xlim(low, high)
