# SPDX-License-Identifier: BSD-3-Clause
"""A message or a collective of `lacuna bench preload`, and whether lacuna makes it slower."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

from lacuna.messages import shapes
from lacuna.messages.ratios import Times

LEAST_SPEED = 0.95  # of the library's own: below, and beyond noise, a row is slower
LONG_BYTES = 16 * shapes.KIB


@dataclass
class Row:
    """A message, or a collective, on one library."""

    mpi: str
    times: Times
    again: Times | None = None  # in a second job, where the first one said slower
    what: str = "message"

    @property
    def id(self) -> str:
        """shape/size."""
        return self.times.id

    @property
    def has_gaps(self) -> bool:
        """Whether there is anything to do for lacuna."""
        return not self.times.about["contiguous"]

    @property
    def seems_slower(self) -> bool:
        """In the first job, beyond what its rounds differ by."""
        return self.times.speedup("ll").high < LEAST_SPEED

    @property
    def is_slower(self) -> bool:
        """In both jobs, beyond what their rounds differ by."""
        return self.seems_slower and (
            self.again is None or self.again.speedup("ll").high < LEAST_SPEED
        )

    @property
    def same_seems_slower(self) -> bool:
        """What the same rule says of nn against nn: a false alarm."""
        return self.times.speedup("nn*").high < LEAST_SPEED

    def as_json(self) -> dict[str, Any]:
        """With the raw samples."""
        speedup = self.times.speedup("ll")
        found = {"mpi": self.mpi, "what": self.what, **self.times.about}
        del found["kind"]
        found |= {
            "speedup": speedup.median,
            "speedup_low": speedup.low,
            "speedup_high": speedup.high,
            "same_over_same": self.times.speedup("nn*").median,
            "is_slower": self.is_slower,
            "ways": _bare(self.times),
        }
        if "cc" in self.times.ways:
            found["over_contiguous"] = self.times.speedup("cc", "ll").median
        if self.again:
            found["again"] = _bare(self.again)
        return found


def _bare(times: Times) -> dict[str, Any]:
    return {
        way: {key: value for key, value in line.items() if key not in ("kind", "id", "way")}
        for way, line in times.ways.items()
    }


def long_ones(rows: list[Row]) -> list[Row]:
    """From LONG_BYTES on."""
    return [row for row in rows if shapes.size_of(row.id) >= LONG_BYTES]


def mean_speedup(rows: list[Row]) -> float:
    """Of all of them, geometric."""
    return statistics.geometric_mean(row.times.speedup("ll").median for row in rows)
