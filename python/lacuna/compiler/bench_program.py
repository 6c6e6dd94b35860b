# SPDX-License-Identifier: BSD-3-Clause
"""Compiles `bench/compiled` without and with lacuna-cc into one program, and runs it."""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lacuna.base import paths
from lacuna.base.errors import Exit, LacunaError
from lacuna.base.progress import Progress
from lacuna.compiler import table as compiled_table
from lacuna.launch import mpis, watch
from lacuna.messages import ompi_programs

_FLAGS = ["-O3", "-Wall"]
_CLANG = "clang-19"

Samples = dict[str, list[float]]  # of each lane: seconds


@dataclass(frozen=True)
class Message:
    """One exchange, with the lanes of bench/compiled/main.c."""

    id: str
    kind: str
    n: int
    bytes: int
    lanes: tuple[str, ...]

    def line(self) -> str:
        """The row as the program reads it."""
        return f"{self.id} {self.kind} {self.n} {self.bytes} {','.join(self.lanes)}\n"


@dataclass(frozen=True)
class How:
    """How long to measure, and how to compile."""

    samples: int
    seconds: float  # for a message
    packs_all: bool = False  # without the rules of the tables


def measure(
    target: mpis.Installed,
    messages: list[Message],
    how: How,
    progress: Progress,
    starts: int = 1,
) -> tuple[dict[str, Any], list[dict[str, Samples]]]:
    """The program's header line; and for each start of the program, the samples of all messages."""
    with tempfile.TemporaryDirectory(prefix="lacuna-") as name:
        folder = Path(name)
        program = _build(target, folder, how.packs_all)
        file = folder / "rows"
        file.write_text("".join(one.line() for one in messages), encoding="utf-8")

        def command(out: Path) -> tuple[list[str], dict[str, str]]:
            words = [str(program), "--rows", str(file), "--out", str(out)]
            words += ["--samples", str(how.samples), "--seconds", str(how.seconds)]
            return target.command(2, words), dict(os.environ) | target.environment()

        runs = [watch.run(target.name, command, "row", progress) for _ in range(starts)]
    return runs[0][0], [_samples(lines) for lines in runs]


def _samples(lines: list[watch.Line]) -> dict[str, Samples]:
    found: dict[str, Samples] = defaultdict(lambda: defaultdict(list))
    for line in lines:
        if line["kind"] == "sample":
            found[line["id"]][line["lane"]].append(line["s"])
    return found


def ratio(samples: Samples, over: str, under: str) -> float:
    """The median ratio of the times of two lanes, sample by sample."""
    return statistics.median(
        one / other for one, other in zip(samples[over], samples[under], strict=True)
    )


def _build(target: mpis.Installed, folder: Path, packs_all: bool) -> Path:
    clang = shutil.which(_CLANG)
    if clang is None:
        raise LacunaError(Exit.ENVIRONMENT, f"no {_CLANG}", f"install {_CLANG}")
    source = paths.bench_sources("compiled")
    # So that lacuna-cc loads this package, too.
    package = str(Path(__file__).resolve().parents[2])
    told = dict(os.environ)
    told["PYTHONPATH"] = os.pathsep.join(filter(None, [package, told.get("PYTHONPATH")]))
    if packs_all:
        told[compiled_table.TABLE] = "none"
    ours = [
        sys.executable,
        "-c",
        "from lacuna.compiler.wrapper import cc; cc()",
        "--mpi",
        target.name,
    ]
    plain = [clang, *_plain_flags(target)]
    objects = []
    apart = compiled_table.pass_options({}, {}, [[1, compiled_table.MOST_BYTES]])
    for words, file, macro in (
        (plain, "main", "MAIN"),
        (plain, "sites", "SITES=g_sites_plain"),
        (ours, "sites", "SITES=g_sites_ours"),
        (
            [*ours, *(word for option in apart[1:] for word in ("-mllvm", option))],
            "sites",
            "SITES=g_sites_apart",
        ),
    ):
        objects.append(str(folder / f"{macro}.o"))
        command = [*words, *_FLAGS, f"-D{macro}", "-c", str(source / f"{file}.c")]
        ompi_programs.compile_program([*command, "-o", objects[-1]], told)
    program = folder / "lacuna-bench-compiled"
    ompi_programs.compile_program([*ours, *objects, "-o", str(program), "-lm"], told)
    return program


def _plain_flags(target: mpis.Installed) -> list[str]:
    flags = ["-I", str(target.prefix / "include")]
    return flags + (["-DMPI_ABI"] if target.name == "mpiabi" else [])
