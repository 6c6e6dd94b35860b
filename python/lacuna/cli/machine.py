# SPDX-License-Identifier: BSD-3-Clause
"""The command line of `lacuna machine`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lacuna.base.errors import Exit, LacunaError


def machine_command(
    measure: Annotated[
        bool,
        typer.Option(
            "--measure", help="Measure first (half a minute), and keep the result for later runs."
        ),
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="With --measure: takes seconds, and is less exact.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead, with evidence and curves.")
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", help="Draw memory latency over working-set size into this PNG file."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", help="With --measure: keep the result in this file instead."),
    ] = None,
    gpu: Annotated[bool, typer.Option("--gpu", help="Show the numbers of a CUDA device.")] = False,
    fit: Annotated[
        str | None,
        typer.Option(
            "--fit",
            metavar="ROW",
            help="Measure which instruction sequences this CPU runs fastest (a minute), starting "
            "from this row of defaults: generic.",
        ),
    ] = None,
) -> None:
    """Show the numbers about this machine (caches, TLB, bandwidth) by which lacuna decides, and the
    origin of each."""
    from lacuna.base import results
    from lacuna.machine import numbers as machine

    for name, given in (("--quick", quick), ("--output", output is not None)):
        if given and not (measure or fit):
            raise LacunaError(Exit.USAGE, f"{name} says how to measure", "add --measure or --fit")
    if fit:
        if measure or gpu or plot:
            raise LacunaError(
                Exit.USAGE, "--fit prints what it finds", "leave out --measure, --gpu and --plot"
            )
        from lacuna.machine import fit as machine_fit

        machine_fit.fit(fit, quick, as_json, output)
        return
    if gpu:
        if plot:
            raise LacunaError(Exit.USAGE, "--plot draws the caches of a CPU", "leave out --gpu")
        from lacuna.gpu import machine as gpu_machine

        gpu_machine.show(as_json, quick, measure, output)
        return
    results.make_folders([plot], plot and plot.absolute().parent)
    if measure:
        machine.measure(quick, output)
    machine.show(as_json, plot)
