# SPDX-License-Identifier: BSD-3-Clause
"""Starts the user's launcher as `lacuna run` would, with the probe in the place of the program."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lacuna.launch import launchers, run
from lacuna.launch.check import probe
from lacuna.launch.launchers import Launcher

SECONDS = 60.0
_SECONDS_TO_END = 5.0
_LOG = re.compile(r"lacuna(\[\d+\])?: .*")
_ANSWER = re.compile(re.escape(probe.MARK) + r"(\{.*?\})\s*$", re.MULTILINE)
_SETS_PRELOAD = re.compile(rf"(?:^|[,=]){run.PRELOAD}=([^,]*)")
_FIRST_LINES = 3
# The probe must not write over a report of the user's.
_NOT_FOR_THE_PROBE = ("LACUNA_REPORT", "LACUNA_COSTS")
_NAME_OF = {"mpich": "mpich", "ompi": "openmpi", "mpiabi": "mpiabi"}


@dataclass(frozen=True)
class Rank:
    """What the probe told in one rank."""

    host: str
    process: int
    rank: int = -1  # -1: MPI_Init did not end
    size: int = 0
    version: str = ""
    preload: str = ""
    options: tuple[str, ...] = ()
    passed_on: bool = False
    libraries: tuple[str, ...] = ()
    read_error: int = 0
    memfd_error: int = 0
    why: str = ""  # the MPI library was not opened


@dataclass(frozen=True)
class Started:
    """What came of it."""

    code: int | None  # None: it did not end in time
    ranks: tuple[Rank, ...] = ()
    log: tuple[str, ...] = ()  # lacuna's lines, without "lacuna[0]: "
    first_words: tuple[str, ...] = ()  # of the launcher, or of whoever spoke first


def probe_words(family: str, library: str) -> list[str]:
    """The command line of the probe."""
    return [sys.executable, str(Path(probe.__file__).resolve()), family, library]


def with_probe(launcher: Launcher | None, words: list[str], instead: list[str]) -> list[str] | None:
    """The command with the probe for each program; None if a program cannot be told apart."""
    if launcher is None:
        return instead
    result: list[str] = [words[0]]
    for index, context in enumerate(launchers.split_contexts(launcher, words[1:])):
        at = launchers.program_at(launcher, context)
        if at is None:
            return None
        # An option that we do not know may have left its value before the program.
        skipped = len(context[at:]) - len(run.first_program(context[at:]))
        result += [":"] if index else []
        result += [*context[: at + skipped], *instead]
    return result


def programs(launcher: Launcher | None, words: list[str]) -> list[list[str]]:
    """The programs of a command, each with its arguments."""
    if launcher is None:
        return [words]
    found = []
    for context in launchers.split_contexts(launcher, words[1:]):
        at = launchers.program_at(launcher, context)
        if at is not None:
            found.append(run.first_program(context[at:]))
    return found


def command(
    launcher: Launcher | None,
    words: list[str],
    family: str,
    library: str,
    environment: Mapping[str, str],
) -> tuple[list[str], dict[str, str]] | None:
    """What to start, and its environment; None if the program cannot be told apart."""
    kept = {name: value for name, value in environment.items() if name not in _NOT_FOR_THE_PROBE}
    kept |= {"LACUNA_LOG": "1", probe.PASSED_ON: "1"}
    built, built_environment = run.build(words, _NAME_OF[family], kept)
    replaced = with_probe(launcher, built, probe_words(family, library))
    return None if replaced is None else (replaced, built_environment)


def start(words: list[str], environment: Mapping[str, str], seconds: float = SECONDS) -> Started:
    """Runs it; ends it if it takes too long."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        try:
            # Signals stay as they are in Python (launch/watch.py says why).
            process = subprocess.Popen(
                words,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                restore_signals=False,
                start_new_session=True,
            )
        except OSError as error:
            return Started(127, first_words=(str(error),))
        code: int | None = None
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        finally:
            if code is None:
                _end(process)
        texts = []
        for file in (out, errors):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return read(code, "\n".join(texts))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a launcher, and what it has started on this node."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(OSError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_SECONDS_TO_END)
            return


def read(code: int | None, text: str) -> Started:
    """What is in the output of a launcher."""
    facts: dict[tuple[str, int], dict[str, Any]] = {}
    for found in _ANSWER.finditer(text):
        try:
            answer = json.loads(found[1])
        except ValueError:
            continue
        facts.setdefault((answer["host"], answer["pid"]), {}).update(answer)
    ranks = []
    for (host, process), told in facts.items():
        for name in ("stage", "host", "pid"):
            told.pop(name, None)
        for name in ("options", "libraries"):
            told[name] = tuple(told.get(name, ()))
        ranks.append(Rank(host, process, **told))
    log, others = [], []
    for line in text.splitlines():
        said = _LOG.search(line)
        if said:
            log.append(said[0].partition(": ")[2])
        elif line.strip(" -") and probe.MARK not in line:
            others.append(line.strip())
    return Started(
        code,
        tuple(sorted(ranks, key=lambda one: (one.rank, one.host, one.process))),
        tuple(dict.fromkeys(log)),
        tuple(others[:_FIRST_LINES]),
    )


def without_lacuna_run(words: list[str]) -> tuple[list[str], str | None]:
    """The command without `lacuna run` and its options, which are what doctor does anyway; and the
    value of --mpi among these.
    """
    if Path(words[0]).name != "lacuna" or words[1:2] != ["run"]:
        return words, None
    at, mpi = 2, None
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "--":
            return words[at + 1 :], mpi
        name, is_set, value = words[at].partition("=")
        takes_value = not is_set and (
            name in run.TAKE_A_VALUE
            or (
                name in (run.REPORT, run.COSTS)
                and words[at + 1 : at + 2]
                and words[at + 1].endswith(".json")
            )
        )
        if name == "--mpi":
            mpi = value if is_set else " ".join(words[at + 1 : at + 2])
        at += 2 if takes_value else 1
    return words[at:], mpi


def named_preloads(
    launcher: Launcher | None, words: list[str], environment: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Each LD_PRELOAD that reaches the ranks if the command is started without `lacuna run`: where
    it is set, and its value. One that the command sets replaces that of the environment.
    """
    found = []
    contexts = launchers.split_contexts(launcher, words[1:]) if launcher else [words]
    for context in contexts:
        at = launchers.program_at(launcher, context) if launcher else 0
        options = context[:at]
        program = run.first_program(context[at:]) if at is not None else []
        if program and Path(program[0]).name == "env":
            options = [*options, *itertools.takewhile(_may_set, program[1:])]
        value = _preload_in(options)
        place = "the command"
        if value is None:
            value, place = environment.get(run.PRELOAD, ""), "the environment"
        if value and (place, value) not in found:
            found.append((place, value))
    return found


def _may_set(word: str) -> bool:
    """Whether a word behind `env` is an option or a variable, not yet the program."""
    return word.startswith("-") or "=" in word


def _preload_in(options: list[str]) -> str | None:
    """The LD_PRELOAD in options: -x NAME=VALUE, -genv NAME VALUE, --export=ALL,NAME=VALUE and so
    on."""
    for at, word in enumerate(options):
        if word == run.PRELOAD and at and options[at - 1].lstrip("-") in ("genv", "env"):
            return "".join(options[at + 1 : at + 2])
        said = _SETS_PRELOAD.search(word)
        if said:
            return said[1]
    return None
