# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench transpose`: runs the program on each MPI library and shows its times."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from lacuna.base import paths, provenance, results, terminal
from lacuna.base.errors import Exit, LacunaError
from lacuna.base.progress import Progress
from lacuna.base.results import Row
from lacuna.launch import mpis, run, watch

MOST_ORDER = 16383  # MPI_Pack counts bytes in an int


@dataclass
class Options:
    """What the command line asked for."""

    mpis: list[str]
    orders: list[int]
    repetitions: int | None = None
    mpi_root: Path = field(default_factory=paths.default_mpi_root)
    json: Path | None = None
    csv: Path | None = None
    plots: Path | None = None
    hosts: tuple[str, ...] = ()
    launch_agent: str | None = None


def options(
    mpi: list[str] | None,
    n: list[int] | None,
    full: bool,
    repetitions: int | None,
    json_file: Path | None,
    csv_file: Path | None,
    plots: Path | None,
    mpi_root: Path | None,
) -> Options:
    """The options with defaults filled in. Raises LacunaError for values that make no sense."""
    orders = list(n or [512, 1024, 2048, 4096])
    if full and 8192 not in orders:
        orders.append(8192)
    for order in orders:
        if not 1 <= order <= MOST_ORDER:
            raise LacunaError(Exit.USAGE, f"bad order in --n: {order}", f"give 1 to {MOST_ORDER}")
    if repetitions is not None and repetitions < 1:
        raise LacunaError(
            Exit.USAGE, f"bad number in --repetitions: {repetitions}", "give 1 or more"
        )
    return Options(
        mpis.spelled_out(mpi or ["mpich"]),
        list(dict.fromkeys(orders)),
        repetitions,
        mpi_root or paths.default_mpi_root(),
        json_file,
        csv_file,
        plots,
    )


def transpose(options: Options) -> None:
    """Measures, writes the files, prints the table."""
    targets = [
        mpis.installed(name, options.mpi_root, options.hosts, options.launch_agent)
        for name in options.mpis
    ]
    programs = [
        paths.program(f"lacuna-bench-transpose-{paths.family_of(name)}") for name in options.mpis
    ]
    results.make_folders([options.json, options.csv], options.plots)
    header = provenance.collect() | {"mpi": {}, "hosts": list(options.hosts)}
    found: list[Row] = []
    with Progress(len(targets)) as progress:
        for target, program in zip(targets, programs, strict=True):
            told, samples = _run_one(target, program, options, progress)
            header["mpi"][target.name] = told["mpi_library"].strip()
            header["compiler"] = told["compiler"]
            found += results.rows(target.name, samples)
    if options.json:
        results.write_json(options.json, header, found)
    if options.csv:
        results.write_csv(options.csv, found)
    _print_table(found)
    written = [path for path in (options.json, options.csv) if path]
    if options.plots:
        from lacuna.bench import transpose_plots as plots  # matplotlib takes a second to load

        written += plots.draw(options.plots, header, found)
    for path in written:
        print(f"wrote {path}", file=sys.stderr)


def _run_one(
    target: mpis.Installed, program: Path, options: Options, progress: Progress
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The program's header and samples on one MPI library."""
    words = [str(program), "--n", ",".join(map(str, options.orders))]
    if options.repetitions:
        words += ["--repetitions", str(options.repetitions)]

    def command(out: Path) -> tuple[list[str], dict[str, str]]:
        environment = dict(os.environ) | target.environment()
        return run.build(target.command(2, [*words, "--out", str(out)]), target.name, environment)

    lines = watch.run(target.name, command, "sample", progress)
    watch.check_loaded(target.name, lines)
    return lines[0], [line for line in lines if line["kind"] == "sample"]


_TRANSFER = ["native\nms", "by hand\nms", "lacuna\nms", "contiguous\nms", "lacuna is\nfaster by"]
_PACKING = ["MPI_Pack\n/ memcpy", "lacuna\n/ memcpy", "MPI_Unpack\n/ memcpy", "lacuna\n/ memcpy"]
_TITLE = "Transpose of n x n doubles: one transfer between two ranks, and packing alone"
_WIDE = 120


def _print_table(found: list[Row]) -> None:
    """One line for each MPI library and size; two tables where one is too wide for the terminal."""
    by_key = {(row["mpi"], row["n"], row["method"]): row for row in found}
    keys, transfers, packing = [], [], []
    for mpi, n in dict.fromkeys((row["mpi"], row["n"]) for row in found):
        rows = {method: row for (m, k, method), row in by_key.items() if (m, k) == (mpi, n)}
        keys.append([mpis.TITLE[mpi], str(n), f"{rows['native']['bytes'] / 2**20:.3g}"])
        faster = rows["native"]["median_s"] / rows["lacuna"]["median_s"]
        times = [f"{rows[method]['median_s'] * 1e3:.3f}" for method in results.PING_PONG]
        transfers.append([*times, f"{faster:.2f}x"])
        methods = ("pack_native", "pack_lacuna", "unpack_native", "unpack_lacuna")
        packing.append([f"{rows[method]['over_memcpy']:.2f}" for method in methods])
    console = terminal.console(_WIDE + 20)
    parts = [(_TRANSFER, transfers), (_PACKING, packing)]
    if console.width >= _WIDE:
        both = [one + other for one, other in zip(transfers, packing, strict=True)]
        parts = [(_TRANSFER + _PACKING, both)]
    for index, (names, values) in enumerate(parts):
        table = Table(title=None if index else _TITLE, box=SIMPLE_HEAD)
        for name in ["MPI", "n", "MiB", *names]:
            table.add_column(name, justify="left" if name == "MPI" else "right")
        for key, cells in zip(keys, values, strict=True):
            table.add_row(*key, *cells)
        console.print(table)
