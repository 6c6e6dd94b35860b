# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench nodes`: messages and exchanges between hosts: native, lacuna, by hand, contiguous.

One rank on each host. What lacuna does by options that ranks read in MPI_Init (`also`) is a job of
its own, with all other ways beside it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lacuna.base import paths, provenance, results
from lacuna.base.errors import Exit, LacunaError
from lacuna.base.progress import Progress
from lacuna.base.units import KIB, MIB
from lacuna.bench.apps import command as bench_apps
from lacuna.bench.nodes import summary, tables
from lacuna.bench.nodes.summary import Exchange, Job
from lacuna.bench.preload import command as preload
from lacuna.bench.preload.row import Row
from lacuna.launch.hosts import Hosts
from lacuna.messages import exchange, program, shapes
from lacuna.messages.program import Target
from lacuna.messages.ratios import Line, Times

SHAPES = ["vector-1", "vector-64", "sorted", "structs", "transpose", "face-k"]
SIZES = [32, 512, 4 * KIB, 16 * KIB, 128 * KIB, MIB, 8 * MIB, 32 * MIB]
QUICK_SIZES = [512, 16 * KIB, MIB]
_WAYS = [*preload.WAYS, "hh"]
_MESSAGE_SECONDS = 0.5  # of a message
_QUICK_MESSAGE_SECONDS = 0.15
# Exchanges: how each method sends (bench/apps/ways/way.cpp), and whether under lacuna.
_METHODS = ["native", "lacuna", "by_hand", "contiguous"]
_PENCILS = (32, 64, 128)  # doubles along an edge of the array of an FFT
_QUICK_PENCILS = (64,)
_SECONDS, _SAMPLES = 1.0, 25  # of an exchange
_QUICK_SECONDS, _QUICK_SAMPLES = 0.2, 5
# As `lacuna run` starts it. There is one rank on each host, so no two share memory.
_AS_RUN = {"LACUNA_DIRECT": "1"}


@dataclass
class Options:
    """What the command line asked for."""

    hosts: Hosts
    mpis: list[str] = field(default_factory=list)  # none: those that are there
    quick: bool = False
    seconds: float | None = None  # for a message
    messages: bool = True
    exchanges: bool = True
    shapes: list[str] = field(default_factory=list)  # none: SHAPES
    also: list[str] = field(default_factory=list)
    mpi_root: Path = field(default_factory=paths.default_mpi_root)
    json: Path | None = None


def nodes(options: Options) -> None:
    """Measures, writes the files, prints the tables."""
    jobs = [Job({}), *(_job(text) for text in options.also)]
    hosts = options.hosts
    targets = program.bundled(options.mpis, options.mpi_root, hosts.names[:2], hosts.agent)
    results.make_folders([options.json])
    header: dict[str, Any] = provenance.collect() | {"hosts": hosts.about(), "mpi": {}, "table": {}}
    messages: list[tuple[Job, Row]] = []
    exchanges: list[Exchange] = []
    if options.messages:
        with Progress(len(targets) * len(jobs)) as progress:
            for target in targets:
                for job in jobs:
                    messages += [
                        (job, row) for row in _messages(target, job, options, header, progress)
                    ]
    if options.exchanges:
        for job in jobs:
            exchanges += _exchanges(job, options, header)
    means = summary.of_messages(messages)
    if options.json:
        results.write_json(
            options.json,
            header,
            [row.as_json() | {"options": job.options} for job, row in messages],
            exchanges=[one.as_json() for one in exchanges],
            summary=means,
        )
    tables.show(hosts.title(), messages, means, exchanges)
    if options.json:
        print(f"wrote {options.json}", file=sys.stderr)


def _job(text: str) -> Job:
    """The job for the text LACUNA_A=1,LACUNA_B=0."""
    found = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if not name.startswith("LACUNA_") or not value:
            raise LacunaError(
                Exit.USAGE, f"no option of lacuna in --also: {part}", "as in: LACUNA_ALWAYS=1"
            )
        found[name] = value
    return Job(found)


def _messages(
    target: Target, job: Job, options: Options, header: dict[str, Any], progress: Progress
) -> list[Row]:
    sizes = QUICK_SIZES if options.quick else SIZES
    messages = shapes.messages(sizes, options.shapes or SHAPES)
    seconds = options.seconds or (_QUICK_MESSAGE_SECONDS if options.quick else _MESSAGE_SECONDS)
    link = options.hosts.link

    def measure(seconds: float, only: set[str]) -> tuple[Line, list[Times]]:
        chosen = [message for message in messages if not only or message.id in only]
        environment = _AS_RUN | job.options
        told, times = program.measure(target, chosen, _WAYS, seconds, environment, progress, link)
        if link:
            check_passed(target.name, link, times)
        return told, times

    return preload.twice(target, "message", seconds, measure, header)


def check_passed(mpi: str, link: str, times: list[Times]) -> None:
    """Raises LacunaError unless the data of all ways passed the link between the namespaces."""
    for one in times:
        for way, line in one.ways.items():
            sent = one.about["bytes"] * line["iterations"] * len(line["seconds"])
            if line["link_bytes"] < sent:
                raise LacunaError(
                    Exit.CHECK_FAILED,
                    f"{one.id} by way {way} on {mpi}: {line['link_bytes']} of {sent} bytes went by "
                    f"{link}, the rest through memory that the namespaces share",
                    "set what keeps the MPI library to TCP",
                )


def _exchanges(job: Job, options: Options, header: dict[str, Any]) -> list[Exchange]:
    """One size of each application, and the alltoallw of an FFT."""
    lanes = bench_apps.lanes(_METHODS)
    rows = [
        {
            "id": f"alltoallw of pencils, {n}^3",
            "test": "PENCILS",
            "shape": [n],
            "bytes": 0,
            "lanes": lanes,
        }
        for n in (_QUICK_PENCILS if options.quick else _PENCILS)
    ]
    if not options.quick:
        rows = bench_apps.choose(bench_apps.tests(), [], _METHODS, quick=True) + rows
    hosts = options.hosts
    measured = exchange.measure(
        "nodes",
        rows,
        exchange.Options(
            mpis=options.mpis,
            ranks=len(hosts.names),
            samples=_QUICK_SAMPLES if options.quick else _SAMPLES,
            seconds=_QUICK_SECONDS if options.quick else _SECONDS,
            mpi_root=options.mpi_root,
            hosts=hosts.names,
            launch_agent=hosts.agent,
            environment=_AS_RUN | job.options,
        ),
    )
    header["mpi"] |= measured.header["mpi"]
    header["compiler"] = measured.header["compiler"]
    return summary.of_exchanges(job, measured.lanes)
