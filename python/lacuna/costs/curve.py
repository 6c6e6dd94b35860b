# SPDX-License-Identifier: BSD-3-Clause
"""The time over message size: estimates for each size, and the straight pieces of the curve.

`Samples` are seconds by size, one for each round; all sizes are timed in every round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Samples = dict[int, list[float]]
Floats = NDArray[np.float64]

_LEAST_SPREAD = 0.003  # relative: the standard error of a median is at least this
_LEAST_POINTS = 3  # in a piece
_BREAK_PRICE = 30.0  # squared errors that a further piece must save; well above 3 ln(n)


@dataclass(frozen=True)
class Curve:
    """Sizes in bytes, ascending; the time of each in seconds; and its standard error."""

    sizes: Floats
    seconds: Floats
    errors: Floats

    def part(self, begin: int, end: int) -> Curve:
        """The points [begin, end)."""
        return Curve(self.sizes[begin:end], self.seconds[begin:end], self.errors[begin:end])

    def between(self, low: float, high: float) -> Curve:
        """The points with low <= size <= high."""
        inside = (self.sizes >= low) & (self.sizes <= high)
        return Curve(self.sizes[inside], self.seconds[inside], self.errors[inside])

    def __len__(self) -> int:
        return len(self.sizes)


@dataclass(frozen=True)
class Line:
    """seconds = at_s + per_byte_s * (size - center), with the covariance of both."""

    center: float
    at_s: float
    per_byte_s: float
    at_variance: float
    per_byte_variance: float
    squares: float  # the sum of squared errors, in units of the expected variance

    def value(self, size: float) -> float:
        """The time at a size."""
        return self.at_s + self.per_byte_s * (size - self.center)

    def error(self, size: float) -> float:
        """The standard error of the time at a size."""
        variance = self.at_variance + self.per_byte_variance * (size - self.center) ** 2
        return float(np.sqrt(variance))

    @property
    def start_s(self) -> float:
        """The time of an empty message."""
        return self.value(0)


def curve(samples: Samples) -> Curve:
    """Medians over rounds. A factor by which a whole round was slower is divided out first."""
    sizes = sorted(samples)
    rounds = min(len(samples[size]) for size in sizes)
    table = np.array([samples[size][:rounds] for size in sizes], dtype=np.float64)
    usual = np.median(table, axis=1, keepdims=True)
    table = table / np.median(table / usual, axis=0, keepdims=True)
    seconds = np.median(table, axis=1)
    spread = 1.4826 * np.median(np.abs(table - seconds[:, None]), axis=1)
    own = 1.2533 * spread / np.sqrt(rounds) / seconds
    made = Curve(np.array(sizes, dtype=np.float64), seconds, seconds)
    # Some differences between sizes (the alignment of buffers) do not average out over rounds.
    common = max(_LEAST_SPREAD, _roughness(made), float(np.median(own)))
    return Curve(made.sizes, seconds, seconds * np.maximum(own, common))


def _roughness(of: Curve) -> float:
    """The relative difference between the time of a size and the line through its two neighbours,
    as a standard deviation. From the median of all sizes, so that few steps do not change it.
    """
    if len(of) < 5:
        return 0.0
    x, y = of.sizes, of.seconds
    share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    expected = y[:-2] + share * (y[2:] - y[:-2])
    # A difference has the variance of 1 + (1-share)^2 + share^2 points.
    weight = np.sqrt(1 + (1 - share) ** 2 + share**2)
    return float(1.4826 * np.median(np.abs(y[1:-1] - expected) / weight / y[1:-1]))


def fit(points: Curve) -> Line:
    """The straight line through the points by weighted least squares."""
    weights = 1 / points.errors**2
    total = weights.sum()
    center = float((weights * points.sizes).sum() / total)
    offsets = points.sizes - center
    squares = float((weights * offsets**2).sum())
    at = float((weights * points.seconds).sum() / total)
    slope = float((weights * offsets * points.seconds).sum() / squares) if squares > 0 else 0.0
    left = (points.seconds - at - slope * offsets) / points.errors
    per_byte = 1 / squares if squares > 0 else 0.0
    return Line(center, at, slope, float(1 / total), per_byte, float((left**2).sum()))


def breaks(points: Curve) -> list[int]:
    """The indices at which a new straight piece begins: those with the least squared errors, where
    each further piece costs _BREAK_PRICE. Exact, by dynamic programming: O(n^2) time and memory.
    """
    count = len(points)
    costs = _costs(points)
    best = np.full(count + 1, np.inf)
    best[0] = -_BREAK_PRICE
    came_from = np.zeros(count + 1, dtype=int)
    for end in range(_LEAST_POINTS, count + 1):
        starts = np.arange(0, end - _LEAST_POINTS + 1)
        totals = best[starts] + costs[starts, end] + _BREAK_PRICE
        at = int(np.argmin(totals))
        best[end], came_from[end] = totals[at], starts[at]
    found, at = [], count
    while at > 0 and came_from[at] > 0:
        at = int(came_from[at])
        found.append(at)
    return found[::-1]


def _costs(points: Curve) -> Floats:
    """Element [i, j]: the squared errors of a line through the points [i, j)."""
    w = 1 / points.errors**2
    x = points.sizes / points.sizes[-1]
    y = points.seconds / np.median(points.seconds)
    scale = np.median(points.seconds) ** 2
    sums = [np.concatenate(([0.0], np.cumsum(w * v))) for v in (1, x, y, x * x, x * y, y * y)]
    i, j = np.meshgrid(np.arange(len(x) + 1), np.arange(len(x) + 1), indexing="ij")
    s, sx, sy, sxx, sxy, syy = (sum_[j] - sum_[i] for sum_ in sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        vx = sxx - sx * sx / s
        vxy = sxy - sx * sy / s
        costs = syy - sy * sy / s - np.where(vx > 0, vxy * vxy / vx, 0)
    costs = np.where(j - i >= _LEAST_POINTS, np.maximum(costs, 0) * scale, np.inf)
    return costs
