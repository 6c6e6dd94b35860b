# SPDX-License-Identifier: BSD-3-Clause
"""The command line of `lacuna bench nodes`."""

from __future__ import annotations

from typing import Annotated

import typer

from lacuna.base import paths
from lacuna.base.errors import Exit, LacunaError
from lacuna.cli.options import Json, LaunchAgent, MessageSeconds, Mpi, MpiRoot, Shapes
from lacuna.launch.mpis import spelled_out


def nodes_command(
    mpi: Mpi = None,
    hosts: Annotated[
        str | None,
        typer.Option(
            "--hosts",
            metavar="A,B",
            help="Start one rank on each of these hosts; messages go between the first two.",
        ),
    ] = None,
    launch_agent: LaunchAgent = None,
    namespaces: Annotated[
        int | None,
        typer.Option(
            "--namespaces",
            metavar="N",
            help="Instead of --hosts: N network namespaces of this machine (root; default: 2).",
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option("--rate", help="With namespaces: the rate of a link, such as 10gbit."),
    ] = None,
    delay: Annotated[
        str | None,
        typer.Option("--delay", help="With namespaces: the delay of a link, such as 10us."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Fewer messages and exchanges; takes less than a minute."),
    ] = False,
    seconds: MessageSeconds = None,
    only: Annotated[
        str | None, typer.Option("--only", help="messages or exchanges; default: both.")
    ] = None,
    shape: Shapes = None,
    also: Annotated[
        list[str] | None,
        typer.Option(
            "--also",
            metavar="NAME=VALUE[,...]",
            help="All of it once more with these options of lacuna; may be repeated.",
        ),
    ] = None,
    json_file: Json = None,
    mpi_root: MpiRoot = None,
) -> None:
    """Time messages and exchanges of derived types between hosts: by MPI alone, with lacuna, packed
    by hand, and contiguous data. The hosts may be network namespaces of this machine."""
    from lacuna.bench.nodes import command as bench_nodes
    from lacuna.launch import hosts as launch_hosts

    if only not in (None, "messages", "exchanges"):
        raise LacunaError(
            Exit.USAGE, f"unknown part in --only: {only}", "give messages or exchanges"
        )
    if hosts is not None and (namespaces is not None or rate or delay):
        raise LacunaError(
            Exit.USAGE,
            "--namespaces, --rate and --delay make links on this machine",
            "leave out --hosts",
        )
    if launch_agent and hosts is None:
        raise LacunaError(Exit.USAGE, "--launch-agent starts ranks on hosts", "add --hosts")
    if hosts is not None:
        found = launch_hosts.named(hosts, launch_agent)
    else:
        found = launch_hosts.namespaces(namespaces, rate, delay)
    bench_nodes.nodes(
        bench_nodes.Options(
            hosts=found,
            mpis=spelled_out(mpi or []),
            quick=quick,
            seconds=seconds,
            messages=only in (None, "messages"),
            exchanges=only in (None, "exchanges"),
            shapes=list(shape or []),
            also=list(also or []),
            mpi_root=mpi_root or paths.default_mpi_root(),
            json=json_file,
        )
    )
