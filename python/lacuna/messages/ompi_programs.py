# SPDX-License-Identifier: BSD-3-Clause
"""Compiles and runs the programs of `bench/ompi`: generic calls, with a cache of requests, and
specialised.

Generic and cached calls are interleaved in one job: the cache (`kept_requests.c`) is preloaded and
has a switch. Specialised is another binary, whose jobs alternate with the others.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lacuna.base import paths
from lacuna.base.errors import Exit, LacunaError
from lacuna.base.progress import Progress
from lacuna.base.results import Row
from lacuna.launch import mpis, run, watch
from lacuna.messages import exchange

SPECIALISED = "specialised"
_FLAGS = ("-O2", "-Wall")
_LIBRARY = {"mpich": "libmpi.so.12", "ompi": "libmpi.so.40"}


@dataclass(frozen=True)
class Plan:
    """How much to measure: jobs of each binary, and samples in each."""

    jobs: int
    rounds: int
    quick: bool


def specializer(mpi: str) -> list[str] | str:
    """The command that compiles and specialises for an MPI library, or a sentence why there is
    none.
    """
    if shutil.which("clang-19") is None:
        return "no clang-19"
    beside = Path(sys.executable).with_name("lacuna-cc")
    found = str(beside) if beside.is_file() else shutil.which("lacuna-cc")
    if found:
        return [found, "--mpi", mpi]
    if importlib.util.find_spec("lacuna.compiler.wrapper") is not None:
        return [sys.executable, "-m", "lacuna.compiler.wrapper", "--mpi", mpi]
    return "no lacuna-cc"


def measure(rows: list[Row], options: exchange.Options, plan: Plan) -> tuple[list[Row], Row]:
    """The lanes of all programs that the rows name, as in exchange.measure(), and members for the
    header.
    """
    programs = list(dict.fromkeys(row["program"] for row in rows))
    prefix = {row["program"]: row["prefix"] for row in rows}
    header: dict[str, Any] = {"mpi": {}}
    lanes: list[Row] = []
    targets = mpis.chosen(options.mpis, options.mpi_root)
    for target in targets:
        linked_library(target)  # there must be one
    with Progress(len(targets) * len(programs)) as progress:
        for target in targets:
            special = specializer(target.name)
            if isinstance(special, str):
                title = mpis.TITLE[target.name]
                print(f"{SPECIALISED}: skipped on {title}: {special}", file=sys.stderr)
            for program in programs:
                lines = _run(target, program, special, plan, progress)
                header["mpi"][target.name] = lines[0]["mpi_library"].strip()
                header["compiler"] = lines[0]["compiler"]
                lanes += _lanes(target.name, program, prefix[program], lines)
    return lanes, header


def _run(
    target: mpis.Installed,
    program: str,
    special: list[str] | str,
    plan: Plan,
    progress: Progress,
) -> list[watch.Line]:
    """The lines of all jobs of a program."""
    source = paths.bench_sources("ompi") / f"{program}.c"
    lines: list[watch.Line] = []
    with tempfile.TemporaryDirectory(prefix="lacuna-") as folder:
        plain = Path(folder) / program
        compile_program(
            [*plain_compiler(target), str(source), "-o", str(plain), *linked_library(target)]
        )
        cache = compile_cache(target, Path(folder))
        binary = Path(folder) / f"{program}-{SPECIALISED}"
        if not isinstance(special, str):
            compile_program([*special, *_FLAGS, str(source), "-o", str(binary), "-lm"])
        for _ in range(plan.jobs):
            lines += _job(target, plain, "generic", plan, progress, cache)
            if not isinstance(special, str):
                lines += _job(target, binary, SPECIALISED, plan, progress)
    return lines


def compile_cache(target: mpis.Installed, folder: Path) -> Path:
    """Compiles the library that caches requests, for an MPI library; returns its path."""
    source = paths.bench_sources("ompi") / "kept_requests.c"
    cache = folder / "kept_requests.so"
    words = [*plain_compiler(target), "-shared", "-fPIC", str(source), "-o", str(cache)]
    compile_program([*words, *linked_library(target)])
    return cache


def plain_compiler(target: mpis.Installed) -> list[str]:
    """The C compiler, with that MPI's headers: clang where it is installed, as for the specialised
    binary.
    """
    compiler = shutil.which("clang-19") or shutil.which("cc")
    if compiler is None:
        raise LacunaError(Exit.ENVIRONMENT, "no C compiler", "install clang-19 or gcc")
    return [compiler, *_FLAGS, "-I", str(target.prefix / "include")]


def linked_library(target: mpis.Installed) -> list[str]:
    """The linker options for an MPI library. Raises LacunaError if it is of another ABI."""
    folder = target.prefix / "lib"
    family = paths.family_of(target.name)
    if family not in _LIBRARY:
        raise LacunaError(
            Exit.USAGE,
            f"the programs of 1996 are not compiled for {mpis.TITLE[target.name]}",
            f"give one of {', '.join(mpis.ALL)} with --mpi",
        )
    library = folder / _LIBRARY[family]
    return [str(library), "-Wl,--allow-shlib-undefined", f"-Wl,-rpath,{folder}", "-lm"]


def compile_program(words: list[str], environment: Mapping[str, str] | None = None) -> None:
    """Runs a compiler on a program of the benchmark. Raises LacunaError if it fails, or specialises
    nothing.
    """
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    said = done.stderr or done.stdout
    if done.returncode != 0 or "nothing is specialized" in said:
        raise LacunaError(
            Exit.ENVIRONMENT,
            f"{words[0]} fails on a program of the bench",
            "see below",
            "\n".join(said.strip().splitlines()[-5:]),
        )


def _job(
    target: mpis.Installed,
    binary: Path,
    lane: str,
    plan: Plan,
    progress: Progress,
    preloaded: Path | None = None,
) -> list[watch.Line]:
    numbers = ["--rounds", str(plan.rounds), "--quick", str(int(plan.quick))]
    # Into the ranks, not into the launcher.
    before = ["env", f"{run.PRELOAD}={paths.without_blanks(preloaded)}"] if preloaded else []

    def command(out: Path) -> tuple[list[str], dict[str, str]]:
        words = [*before, str(binary), "--out", str(out), "--lane", lane, *numbers]
        return target.command(2, words), dict(os.environ) | target.environment()

    lines = watch.run(target.name, command, "row", progress)
    if preloaded and not lines[0]["has_cache"]:
        raise LacunaError(
            Exit.CHECK_FAILED,
            f"the cache of requests was not loaded into the ranks on {target.name}",
            "check that the launcher passes LD_PRELOAD on",
        )
    return lines


def _lanes(mpi: str, program: str, prefix: str, lines: list[watch.Line]) -> list[Row]:
    samples: dict[tuple[str, str], list[watch.Line]] = defaultdict(list)
    shares: dict[tuple[str, str], list[float]] = defaultdict(list)
    for line in lines:
        if line["kind"] == "sample":
            samples[line["id"], line["lane"]].append(line)
        if line["kind"] == "in_mpi":
            shares[line["id"], line["lane"]].append(line["share"])
    found = []
    for (name, lane), taken in samples.items():
        values = [one["s"] for one in taken]
        median = statistics.median(values)
        found.append(
            {
                "mpi": mpi,
                "id": f"{prefix}{name}",
                "test": program,
                "bytes": taken[0]["bytes"],
                "method": lane,
                "median_s": median,
                "mad_s": statistics.median(abs(value - median) for value in values),
                "mpi_s": median * statistics.median(shares[name, lane]),
                "samples_s": values,
            }
        )
    return found
