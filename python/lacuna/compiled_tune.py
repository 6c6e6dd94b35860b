# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna tune --compiled`: for which messages compiled code leaves the packing to the library."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from lacuna import compiled_program, compiled_table, mpis, provenance, results, tune, watch
from lacuna.compiled_program import How, Message, Samples
from lacuna.compiled_table import Cell
from lacuna.errors import Exit, LacunaError

# Of bench/compiled/sites.c: pattern, bytes of a run, bytes of one of the `n`.
_SHAPES = {
    "column": ("strided", 8, 8),
    "blocks12": ("strided", 12, 12),
    "blocks40": ("strided", 40, 40),
    "blocks128": ("strided", 128, 128),
    "blocks1024": ("strided", 1024, 1024),
    "blocks4096": ("strided", 4096, 4096),
    "faces12": ("faces", 12, 12),
    "faces96": ("faces", 96, 96),
    "list4": ("listed", 4, 4),
    "list8": ("listed", 8, 8),
    "list12": ("listed", 12, 12),
    "list24": ("listed", 24, 24),
    "structs": ("fields", 10, 32),
}
_SIZES = sorted([1 << power for power in range(9, 23)] + [48 << 10, 96 << 10])
_QUICK_SIZES = [1 << power for power in range(9, 23, 3)]
_LANES = ("ss", "sn", "ns", "nn")
_HOW = How(samples=9, seconds=0.12, packs_all=True)
_QUICK_HOW = How(samples=5, seconds=0.04, packs_all=True)


def tune_compiled(names: list[str], root: Path, quick: bool, output: Path | None) -> None:
    """Measures each library, writes its table, prints what it says."""
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
        with watch.progress_bar() as progress:
            how = _QUICK_HOW if quick else _HOW
            told, found = compiled_program.measure(target, messages(quick), how, progress)
        cells = [cell(name, samples) for name, samples in found.items()]
        results.make_folder(place.absolute().parent)
        results.write_text(place, tune.dump(_table(told, cells)))
        _show(mpis.TITLE[target.name], cells)
        print(f"wrote {place}", file=sys.stderr)


def messages(quick: bool) -> list[Message]:
    """What is measured: each shape at each size that holds eight runs or more."""
    return [
        # Faces come in fours.
        Message(f"{shape}/{size}", shape, size // one // 4 * 4, size // one // 4 * 4 * one, _LANES)
        for shape, (_, _, one) in _SHAPES.items()
        for size in (_QUICK_SIZES if quick else _SIZES)
        if size >= 8 * one
    ]


def cell(name: str, samples: Samples) -> Cell:
    """What the samples of a message say."""
    shape, _, size = name.partition("/")
    pattern, run, _ = _SHAPES[shape]
    speeds = {lane: compiled_program.ratio(samples, "ss", lane) for lane in _LANES}
    return Cell(pattern, shape, run, int(size), speeds)


def _table(told: dict[str, Any], cells: list[Cell]) -> dict[str, Any]:
    header = provenance.collect()
    return {
        "lacuna_compiled_table": compiled_table.FORMAT,
        "mpi": told["mpi_library"].strip(),
        "cpu": header["cpu"],
        "provenance": header | {"compiler": told["compiler"]},
        "left": compiled_table.rules(cells),
        "evidence": {"shared": [one.as_json() for one in cells]},
    }


def _show(title: str, cells: list[Cell]) -> None:
    """For each shape and size who packs, and what that wins over packing on both sides."""
    console = Console(highlight=False, width=None if Console().is_terminal else 200)
    table = Table(
        title=f"{title}: who packs first (s: the sender's or the receiver's compiled code, "
        "n: the library), and its speed over packing on both sides",
        box=SIMPLE_HEAD,
    )
    table.add_column("shape")
    sizes = sorted({one.bytes for one in cells})
    for size in sizes:
        table.add_column(f"{size / 1024:g}K", justify="right")
    for shape in dict.fromkeys(one.shape for one in cells):
        known = {one.bytes: one for one in cells if one.shape == shape}
        texts = []
        for size in sizes:
            one = known.get(size)
            texts.append("" if one is None else f"{one.best} {one.speeds[one.best]:.2f}")
        table.add_row(shape, *texts)
    console.print(table)
