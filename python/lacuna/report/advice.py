# SPDX-License-Identifier: BSD-3-Clause
"""Advice on a program's messages that needs to know the library's thresholds."""

from __future__ import annotations

from typing import Any

from lacuna.costs import knobs

_JUST_ABOVE = 1.1  # times a threshold
_HEADER = 0.98  # of a setting: a header goes with the data
_LIBRARIES = {"Open MPI": "openmpi", "MPICH": "mpich", "Intel": "intelmpi"}

Row = dict[str, Any]


def on_threshold(report: dict[str, Any], row: Row) -> list[str]:
    """A sentence if the row's messages are just above a threshold of the library, else none.
    Thresholds are `findings` of `lacuna costs machine`; without them, the library's settings.
    """
    if "end" not in row["function"] and "ecv" not in row["function"]:
        return []  # a collective's own messages are not known
    if not row["calls"]:
        return []
    size = (row["bytes_handled"] + row["bytes_declined"]) / row["calls"]
    for limit, why in _thresholds(report):
        if limit * _HEADER < size <= limit * _JUST_ABOVE:
            return [
                f"messages of {size:.0f} bytes are just above a threshold at {limit} ({why}): "
                "slightly smaller messages, or a larger setting, avoid the slower protocol"
            ]
    return []


def _thresholds(report: dict[str, Any]) -> list[tuple[int, str]]:
    library = report["provenance"]["library"]
    mpi = next((name for word, name in _LIBRARIES.items() if word in library), "")
    found = [
        (one["low"], one["cause"] or "measured")
        for one in report.get("findings", [])
        if one["mpi"] == mpi and one["kind"] == "step"
    ]
    if found:
        return found
    return [
        (round(knob.default * knob.part), knob.variable)
        for knob in knobs.KNOBS.get(mpi, [])
        if knob.default
    ]
