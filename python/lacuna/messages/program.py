# SPDX-License-Identifier: BSD-3-Clause
"""Runs lacuna-bench-preload: two ranks, messages in several ways, lacuna loaded."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lacuna.base import paths
from lacuna.base.progress import Progress
from lacuna.launch import detect, elf, mpis, run, watch
from lacuna.messages import ratios
from lacuna.messages.ratios import Line, Times
from lacuna.messages.shapes import Message


@dataclass(frozen=True)
class Target:
    """An MPI library and the words that start two ranks on it."""

    name: str  # as in --mpi
    launcher: list[str]  # words before the program
    environment: dict[str, str]

    def program(self, what: str) -> Path:
        """The path of a benchmark program for this library's ABI."""
        return paths.program(f"lacuna-bench-{what}-{paths.family_of(self.name)}")


def bundled(
    names: list[str], root: Path, hosts: tuple[str, ...] = (), agent: str | None = None
) -> list[Target]:
    """The named MPI libraries that `make` fetched; without names, all of them. One rank on each of
    two hosts (`agent` replaces ssh); without hosts, both ranks here.
    """
    chosen = mpis.chosen(names, root, hosts, agent)
    return [Target(mpi.name, mpi.command(2, []), mpi.environment()) for mpi in chosen]


def measure(
    target: Target,
    rows: list[Message],
    ways: list[str],
    seconds: float,
    options: dict[str, str],
    progress: Progress,
    link: str | None = None,
    check: Callable[[Line], None] = lambda header: None,
) -> tuple[Line, list[Times]]:
    """The program's header, and the times of all messages.

    `seconds` is for each message; `options` are LACUNA_* variables of the ranks; `link` is a
    network interface whose sent bytes are counted. `check` gets the header before anything is
    measured, and may raise an error, which ends the program.
    """
    with tempfile.TemporaryDirectory(prefix="lacuna-") as folder:
        file = Path(folder) / "rows"
        file.write_text("".join(row.line() for row in rows), encoding="utf-8")

        words = ["--rows", str(file), "--ways", ",".join(ways), "--seconds", str(seconds)]
        words += ["--link", link] if link else []
        options = options | _own_library(target, Path(folder))
        return _run(target, "preload", words, options, progress, check)


def _own_library(target: Target, folder: Path) -> dict[str, str]:
    """The LD_LIBRARY_PATH with which our ranks find the MPI library: that of the launcher.

    Debian names MPICH's library libmpich.so.12 and our programs need libmpi.so.12: then a link in
    `folder` is made.
    """
    if target.environment:  # it knows where its library is
        return {}
    found = detect.family_of_file(target.program("preload"))
    if found is None:
        return {}
    there = beside(target.launcher[0], found[1])
    if there is None:
        library = elf.find("libmpich.so.12")
        if found[1] != "libmpi.so.12" or found[2] or library is None:
            return {}
        (folder / found[1]).symlink_to(library)
        there = folder
    before = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": f"{there}:{before}" if before else str(there)}


def beside(launcher: str, library: str) -> Path | None:
    """PREFIX/lib of the launcher PREFIX/bin/NAME, if the library is in it."""
    found = shutil.which(launcher)
    for path in [Path(found), Path(found).resolve()] if found else []:
        folder = path.parent.parent / "lib"
        if (folder / library).exists():
            return folder
    return None


def measure_collectives(
    target: Target, seconds: float, most: int | None, only: list[str], progress: Progress
) -> tuple[Line, list[Times]]:
    """The same for collectives: those in `only`, or all, up to `most` bytes between two ranks."""
    words = ["--seconds", str(seconds)]
    words += ["--most", str(most)] if most else []
    words += ["--only", ",".join(only)] if only else []
    return _run(target, "collectives", words, {}, progress)


def measure_devices(
    target: Target,
    seconds: float,
    most: int | None,
    options: dict[str, str],
    progress: Progress,
    check: Callable[[Line], None],
) -> tuple[Line, list[Times]]:
    """As measure() for data in the memory of CUDA devices, up to `most` bytes: packed into memory
    of the host, and of the device.
    """
    with tempfile.TemporaryDirectory(prefix="lacuna-") as folder:
        words = ["--seconds", str(seconds)]
        words += ["--most", str(most)] if most else []
        options = options | _own_library(target, Path(folder))
        return _run(target, "devices", words, options, progress, check)


def _run(
    target: Target,
    what: str,
    arguments: list[str],
    options: dict[str, str],
    progress: Progress,
    check: Callable[[Line], None] = lambda header: None,
) -> tuple[Line, list[Times]]:
    def seen(line: Line) -> None:
        if line["kind"] == "header":
            check(line)

    def command(out: Path) -> tuple[list[str], dict[str, str]]:
        words = [*target.launcher, str(target.program(what)), "--out", str(out), *arguments]
        return run.build(words, target.name, dict(os.environ) | target.environment | options)

    lines = watch.run(target.name, command, "row", progress, seen)
    watch.check_loaded(target.name, lines)
    return lines[0], ratios.collect(lines)
