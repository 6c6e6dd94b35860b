# SPDX-License-Identifier: BSD-3-Clause
"""The command line of `lacuna doctor`."""

from __future__ import annotations

from typing import Annotated

import typer

from lacuna.base.errors import Exit, LacunaError
from lacuna.cli.options import MPI_NAMES, mpi_names


def doctor_command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PID] | [-- LAUNCHER... PROGRAM]",
            help="Process id of a rank on this node, or of its launcher; or how a program is "
            "started, such as: -- mpirun -n 2 ./program",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead; not for a PID.")
    ] = False,
    mpi: Annotated[
        str | None,
        typer.Option(
            "--mpi",
            help=f"The MPI library, as for `lacuna run`: one of {MPI_NAMES}; not for a PID.",
            autocompletion=mpi_names,
        ),
    ] = None,
) -> int:
    """Check this machine and a launch: which MPI library, whether lacuna is in the ranks, which of
    its ways are open, and what to do where not. The launch is checked as `lacuna run` starts it,
    with a small probe instead of the program; an LD_PRELOAD that you set yourself is checked for
    the wrong library only. Without a launch, the probe runs on each MPI library that is found. The
    exit code is 1 if there are faults.

    With a process id, for a job that hangs: show which ranks on this node wait inside lacuna, for
    which rank, and since when."""
    if words and len(words) == 1 and words[0].isdigit():
        from lacuna.launch import doctor

        if as_json:
            raise LacunaError(Exit.USAGE, "--json with a process id", "leave out --json")
        if mpi:
            raise LacunaError(Exit.USAGE, "--mpi with a process id", "leave out --mpi")
        doctor.doctor(int(words[0]))
        return Exit.OK
    from lacuna.launch.check import page

    return page.doctor(words or [], as_json, mpi)
