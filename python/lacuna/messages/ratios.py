# SPDX-License-Identifier: BSD-3-Clause
"""Ratios of times from interleaved samples, with confidence intervals."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import Any

Line = dict[str, Any]

_SURE = 0.95


@dataclass(frozen=True)
class Ratio:
    """Time of one way over that of another: the median over rounds, and an interval around it."""

    median: float
    low: float
    high: float


def ratio(slow: list[float], fast: list[float]) -> Ratio:
    """`slow` over `fast`, round by round, since a disturbance of a round affects both.

    The interval holds the median with a probability of 95 %, by order statistics (no distribution
    is assumed). With five samples it is their whole range, and the probability 94 %.
    """
    quotients = sorted(one / other for one, other in zip(slow, fast, strict=True))
    below = _below(len(quotients))
    return Ratio(statistics.median(quotients), quotients[below], quotients[-1 - below])


def _below(samples: int) -> int:
    """The number of samples that the interval leaves out on either side."""
    left_out = -1
    tail = 0.5**samples
    while 2 * tail <= 1 - _SURE:
        left_out += 1
        tail += math.comb(samples, left_out + 1) / 2**samples
    return max(0, left_out)


@dataclass
class Times:
    """A message with the times of all of its ways."""

    about: Line  # the program's line: id, bytes, pattern, mean_run_bytes, ...
    ways: dict[str, Line]

    @property
    def id(self) -> str:
        """The message's name: shape/size."""
        return self.about["id"]

    def seconds(self, way: str) -> list[float]:
        """The samples of a way in seconds, one for each round."""
        return self.ways[way]["seconds"]

    def median(self, way: str) -> float:
        """The median time of a way, in seconds."""
        return statistics.median(self.seconds(way))

    def speedup(self, way: str, over: str = "nn") -> Ratio:
        """How many times as fast a way is as `over` (default: the library alone)."""
        return ratio(self.seconds(over), self.seconds(way))


def collect(lines: list[Line]) -> list[Times]:
    """The messages of one run of the program, in the order in which it wrote them."""
    found: dict[str, Times] = {}
    for line in lines:
        if line["kind"] == "row":
            found[line["id"]] = Times(line, {})
        elif line["kind"] == "times":
            found[line["id"]].ways[line["way"]] = line
    return list(found.values())
