# SPDX-License-Identifier: BSD-3-Clause
"""From measured ways to rules: for which messages does packing first win, beyond doubt?"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from lacuna import preload_rows
from lacuna.preload_rows import TUNE_SHAPES, Message
from lacuna.preload_times import Times

# n: derived, by the library alone; l: packed first (or received and then unpacked); c: contiguous.
WAYS = ["nn", "ll", "ln", "nl", "nc", "lc", "cn", "cl"]

# A side cannot know what the other has. So packing first must win by this, surely, where both have
# a derived type (or, on one side alone, where the other's data is contiguous)...
LEAST_GAIN = 1.05
# ... and in the other case lose no more than what cannot be told from nothing.
MOST_LOSS = 0.97
# Runs are taken for as long as those that were measured up to so much more.
_LONGER = 1.25

Rules = list[list[float | None]]


@dataclass(frozen=True)
class Cell:
    """What is best for messages of one pattern, run length and size."""

    pattern: str
    bytes: int  # what the row aims at
    run: float
    send: bool  # pack first
    receive: bool  # unpack last
    speeds: dict[str, float]  # medians: nn over ll, ln, nl; nc over lc; cn over cl

    def as_json(self) -> dict[str, Any]:
        """For the file."""
        return {
            "pattern": self.pattern,
            "bytes": self.bytes,
            "run": self.run,
            "send": self.send,
            "receive": self.receive,
            "speeds": {way: round(speed, 3) for way, speed in self.speeds.items()},
        }


def messages(sizes: list[int]) -> list[Message]:
    """What is measured."""
    made = [make(shape, size) for shape, make in TUNE_SHAPES.items() for size in sizes]
    return [message for message in made if message]


def judge(times: Times) -> Cell:
    """The pair of decisions that wins most, of those that are sure to win and nowhere to lose.

    What counts is halfway between the median and the lower end of its interval: in doubt, no.
    """
    found = {
        "ll": times.speedup("ll"),
        "ln": times.speedup("ln"),
        "nl": times.speedup("nl"),
        "lc": times.speedup("lc", "nc"),
        "cl": times.speedup("cl", "cn"),
    }
    alone = {"ln": "lc", "nl": "cl"}  # the same decision, where the other side is contiguous
    careful = {way: math.sqrt(speed.low * speed.median) for way, speed in found.items()}
    wins = {way: speed >= LEAST_GAIN for way, speed in careful.items()}
    loses = {way: speed < MOST_LOSS for way, speed in careful.items()}
    sure = [way for way in alone if wins[way] and not loses[alone[way]]]
    sure += [way for way in alone if wins[alone[way]] and not loses[way]]
    if wins["ll"] and not loses["lc"] and not loses["cl"]:
        sure.append("ll")
    best = max(sure, key=lambda way: found[way].median, default="nn")
    return Cell(
        times.about["pattern"],
        preload_rows.size_of(times.id),
        times.about["mean_run_bytes"],
        best[0] == "l",
        best[1] == "l",
        {way: ratio.median for way, ratio in found.items()},
    )


def rules(cells: list[Cell]) -> dict[str, dict[str, Rules]]:
    """For each side and pattern, rules as interpose/table.hpp has them."""
    return {
        side: {
            pattern: _rules(
                {
                    (cell.bytes, cell.run): getattr(cell, side)
                    for cell in cells
                    if cell.pattern == pattern
                }
            )
            for pattern in ("strided", "listed", "fields", "transposed")
        }
        for side in ("send", "receive")
    }


def _rules(packs: dict[tuple[int, float], bool]) -> Rules:
    """Between two measured sizes holds what holds at both; beyond the last, what holds there.

    At a size, runs up to the longest one for which it and all shorter ones win.
    """
    by_size: dict[int, dict[float, bool]] = defaultdict(dict)
    for (size, run), wins in packs.items():
        by_size[size][run] = wins
    sizes = sorted(by_size)
    longest = []
    for size in sizes:
        most = 0.0
        for run, wins in sorted(by_size[size].items()):
            if not wins:
                break
            most = round(run * _LONGER, 1)
        longest.append(most)
    found: Rules = []
    for i, size in enumerate(sizes):
        run = min(longest[max(i - 1, 0)], longest[i])
        if found and found[-1][1] == run:
            found[-1][0] = size
        else:
            found.append([size, run])
    if not found:
        return [[None, 0]]
    if found[-1][1] == longest[-1]:
        found[-1][0] = None
    else:
        found.append([None, longest[-1]])
    return found
