# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna costs misses --check`: compares the simulation with cachegrind, on the same accesses.

The program repeats the simulated accesses in two functions of its own. cachegrind, with caches of
the same sizes, reports the misses of these functions.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lacuna.base.errors import Exit, LacunaError
from lacuna.costs import misses as costs_misses
from lacuna.launch import rows_program
from lacuna.launch.rows_program import Row

MOST_OFF = 0.02
# (bytes, ways, line): powers of two, as cachegrind wants them, and small, so that they are full.
L1 = (32 << 10, 8, 64)
LAST = (256 << 10, 8, 64)
WORDS = ["--l1", ",".join(map(str, L1)), "--l2", ",".join(map(str, LAST)), "--l3", "0"]

_FUNCTIONS = "lacuna_replayed_"
_SWEEP_BYTES = 4 * LAST[0]  # other data, before
_EVENTS = ("D1mr", "D1mw", "DLmr", "DLmw")


@dataclass(frozen=True)
class Agreement:
    """The misses of one message: by cachegrind and by the simulation, in the same order."""

    id: str
    op: str
    cachegrind: list[int]  # first level: reads, writes; last level: reads, writes
    simulated: list[int]

    @property
    def off(self) -> float:
        """The largest difference of a level, relative to cachegrind's number."""
        pairs = zip(_by_level(self.cachegrind), _by_level(self.simulated), strict=True)
        return max(abs(two - one) / max(one, 1) for one, two in pairs)


def check(rows: list[Row]) -> None:
    """Prints a line for each message; exit code 1 if one differs by more than 2 %."""
    failed = []
    for one in agreements(rows):
        holds = one.off <= MOST_OFF
        print(
            f"{'PASS' if holds else 'FAIL'}  {one.id}, {one.op}: first and last level: "
            f"cachegrind {_by_level(one.cachegrind)}, simulated {_by_level(one.simulated)}: "
            f"{one.off:.2%} off"
        )
        if not holds:
            failed.append(f"{one.id} ({one.op})")
    if failed:
        raise LacunaError(
            Exit.CHECK_FAILED,
            f"more than {MOST_OFF:.0%} off: {', '.join(failed)}",
            "please report it with this command line",
        )


def agreements(rows: list[Row]) -> Iterable[Agreement]:
    """Compares one message after the other, with a run of cachegrind for each."""
    if not shutil.which("valgrind"):
        raise LacunaError(Exit.ENVIRONMENT, "there is no valgrind", "apt-get install valgrind")
    _, found = costs_misses.measure(rows, WORDS)
    by_id = {name: (name, count, text) for name, count, text in rows}
    for line in found:
        if "simulated" not in line:
            raise LacunaError(
                Exit.USAGE, f"{line['id']} is too large to simulate", "give a smaller count"
            )
        levels = line["simulated"]["cold"]
        simulated = [levels[level][way] for level in ("l1", "l2") for way in ("reads", "writes")]
        counted = _cachegrind(by_id[line["id"]], line["op"])
        yield Agreement(line["id"], line["op"], counted, simulated)


def _by_level(misses: list[int]) -> list[int]:
    return [misses[0] + misses[1], misses[2] + misses[3]]


def _cachegrind(row: Row, op: str) -> list[int]:
    with tempfile.TemporaryDirectory(prefix="lacuna-") as folder:
        out = Path(folder) / "cachegrind"
        before = ["valgrind", "--tool=cachegrind", "--vgdb=no", "--cache-sim=yes"]
        before += [
            "--I1=32768,8,64",
            f"--D1={','.join(map(str, L1))}",
            f"--LL={','.join(map(str, LAST))}",
        ]
        before += [f"--cachegrind-out-file={out}"]
        words = ["--do", "replay", "--op", op, "--sweep", str(_SWEEP_BYTES)]
        rows_program.lines(costs_misses.PROGRAM, [row], words, before)
        return _read(out.read_text(encoding="utf-8"))


def _read(text: str) -> list[int]:
    """The events of our two functions from cachegrind's file: `fn=`, then lines of numbers."""
    sums: dict[str, int] = dict.fromkeys(_EVENTS, 0)
    events: list[str] = []
    is_ours = False
    for line in text.splitlines():
        if line.startswith("events:"):
            events = line.split()[1:]
        elif line.startswith("fn="):
            is_ours = line[3:].startswith(_FUNCTIONS)
        elif is_ours and line[:1].isdigit():
            for name, value in zip(events, line.split()[1:], strict=False):
                if name in sums:
                    sums[name] += int(value)
    return [sums[name] for name in _EVENTS]
