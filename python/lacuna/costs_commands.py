# SPDX-License-Identifier: BSD-3-Clause
"""The command lines of `lacuna costs`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lacuna import costs_machine, places
from lacuna.errors import Exit, LacunaError
from lacuna.mpis import spelled_out


def add_to(costs: typer.Typer) -> None:
    """Puts the commands under `lacuna costs`."""
    costs.callback()(_group)
    costs.command("machine")(_machine)


def _group() -> None:
    """Where communication time goes."""


def _machine(
    mpi: Annotated[
        list[str] | None,
        typer.Option(
            "--mpi", help="mpich, openmpi, intelmpi, mpiabi; default: all that are there."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer messages, sizes and samples.")
    ] = False,
    only: Annotated[
        str | None, typer.Option("--only", help="pieces or thresholds; default: both.")
    ] = None,
    check_knobs: Annotated[
        bool,
        typer.Option("--check-knobs", help="Move a setting: does the threshold move with it?"),
    ] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write rows, findings and sweeps here.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="Write a page and figures into this folder.")
    ] = None,
    mpi_root: Annotated[
        Path | None, typer.Option("--mpi-root", help="Folder with one MPI library in each folder.")
    ] = None,
    hosts: Annotated[
        str | None,
        typer.Option("--hosts", metavar="A,B", help="One rank on each, not both on this machine."),
    ] = None,
    launch_agent: Annotated[
        str | None,
        typer.Option("--launch-agent", metavar="PROGRAM", help="With --hosts: instead of ssh."),
    ] = None,
) -> None:
    """What copying, packing, the library and the network cost, and where the library's ways end."""
    if only not in (None, "pieces", "thresholds"):
        raise LacunaError(
            Exit.USAGE, f"unknown part in --only: {only}", "give pieces or thresholds"
        )
    options = costs_machine.Options(
        mpis=spelled_out(mpi or []),
        quick=quick,
        rows=only in (None, "pieces"),
        sweep=only in (None, "thresholds"),
        mpi_root=mpi_root or places.default_mpi_root(),
        json=json_file,
        output=output,
        hosts=tuple(hosts.split(",")) if hosts else (),
        launch_agent=launch_agent,
    )
    if check_knobs:
        from lacuna import costs_check

        costs_check.check(options)
        return
    costs_machine.machine(options)
