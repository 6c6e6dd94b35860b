# SPDX-License-Identifier: BSD-3-Clause
"""The command lines of `lacuna costs`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from lacuna.base import paths
from lacuna.base.errors import Exit, LacunaError
from lacuna.cli.options import Hosts, LaunchAgent, Mpi, MpiRoot
from lacuna.launch.mpis import spelled_out, two_hosts

_CACHE = re.compile(r"0|[1-9]\d*,[1-9]\d*,[1-9]\d*")


def add_to(costs: typer.Typer) -> None:
    """Puts the commands under `lacuna costs`."""
    costs.callback()(_group)
    costs.command(
        "machine", short_help="The parts of a message's time; sizes where MPI's protocol changes."
    )(_machine)
    costs.command("misses", short_help="Cache and TLB misses of packing.")(_misses)


def _group() -> None:
    """Where communication time goes."""


def _machine(
    mpi: Mpi = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer messages, sizes and samples.")
    ] = False,
    only: Annotated[
        str | None, typer.Option("--only", help="pieces or thresholds; default: both.")
    ] = None,
    check_knobs: Annotated[
        bool,
        typer.Option(
            "--check-knobs", help="Change each setting, and check that its threshold moves."
        ),
    ] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write rows, findings and sweeps to this file.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="Write a page and figures into this folder.")
    ] = None,
    mpi_root: MpiRoot = None,
    hosts: Hosts = None,
    launch_agent: LaunchAgent = None,
) -> None:
    """Measure what copying, packing, the library and the network cost, and at which message sizes
    the library changes its protocol."""
    if only not in (None, "pieces", "thresholds"):
        raise LacunaError(
            Exit.USAGE, f"unknown part in --only: {only}", "give pieces or thresholds"
        )
    from lacuna.costs import machine as costs_machine

    options = costs_machine.Options(
        mpis=spelled_out(mpi or []),
        quick=quick,
        rows=only in (None, "pieces"),
        sweep=only in (None, "thresholds"),
        mpi_root=mpi_root or paths.default_mpi_root(),
        json=json_file,
        output=output,
        hosts=two_hosts(hosts),
        launch_agent=launch_agent,
    )
    if check_knobs:
        from lacuna.costs import check as costs_check

        costs_check.check(options)
        return
    result = costs_machine.machine(options)
    if output:
        from lacuna.report import page  # above costs, whose results it shows

        page.write([json_file or Path(costs_machine.KIND)], [result], output)


def _misses(
    types: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TYPE-TEXT...",
            help="Such as vector(4, 1, 4, double); default: one of each shape.",
        ),
    ] = None,
    count: Annotated[
        int, typer.Option("--count", min=1, help="Number of elements of each type.")
    ] = 1,
    check: Annotated[
        bool, typer.Option("--check", help="Compare the simulation with cachegrind.")
    ] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the rows to this file.")
    ] = None,
    l1: Annotated[
        str | None,
        typer.Option(
            "--l1",
            metavar="BYTES,WAYS,LINE",
            help="Simulate this L1 instead of the machine's; 0: none.",
        ),
    ] = None,
    l2: Annotated[
        str | None, typer.Option("--l2", metavar="BYTES,WAYS,LINE", help="The same for L2.")
    ] = None,
    l3: Annotated[
        str | None, typer.Option("--l3", metavar="BYTES,WAYS,LINE", help="The same for L3.")
    ] = None,
    tlb: Annotated[
        int | None,
        typer.Option("--tlb", metavar="PAGES", min=1, help="Pages in the first-level TLB."),
    ] = None,
    tlb2: Annotated[
        int | None,
        typer.Option("--tlb2", metavar="PAGES", min=1, help="Pages in the second-level TLB."),
    ] = None,
) -> None:
    """Show cache and TLB misses of packing types: counted, simulated and predicted by the model."""
    from lacuna import engine
    from lacuna.costs import misses as costs_misses

    given = {"--l1": l1, "--l2": l2, "--l3": l3, "--tlb": tlb, "--tlb2": tlb2}
    words = [word for name, value in given.items() if value for word in (name, str(value))]
    for name in ("--l1", "--l2", "--l3"):
        if given[name] and not _CACHE.fullmatch(str(given[name])):
            raise LacunaError(
                Exit.USAGE, f"bad cache in {name}: {given[name]}", "give as in 32768,8,64, or 0"
            )
    for text in types or []:
        engine.Type(text)  # or says what is wrong with it
    rows = [(text, count, text) for text in types or []] or list(costs_misses.SHAPES)
    if check:
        from lacuna.costs import cachegrind as costs_cachegrind

        costs_cachegrind.check(rows)
        return
    costs_misses.misses(costs_misses.Options(rows, json_file, words))
