# SPDX-License-Identifier: BSD-3-Clause
"""The predicted time of packing and unpacking on a device: the time of the device's own copy of as
many bytes as are read and written.

Reads are counted in the units that the device fetches (64 bytes on an H100) wherever they hold
data; writes in sectors of 32 bytes, and a sector that is written only in part is read first. A
transpose reads neighbours in memory together, by tiles, so each of its sectors counts once.
"""

from __future__ import annotations

import itertools
from typing import Any

_SECTOR_BYTES = 32


def copy_us(curve: list[list[float]], bytes_: float) -> float:
    """Microseconds of the device's own copy of `bytes_`: interpolated between the measured sizes,
    and proportional beyond the largest. `curve`: [bytes, us], ascending.
    """
    if bytes_ <= curve[0][0]:
        return curve[0][1]
    if bytes_ >= curve[-1][0]:
        return curve[-1][1] * bytes_ / curve[-1][0]
    for (low, low_us), (high, high_us) in itertools.pairwise(curve):
        if bytes_ <= high:
            return low_us + (high_us - low_us) * (bytes_ - low) / (high - low)
    raise AssertionError("the curve does not ascend")


def predict(explained: dict[str, Any], machine: dict[str, Any]) -> dict[str, Any]:
    """For "pack" and "unpack": microseconds ("us"), bytes read and written, and what bounds the
    time ("launch", "memory" or "nothing"); and the device's own copy ("memcpy_us"). These are times
    of the device. The host needs "enqueue_us" for the launch, before the device begins.

    `explained`: of library.explain(); `machine`: the device's numbers, of machine.in_force().
    """
    bytes_ = explained["bytes"]
    curve = machine["copy_curve"]
    fetches = machine["facts"].get("fetch_bytes", 64) > _SECTOR_BYTES
    sectors = explained["sector_bytes"]
    read = explained["fetched_bytes"] if fetches else sectors
    moved = {
        "pack": bytes_ + read,
        "unpack": bytes_ + sectors + explained["partly_bytes"],
    }
    found: dict[str, Any] = {
        "memcpy_us": copy_us(curve, bytes_),
        "enqueue_us": machine["numbers"]["enqueue_us"]["value"],
    }
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
