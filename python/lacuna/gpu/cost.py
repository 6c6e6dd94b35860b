# SPDX-License-Identifier: BSD-3-Clause
"""How long a device takes to pack and unpack, predicted: the time of its own copy of as many bytes
as must be read and written.

A kernel reads the 64 bytes that the device fetches at a time wherever they hold data, and writes
sectors of 32; those that it writes in part are read first. Neighbours in memory of a transpose are
read together, by tiles, so that each sector counts once.
"""

from __future__ import annotations

import itertools
from typing import Any

_SECTOR_BYTES = 32


def copy_us(curve: list[list[float]], bytes_: float) -> float:
    """Of the device's own copy, between and beyond the sizes that were measured."""
    if bytes_ <= curve[0][0]:
        return curve[0][1]
    if bytes_ >= curve[-1][0]:
        return curve[-1][1] * bytes_ / curve[-1][0]
    for (low, low_us), (high, high_us) in itertools.pairwise(curve):
        if bytes_ <= high:
            return low_us + (high_us - low_us) * (bytes_ - low) / (high - low)
    raise AssertionError("the curve does not ascend")


def predict(explained: dict[str, Any], machine: dict[str, Any]) -> dict[str, Any]:
    """Microseconds, what bounds them, and GB/s, for either direction."""
    bytes_ = explained["bytes"]
    curve = machine["copy_curve"]
    fetches = machine["facts"].get("fetch_bytes", 64) > _SECTOR_BYTES
    sectors = explained["sector_bytes"]
    read = explained["fetched_bytes"] if fetches else sectors
    moved = {
        "pack": bytes_ + read,
        "unpack": bytes_ + sectors + explained["partly_bytes"],
    }
    found: dict[str, Any] = {"memcpy_us": copy_us(curve, bytes_)}
    for op, all_bytes in moved.items():
        if bytes_ == 0:
            found[op] = {"us": 0.0, "bytes_moved": 0, "bound": "nothing"}
            continue
        if explained["kernel"] == "run":
            all_bytes = 2 * bytes_
        us = copy_us(curve, all_bytes / 2)
        least = machine["numbers"]["kernel_us"]["value"]
        bound = "launch" if us <= max(least, curve[0][1]) else "memory"
        found[op] = {"us": max(us, least), "bytes_moved": round(all_bytes), "bound": bound}
    return found
