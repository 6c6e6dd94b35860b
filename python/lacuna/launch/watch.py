# SPDX-License-Identifier: BSD-3-Clause
"""Runs a benchmark program under a launcher and reads the lines that it writes, as they come."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lacuna.base.errors import Exit, LacunaError
from lacuna.base.progress import Progress
from lacuna.launch import mpis

_POLL_SECONDS = 0.1
_SHOWN_LINES = 5
# What bench/harness/job.hpp prints if the command line or this machine is not what it needs.
_REFUSED = re.compile(r"lacuna-[\w-]+: refused: (.*?); (.*)")
_BY_COMMAND_LINE = "two ranks are needed"
_NOT_FOUND = "error while loading shared libraries"  # in the loader's words

Line = dict[str, Any]


def _not_found(words: list[str], environment: dict[str, str]) -> str | None:
    """The libraries that the dynamic linker does not find for our program, if that is on this
    machine.
    """
    traced = environment | {"LD_TRACE_LOADED_OBJECTS": "1"}
    for word in words:
        if Path(word).name.startswith("lacuna-") and Path(word).is_file():
            told = subprocess.run([word], env=traced, capture_output=True, text=True, check=False)
            for line in told.stdout.splitlines():
                if "not found" in line:
                    return f"{word}: {line.strip()}"
    return None


def run(
    mpi: str,
    command: Callable[[Path], tuple[list[str], dict[str, str]]],
    unit: str,
    progress: Progress,
    seen: Callable[[Line], None] = lambda line: None,
) -> list[Line]:
    """All lines of a run that ended well: the header first, `end` last. Raises LacunaError
    otherwise.

    `command` makes the command line and the environment, given the file for the lines. `progress`
    counts lines of the kind `unit`; the header says how many there will be. `seen` is called with
    each line as it comes, also in a run that fails later.
    """
    with tempfile.TemporaryDirectory(prefix="lacuna-") as folder:
        out = Path(folder) / "lines"
        words, environment = command(out)
        progress.begin(mpis.TITLE[mpi])
        with (Path(folder) / "words").open("w+", encoding="utf-8", errors="replace") as said:
            # Signals stay as they are in Python: a launcher that writes to a rank which has died at
            # once would end by SIGPIPE before it has passed on why.
            process = subprocess.Popen(
                words,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                restore_signals=False,
            )
            try:
                lines = _follow(process, out, unit, progress, seen)
            finally:
                if process.poll() is None:
                    process.terminate()
                    process.wait()
            said.seek(0)
            last_words = _last_words(said.read().strip().splitlines())
    told = last_words[0].strip() if any(_NOT_FOUND in line for line in last_words) else None
    # Hydra may end before it has passed on what its ranks said.
    if told is None and not lines and any("Broken pipe" in line for line in last_words):
        told = _not_found(words, environment)
    if told is not None:
        raise LacunaError(
            Exit.ENVIRONMENT,
            f"a library of {mpi} is not found by the ranks: {told}",
            "load its module, or add the folder that holds it to LD_LIBRARY_PATH",
        )
    for refused in filter(None, map(_REFUSED.search, last_words)):
        is_usage = refused[1].startswith(_BY_COMMAND_LINE)
        raise LacunaError(Exit.USAGE if is_usage else Exit.ENVIRONMENT, refused[1], refused[2])
    if process.returncode != 0 or not lines or lines[-1]["kind"] != "end":
        raise LacunaError(
            Exit.CHECK_FAILED,
            f"the program failed on {mpi}: exit code {process.returncode}",
            "its last words are below",
            "\n".join(last_words),
        )
    return lines


def _last_words(said: list[str]) -> list[str]:
    """The last lines on stderr that are our program's; else the launcher's."""
    ours = [line for line in said if line.startswith("lacuna-")]
    return (ours or said)[-_SHOWN_LINES:]


def _follow(
    process: subprocess.Popen[bytes],
    out: Path,
    unit: str,
    progress: Progress,
    seen: Callable[[Line], None],
) -> list[Line]:
    lines: list[Line] = []
    rest, position = "", 0
    while True:
        is_over = process.poll() is not None
        if out.exists():
            with out.open(encoding="utf-8") as file:
                file.seek(position)
                rest += file.read()
                position = file.tell()
            *whole, rest = rest.split("\n")
            for line in map(json.loads, whole):
                lines.append(line)
                seen(line)
            if lines:
                done = sum(line["kind"] == unit for line in lines)
                progress.at(done, lines[0][f"{unit}s"])
        if is_over:
            return lines
        time.sleep(_POLL_SECONDS)


def check_loaded(mpi: str, lines: list[Line]) -> None:
    """Raises LacunaError if the ranks of a run did not have the preload library."""
    if not lines[0]["lacuna_loaded"]:
        raise LacunaError(
            Exit.CHECK_FAILED,
            f"lacuna was not loaded into the ranks on {mpi}",
            "check LD_PRELOAD and that the preload library fits this MPI library",
        )
