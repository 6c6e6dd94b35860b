# SPDX-License-Identifier: BSD-3-Clause
"""Finds thresholds, cells and copies of an MPI library, from times over message size alone.

The method of Byna, Cameron and Sun (2003): sweep the sizes and look for the largest gaps between
successive values after allowing for variation. A gap is the distance between the straight lines on
its two sides. Where one is seen, sizes around it are measured more finely until both sides are
close. More: docs/internals/costs.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from lacuna.costs import cells as costs_cells
from lacuna.costs.cells import Cells, Cut, without
from lacuna.costs.curve import Curve, Line, Samples, breaks, curve, fit

# Measures the given sizes, all in the same rounds.
Measure = Callable[[list[int]], Samples]

_PER_OCTAVE = 6
_LEAST_STEP = 0.035  # of the time: smaller steps are not reported
_LEAST_BEND = 1.25  # ratio of the times per byte on the two sides
_SURE = 5.0  # standard errors
_CLOSE = 1 / 100  # relative distance of a threshold's two sides at which the search ends
_CLOSE_BYTES = 4
_INSIDE = 9  # sizes measured between the two sides
_OUTSIDE = 6  # sizes measured beyond either side, for the lines
_REACH = 1.7  # the lines use sizes up to this factor away
_ROUNDS_CLOSER = 4


@dataclass(frozen=True)
class Threshold:
    """A size at which the time changes: by a step (`step_s`), or in its time per byte (a bend)."""

    kind: str  # "step" or "bend"
    below: int  # the largest size known to be before the change
    above: int  # the smallest size known to be after it
    step_s: float
    error_s: float
    seconds: float  # the time just below the threshold
    per_byte_before_s: float
    per_byte_after_s: float
    confidence: float

    def holds(self, size: int) -> bool:
        """Whether the change takes place just above `size`, within the precision of the search."""
        margin = max(_CLOSE_BYTES, _CLOSE * size)
        return self.below - margin <= size <= self.above + margin


@dataclass
class Found:
    """The thresholds and cells of a sweep, and the curve in which they were found."""

    thresholds: list[Threshold]
    cells: list[Cells]
    curve: Curve
    looks: list[Curve] = field(default_factory=list)  # sweeps of close sizes

    @property
    def steps(self) -> list[Threshold]:
        """The thresholds where the time jumps."""
        return [one for one in self.thresholds if one.kind == "step"]


def sweep_sizes(least: int, most: int, per_octave: int = _PER_OCTAVE) -> list[int]:
    """Sizes from `least` to `most` at even distances of their logarithm."""
    count = round(math.log2(most / least) * per_octave)
    return sorted({round(least * (most / least) ** (i / count)) for i in range(count + 1)})


def find(measure: Measure, least: int = 64, most: int = 4 << 20) -> Found:
    """Finds the thresholds and cells of the transport whose times `measure` returns. Calls it
    several times: the first results decide which sizes are measured next.
    """
    whole = curve(measure(sweep_sizes(least, most)))
    found = Found([], [], whole)
    first = _thresholds(measure, whole, [], [])
    cuts = [Cut(one.below, one.above, one.step_s if one.kind == "step" else 0.0) for one in first]
    found.cells = costs_cells.find(measure, cuts, least, most)
    found.thresholds = _thresholds(measure, whole, found.cells, found.looks)
    return found


def _thresholds(
    measure: Measure, whole: Curve, cells: list[Cells], looks: list[Curve]
) -> list[Threshold]:
    """The thresholds that are not steps of cells, each measured again at close sizes."""
    flat = without(whole, cells)
    cuts = breaks(flat)
    edges = [0, *cuts, len(flat)]
    found = []
    for index, cut in enumerate(cuts):
        left, right = flat.part(edges[index], cut), flat.part(cut, edges[index + 2])
        threshold = _look_closer(measure, left, right, cells, looks)
        if threshold:
            found.append(threshold)
    return _once(found, cells)


def _look_closer(
    measure: Measure, left: Curve, right: Curve, cells: list[Cells], looks: list[Curve]
) -> Threshold | None:
    """Measures sizes between two straight pieces until the threshold is narrow, and classifies it;
    None: there is none.
    """
    low, high = float(left.sizes[-1]), float(right.sizes[0])
    # The lines use only sizes of these two pieces: beyond are other gaps.
    first = max(float(left.sizes[0]), low / _REACH)
    last = min(float(right.sizes[-1]), high * _REACH)
    line_left, line_right = fit(left), fit(right)
    for _ in range(_ROUNDS_CLOSER):
        inside = [round(low + (high - low) * i / (_INSIDE + 1)) for i in range(_INSIDE + 2)]
        outside = [
            *(round(first + (low - first) * i / _OUTSIDE) for i in range(_OUTSIDE)),
            *(round(high + (last - high) * (i + 1) / _OUTSIDE) for i in range(_OUTSIDE)),
        ]
        look = without(curve(measure(sorted({*inside, *outside}))), cells)
        looks.append(look)
        cut = _best_cut(look, low, high)
        line_left, line_right = fit(look.part(0, cut)), fit(look.part(cut, len(look)))
        low, high = float(look.sizes[cut - 1]), float(look.sizes[cut])
        if high - low <= max(_CLOSE_BYTES, _CLOSE * low):
            break
    return _judge(line_left, line_right, low, high, len(looks[-1]))


def _best_cut(look: Curve, low: float, high: float) -> int:
    """The cut within [low, high] with the least squared errors of the lines on its two sides."""
    cuts = [
        cut
        for cut in range(3, len(look) - 2)
        if low <= look.sizes[cut - 1] and look.sizes[cut] <= high
    ]
    return min(
        cuts,
        key=lambda cut: fit(look.part(0, cut)).squares + fit(look.part(cut, len(look))).squares,
    )


def _judge(left: Line, right: Line, low: float, high: float, points: int) -> Threshold | None:
    middle = (low + high) / 2
    before = left.value(middle)
    step = right.value(middle) - before
    # Lines that fit worse than expected have a larger error.
    worse = math.sqrt(max(1.0, (left.squares + right.squares) / max(points - 4, 1)))
    error = worse * math.hypot(left.error(middle), right.error(middle))
    is_step = abs(step) > max(_SURE * error, _LEAST_STEP * abs(before))
    slope_error = worse * math.sqrt(left.per_byte_variance + right.per_byte_variance)
    bend = right.per_byte_s - left.per_byte_s
    smaller = min(abs(left.per_byte_s), abs(right.per_byte_s))
    larger = max(abs(left.per_byte_s), abs(right.per_byte_s))
    is_bend = abs(bend) > _SURE * slope_error and larger > _LEAST_BEND * smaller
    if not is_step and not is_bend:
        return None
    errors = abs(step) / error if is_step else abs(bend) / slope_error
    return Threshold(
        "step" if is_step else "bend",
        math.floor(low),
        math.ceil(high),
        step,
        error,
        before,
        left.per_byte_s,
        right.per_byte_s,
        confidence(errors, points),
    )


def confidence(errors: float, looks: int) -> float:
    """The probability that a difference of so many standard errors is no accident, if `looks`
    places were searched.
    """
    # The tails of medians on a busy machine are longer than those of a normal distribution.
    tail = min(math.erfc(errors / 2 / math.sqrt(2)), 1.0)
    return round(max(0.0, 1 - looks * tail / 10), 3)


def _once(thresholds: list[Threshold], cells: list[Cells]) -> list[Threshold]:
    """Drops thresholds that cells explain, and bends beside a step."""
    kept: list[Threshold] = []
    for one in sorted(thresholds, key=lambda one: (one.kind != "step", -abs(one.step_s))):
        size = (one.below + one.above) / 2
        is_cell = any(cell.explains(one.below, one.above, one.step_s) for cell in cells)
        is_near = any(abs(math.log2(size * 2 / (k.below + k.above))) < 0.3 for k in kept)
        if not is_cell and not is_near:
            kept.append(one)
    return sorted(kept, key=lambda one: one.below)


def copies(message: Curve, memcpy: Curve, low: float, high: float) -> tuple[float, float] | None:
    """The number of times that a message's bytes are copied one after the other, and its standard
    error: the message's time per byte over memcpy's, for sizes of [low, high]. None: too few sizes.
    """
    one, other = message.between(low, high), memcpy.between(low, high)
    if len(one) < 4 or len(other) < 4:
        return None
    sent, copied = fit(one), fit(other)
    if sent.per_byte_s <= 0 or copied.per_byte_s <= 0:
        return None
    ratio = sent.per_byte_s / copied.per_byte_s
    scatter = [
        math.sqrt(line.per_byte_variance * max(1.0, line.squares / max(len(points) - 2, 1)))
        / line.per_byte_s
        for line, points in ((sent, one), (copied, other))
    ]
    return ratio, float(ratio * np.hypot(*scatter))
