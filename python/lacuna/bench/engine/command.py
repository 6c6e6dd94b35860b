# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench engine`: the corpus packed and unpacked by every rival, on each MPI library."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lacuna.base import paths, provenance, results
from lacuna.base.progress import Progress
from lacuna.base.results import Row
from lacuna.bench import corpus, random_types
from lacuna.bench.corpus import CorpusRow
from lacuna.bench.engine import rows as engine_rows
from lacuna.bench.engine import strategies, tables, without
from lacuna.bench.engine.times import Times
from lacuna.launch import mpis, watch

# Seconds for one direction of one row in one state of the caches, and samples in them.
_FULL = (0.3, 15)
_QUICK = (0.08, 7)


@dataclass
class Options:
    """What the command line asked for."""

    mpis: list[str] = field(default_factory=list)  # none: those that are there
    only: list[str] = field(default_factory=list)
    quick: bool = False
    warm: bool = True
    cold: bool = True
    isas: list[str] = field(default_factory=list)
    against: Path | None = None  # the shared library of another build
    samples: int | None = None
    seconds: float | None = None
    starts: int = 1
    check_only: bool = False
    strategies: bool = False  # only which of them is the fastest
    without: bool = False  # only what each of them is worth
    given: tuple[str, int] | None = None  # a type's text and a count, instead of the corpus
    random: tuple[int, int] | None = None  # so many types of a seed, instead of the corpus
    mpi_root: Path = field(default_factory=paths.default_mpi_root)
    json: Path | None = None
    csv: Path | None = None
    plots: Path | None = None


def engine(options: Options) -> None:
    """Measures, writes the files, prints the tables."""
    if options.given:
        rows = [corpus.given(*options.given)]
    elif options.random:
        rows = random_types.rows(*options.random)
    else:
        rows = corpus.select(corpus.load(), options.only, options.quick)
    if options.strategies:
        seconds, samples = _QUICK if options.quick else _FULL
        strategies.run(rows, options.samples or samples, options.seconds or seconds, options.json)
        return
    if options.without:
        caches = "warm" if options.warm else "cold"
        words = [] if options.warm and options.cold else ["--caches", caches]
        words += ["--samples", str(options.samples)] if options.samples else []
        words += ["--seconds", str(options.seconds)] if options.seconds else []
        without.run(rows, words, options.json)
        return
    targets = mpis.chosen(options.mpis, options.mpi_root)
    programs = [
        paths.program(f"lacuna-bench-engine-{paths.family_of(target.name)}") for target in targets
    ]
    results.make_folders([options.json, options.csv], options.plots)
    header = provenance.collect() | {"mpi": {}}
    found: list[Row] = []
    starts = 1 if options.check_only else options.starts
    with Progress(starts * len(targets)) as progress:
        for start in range(starts):
            for index, (target, program) in enumerate(zip(targets, programs, strict=True)):
                # The instruction sets do not depend on the MPI library: once is enough.
                isas = options.isas if index == 0 else []
                lines = _run_one(target, program, rows, isas, options, progress)
                header["mpi"][target.name] = lines[0]["mpi_library"].strip()
                header |= {key: lines[0][key] for key in ("compiler", "isa", "by_hand_target")}
                found += engine_rows.rows(target.name, start, rows, lines)
    if options.check_only:
        print(f"{len(rows)} rows, every rival's bytes are right on {len(targets)} MPI libraries")
        return
    times = Times(found)
    if options.json:
        results.write_json(
            options.json,
            header,
            found,
            corpus=engine_rows.described(rows),
        )
    if options.csv:
        results.write_csv(options.csv, found, engine_rows.COLUMNS)
    tables.show(rows, times)
    written = [path for path in (options.json, options.csv) if path]
    if options.plots:
        from lacuna.bench.engine import plots as engine_plots  # matplotlib takes a second to load

        written += engine_plots.draw(options.plots, header, rows, found)
    for path in written:
        print(f"wrote {path}", file=sys.stderr)


def _run_one(
    target: mpis.Installed,
    program: Path,
    rows: list[CorpusRow],
    isas: list[str],
    options: Options,
    progress: Progress,
) -> list[dict[str, Any]]:
    """The rows of one MPI library."""
    seconds, samples = _QUICK if options.quick else _FULL
    words = [
        *("--warm", str(int(options.warm)), "--cold", str(int(options.cold))),
        *("--samples", str(options.samples or samples)),
        *("--seconds", str(options.seconds or seconds)),
        *("--check-only", str(int(options.check_only))),
    ]
    if options.against:
        words += ["--against", str(options.against.resolve())]
    for isa in isas:
        words += ["--isa", isa]
    with tempfile.TemporaryDirectory(prefix="lacuna-") as folder:
        file = Path(folder) / "rows"
        file.write_text("".join(row.line() for row in rows), encoding="utf-8")

        def command(out: Path) -> tuple[list[str], dict[str, str]]:
            everything = [str(program), "--rows", str(file), "--out", str(out), *words]
            return target.command(1, everything), dict(os.environ) | target.environment()

        return watch.run(target.name, command, "row", progress)
