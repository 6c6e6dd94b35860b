# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench papers`: the experiments of the papers lacuna comes from, then and now.

Then is what a paper prints or says in words; where it has only a picture, there is no number.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from lacuna.base import provenance, results, terminal
from lacuna.base.errors import Exit, LacunaError
from lacuna.base.results import Row
from lacuna.bench.papers.experiment import Cells, Found
from lacuna.bench.papers.future import FUTURE
from lacuna.bench.papers.ompi import OMPI
from lacuna.bench.papers.past import PAST
from lacuna.messages import exchange, ompi_programs

EXPERIMENTS = PAST | OMPI | FUTURE
_QUICK = (3, 0.3)


@dataclass(frozen=True)
class Shown:
    """An experiment with its numbers."""

    title: str
    then: str
    cells: Cells


def papers(options: exchange.Options, names: list[str], quick: bool) -> None:
    """Runs the experiments, writes the file, prints a table for each."""
    for name in names:
        if name not in EXPERIMENTS:
            raise LacunaError(
                Exit.USAGE, f"unknown experiment: {name}", f"known are {', '.join(EXPERIMENTS)}"
            )
    chosen = {name: EXPERIMENTS[name] for name in names or EXPERIMENTS}
    if quick:
        options.samples, options.seconds = _QUICK
    only = {one for experiment in chosen.values() for one in experiment.only}
    if not options.mpis and only and all(experiment.only for experiment in chosen.values()):
        options.mpis = sorted(only)
    # Experiments share rows: each is run once.
    rows: dict[str, Row] = {}
    for experiment in chosen.values():
        for row in experiment.rows():
            rows.setdefault(row["id"], row)
    for shown in experiments(_measure(list(rows.values()), list(chosen), options, quick), chosen):
        _show(shown)


def _measure(
    rows: list[Row], names: list[str], options: exchange.Options, quick: bool
) -> list[Row]:
    """Measures and writes: rows are messages of one program, or programs of their own."""
    programs = [row for row in rows if "program" in row]
    messages = [row for row in rows if "program" not in row]
    lanes: list[Row] = []
    header: dict[str, Any] = provenance.collect() | {"kind": "papers", "language": "c", "ranks": 2}
    if programs:
        results.make_folders([options.json])
        plan = ompi_programs.Plan(jobs=2 if quick else 7, rounds=1 if quick else 5, quick=quick)
        lanes, told = ompi_programs.measure(programs, options, plan)
        header |= told
    if messages:
        measured = exchange.measure("papers", messages, options)
        measured.lanes += lanes
        exchange.write(measured, options, experiments=names)
        return measured.lanes
    if options.json:
        results.write_json(options.json, header, lanes, experiments=names)
        print(f"wrote {options.json}", file=sys.stderr)
    return lanes


def experiments(lanes: list[Row], names: Iterable[str]) -> list[Shown]:
    """The experiments with their numbers, from the lanes of a run of them."""
    shown = []
    for name in names:
        experiment = EXPERIMENTS[name]
        ids = {row["id"] for row in experiment.rows()}
        ours = [
            row
            for row in lanes
            if row["id"] in ids and (not experiment.only or row["mpi"] in experiment.only)
        ]
        if ours:
            title = f"{name}: {experiment.title}"
            shown.append(Shown(title, experiment.then, experiment.cells(Found(ours))))
    return shown


def _show(shown: Shown) -> None:
    console = terminal.console(140)
    table = Table(title=shown.title, caption=shown.then, box=SIMPLE_HEAD)
    headings, rows = shown.cells
    for index, name in enumerate(headings):
        table.add_column(name, justify="right" if index else "left")
    for row in rows:
        table.add_row(*row)
    console.print(table)
