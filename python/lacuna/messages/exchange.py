# SPDX-License-Identifier: BSD-3-Clause
"""Exchanges between ranks, timed on each MPI library: starts `lacuna-bench-apps` with rows, and
collects its samples. A row is an exchange; its lanes are ways to send it, interleaved in one job.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lacuna.base import paths, provenance, results
from lacuna.base.errors import Exit, LacunaError
from lacuna.base.journal import Journal
from lacuna.base.progress import Progress
from lacuna.base.results import Row
from lacuna.launch import mpis, run, watch

# What a sample times, in seconds: making the type, the first transfer, one of the following ones,
# its parts where they can be told apart, freeing the type.
TIMES = ("create", "first", "transfer", "pack", "communicate", "unpack", "destroy")


@dataclass
class Options:
    """The options of the command line, and how long to measure."""

    mpis: list[str] = field(default_factory=list)  # none: those that are there
    ranks: int = 2
    language: str = "c++"  # of the applications: or fortran
    samples: int = 15
    seconds: float = 3.0  # for one row
    verify_only: bool = False
    mpi_root: Path = field(default_factory=paths.default_mpi_root)
    hosts: tuple[str, ...] = ()  # of the ranks, in turn; none: all on this machine
    launch_agent: str | None = None  # instead of ssh
    environment: dict[str, str] = field(default_factory=dict)  # of the ranks: LACUNA_*
    json: Path | None = None
    csv: Path | None = None


@dataclass
class Measured:
    """The header, a Row for each MPI library, row and lane, and the journal of the run."""

    header: dict[str, Any]
    lanes: list[Row]
    journal: Journal


def measure(kind: str, rows: list[Row], options: Options) -> Measured:
    """Runs the rows on each MPI library; an interrupted run continues from its journal.

    A row has: id, bytes (0: unknown), lanes (name, way, whether under lacuna), ranks if not those
    of the options, and what else bench/apps/rows.hpp reads.
    """
    if options.ranks < 2 or options.ranks % 2:
        raise LacunaError(
            Exit.USAGE, f"bad number in --ranks: {options.ranks}", "give an even number, 2 or more"
        )
    targets, programs = _programs(options)
    results.make_folders([options.json, options.csv])
    journal = Journal(None if options.verify_only else options.json, _settings(kind, rows, options))
    header = provenance.collect() | {
        "kind": kind,
        "language": options.language,
        "ranks": options.ranks,
        "mpi": {},
    }
    try:
        with Progress(len(targets)) as progress:
            for target, program in zip(targets, programs, strict=True):
                _run_one(target, program, rows, options, journal, progress)
    except KeyboardInterrupt:
        if journal.path:
            print(
                f"interrupted: {journal.path} has what was measured; the same command continues",
                file=sys.stderr,
            )
        raise
    lanes: list[Row] = []
    for target in targets:
        told = journal.header(target.name)
        assert told
        header["mpi"][target.name] = told["mpi_library"].strip()
        header["compiler"] = told["compiler"]
        lanes += _lanes(target.name, rows, journal)
    return Measured(header, lanes, journal)


def _programs(options: Options) -> tuple[list[mpis.Installed], list[Path]]:
    """The MPI libraries, and what runs on each."""
    if options.language == "fortran":
        targets = mpis.with_fortran(options.mpis, options.mpi_root)
        return targets, [paths.program(mpis.program_in_fortran(t.name)) for t in targets]
    targets = mpis.chosen(options.mpis, options.mpi_root, options.hosts, options.launch_agent)
    names = [f"lacuna-bench-apps-{paths.family_of(target.name)}" for target in targets]
    return targets, [paths.program(name) for name in names]


def _settings(kind: str, rows: list[Row], options: Options) -> dict[str, Any]:
    """The settings that all lines of one result file must share. The MPI libraries may differ: a
    later run can add one.
    """
    text = json.dumps(rows, sort_keys=True)
    return {
        "kind": kind,
        "rows": hashlib.sha256(text.encode()).hexdigest(),
        "language": options.language,
        "ranks": options.ranks,
        "samples": options.samples,
        "seconds": options.seconds,
    }


def _run_one(
    target: mpis.Installed,
    program: Path,
    rows: list[Row],
    options: Options,
    journal: Journal,
    progress: Progress,
) -> None:
    done = journal.done(target.name)
    jobs: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        if row["id"] not in done:
            jobs[row.get("ranks", options.ranks)].append(row)
    for ranks, todo in jobs.items():
        _run_job(target, program, ranks, todo, options, journal, progress)


def _run_job(
    target: mpis.Installed,
    program: Path,
    ranks: int,
    rows: list[Row],
    options: Options,
    journal: Journal,
    progress: Progress,
) -> None:
    wants_lacuna = any(lane.get("lacuna") for row in rows for lane in row["lanes"])
    wants_costs = any(lane.get("costs") for row in rows for lane in row["lanes"])
    words = [
        *("--samples", str(options.samples), "--seconds", str(options.seconds)),
        *("--verify-only", str(int(options.verify_only))),
    ]
    with tempfile.TemporaryDirectory(prefix="lacuna-") as folder:
        file = Path(folder) / "rows.json"
        file.write_text(json.dumps(rows), encoding="utf-8")

        def command(out: Path) -> tuple[list[str], dict[str, str]]:
            everything = [str(program), "--rows", str(file), "--out", str(out), *words]
            environment = dict(os.environ) | target.environment() | options.environment
            if wants_costs:
                environment |= {"LACUNA_REPORT": f"{folder}/report.json", "LACUNA_COSTS": "1"}
            started = target.command(ranks, everything)
            if wants_lacuna:
                return run.build(started, target.kind, environment)
            return started, environment

        lines = watch.run(
            target.name, command, "row", progress, lambda line: journal.take(target.name, line)
        )
    if wants_lacuna:
        watch.check_loaded(target.name, lines)


def _lanes(mpi: str, rows: list[Row], journal: Journal) -> list[Row]:
    samples: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for line in journal.lines:
        if line["kind"] == "sample" and line["mpi"] == mpi:
            samples[line["id"], line["lane"]].append(line)
    found = []
    for row in rows:
        for lane in row["lanes"]:
            taken = samples.get((row["id"], lane["name"]))
            if not taken:
                continue
            values = [one["transfer"] for one in taken]
            median = statistics.median(values)
            found.append(
                {
                    "mpi": mpi,
                    "id": row["id"],
                    "test": row.get("test", ""),
                    "bytes": row["bytes"],
                    "method": lane["name"],
                    "median_s": median,
                    "mad_s": statistics.median(abs(value - median) for value in values),
                    **{
                        f"{name}_s": statistics.median(one[name] for one in taken)
                        for name in TIMES
                        if name != "transfer"
                    },
                    "samples_s": values,
                }
            )
    return found


COLUMNS = [
    *("mpi", "id", "method", "bytes", "median_s", "mad_s", "create_s", "first_s"),
    *("pack_s", "communicate_s", "unpack_s", "destroy_s", "samples"),
]


def write(measured: Measured, options: Options, **more: Any) -> None:
    """Writes the files that were asked for; the journal is then deleted."""
    if options.json:
        results.write_json(options.json, measured.header, measured.lanes, **more)
    if options.csv:
        results.write_csv(options.csv, measured.lanes, COLUMNS)
    measured.journal.close()
    for path in (options.json, options.csv):
        if path:
            print(f"wrote {path}", file=sys.stderr)
