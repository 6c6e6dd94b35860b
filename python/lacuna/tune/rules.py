# SPDX-License-Identifier: BSD-3-Clause
"""From times to rules: the messages for which packing first is certainly faster."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from lacuna.base.units import size_name
from lacuna.messages.ratios import Times
from lacuna.messages.shapes import TUNE_SHAPES, Message, size_of

# A letter for the sender, one for the receiver. n: the library handles the derived type; l: lacuna
# packs before sending (or unpacks after receiving); c: the data is contiguous.
WAYS = ["nn", "ll", "ln", "nl", "nc", "lc", "cn", "cl"]
# The same with the direct path switched on: l sends through it; the receiver accepts both.
DIRECT_WAYS = ["nn", "ll", "nc", "lc"]
# Left to the library, with lacuna inside it, which only Open MPI can have.
INSIDE = "ii"

# A side does not know whether the other has a derived type or contiguous data. So packing first
# must be faster by LEAST_GAIN in one case, and in the other no slower than MOST_LOSS (noise).
LEAST_GAIN = 1.05
MOST_LOSS = 0.97
# The direct path is used where it has at least this part of the speed of packing first.
_AS_GOOD = 0.95
# A rule for a measured run length also holds for runs longer by this factor.
_LONGER = 1.25

Rules = list[list[float | None]]


@dataclass(frozen=True)
class Cell:
    """The measured speeds for messages of one pattern, run length and size, and the choices that
    they allow.
    """

    shape: str  # of lacuna.messages.shapes.TUNE_SHAPES: the same run length at all sizes
    pattern: str
    bytes: int  # nominal
    run: float
    sure: tuple[str, ...]  # of ll, ln and nl, the best one first
    # Medians of nn (or INSIDE, if that is faster) over ll, ln, nl; of nc over lc; of cn over cl, if
    # the library can receive cn.
    speeds: dict[str, float]
    direct: bool = False  # whether the direct path wins
    # Of nn (or INSIDE) over ll, nc over lc.
    direct_speeds: dict[str, float] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """For the table's evidence."""
        speeds = {way: round(speed, 3) for way, speed in self.speeds.items()}
        direct = {way: round(speed, 3) for way, speed in self.direct_speeds.items()}
        return vars(self) | {"sure": list(self.sure), "speeds": speeds, "direct_speeds": direct}


def messages(sizes: list[int]) -> list[Message]:
    """The messages to measure at these sizes."""
    made = [make(shape, size) for shape, make in TUNE_SHAPES.items() for size in sizes]
    return [message for message in made if message]


def judge(times: Times) -> Cell:
    """The cell of a message: which choices of sender and receiver are certainly faster, and never
    slower.

    A speedup counts as the geometric mean of its median and the lower end of its confidence
    interval.
    """
    left = _left(times)
    found = {
        "ll": times.speedup("ll", left),
        "ln": times.speedup("ln", left),
        "nl": times.speedup("nl", left),
        "lc": times.speedup("lc", "nc"),
    }
    if "cn" in times.ways:
        found["cl"] = times.speedup("cl", "cn")
    medians = {way: speed.median for way, speed in found.items()}
    careful = {way: math.sqrt(speed.low * speed.median) for way, speed in found.items()}
    about = times.about
    return Cell(
        times.id.partition("/")[0],
        about["pattern"],
        size_of(times.id),
        about["mean_run_bytes"],
        sure(careful, medians),
        medians,
    )


def _left(times: Times) -> str:
    """The way of a message that is left to the library."""
    is_faster = INSIDE in times.ways and times.median(INSIDE) < times.median("nn")
    return INSIDE if is_faster else "nn"


def impossible(cells: list[Cell]) -> list[str]:
    """The messages that the library cannot receive where the sender's data is contiguous."""
    return [f"{cell.shape}/{size_name(cell.bytes)}" for cell in cells if "cl" not in cell.speeds]


def with_direct(cell: Cell, times: Times) -> Cell:
    """The cell, completed by a job with the direct path: whether that is certainly faster than the
    library, about as fast as packing first, and not slower where the receiver's data has no gaps.
    """
    speed = times.speedup("ll", _left(times))
    medians = {"ll": speed.median, "lc": times.speedup("lc", "nc").median}
    packed = max((cell.speeds[pair] for pair in cell.sure), default=1.0)
    wins = math.sqrt(speed.low * speed.median) >= max(LEAST_GAIN, _AS_GOOD * packed)
    return replace(cell, direct=wins and medians["lc"] >= MOST_LOSS, direct_speeds=medians)


def sure(careful: dict[str, float], medians: dict[str, float]) -> tuple[str, ...]:
    """The choices of ll, ln and nl that are certainly faster, the best first. `careful`: speedups
    at the lower end.
    """
    wins = {way: speed >= LEAST_GAIN for way, speed in careful.items()}
    loses = {way: speed < MOST_LOSS for way, speed in careful.items()}
    if "cl" not in careful:  # nothing to compare with, so a receiver does not unpack itself
        wins["cl"], loses["cl"] = False, True
    chosen = ["ll"] if wins["ll"] and not loses["lc"] and not loses["cl"] else []
    # One side alone: the other's data has gaps (first way), or is contiguous (second way).
    for way, beside_contiguous in (("ln", "lc"), ("nl", "cl")):
        ways = (way, beside_contiguous)
        if any(wins[one] for one in ways) and not any(loses[one] for one in ways):
            chosen.append(way)
    return tuple(sorted(chosen, key=lambda way: -medians[way]))


def rules(cells: list[Cell], direct: bool) -> dict[str, dict[str, Rules]]:
    """Rules for each side and pattern, as interpose/policy/table.hpp explains them. `direct`: also
    for messages through the direct path.
    """
    book: dict[str, dict[str, Rules]] = {"send": {}, "receive": {}}
    if direct:
        book["direct"] = {}
    for pattern in ("strided", "listed", "fields", "transposed", "pieces"):
        chosen = [cell for cell in cells if cell.pattern == pattern]
        book["send"][pattern], book["receive"][pattern] = _rules(chosen, _longest_runs, 2)
        if direct:
            [book["direct"][pattern]] = _rules(chosen, _direct_runs, 1)
    return book


def _rules(
    cells: list[Cell],
    runs_of: Callable[[dict[str, Cell], dict[str, Cell]], list[list[float]]],
    lists: int,
) -> list[Rules]:
    """As many lists of rules as `runs_of` returns run limits for two neighbouring sizes.

    Between two measured sizes a choice must be certain at both; beyond the last size, at the last.
    At a measured size itself the wider of the two neighbouring rules holds, since both are certain
    there.
    """
    by_size: dict[int, dict[str, Cell]] = defaultdict(dict)
    for cell in cells:
        by_size[cell.bytes][cell.shape] = cell
    sizes = sorted(by_size)
    found: list[Rules] = [[] for _ in range(lists)]
    if not sizes:
        return [[[None, 0]] for _ in found]
    spans = list(zip([sizes[0], *sizes], [*sizes, sizes[-1]], strict=True))
    ends = [runs_of(by_size[before], by_size[size]) for before, size in spans]
    for at, (before, size) in enumerate(spans):
        is_last = at > 0 and before == size
        of_next = not is_last and at > 0 and _covers(ends[at + 1], ends[at])
        most_bytes = None if is_last else size - 1 if of_next else size
        for rules_of_one, end in zip(found, ends[at], strict=True):
            rules_of_one.append([most_bytes, *end])
    return [_joined(rules_of_one) for rules_of_one in found]


def _covers(wide: list[list[float]], narrow: list[list[float]]) -> bool:
    """Whether the run limits `wide` ([most, least or nothing] in each list) include the limits
    `narrow`.
    """
    return all(
        most >= other_most and (least or [0])[0] <= (other_least or [0])[0]
        for (most, *least), (other_most, *other_least) in zip(wide, narrow, strict=True)
    )


def _longest_runs(one: dict[str, Cell], other: dict[str, Cell]) -> list[list[float]]:
    """For sender and receiver: the longest run that is packed first, going up from the shortest as
    long as a choice is certain.
    """
    longest = [0.0, 0.0]
    packs = [True, True]
    for run in sorted({cell.run for cell in other.values()}):
        shapes = [shape for shape, cell in other.items() if cell.run == run]
        if not all(shape in one for shape in shapes):
            break
        cells = [known[shape] for known in (one, other) for shape in shapes]
        pairs = [
            pair
            for pair in cells[-1].sure
            if all(pair in cell.sure for cell in cells)
            and all(may or letter == "n" for may, letter in zip(packs, pair, strict=True))
        ]
        if not pairs:
            break
        for side, letter in enumerate(pairs[0]):
            packs[side] = letter == "l"
            if packs[side]:
                longest[side] = round(run * _LONGER, 1)
    return [[run] for run in longest]


def _direct_runs(one: dict[str, Cell], other: dict[str, Cell]) -> list[list[float]]:
    """The longest and the shortest run for which the direct path is faster; of several such spans
    the one with most measured runs.
    """
    best: list[float] = []
    span: list[float] = []
    for run in sorted({cell.run for cell in other.values()}):
        shapes = [shape for shape, cell in other.items() if cell.run == run]
        wins = all(shape in one and one[shape].direct and other[shape].direct for shape in shapes)
        span = [*span, run] if wins else []
        best = max(best, span, key=len)
    if not best:
        return [[0.0]]
    shortest = min(cell.run for cell in other.values())
    least = [round(best[0] / _LONGER, 1)] if best[0] > shortest else []
    return [[round(best[-1] * _LONGER, 1), *least]]


def _joined(found: Rules) -> Rules:
    """The rules, with equal neighbours joined."""
    joined: Rules = []
    for most_bytes, *runs in found:
        if joined and joined[-1][1:] == runs:
            joined[-1][0] = most_bytes
        else:
            joined.append([most_bytes, *runs])
    return joined
