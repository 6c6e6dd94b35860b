# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench preload`: what the preload costs where it cannot help, and wins where it can."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lacuna.base import paths, provenance, results
from lacuna.base.progress import Progress
from lacuna.bench.preload import calls as preload_calls
from lacuna.bench.preload import tables as preload_report
from lacuna.bench.preload.calls import Calls
from lacuna.bench.preload.row import Row
from lacuna.messages import program as preload_program
from lacuna.messages import shapes as preload_rows
from lacuna.messages.program import Target
from lacuna.messages.ratios import Line, Times
from lacuna.messages.shapes import Message

# nn* is nn once more: how much the same thing differs from itself.
WAYS = ["nn", "nn*", "ll", "cc"]
SECONDS = 0.25  # of a message
QUICK_SECONDS = 0.05
_COLLECTIVE_SECONDS = 0.1
_QUICK_COLLECTIVE_BYTES = 1 << 10
_AGAIN = 4  # times as long for what seems slower


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
    """Runs, writes the files, prints the tables."""
    targets = preload_program.bundled(options.mpis, options.mpi_root)
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
    preload_report.show(calls, rows)
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
    """All messages on one library; those that seem slower a second time, in a job of their own."""
    sizes = preload_rows.QUICK_SIZES if options.quick else preload_rows.SIZES
    messages = preload_rows.messages(sizes, options.shapes)
    seconds = options.seconds or (QUICK_SECONDS if options.quick else SECONDS)

    def measure(seconds: float, chosen: list[Message]) -> tuple[Line, list[Times]]:
        return preload_program.measure(target, chosen, WAYS, seconds, {}, progress)

    told, rows = twice(target, messages, seconds, measure)
    _note(target, told, header)
    return rows


def twice(
    target: Target,
    messages: list[Message],
    seconds: float,
    measure: Callable[[float, list[Message]], tuple[Line, list[Times]]],
) -> tuple[Line, list[Row]]:
    """What `measure` says of the messages; of those that seem slower, in a second job, too."""
    told, times = measure(seconds, messages)
    rows = [Row(target.name, one) for one in times]
    doubtful = {row.id for row in rows if row.seems_slower}
    again = [message for message in messages if message.id in doubtful]
    if again:
        _add_again(rows, measure(seconds * _AGAIN, again)[1])
    return told, rows


def _collectives(
    target: Target, options: Options, header: dict[str, Any], progress: Progress
) -> list[Row]:
    """The same with collectives."""
    seconds = options.seconds or (QUICK_SECONDS if options.quick else _COLLECTIVE_SECONDS)
    most = _QUICK_COLLECTIVE_BYTES if options.quick else None

    def measure(seconds: float, only: list[str]) -> tuple[Line, list[Times]]:
        return preload_program.measure_collectives(target, seconds, most, only, progress)

    told, times = measure(seconds, [])
    _note(target, told, header)
    rows = [Row(target.name, one, what="collective") for one in times]
    doubtful = [row.id for row in rows if row.seems_slower]
    if doubtful:
        _add_again(rows, measure(seconds * _AGAIN, doubtful)[1])
    return rows


def _note(target: Target, told: Line, header: dict[str, Any]) -> None:
    header["mpi"][target.name] = told["mpi_library"].strip()
    header["table"][target.name] = told["table"]
    header["compiler"] = told["compiler"]


def _add_again(rows: list[Row], times: list[Times]) -> None:
    by_id = {one.id: one for one in times}
    for row in rows:
        row.again = by_id.get(row.id)
