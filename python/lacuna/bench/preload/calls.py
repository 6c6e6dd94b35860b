# SPDX-License-Identifier: BSD-3-Clause
"""The number of instructions that the preload adds to calls that it leaves to the library, counted
by callgrind.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lacuna.base import paths
from lacuna.launch import run
from lacuna.messages.program import Target

# The functions of bench/preload/calls.cpp, messages of 1 KiB and of 64 bytes.
_CONTIGUOUS = {
    "send": "MPI_Send",
    "recv": "MPI_Recv",
    "isend_wait": "MPI_Isend + MPI_Wait",
    "irecv_wait": "MPI_Irecv + MPI_Wait",
    "irecv_status": "MPI_Irecv + MPI_Wait with a status",
    "irecv_test": "MPI_Irecv + MPI_Test",
    "irecv_waitall": "MPI_Irecv + MPI_Waitall",
    "short_recv": "MPI_Recv of 64 B",
    "short_irecv_wait": "MPI_Irecv + MPI_Wait of 64 B",
}
_NEW_TYPES = {
    "new_vector": "new vector",
    "new_struct": "new struct",
    "new_subarray": "new subarray",
}
# Again, when a token has come (docs/internals/direct-tokens.md).
_LATER = {f"later_{name}": f"{shown}, later" for name, shown in _CONTIGUOUS.items()}
_COUNTED = _CONTIGUOUS | _LATER | _NEW_TYPES
CONTIGUOUS = [*_CONTIGUOUS.values(), *_LATER.values()]
NEW_TYPES = list(_NEW_TYPES.values())
_PREFIX = "lacuna_counted_"
_TIMES = 200
_MOST_SECONDS = 300


@dataclass
class Calls:
    """Instructions of each call on one library: without lacuna, and with it."""

    mpi: str
    counts: dict[str, tuple[float, float]] = field(default_factory=dict)
    problem: str = ""  # why there are no counts

    def as_json(self) -> dict[str, Any]:
        """For the file."""
        named = {name: {"native": one, "lacuna": two} for name, (one, two) in self.counts.items()}
        return {"mpi": self.mpi, "instructions": named, "problem": self.problem or None}


def count(target: Target) -> Calls:
    """Runs the ranks under callgrind, without and with lacuna."""
    if not shutil.which("valgrind"):
        return Calls(target.name, problem="there is no valgrind; apt-get install valgrind")
    found = []
    for with_lacuna in (False, True):
        with tempfile.TemporaryDirectory(prefix="lacuna-") as folder:
            said = _run(target, Path(folder), with_lacuna)
            costs: dict[str, int] = {}
            for file in Path(folder).iterdir():  # one for each rank; the first has done the calls
                costs |= inclusive(file.read_text(encoding="utf-8"))
        if set(costs) != set(_COUNTED):
            return Calls(target.name, problem=f"callgrind failed: {said[-200:].strip()}")
        found.append({_COUNTED[name]: cost / _TIMES for name, cost in costs.items()})
    native, lacuna = found
    return Calls(target.name, {name: (native[name], lacuna[name]) for name in _COUNTED.values()})


def _run(target: Target, folder: Path, with_lacuna: bool) -> str:
    """The output of the program and of valgrind."""
    program = paths.program(f"lacuna-bench-calls-{paths.family_of(target.name)}")
    words = [*target.launcher, "valgrind", "--tool=callgrind", "--vgdb=no"]
    # Without vgdb, whose pipes would stay in TMPDIR where the job is interrupted.
    words += [f"--callgrind-out-file={folder}/%p"]
    words += [f"--toggle-collect={_PREFIX}*", str(program), str(_TIMES)]
    # valgrind is a script, of which `lacuna run` cannot know that it starts one program.
    environment = dict(os.environ) | target.environment | {run.DIRECT: "1"}
    if with_lacuna:
        words, environment = run.build(words, target.name, environment)
    try:
        done = subprocess.run(
            words,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_MOST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"it takes more than {_MOST_SECONDS} s"
    return done.stdout + done.stderr


def inclusive(text: str) -> dict[str, int]:
    """The instructions of the counted functions, callees included, from callgrind's file."""
    names: dict[str, str] = {}
    costs: dict[str, int] = {}
    current = ""
    for line in text.splitlines():
        match = re.match(r"fn=(\(\d+\))(?: (.*))?", line)
        if match:
            if match[2]:
                names[match[1]] = match[2]
            current = names.get(match[1], "").removeprefix(_PREFIX)
        elif match := re.match(r"cfn=(\(\d+\)) (.*)", line):
            names[match[1]] = match[2]
        elif current in _COUNTED and re.match(r"[+*\-\d]", line):
            costs[current] = costs.get(current, 0) + int(line.split()[-1])
    return costs
