# SPDX-License-Identifier: BSD-3-Clause
"""The options of all commands that start MPI programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lacuna.base import paths
from lacuna.base.errors import Exit, LacunaError

# What LACUNA_ISA names, of all architectures; avx3 was the name of avx512 until version 0.2.
ISA_NAMES = ("reference", "ssse3", "avx2", "avx512", "neon", "sve")
_OLD_ISA_NAMES = ("avx3",)
MPI_NAMES = ", ".join(paths.FAMILY_OF)


def mpi_names() -> list[str]:
    """What a shell offers behind --mpi."""
    return list(paths.FAMILY_OF)


def isa_names() -> list[str]:
    """What a shell offers behind --isa."""
    return list(ISA_NAMES)


def check_isa(name: str) -> None:
    """Raises LacunaError if lacuna has no code for an instruction set of that name."""
    if name not in ISA_NAMES + _OLD_ISA_NAMES:
        known = f"known are {', '.join(ISA_NAMES)}"
        raise LacunaError(Exit.USAGE, f"unknown instruction set in --isa: {name}", known)


Mpi = Annotated[
    list[str] | None,
    typer.Option(
        "--mpi",
        help="mpich, openmpi, intelmpi or mpiabi; default: all that are found.",
        autocompletion=mpi_names,
    ),
]
MpiRoot = Annotated[
    Path | None,
    typer.Option("--mpi-root", help="Folder that has one MPI library in each subfolder."),
]
Json = Annotated[
    Path | None,
    typer.Option("--json", help="Write rows, raw samples and provenance to this file."),
]
MessageSeconds = Annotated[
    float | None,
    typer.Option("--seconds", min=0, help="Time budget for each message, over all methods."),
]
Shapes = Annotated[
    list[str] | None,
    typer.Option("--shape", help="Only messages of this shape; may be repeated."),
]
Hosts = Annotated[
    str | None,
    typer.Option("--hosts", metavar="A,B", help="Start one rank on each of these hosts."),
]
LaunchAgent = Annotated[
    str | None,
    typer.Option(
        "--launch-agent",
        metavar="PROGRAM",
        help="With --hosts: the program that starts ranks there, instead of ssh.",
    ),
]
