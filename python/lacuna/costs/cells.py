# SPDX-License-Identifier: BSD-3-Clause
"""Cells: buffers of a fixed size into which a library cuts a message. Each further cell adds the
same time, so the time over message size is a staircase.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lacuna.costs.curve import Curve, Floats, Samples, curve

_POINTS = 120  # sizes of a range, evenly
_RANGES = 3
_PER_RANGE = 6  # the largest size of a range over that of the one before
_STEPS_AT_LEAST = 3  # in a range
_SIZES_PER_STEP = 4.5
_PHASES = 16
_PERIODS = 140
_SHUFFLES = 99
_BETTER = 2.0  # times as good as the best fit to shuffled data
_LEAST_STEP = 0.012  # of the mean time of the range
_LEAST_SHARE = 0.3  # of the variance around a straight line
_MULTIPLES = 6  # multiples of a period at which its step may be mistaken for a threshold
_NEAR = 0.05  # of the size
_KNOTS = (0.2, 0.5)  # places in a range at which caches may bend the line
_AS_GOOD = 0.97
_ALIKE = 1.7  # steps that differ by up to this factor count as equal
_MUCH_BETTER = 0.8  # the squared errors must be below this share of the others'


@dataclass(frozen=True)
class Cut:
    """A threshold that is already known: after size `low`, before size `high`."""

    low: float
    high: float
    step_s: float  # 0: only the slope changes


@dataclass(frozen=True)
class Cells:
    """A staircase: the time grows by `step_s` every `bytes` bytes, from size `first` on."""

    bytes: int
    first: int  # the last size before the first step, if the staircase began at size 0
    low: int  # the staircase was seen in sizes [low, high]
    high: int
    step_s: float
    share: float  # of the variance around a straight line that the staircase explains
    confidence: float

    def steps(self, sizes: Floats) -> Floats:
        """The number of steps below each size."""
        return np.maximum(np.ceil((sizes - self.first) / self.bytes), 0)

    def explains(self, low: float, high: float, step_s: float) -> bool:
        """Whether a step between two sizes is one of the staircase's."""
        if abs(step_s) >= _ALIKE * self.step_s:
            return False
        return _is_multiple(low, high, self.bytes, self.first % self.bytes)


def _is_multiple(low: float, high: float, period: float, phase: float = 0.0) -> bool:
    """Whether one of the first multiples of a period lies between two sizes."""
    turns = round(((low + high) / 2 - phase) / period)
    step = phase + turns * period
    return 1 <= turns <= _MULTIPLES and low * (1 - _NEAR) <= step <= high * (1 + _NEAR)


def find(
    measure: Callable[[list[int]], Samples], cuts: list[Cut], least: int, most: int
) -> list[Cells]:
    """Searches for staircases in ranges of size, each larger than the one before."""
    found: list[Cells] = []
    high = most / 4 / _PER_RANGE ** (_RANGES - 1)
    for _ in range(_RANGES):
        low = max(high / 16, float(least))
        if high / low > _PER_RANGE:
            one = _in_range(without(curve(measure(_even(low, high))), found), cuts)
            if one and not any(0.6 < one.bytes / known.bytes < 1.7 for known in found):
                found.append(one)
        high *= _PER_RANGE
    return found


def without(points: Curve, cells: list[Cells]) -> Curve:
    """The curve without the time that the cells add."""
    seconds = points.seconds.copy()
    for one in cells:
        seconds -= one.step_s * one.steps(points.sizes)
    return Curve(points.sizes, seconds, points.errors)


def _even(low: float, high: float) -> list[int]:
    """Sizes at even distances with a little jitter, so that no step can hide between them."""
    jitter = np.random.default_rng(1).uniform(-0.3, 0.3, _POINTS)
    step = (high - low) / (_POINTS - 1)
    return sorted({round(low + step * (i + j)) for i, j in enumerate(jitter)})


def _in_range(points: Curve, cuts: list[Cut]) -> Cells | None:
    """The staircase that explains most of the range; None: there is none."""
    within = [cut for cut in cuts if points.sizes[0] < cut.low and cut.high < points.sizes[-1]]
    keep = np.ones(len(points), dtype=bool)
    for cut in within:
        keep &= (points.sizes <= cut.low) | (points.sizes >= cut.high)
    points = Curve(points.sizes[keep], points.seconds[keep], points.errors[keep])
    width = points.sizes[-1] - points.sizes[0]
    periods = np.geomspace(width / _POINTS * _SIZES_PER_STEP, width / _STEPS_AT_LEAST, _PERIODS)
    # A threshold at a multiple of a period may be a step of the staircase: it is not subtracted.
    others = {
        period: tuple(
            cut for cut in within if not (cut.step_s and _is_multiple(cut.low, cut.high, period))
        )
        for period in periods
    }
    found = []
    for group in dict.fromkeys(others.values()):
        same = [period for period in periods if others[period] == group]
        one = _clearest(points, same, group)
        if one and _is_better_than(points, one, group, [c for c in within if c not in group]):
            found.append(one)
    return max(found, key=lambda one: one.share, default=None)


def _is_better_than(points: Curve, one: Cells, group: tuple[Cut, ...], rest: list[Cut]) -> bool:
    """Whether the cells explain more than the thresholds for which their steps could be
    mistaken.
    """
    if not rest:
        return True
    alike = [cut for cut in rest if one.step_s / _ALIKE < cut.step_s < _ALIKE * one.step_s]
    seconds = points.seconds - one.step_s * one.steps(points.sizes)
    stairs = _unexplained(Curve(points.sizes, seconds, points.errors), group)
    cuts = _unexplained(points, (*group, *rest))
    return stairs < cuts * (1 if len(alike) > 1 else _MUCH_BETTER)


def _unexplained(points: Curve, cuts: tuple[Cut, ...]) -> float:
    """The squared errors of a straight line with the thresholds."""
    weights = 1 / points.errors
    left = _outside(points.seconds * weights, _nuisance(points.sizes, weights, cuts))
    return float((left**2).sum())


def _nuisance(x: Floats, weights: Floats, cuts: tuple[Cut, ...]) -> Floats:
    """An orthonormal basis of what is not a staircase: a line that bends a little, and a step and a
    bend for each threshold.
    """
    columns = [np.ones_like(x), x / x[-1]]
    columns += [np.maximum(x - knot * x[-1], 0) / x[-1] for knot in _KNOTS]
    for cut in cuts:
        columns += [(x > cut.low) * 1.0, np.maximum(x - cut.low, 0) / x[-1]]
    return np.linalg.qr(np.array([column * weights for column in columns]).T)[0]


def _clearest(points: Curve, periods: list[float], cuts: tuple[Cut, ...]) -> Cells | None:
    x, weights = points.sizes, 1 / points.errors
    others = _nuisance(x, weights, cuts)
    left = _outside(points.seconds * weights, others)
    if not left.any():
        return None
    grid = [(period, phase / _PHASES) for period in periods for phase in range(_PHASES)]
    shapes = np.array([_outside(_stairs(x, *one) * weights, others) for one in grid])
    lengths = np.sqrt((shapes**2).sum(axis=1))
    shapes /= np.where(lengths > 0, lengths, np.inf)[:, None]
    random = np.random.default_rng(2)
    shuffled = np.array([random.permutation(left) for _ in range(_SHUFFLES)]).T
    by_chance = float((shapes @ shuffled).max())
    best = int(np.argmax(shapes @ left))
    period, phase, gain = _finer(x, weights, others, left, *grid[best])
    shape = _outside(_stairs(x, period, phase) * weights, others)
    step = gain / float(np.sqrt((shape**2).sum()))
    share = gain**2 / float((left**2).sum())
    is_large = step > _LEAST_STEP * float(np.mean(points.seconds))
    if gain < _BETTER * by_chance or not is_large or share < _LEAST_SHARE:
        return None
    # Within half a period of where the first cell ends if they begin with the first byte.
    first = (phase - round(phase) + 1) * period
    sure = 1 - (by_chance / gain) ** 2
    low, high = round(x[0]), round(x[-1])
    return Cells(round(period), round(first), low, high, float(step), share, round(sure, 3))


def _stairs(x: Floats, period: float, phase: float) -> Floats:
    """A staircase with steps at phase, phase + 1, ... times the period."""
    return np.ceil(x / period - phase)


def _outside(values: Floats, others: Floats) -> Floats:
    """The part of `values` that is orthogonal to the basis `others`."""
    return values - others @ (others.T @ values)


def _finer(
    x: Floats, weights: Floats, others: Floats, left: Floats, period: float, phase: float
) -> tuple[float, float, float]:
    """The best period and phase near a point of the grid, and how much they explain."""
    best = (-math.inf, period, phase)
    # Cells that begin with the first byte, where they explain as much.
    for one in period * (1 + np.linspace(-0.1, 0.1, 201)):
        best = max(best, (_gain(_stairs(x, one, 0.0) * weights, others, left), float(one), 0.0))
    if best[0] > _AS_GOOD * _gain(_stairs(x, period, phase) * weights, others, left):
        return best[1], best[2], best[0]
    best = (-math.inf, period, phase)
    for width in (0.03, 0.008, 0.002):
        _, period, phase = best
        for one in period * (1 + np.linspace(-width, width, 13)):
            for other in phase + np.linspace(-30 * width, 30 * width, 25) / 8:
                gain = _gain(_stairs(x, one, other) * weights, others, left)
                best = max(best, (gain, float(one), float(other)))
    return best[1], best[2], best[0]


def _gain(shape: Floats, others: Floats, left: Floats) -> float:
    """How much of the rest `left` a shape explains."""
    shape = _outside(shape, others)
    length = float(np.sqrt((shape**2).sum()))
    return float(shape @ left) / length if length > 0 else -math.inf
