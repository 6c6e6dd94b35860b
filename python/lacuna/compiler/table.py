# SPDX-License-Identifier: BSD-3-Clause
"""Tables: for which messages compiled code leaves the packing to the MPI library, as measured.

Without a table lacuna-cc packs first up to its limit, as programs do that pack by hand. A table of
`lacuna tune --compiled` says for which messages the library is faster. It is a JSON file:

    {"lacuna_compiled_table": 1, "mpi": "Open MPI v5.0.11", "cpu": "...", "rows": ["zen4", ...],
     "provenance": {...},
     "left": {"strided": {"send": [[run_from, run_to, from, to], ...], "receive": [...]}, ...},
     "apart": [[from, to], ...], "evidence": [...]}

In a table without `nested`, the rules for strided messages hold for these. A rule holds for
messages of `from` to `to` bytes in runs whose mean length is above `run_from` and up to `run_to`
bytes. `apart`: sizes at which packed data are sent with a gap, since the library sends them faster
then (optimizer/templates/buffer_arg.hpp). `rows`: the CPU rows (docs/internals/machine.md) that a
shipped table holds for. Other members are for people. The table `preload` says which messages are
left to the preload, in a program that runs with it.
"""

from __future__ import annotations

import json
import math
import os
import statistics
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lacuna import engine
from lacuna.base import paths
from lacuna.base.errors import Exit, LacunaError

TABLE = "LACUNA_COMPILED_TABLE"  # the environment variable: a file, preload or none
FORMAT = 1
PATTERNS = ("strided", "listed", "fields", "faces", "nested")
SIDES = ("send", "receive")
# A letter for the sender and one for the receiver. s: compiled code packs; n: the library packs; c:
# the memory has no gaps. The last way of each list is that of a program without lacuna.
WAYS = ("ss", "sn", "ns", "nn")
WAYS_TO_DENSE = ("sc", "nc")
# The ways in which the sender packs, and the same with the packed data sent with a gap.
WAYS_APART = {"ss": "gs", "sn": "gn", "sc": "gc"}
LANES = (*WAYS, *WAYS_TO_DENSE, *WAYS_APART.values())
# Larger messages are never packed first, since the packed copy would need as much memory again.
MOST_BYTES = 64 << 20
# The library's own way is chosen if it is faster than packing by this factor.
LEAST_GAIN = 1.03
# The assumed share of messages whose receiver's memory has no gaps. A sender does not know.
_DENSE = 1 / 5
_ANY = 1 << 30  # for "any run" and "any size"

Rule = list[int]
Left = dict[str, dict[str, list[Rule]]]
Starts = dict[tuple[str, int], list[dict[str, float]]]  # Cell.starts by (shape, bytes)


@dataclass(frozen=True)
class Cell:
    """The measurements of messages of one shape and size: for each start of the program, the speed
    of each way relative to packing on both sides.
    """

    pattern: str
    shape: str
    run: float
    bytes: int
    starts: list[dict[str, float]]

    def as_json(self) -> dict[str, Any]:
        """For the table's evidence."""
        starts = [{way: round(one, 3) for way, one in start.items()} for start in self.starts]
        return vars(self) | {"starts": starts}

    @property
    def best(self) -> str:
        """The way to use: both sides pack, unless another way is clearly faster."""
        return "".join("n" if self.gain(side) >= LEAST_GAIN else "s" for side in (0, 1))

    def sent_apart(self) -> Cell:
        """The same cell with the speeds of packed data that are sent with a gap."""
        starts = [
            start | {way: start[other] for way, other in WAYS_APART.items()}
            for start in self.starts
        ]
        return replace(self, starts=starts)

    def gain_apart(self) -> float:
        """The speedup by a gap, in the start in which it is least."""
        return min(
            statistics.geometric_mean(start[g] / start[way] for way, g in WAYS_APART.items())
            for start in self.starts
        )

    def gain(self, side: int) -> float:
        """The speedup from leaving one side (0: the sender's) to the library, in the worst start.

        Sender and receiver follow the same table. A sender does not know whether the receiver's
        memory has gaps.
        """
        if side == 0:
            return self._sent("n") / self._sent("s")
        if self.gain(0) < LEAST_GAIN:
            return self._least("sn") / self._least("ss")
        # The sender leaves it to the library. If the receiver does so, too, nothing differs from a
        # program without lacuna. So packing must be faster by the factor here.
        return self._least("nn") / self._least("ns") * LEAST_GAIN**2

    def _least(self, way: str, share_of_dense: float = 0.0) -> float:
        """The speed of a way relative to the best way, in the worst start."""
        return min(
            self._share(start, WAYS, way) ** (1 - share_of_dense)
            * self._share(start, WAYS_TO_DENSE, way[0] + "c") ** share_of_dense
            for start in self.starts
        )

    def _sent(self, letter: str) -> float:
        return max(self._least(way, _DENSE) for way in WAYS if way[0] == letter)

    @staticmethod
    def _share(start: dict[str, float], ways: tuple[str, ...], way: str) -> float:
        """The speed of a way relative to the best; if it is slower than without lacuna, that ratio
        counts once more.
        """
        own = start[ways[-1]]
        return start[way] / max(start[one] for one in ways) * min(1.0, start[way] / own)


def apart(rungs: list[list[Cell]]) -> list[Rule]:
    """The ranges of sizes at which packed data are sent with a gap, from all cells of each size,
    since the shape does not matter there.

    A range begins at the first measured size at which a gap is faster, without interpolation: there
    the library changes its protocol.
    """
    spans: list[Rule] = []
    is_open = False
    for rung in rungs:
        sizes = [cell.bytes for cell in rung]
        wins = statistics.geometric_mean(cell.gain_apart() for cell in rung) >= LEAST_GAIN
        if wins and not is_open:
            spans.append([min(sizes), _ANY])
        elif is_open and not wins:
            spans[-1][1] = min(sizes) - 1
        is_open = wins
    return spans


def rules(cells: list[Cell]) -> Left:
    """The rules from the cells: one for each range of sizes that is left to the library.

    Between two measured sizes the speedup is interpolated on logarithmic axes; what holds for the
    largest size holds for all larger ones. A run length uses the cells of the nearest measured run
    length (by ratio).
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
    """The ranges of sizes in which one side leaves the packing to the library."""
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
    """The size between two cells at which the speedup is LEAST_GAIN."""
    low, high = math.log(one.gain(side)), math.log(other.gain(side))
    share = (math.log(LEAST_GAIN) - low) / (high - low)
    return int(one.bytes * (other.bytes / one.bytes) ** share)


def own_place(kind: str) -> Path | None:
    """The file to which `lacuna tune --compiled` writes the table of that kind of MPI; None: there
    is no cache folder.
    """
    folder = paths.cache()
    return None if folder is None else folder / f"compiled-{kind}.json"


def place(kind: str) -> Path | None:
    """The table in use: the one that LACUNA_COMPILED_TABLE names, else the user's own, else the
    shipped one; None: the variable is `none`.

    `preload` is for programs that always run under `lacuna run`, which moves large messages in one
    copy.
    """
    chosen = os.environ.get(TABLE, "")
    if chosen == "preload":
        return preloads_place()
    if chosen:
        return None if chosen == "none" else Path(chosen)
    own = own_place(kind)
    if own is not None and own.is_file():
        return own
    return shipped(kind)


def shipped(kind: str) -> Path:
    """The shipped table of that kind of MPI: the one whose `rows` name this CPU's row
    (docs/internals/machine.md), else the general one.
    """
    row = engine.machine()["row"]["name"]
    folder = paths.compiled_tables()
    for path in sorted(folder.glob(f"{kind}-*.json")):
        if row in json.loads(path.read_text(encoding="utf-8"))["rows"]:
            return path
    return folder / f"{kind}.json"


def preloads_place() -> Path:
    """The table of messages that the preload moves faster than compiled code."""
    return paths.compiled_tables() / "preload.json"


def load(kind: str) -> tuple[Left, list[Rule]]:
    """The rules in use, and the sizes that are sent with a gap."""
    path = place(kind)
    return ({}, []) if path is None else _read(path)


def preloads() -> Left:
    """The rules for a program that finds lacuna preloaded when it runs; none where
    LACUNA_COMPILED_TABLE is `none` or `preload`.
    """
    return {} if os.environ.get(TABLE) in ("none", "preload") else _read(preloads_place())[0]


def starts(path: Path) -> Starts:
    """The measurements from which a table was made."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["evidence"]["shared"]
        found = {(cell["shape"], cell["bytes"]): cell["starts"] for cell in cells}
        if not all(set(start) == set(LANES) for starts in found.values() for start in starts):
            raise ValueError("other ways")
        return found
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LacunaError(
            Exit.ENVIRONMENT,
            f"no measurements in {path}: {error}",
            "measure without --add",
        ) from error


def _read(path: Path) -> tuple[Left, list[Rule]]:
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        if table["lacuna_compiled_table"] != FORMAT:
            raise ValueError("another format")
        found = {"nested": table["left"]["strided"]} | table["left"]
        left = {
            pattern: {side: _numbers(found[pattern][side]) for side in SIDES}
            for pattern in PATTERNS
        }
        return left, _numbers(table.get("apart", []))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LacunaError(
            Exit.ENVIRONMENT,
            f"no table for compiled code in {path}: {error}",
            "make it with `lacuna tune --compiled`",
        ) from error


def _numbers(found: Any) -> list[Rule]:
    return [[int(number) for number in rule] for rule in found]


def pass_options(left: Left, preloads: Left, sizes_apart: list[Rule]) -> list[str]:
    """The options for the plugin, as words after -mllvm."""
    options = [f"-lacuna-most={MOST_BYTES}"]
    for begin, end in sizes_apart:
        options += [
            f"-lacuna-left={pattern}/send/0/{_ANY}/{begin}/{end}/apart" for pattern in PATTERNS
        ]
    for rules, end in ((left, ""), (preloads, "/preload")):
        for pattern, sides in rules.items():
            for side, found in sides.items():
                options += [
                    f"-lacuna-left={pattern}/{side}/{'/'.join(map(str, rule))}{end}"
                    for rule in found
                ]
    return options
