# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench compiled`: halo exchanges and small structs, by lacuna-cc and without it."""

from __future__ import annotations

import statistics
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from lacuna.base import provenance, results
from lacuna.base.progress import Progress
from lacuna.base.results import Row
from lacuna.compiler import bench_program
from lacuna.compiler.bench_program import How, Message, Samples
from lacuna.launch import mpis
from lacuna.messages import exchange

_COLUMNS = (16, 64, 128, 256)  # doubles: up to 2 KiB
_STRUCTS = (16, 64, 256, 1024)
# Bytes of one of them, and how many.
_KINDS = dict.fromkeys(("column", "halo", "halo_made", "halo_nonblocking"), (8, _COLUMNS)) | {
    "structs": (32, _STRUCTS),
    "alltoallw": (2 * 8, _COLUMNS[:3]),  # one for each rank; up to the 2 KiB that are packed
}


def messages() -> list[Message]:
    """The rows: ping-pongs of a column and of structs, columns both ways, and by Alltoallw."""
    found = []
    for kind, (one, counts) in _KINDS.items():
        lanes = ("native", "ss", *(() if kind == "halo_nonblocking" else ("by_hand",)))
        for n in counts:
            found.append(Message(f"{kind}/{n}", kind, n, n * one, lanes))
    return found


def compiled(options: exchange.Options) -> None:
    """Compiles, runs, writes the file, prints a table for each MPI library."""
    rows: list[Row] = []
    header: dict[str, Any] = provenance.collect() | {"kind": "compiled", "mpi": {}}
    results.make_folders([options.json])
    how = How(options.samples, options.seconds)
    todo = messages()
    for target in mpis.chosen(options.mpis, options.mpi_root):
        with Progress() as progress:
            told, (found,) = bench_program.measure(target, todo, how, progress)
        header["mpi"][target.name] = told["mpi_library"].strip()
        header["compiler"] = told["compiler"]
        _show(target.name, todo, found)
        rows += [_row(target.name, one, lane, found[one.id]) for one in todo for lane in one.lanes]
    if options.json:
        results.write_json(options.json, header, rows)


def _row(mpi: str, message: Message, lane: str, samples: Samples) -> Row:
    return {
        "mpi": mpi,
        "id": message.id,
        "bytes": message.bytes,
        "method": "specialised" if lane == "ss" else lane,
        "median_s": statistics.median(samples[lane]),
        "samples_s": samples[lane],
    }


def _show(mpi: str, todo: list[Message], found: dict[str, Samples]) -> None:
    console = Console(highlight=False)
    table = Table(title=f"{mpis.TITLE[mpi]}: round trips, by lacuna-cc", box=SIMPLE_HEAD)
    for name in ("exchange/n", "bytes", "specialised us", "native/specialised", "by hand/"):
        table.add_column(name, justify="left" if name == "exchange/n" else "right")
    for one in todo:
        samples = found[one.id]
        by_hand = (
            f"{bench_program.ratio(samples, 'by_hand', 'ss'):.2f}" if "by_hand" in samples else ""
        )
        table.add_row(
            one.id,
            str(one.bytes),
            f"{statistics.median(samples['ss']) * 1e6:.2f}",
            f"{bench_program.ratio(samples, 'native', 'ss'):.2f}",
            by_hand,
        )
    console.print(table)
