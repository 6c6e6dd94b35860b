# SPDX-License-Identifier: BSD-3-Clause
"""A message or a collective of `lacuna bench preload`, and whether lacuna makes it slower."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

from lacuna.messages import shapes
from lacuna.messages.ratios import Times

LEAST_SPEED = 0.95  # a row is slower if its speedup is below this, beyond noise
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
        """The name: shape/size."""
        return self.times.id

    @property
    def has_gaps(self) -> bool:
        """Whether the data have gaps: else lacuna has nothing to do."""
        return not self.times.about["contiguous"]

    @property
    def seems_slower(self) -> bool:
        """Whether the first job says slower, beyond the noise of its rounds."""
        return self.times.speedup("ll").high < LEAST_SPEED

    @property
    def is_slower(self) -> bool:
        """Whether both jobs say slower, each beyond the noise of its rounds."""
        return self.seems_slower and (
            self.again is None or self.again.speedup("ll").high < LEAST_SPEED
        )

    @property
    def same_seems_slower(self) -> bool:
        """Whether the same rule finds nn slower than nn: a false alarm."""
        return self.times.speedup("nn*").high < LEAST_SPEED

    def as_json(self) -> dict[str, Any]:
        """For the result file, with the raw samples."""
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
    """The rows from LONG_BYTES on."""
    return [row for row in rows if shapes.size_of(row.id) >= LONG_BYTES]


def mean_speedup(rows: list[Row]) -> float:
    """The geometric mean of the speedups."""
    return statistics.geometric_mean(row.times.speedup("ll").median for row in rows)
