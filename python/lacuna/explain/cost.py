# SPDX-License-Identifier: BSD-3-Clause
"""The times in `lacuna explain`: predicted, and with --measure also measured."""

from __future__ import annotations

import os
import statistics
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from lacuna.base.errors import Exit, LacunaError
from lacuna.engine import Plan, Type
from lacuna.launch import rows_program

OPS = ("pack", "unpack")
CACHES = ("warm", "cold")
WIDTH = 120  # of the table, also on narrower terminals and in pipes
_PROGRAM = "lacuna-measure"
_SAMPLES = 15
_SECONDS = 0.3  # for one direction in one state of the caches
_MOST_BYTES = 2**31  # of memory that is taken to measure in


def measure(datatype: Type, plan: Plan, count: int) -> dict[str, Any]:
    """Median times in ns of packing and unpacking, and of memcpy, by direction and state of the
    caches (warm, cold).
    """
    _, extent = datatype.extent()
    _, true_extent = datatype.true_extent()
    packed = plan.packed_size(count)
    if packed == 0:
        raise LacunaError(Exit.USAGE, "nothing to measure: no bytes", "give a type that has data")
    needed = packed + (count - 1) * abs(extent) + true_extent
    if needed > _MOST_BYTES:
        raise LacunaError(
            Exit.USAGE,
            f"too large to measure: {needed} bytes of memory",
            f"give fewer elements with --count, for at most {_MOST_BYTES} bytes",
        )
    words = ["--samples", str(_SAMPLES), "--seconds", str(_SECONDS)]
    lines = rows_program.lines(_PROGRAM, [("type", count, datatype.text())], words)
    found: dict[str, Any] = {name: {op: {} for op in OPS} for name in ("lacuna", "memcpy")}
    for line in lines:
        if line["kind"] == "times":
            found[line["rival"]][line["op"]][line["cache"]] = statistics.median(line["samples_ns"])
    return found


def _ns(value: float) -> str:
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.3g} ns"


def table(predicted: dict[str, Any], measured: dict[str, Any] | None) -> Table:
    """One line for each direction and state of the caches."""
    shown = Table(box=SIMPLE_HEAD)
    shown.add_column("", no_wrap=True)
    names = ["predicted", "GB/s", "/ memcpy"]
    if measured:
        names += ["measured", "GB/s", "/ memcpy", "pred. / meas."]
    for name in names:
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("bound", no_wrap=True)
    for op in OPS:
        for cache in CACHES:
            cost, copy = predicted[op][cache], predicted["memcpy"][cache]
            cells = _cells(predicted["bytes"], cost["ns"], copy["ns"])
            if measured and cache in measured["lacuna"][op]:
                ns = measured["lacuna"][op][cache]
                cells += _cells(predicted["bytes"], ns, measured["memcpy"][op][cache])
                cells.append(f"{cost['ns'] / ns:.2f}")
            elif measured:  # this processor's caches cannot be emptied
                cells += [""] * 4
            shown.add_row(f"{op}, {cache}", *cells, cost["bound"])
    return shown


def _cells(bytes_moved: int, ns: float, memcpy_ns: float) -> list[str]:
    return [_ns(ns), f"{bytes_moved / ns:.3g}", f"{ns / memcpy_ns:.2f}"]


def source(predicted: dict[str, Any]) -> str:
    """A sentence that says with which machine's numbers the prediction was made."""
    if predicted["is_measured_machine"]:
        return "predicted with this machine's profile"
    where = "LACUNA_PROFILE=none" if os.environ.get("LACUNA_PROFILE") == "none" else "no profile"
    return f"predicted with default numbers ({where}): `lacuna machine --measure` makes a profile"
