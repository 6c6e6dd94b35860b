# SPDX-License-Identifier: BSD-3-Clause
"""What the samples of a message say: ratios of ways that took turns, and how sure they are."""

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
    """`slow` over `fast`, round by round: what disturbs a round disturbs both.

    The interval holds the median with 95 %, by order statistics (no distribution is assumed). Of
    five samples it is all of them, and then 94 %.
    """
    quotients = sorted(one / other for one, other in zip(slow, fast, strict=True))
    below = _below(len(quotients))
    return Ratio(statistics.median(quotients), quotients[below], quotients[-1 - below])


def _below(samples: int) -> int:
    """How many samples may be left out on either side."""
    left_out = -1
    tail = 0.5**samples
    while 2 * tail <= 1 - _SURE:
        left_out += 1
        tail += math.comb(samples, left_out + 1) / 2**samples
    return max(0, left_out)


@dataclass
class Times:
    """A message with all of its ways."""

    about: Line  # the program's line: id, bytes, pattern, mean_run_bytes, ...
    ways: dict[str, Line]

    @property
    def id(self) -> str:
        """shape/size."""
        return self.about["id"]

    def seconds(self, way: str) -> list[float]:
        """One for each round."""
        return self.ways[way]["seconds"]

    def median(self, way: str) -> float:
        """In seconds."""
        return statistics.median(self.seconds(way))

    def speedup(self, way: str, over: str = "nn") -> Ratio:
        """How much faster than `over`."""
        return ratio(self.seconds(over), self.seconds(way))


def collect(lines: list[Line]) -> list[Times]:
    """The messages of one run of the program, in its order."""
    found: dict[str, Times] = {}
    for line in lines:
        if line["kind"] == "row":
            found[line["id"]] = Times(line, {})
        elif line["kind"] == "times":
            found[line["id"]].ways[line["way"]] = line
    return list(found.values())
