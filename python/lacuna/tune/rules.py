# SPDX-License-Identifier: BSD-3-Clause
"""From measured ways to rules: for which messages does packing first win, beyond doubt?"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from lacuna.base.units import size_name
from lacuna.messages import shapes as preload_rows
from lacuna.messages.ratios import Times
from lacuna.messages.shapes import TUNE_SHAPES, Message

# n: derived, by the library alone; l: packed first (or received and then unpacked); c: contiguous.
WAYS = ["nn", "ll", "ln", "nl", "nc", "lc", "cn", "cl"]
# l: by the direct path. The receiver takes whatever comes.
DIRECT_WAYS = ["nn", "ll", "nc", "lc"]

# A side cannot know what the other has. So packing first must win by this, surely, where both have
# a derived type (or, on one side alone, where the other's data is contiguous)...
LEAST_GAIN = 1.05
# ... and in the other case lose no more than what cannot be told from nothing.
MOST_LOSS = 0.97
# The direct path is taken where it is as good as packing first.
_AS_GOOD = 0.95
# Runs are taken for as long as those that were measured up to so much more.
_LONGER = 1.25

Rules = list[list[float | None]]


@dataclass(frozen=True)
class Cell:
    """What wins for messages of one pattern, run length and size."""

    shape: str  # as in preload_rows.TUNE_SHAPES: the same run at all sizes
    pattern: str
    bytes: int  # what the row aims at
    run: float
    sure: tuple[str, ...]  # of ll, ln and nl, the best one first
    # Medians: nn over ll, ln, nl; nc over lc; cn over cl, where the library can do cn.
    speeds: dict[str, float]
    direct: bool = False  # whether the direct path wins
    direct_speeds: dict[str, float] = field(default_factory=dict)  # nn over ll, nc over lc

    def as_json(self) -> dict[str, Any]:
        """For the file."""
        speeds = {way: round(speed, 3) for way, speed in self.speeds.items()}
        direct = {way: round(speed, 3) for way, speed in self.direct_speeds.items()}
        return vars(self) | {"sure": list(self.sure), "speeds": speeds, "direct_speeds": direct}


def messages(sizes: list[int]) -> list[Message]:
    """What is measured."""
    made = [make(shape, size) for shape, make in TUNE_SHAPES.items() for size in sizes]
    return [message for message in made if message]


def judge(times: Times) -> Cell:
    """The pairs of decisions that are sure to win and nowhere to lose.

    What counts is halfway between the median and the lower end of its interval: in doubt, no.
    """
    found = {
        "ll": times.speedup("ll"),
        "ln": times.speedup("ln"),
        "nl": times.speedup("nl"),
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
        preload_rows.size_of(times.id),
        about["mean_run_bytes"],
        sure(careful, medians),
        medians,
    )


def impossible(cells: list[Cell]) -> list[str]:
    """The messages that the library cannot receive where the sender's data is contiguous."""
    return [f"{cell.shape}/{size_name(cell.bytes)}" for cell in cells if "cl" not in cell.speeds]


def with_direct(cell: Cell, times: Times) -> Cell:
    """The cell with what a job with the direct path has shown: whether it is sure to beat the
    library, and what packing first wins, and to lose nothing where the receiver's data has no gaps.
    """
    speed = times.speedup("ll")
    medians = {"ll": speed.median, "lc": times.speedup("lc", "nc").median}
    packed = max((cell.speeds[pair] for pair in cell.sure), default=1.0)
    wins = math.sqrt(speed.low * speed.median) >= max(LEAST_GAIN, _AS_GOOD * packed)
    return replace(cell, direct=wins and medians["lc"] >= MOST_LOSS, direct_speeds=medians)


def sure(careful: dict[str, float], medians: dict[str, float]) -> tuple[str, ...]:
    """Of the pairs ll, ln and nl those to choose from, by the speeds that can be counted on."""
    wins = {way: speed >= LEAST_GAIN for way, speed in careful.items()}
    loses = {way: speed < MOST_LOSS for way, speed in careful.items()}
    if "cl" not in careful:  # nothing to compare it with: a receiver does not pack
        wins["cl"], loses["cl"] = False, True
    chosen = ["ll"] if wins["ll"] and not loses["lc"] and not loses["cl"] else []
    # One side alone: where the other has gaps, too, and where it has none.
    for way, beside_contiguous in (("ln", "lc"), ("nl", "cl")):
        ways = (way, beside_contiguous)
        if any(wins[one] for one in ways) and not any(loses[one] for one in ways):
            chosen.append(way)
    return tuple(sorted(chosen, key=lambda way: -medians[way]))


def rules(cells: list[Cell], direct: bool) -> dict[str, dict[str, Rules]]:
    """For each side and pattern, rules as interpose/policy/table.hpp has them; `direct`: also for
    messages by the direct path."""
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
    """As many lists as `runs_of` gives ends of rules for the cells of two sizes, by shape.

    Between two measured sizes holds what is sure at both; beyond the last, what is there. At a
    measured size itself holds what does below it or above it, whichever is more: both are sure.
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
    """Whether each list of ends [most, least or nothing] leaves no run to the library that the
    other takes."""
    return all(
        most >= other_most and (least or [0])[0] <= (other_least or [0])[0]
        for (most, *least), (other_most, *other_least) in zip(wide, narrow, strict=True)
    )


def _longest_runs(one: dict[str, Cell], other: dict[str, Cell]) -> list[list[float]]:
    """Up to which run either side packs, from the shortest on; no pair that is not sure."""
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
    """From which run to which the direct path wins: of several such spans that with most runs."""
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
    """Neighbours that say the same are one rule."""
    joined: Rules = []
    for most_bytes, *runs in found:
        if joined and joined[-1][1:] == runs:
            joined[-1][0] = most_bytes
        else:
            joined.append([most_bytes, *runs])
    return joined
