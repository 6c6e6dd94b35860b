# SPDX-License-Identifier: BSD-3-Clause
"""For which messages compiled code leaves the packing to the MPI library, as was measured.

Without a table lacuna-cc packs first whatever its limit allows, as programs do that pack by hand. A
table of `lacuna tune --compiled` names what the library is better for. A JSON file:

    {"lacuna_compiled_table": 1, "mpi": "Open MPI v5.0.11", "cpu": "...", "provenance": {...},
     "left": {"strided": {"send": [[run_from, run_to, from, to], ...], "receive": [...]}, ...},
     "evidence": [...]}

A rule holds for messages of `from` to `to` bytes in runs of more than `run_from` bytes and up to
`run_to`, in the mean. Other members are for people. The table `preload` names what is left to the
preload, where a program finds that it runs with it.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lacuna import places
from lacuna.errors import Exit, LacunaError

TABLE = "LACUNA_COMPILED_TABLE"  # the environment variable: a file, preload or none
FORMAT = 1
PATTERNS = ("strided", "listed", "fields", "faces")
SIDES = ("send", "receive")
# What is larger is never packed first: it would need as much memory again.
MOST_BYTES = 64 << 20
# The library's own way has to win by this where programs would else pack.
LEAST_GAIN = 1.03
_ANY = 1 << 30  # for "any run" and "any size"

Rule = list[int]
Left = dict[str, dict[str, list[Rule]]]


@dataclass(frozen=True)
class Cell:
    """What was measured for messages of one shape and size: speeds over that of packing on both
    sides, of packing on one (`sn`: the sender; `ns`) and on none (`nn`)."""

    pattern: str
    shape: str
    run: float
    bytes: int
    speeds: dict[str, float]

    def as_json(self) -> dict[str, Any]:
        """For the file."""
        return vars(self) | {"speeds": {way: round(one, 3) for way, one in self.speeds.items()}}

    @property
    def best(self) -> str:
        """Who packs: both, unless another way is sure to be better."""
        return "".join("n" if self.gain(side) >= LEAST_GAIN else "s" for side in (0, 1))

    def gain(self, side: int) -> float:
        """What leaving one side (0: the sender's) to the library wins, whatever the other does."""
        best = {letter: max(self._of(side, letter)) for letter in "sn"}
        return best["n"] / best["s"]

    def _of(self, side: int, letter: str) -> list[float]:
        return [speed for way, speed in self.speeds.items() if way[side] == letter]


def rules(cells: list[Cell]) -> Left:
    """From cells to rules: a rule for each span of sizes that were measured to be the library's.

    Between two sizes the gain is taken to grow evenly, in ratios; what holds for the last one holds
    for all that are larger. A run is taken for the nearest that was measured, in ratio.
    """
    left: Left = {pattern: {side: [] for side in SIDES} for pattern in PATTERNS}
    for pattern in PATTERNS:
        of_pattern = [cell for cell in cells if cell.pattern == pattern]
        runs = sorted({cell.run for cell in of_pattern})
        for index, run in enumerate(runs):
            ladder = sorted((c for c in of_pattern if c.run == run), key=lambda cell: cell.bytes)
            run_from = 0 if index == 0 else math.isqrt(int(runs[index - 1] * run))
            run_to = _ANY if index + 1 == len(runs) else math.isqrt(int(run * runs[index + 1]))
            for number, side in enumerate(SIDES):
                for begin, end in _spans(ladder, number):
                    left[pattern][side].append([run_from, run_to, begin, end])
    return left


def _spans(ladder: list[Cell], side: int) -> list[tuple[int, int]]:
    """Spans of sizes, from the first to the last that one side leaves to the library."""
    spans: list[tuple[int, int]] = []
    is_open = False
    for index, cell in enumerate(ladder):
        is_left = cell.gain(side) >= LEAST_GAIN
        if is_left and not is_open:
            begin = _crossing(ladder[index - 1], cell, side) + 1 if index else cell.bytes
            spans.append((begin, _ANY))
        elif is_open and not is_left:
            spans[-1] = (spans[-1][0], _crossing(ladder[index - 1], cell, side))
        is_open = is_left
    return [(begin, end) for begin, end in spans if begin <= end]


def _crossing(one: Cell, other: Cell, side: int) -> int:
    """The size between two where the gain comes to, or falls below, what it has to be."""
    low, high = math.log(one.gain(side)), math.log(other.gain(side))
    share = (math.log(LEAST_GAIN) - low) / (high - low)
    return int(one.bytes * (other.bytes / one.bytes) ** share)


def own_place(kind: str) -> Path | None:
    """Where `lacuna tune --compiled` keeps the table of that kind of MPI; None: nowhere."""
    folder = places.cache()
    return None if folder is None else folder / f"compiled-{kind}.json"


def place(kind: str) -> Path | None:
    """The table in force: what LACUNA_COMPILED_TABLE names, else the user's own, else the one that
    is shipped for this maker of processors, or for all; None: the variable says that there is none.
    `preload` is for programs that run under `lacuna run` only, which moves what is large in one
    copy."""
    chosen = os.environ.get(TABLE, "")
    if chosen == "preload":
        return preloads_place()
    if chosen:
        return None if chosen == "none" else Path(chosen)
    own = own_place(kind)
    if own is not None and own.is_file():
        return own
    makers = places.compiled_tables() / f"{kind}-{_maker()}.json"
    return makers if makers.is_file() else places.compiled_tables() / f"{kind}.json"


def _maker() -> str:
    """Who made this machine's processor: `amd`, or another."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:  # of all CPUs
            is_amd = "AuthenticAMD" in lines.read(200)
    except OSError:
        is_amd = False
    return "amd" if is_amd else "other"


def preloads_place() -> Path:
    """The table of what the preload moves better than compiled code."""
    return places.compiled_tables() / "preload.json"


def load(kind: str) -> Left:
    """The rules in force."""
    path = place(kind)
    return {} if path is None else _read(path)


def preloads() -> Left:
    """The rules for a program that finds the preload when it runs; where LACUNA_COMPILED_TABLE says
    `none` or `preload` it need not look."""
    return {} if os.environ.get(TABLE) in ("none", "preload") else _read(preloads_place())


def _read(path: Path) -> Left:
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        if table["lacuna_compiled_table"] != FORMAT:
            raise ValueError("another format")
        return {
            pattern: {
                side: [[int(number) for number in rule] for rule in table["left"][pattern][side]]
                for side in SIDES
            }
            for pattern in PATTERNS
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LacunaError(
            Exit.ENVIRONMENT,
            f"no table for compiled code in {path}: {error}",
            "make it with `lacuna tune --compiled`",
        ) from error


def pass_options(left: Left, preloads: Left) -> list[str]:
    """What the plugin is told, as options of -mllvm."""
    options = [f"-lacuna-most={MOST_BYTES}"]
    for rules, end in ((left, ""), (preloads, "/preload")):
        for pattern, sides in rules.items():
            for side, found in sides.items():
                options += [
                    f"-lacuna-left={pattern}/{side}/{'/'.join(map(str, rule))}{end}"
                    for rule in found
                ]
    return options
