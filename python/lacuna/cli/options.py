# SPDX-License-Identifier: BSD-3-Clause
"""The options of all commands that start MPI programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Mpi = Annotated[
    list[str] | None,
    typer.Option("--mpi", help="mpich, openmpi, intelmpi, mpiabi; default: all that are there."),
]
MpiRoot = Annotated[
    Path | None, typer.Option("--mpi-root", help="Folder with one MPI library in each folder.")
]
Hosts = Annotated[
    str | None,
    typer.Option("--hosts", metavar="A,B", help="One rank on each, not both on this machine."),
]
LaunchAgent = Annotated[
    str | None,
    typer.Option("--launch-agent", metavar="PROGRAM", help="With --hosts: instead of ssh."),
]
