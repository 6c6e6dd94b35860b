# SPDX-License-Identifier: BSD-3-Clause
"""The command line of `lacuna run`."""

from __future__ import annotations

from typing import Annotated

import typer

from lacuna.base.errors import Exit, LacunaError
from lacuna.cli.options import MPI_NAMES, check_isa, isa_names, mpi_names


def run_command(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND...", help="Such as mpirun -n 4 ./program")
    ] = None,
    mpi: Annotated[
        str | None,
        typer.Option(
            "--mpi",
            help=f"The MPI library, if lacuna cannot find it: one of {MPI_NAMES}.",
            autocompletion=mpi_names,
        ),
    ] = None,
    disable: Annotated[
        bool, typer.Option("--disable", help="Load lacuna, but pass all calls to the MPI library.")
    ] = False,
    isa: Annotated[
        str | None,
        typer.Option(
            "--isa",
            help="The instruction set that packing uses: reference, ssse3, avx2, avx512.",
            autocompletion=isa_names,
        ),
    ] = None,
    log: Annotated[
        bool,
        typer.Option(
            "--log", help="Say on stderr which calls lacuna handles or declines, and why."
        ),
    ] = False,
    report: Annotated[
        str | None,
        typer.Option(
            "--report",
            metavar="[FILE.json]",
            help="At the end: a table of calls by function and type, on stderr or as JSON in FILE.",
        ),
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option(
            "--costs",
            metavar="[FILE.json]",
            help="As --report, with the time of each call by place in the program and by cause.",
        ),
    ] = None,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify", help="Let the MPI library pack and unpack too, and compare the bytes."
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print the command that would be started, and do not start it."
        ),
    ] = False,
) -> None:
    """Run an MPI program with lacuna loaded into its ranks. Options come before COMMAND."""
    from lacuna.launch import run

    options = {}
    if report and costs:
        raise LacunaError(Exit.USAGE, "--report and --costs write one report", "give one of them")
    if disable and (report or costs or verify):
        told = run.REPORT if report else run.COSTS if costs else "--verify"
        raise LacunaError(
            Exit.USAGE, f"with --disable, {told} has nothing to report", "give one of them"
        )
    if report:
        options["LACUNA_REPORT"] = run.report_option(report, dry_run)
    if costs:
        options["LACUNA_REPORT"] = run.report_option(costs, dry_run)
        options["LACUNA_COSTS"] = "1"
    if verify:
        options["LACUNA_VERIFY"] = "1"
    if disable:
        options["LACUNA_DISABLE"] = "1"
    if isa is not None:
        check_isa(isa)
        options["LACUNA_ISA"] = isa
    if log:
        options["LACUNA_LOG"] = "1"
    run.run(list(command or []), mpi, options, dry_run)
