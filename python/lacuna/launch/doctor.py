# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna doctor PID`: where the processes of a job that hangs wait inside lacuna.

Each process keeps a table of its waits in memory (interpose/direct/node/waits.hpp). It is read from
outside, so the job itself need do nothing.
"""

from __future__ import annotations

import re
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from lacuna.base.errors import Exit, LacunaError
from lacuna.launch.check import facts

_PROC = Path("/proc")
_SYMBOL = "lacuna_interposed_waits"
_LIBRARY = re.compile(r"/liblacuna-(mpich|ompi|mpiabi)\.so$")
_NAME = b"lacuna 1"
_HEAD = struct.Struct("=8siiiiQ")
_ROW = struct.Struct("=Iiiiq104s")
_MOST_ROWS = 256
_DISABLE = "LACUNA_DISABLE"
_STOPPED, _ENDED = "stopped", "ended"
_STATES = {
    "R": "running",
    "S": "asleep",
    "D": "asleep in the system",
    "T": _STOPPED,
    "t": f"{_STOPPED} by a debugger",
    "Z": _ENDED,
}


@dataclass(frozen=True)
class Wait:
    """One thread that waits for another rank."""

    thread: int
    rank: int  # -1: several
    process: int
    since_ns: int
    what: str


@dataclass(frozen=True)
class Found:
    """A process in which lacuna is loaded, with its waits."""

    process: int
    rank: int  # -1: MPI_Init has not ended, or lacuna is off
    ranks: int
    path_is_open: bool
    job: int
    waits: tuple[Wait, ...]


def parse(data: bytes) -> tuple[int, int, bool, int, tuple[Wait, ...]] | None:
    """The fields of a process's table; None if it is not of this version of lacuna."""
    if len(data) < _HEAD.size:
        return None
    name, rows, rank, ranks, path_is_open, job = _HEAD.unpack_from(data)
    if name != _NAME or not 0 <= rows <= _MOST_ROWS or len(data) < _HEAD.size + rows * _ROW.size:
        return None
    waits = []
    for at in range(rows):
        is_taken, thread, whom, process, since, what = _ROW.unpack_from(
            data, _HEAD.size + at * _ROW.size
        )
        if is_taken == 1:
            words = what.partition(b"\0")[0].decode("utf-8", "replace")
            waits.append(Wait(thread, whom, process, since, words))
    return rank, ranks, path_is_open != 0, job, tuple(waits)


@cache
def _place_in_file(path: str, _changed: float) -> tuple[int, int] | None:
    """The address of the table's symbol in a library, and its size."""
    try:
        with Path(path).open("rb") as file:
            table = ELFFile(file).get_section_by_name(".dynsym")
            if not isinstance(table, SymbolTableSection):
                return None
            for symbol in table.get_symbol_by_name(_SYMBOL) or []:
                return symbol.entry.st_value, symbol.entry.st_size
    except (OSError, ELFError, ValueError, KeyError, AttributeError):
        pass
    return None


def _place_in_process(process: int) -> tuple[int, int] | None:
    """The address of the table in a process, and its size; None if lacuna is not loaded there."""
    try:
        maps = (_PROC / str(process) / "maps").read_text(errors="replace")
    except OSError:
        return None
    for line in maps.splitlines():
        words = line.split(maxsplit=5)
        if len(words) < 6 or not _LIBRARY.search(words[5]) or int(words[2], 16) != 0:
            continue
        # As the process sees it, which may be in a container.
        path = _PROC / str(process) / "root" / words[5].lstrip("/")
        try:
            place = _place_in_file(str(path), path.stat().st_mtime)
        except OSError:
            continue
        if place:
            return int(words[0].partition("-")[0], 16) + place[0], place[1]
    return None


def look(process: int) -> Found | None:
    """Reads the table of a process; None if lacuna is not loaded there. Raises LacunaError if its
    memory may not be read.
    """
    place = _place_in_process(process)
    if place is None:
        return None
    try:
        with (_PROC / str(process) / "mem").open("rb") as memory:
            memory.seek(place[0])
            shown = parse(memory.read(place[1]))
    except PermissionError as error:
        raise LacunaError(
            Exit.ENVIRONMENT,
            f"the memory of process {process} may not be read",
            "ask as the user who runs it, or as root (kernel.yama.ptrace_scope may forbid it)",
        ) from error
    except (OSError, ValueError):
        return None
    return Found(process, *shown) if shown else None


def _processes() -> Iterator[int]:
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            yield int(entry.name)


def _parent(process: int) -> int:
    try:
        text = (_PROC / str(process) / "stat").read_text(errors="replace")
        return int(text.rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def _below(process: int, top: int) -> bool:
    while process > 1:
        if process == top:
            return True
        process = _parent(process)
    return False


def find_job(process: int) -> list[Found]:
    """The processes of a job on this node in which lacuna is loaded. `process`: one of them, or
    their launcher.
    """
    if not (_PROC / str(process)).exists():
        raise LacunaError(
            Exit.USAGE, f"no process {process}", "give the id of a rank or of its launcher"
        )
    found = look(process)
    others = []
    for other in _processes():
        try:
            seen = look(other) if other != process else None
        except LacunaError:  # another user's, as far as we know
            continue
        if seen:
            others.append(seen)
    if found is None:
        below = [other for other in others if _below(other.process, process)]
        if not below:
            raise LacunaError(
                Exit.USAGE,
                f"lacuna is loaded neither in process {process} nor in those that it has started",
                "give a rank of a job under `lacuna run`, or its launcher",
            )
        return sorted(below, key=lambda one: one.rank)
    same = [other for other in others if found.job and other.job == found.job]
    return sorted([found, *same], key=lambda one: one.rank)


def _state(process: int) -> str:
    try:
        text = (_PROC / str(process) / "stat").read_text(errors="replace")
        return _STATES.get(text.rpartition(")")[2].split()[0], "alive")
    except (OSError, IndexError):
        return _ENDED


def _is_disabled(process: int) -> bool:
    """Whether LACUNA_DISABLE is on in the environment that a process was started with."""
    try:
        text = (_PROC / str(process) / "environ").read_text(errors="replace")
    except OSError:
        return False
    pairs = (line.partition("=") for line in text.split("\0"))
    return facts.is_set({name: value for name, _, value in pairs}, _DISABLE, False)


def _who(one: Found) -> str:
    state = f"process {one.process}, {_state(one.process)}"
    if one.rank >= 0:
        path = "on" if one.path_is_open else "off"
        return f"rank {one.rank} of {one.ranks}, {state}; shared-memory path {path}"
    if _is_disabled(one.process):
        return f"{state}; lacuna is off in this rank ({_DISABLE} is set)"
    return f"{state}; MPI_Init has not ended, or lacuna is off in this rank (LACUNA_LOG=1 says why)"


def _whom(wait: Wait) -> str:
    if wait.process <= 0:
        return ""
    state = _state(wait.process)
    is_told = state.startswith(_STOPPED)
    how = f", which is {state}" if is_told else ", which has ended" if state == _ENDED else ""
    return f", for rank {wait.rank} (process {wait.process}{how})"


def lines(found: list[Found]) -> list[str]:
    """A line for each process and wait."""
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    result = []
    for one in found:
        said = _who(one)
        if not one.waits:
            result.append(f"{said}: does not wait in lacuna")
        for wait in one.waits:
            seconds = max(0.0, (now - wait.since_ns) / 1e9)
            thread = f" (thread {wait.thread})" if wait.thread != one.process else ""
            result.append(f"{said}: waits{thread} for {seconds:.1f} s in {wait.what}{_whom(wait)}")
    return result


def doctor(process: int) -> None:
    """Prints the waits of a job on stdout."""
    for line in lines(find_job(process)):
        print(line)
