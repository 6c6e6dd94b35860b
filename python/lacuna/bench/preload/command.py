# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench preload`: what lacuna adds to calls that it leaves to the library, and what it
gains in others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lacuna.base import paths, provenance, results
from lacuna.base.progress import Progress
from lacuna.bench.preload import calls as preload_calls
from lacuna.bench.preload import tables
from lacuna.bench.preload.calls import Calls
from lacuna.bench.preload.row import Row
from lacuna.messages import program, shapes
from lacuna.messages.program import Target
from lacuna.messages.ratios import Line, Times

# nn* is nn measured a second time: the noise of the comparison.
WAYS = ["nn", "nn*", "ll", "cc"]
_SECONDS = 0.25  # of a message
_QUICK_SECONDS = 0.05
_COLLECTIVE_SECONDS = 0.1
_QUICK_COLLECTIVE_BYTES = 1 << 10
_AGAIN = 4  # times as long, for rows that seem slower


@dataclass
class Options:
    """What the command line asked for."""

    mpis: list[str] = field(default_factory=list)  # none: those that are there
    quick: bool = False
    seconds: float | None = None
    calls: bool = True
    messages: bool = True
    collectives: bool = True
    shapes: list[str] = field(default_factory=list)  # none: all
    mpi_root: Path = field(default_factory=paths.default_mpi_root)
    json: Path | None = None
    plots: Path | None = None


def preload(options: Options) -> None:
    """Measures, writes the files, prints the tables."""
    targets = program.bundled(options.mpis, options.mpi_root)
    results.make_folders([options.json], options.plots)
    header: dict[str, Any] = provenance.collect() | {"mpi": {}, "table": {}}
    calls: list[Calls] = []
    rows: list[Row] = []
    with Progress(len(targets) * (options.messages + options.collectives)) as progress:
        for target in targets:
            if options.calls:
                calls.append(preload_calls.count(target))
            if options.messages:
                rows += _messages(target, options, header, progress)
            if options.collectives:
                rows += _collectives(target, options, header, progress)
    if options.json:
        results.write_json(
            options.json,
            header,
            [row.as_json() for row in rows],
            calls=[one.as_json() for one in calls],
        )
    tables.show(calls, rows)
    written = [options.json] if options.json else []
    messages = [row for row in rows if row.what == "message"]
    if options.plots and messages:
        from lacuna.bench.preload import plot as preload_plot  # matplotlib takes a second to load

        written += preload_plot.draw(options.plots, header, messages)
    for path in written:
        print(f"wrote {path}", file=sys.stderr)


def _messages(
    target: Target, options: Options, header: dict[str, Any], progress: Progress
) -> list[Row]:
    """The rows of all messages on one library; those that seem slower are measured again in another
    job.
    """
    sizes = shapes.QUICK_SIZES if options.quick else shapes.SIZES
    messages = shapes.messages(sizes, options.shapes)
    seconds = options.seconds or (_QUICK_SECONDS if options.quick else _SECONDS)

    def measure(seconds: float, only: set[str]) -> tuple[Line, list[Times]]:
        chosen = [message for message in messages if not only or message.id in only]
        return program.measure(target, chosen, WAYS, seconds, {}, progress)

    return twice(target, "message", seconds, measure, header)


def twice(
    target: Target,
    what: str,
    seconds: float,
    measure: Callable[[float, set[str]], tuple[Line, list[Times]]],
    header: dict[str, Any],
) -> list[Row]:
    """The rows of all messages or collectives (`what`); those that seem slower are measured again.

    `measure(seconds, names)` runs a job; an empty set of names stands for all. The header gets the
    library and its table.
    """
    told, times = measure(seconds, set())
    header["mpi"][target.name] = told["mpi_library"].strip()
    header["table"][target.name] = told["table"]
    header["compiler"] = told["compiler"]
    rows = [Row(target.name, one, what=what) for one in times]
    doubtful = {row.id for row in rows if row.seems_slower}
    if doubtful:
        again = {one.id: one for one in measure(seconds * _AGAIN, doubtful)[1]}
        for row in rows:
            row.again = again.get(row.id)
    return rows


def _collectives(
    target: Target, options: Options, header: dict[str, Any], progress: Progress
) -> list[Row]:
    """The rows of collectives, as _messages()."""
    seconds = options.seconds or (_QUICK_SECONDS if options.quick else _COLLECTIVE_SECONDS)
    most = _QUICK_COLLECTIVE_BYTES if options.quick else None

    def measure(seconds: float, only: set[str]) -> tuple[Line, list[Times]]:
        return program.measure_collectives(target, seconds, most, sorted(only), progress)

    return twice(target, "collective", seconds, measure, header)
