# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna tune --compiled`: for which messages compiled code leaves the packing to the library."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from lacuna import engine
from lacuna.base import provenance, results
from lacuna.base.errors import Exit, LacunaError
from lacuna.base.progress import Progress
from lacuna.compiler import bench_program
from lacuna.compiler import table as compiled_table
from lacuna.compiler.bench_program import How, Message, Samples
from lacuna.compiler.table import Cell
from lacuna.launch import mpis
from lacuna.tune.messages import MOST_LOAD, dump, warn_if_busy

# The shapes of bench/compiled/sites.c: pattern, bytes of a run, bytes of one of its `n` elements.
_SHAPES = {
    "column": ("strided", 8, 8),
    "blocks12": ("strided", 12, 12),
    "blocks40": ("strided", 40, 40),
    "blocks128": ("strided", 128, 128),
    "blocks1024": ("strided", 1024, 1024),
    "blocks4096": ("strided", 4096, 4096),
    "plane8": ("nested", 8, 8),
    "plane96": ("nested", 96, 96),
    "faces12": ("faces", 12, 12),
    "faces96": ("faces", 96, 96),
    "list4": ("listed", 4, 4),
    "list8": ("listed", 8, 8),
    "list12": ("listed", 12, 12),
    "list24": ("listed", 24, 24),
    "structs": ("fields", 10, 32),
}
# Two more beside 4 KiB, Open MPI's eager limit (docs/experiments/2026-11-26-compiled-code.md).
_SIZES = sorted([1 << power for power in range(9, 23)] + [3968, 4224, 48 << 10, 96 << 10])
# Blocks of a plane. With 2^15 blocks the cube around it has 96 MB, and each rank has two cubes.
_MOST_IN_PLANE = 1 << 15
_QUICK_SIZES = [1 << power for power in range(9, 23, 3)]
_HOW = How(samples=5, seconds=0.04, packs_all=True)
_QUICK_SAMPLES = 3
# Two starts of one program differ by more than the ways do. So the way is chosen whose largest loss
# against the best way, over all starts, is least. Other criteria were tried:
# docs/experiments/2026-11-26-compiled-code.md, "What the tables of `lacuna tune --compiled` say".
_STARTS = 5
_QUICK_STARTS = 2


def tune_compiled(
    names: list[str],
    root: Path,
    quick: bool,
    output: Path | None,
    adds: bool,
    seconds: float | None = None,
    most_load: float = MOST_LOAD,
) -> None:
    """Measures each library, writes its table, prints its decisions.

    `adds`: keeps the starts that the table has, since another job may get other cores. `seconds`:
    the length of a sample, if not the default.
    """
    how = _HOW if seconds is None else replace(_HOW, seconds=seconds)
    if quick:
        how = replace(how, samples=_QUICK_SAMPLES)
    targets = mpis.chosen(names, root)
    if output and len(targets) > 1:
        raise LacunaError(Exit.USAGE, "one --output for several libraries", "name one with --mpi")
    for target in targets:
        kind = "mpich" if target.name == "mpiabi" else target.name
        place = output or compiled_table.own_place(kind)
        if place is None:
            raise LacunaError(
                Exit.ENVIRONMENT,
                "no place to keep the table: neither XDG_CACHE_HOME nor HOME is set",
                "give one with --output",
            )
        results.make_folders([place])
        if target is targets[0]:
            warn_if_busy(most_load)
        todo = messages(quick)
        starts = _QUICK_STARTS if quick else _STARTS
        with Progress(starts) as progress:
            told, found = bench_program.measure(target, todo, how, progress, starts)
        earlier = compiled_table.starts(place) if adds else {}
        cells = [cell(one, [samples[one.id] for samples in found], earlier) for one in todo]
        apart = compiled_table.apart(_rungs(cells))
        ways = [one.sent_apart() if _is_in(one, apart) else one for one in cells]
        results.write_text(place, dump(_table(told, cells, ways, apart)))
        _show(mpis.TITLE[target.name], ways, apart)
        print(f"wrote {place}", file=sys.stderr)


def messages(quick: bool) -> list[Message]:
    """The messages to measure: each shape at each size that holds eight runs or more."""
    found = []
    for shape, (pattern, _, one) in _SHAPES.items():
        for size in _QUICK_SIZES if quick else _SIZES:
            n = size // one
            if pattern == "faces":
                n = n // 4 * 4  # four faces of the same length
            if pattern == "nested":
                n = math.isqrt(n) ** 2
            if n >= 8 and not (pattern == "nested" and n > _MOST_IN_PLANE):
                found.append(Message(f"{shape}/{size}", shape, n, n * one, compiled_table.LANES))
    return found


def cell(message: Message, starts: list[Samples], earlier: compiled_table.Starts) -> Cell:
    """The speeds of all ways for a message, for each start of the program, after those of earlier
    jobs.
    """
    pattern, run, _ = _SHAPES[message.kind]
    speeds = list(earlier.get((message.kind, message.bytes), []))
    for samples in starts:
        speeds.append(
            {lane: bench_program.ratio(samples, "ss", lane) for lane in compiled_table.LANES}
        )
    return Cell(pattern, message.kind, run, message.bytes, speeds)


def _size(one: Cell) -> int:
    """The nominal size of a cell: its bytes are whole runs, so they may be fewer."""
    return min(size for size in _SIZES if size >= one.bytes)


def _is_in(one: Cell, spans: list[compiled_table.Rule]) -> bool:
    return any(begin <= one.bytes <= end for begin, end in spans)


def _rungs(cells: list[Cell]) -> list[list[Cell]]:
    return [[one for one in cells if _size(one) == size] for size in sorted({*map(_size, cells)})]


def _table(
    told: dict[str, Any], cells: list[Cell], ways: list[Cell], apart: list[compiled_table.Rule]
) -> dict[str, Any]:
    header = provenance.collect()
    return {
        "lacuna_compiled_table": compiled_table.FORMAT,
        "mpi": told["mpi_library"].strip(),
        "cpu": header["cpu"],
        "rows": [engine.machine()["row"]["name"]],
        "provenance": header | {"compiler": told["compiler"]},
        "left": compiled_table.rules(ways),
        "apart": apart,
        "evidence": {"shared": [one.as_json() for one in cells]},
    }


def _way(one: Cell, apart: list[compiled_table.Rule]) -> str:
    is_apart = one.best[0] == "s" and _is_in(one, apart)
    return "g" + one.best[1] if is_apart else one.best


def _worst(one: Cell) -> float:
    """The speed of the chosen way relative to packing on both sides, in the worst start."""
    return min(start[one.best] for start in one.starts)


def _show(title: str, cells: list[Cell], apart: list[compiled_table.Rule]) -> None:
    """Prints for each shape and size who packs, and its speed relative to packing on both sides."""
    console = Console(highlight=False, width=None if Console().is_terminal else 200)
    table = Table(
        title=f"{title}: which code packs (s: the sender's or the receiver's compiled code, g: the "
        "sender's with a gap, n: the MPI library), and its speed relative to compiled packing on "
        "both sides, in the worst run",
        box=SIMPLE_HEAD,
    )
    table.add_column("shape")
    sizes = sorted({_size(one) for one in cells})
    for size in sizes:
        table.add_column(f"{size / 1024:.4g}K", justify="right")
    for shape in dict.fromkeys(one.shape for one in cells):
        known = {_size(one): one for one in cells if one.shape == shape}
        texts = []
        for size in sizes:
            one = known.get(size)
            texts.append("" if one is None else f"{_way(one, apart)} {_worst(one):.2f}")
        table.add_row(shape, *texts)
    console.print(table)
