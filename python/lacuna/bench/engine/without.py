# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench engine --without`: what each habit and each strategy is worth on this machine."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from lacuna.base import results, terminal
from lacuna.bench.corpus import CorpusRow
from lacuna.launch import rows_program

_PROGRAM = "lacuna-without"
_COMPLETE = "nothing"
_MUCH = 1.10  # times as long
_WIDTH = 120


def run(rows: list[CorpusRow], words: list[str], output: Path | None) -> None:
    """Times the plans of each row that change where one thing is left out, and prints a table."""
    results.make_folders([output], output and output.absolute().parent)
    lines = rows_program.lines(_PROGRAM, [(row.id, row.count, row.text) for row in rows], words)
    found = [line for line in lines if line["kind"] == "row"]
    if output:
        results.write_text(output, json.dumps(found, indent=1) + "\n")
    console = terminal.console(_WIDTH)
    for cache in ("warm", "cold"):
        if there := [line for line in found if line["cache"] == cache]:
            console.print(_table(there, cache))
    console.print(
        f"{len(rows)} rows, packed and unpacked. Shown, of the directions whose plan changes: the "
        f"time without it over the time with everything. '{_COMPLETE} again' is what chance does.",
        markup=False,
        soft_wrap=True,
    )


def _table(lines: list[dict[str, Any]], cache: str) -> Table:
    ratios: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for line in lines:
        for name, ns in line["ns"].items():
            if name != _COMPLETE:
                ratio = ns / line["ns"][_COMPLETE]
                ratios[name].append((ratio, f"{line['row']} {line['op']}"))
    means = {name: geometric_mean(ratio for ratio, _ in each) for name, each in ratios.items()}
    table = Table(box=SIMPLE_HEAD, title=f"What is left out ({cache} caches)")
    table.add_column("left out")
    for name in ("directions", "mean", f"> {_MUCH:.2f}", f"< {1 / _MUCH:.2f}"):
        table.add_column(name, justify="right")
    table.add_column("slowest without it")
    for name in sorted(ratios, key=means.__getitem__, reverse=True):
        each = ratios[name]
        slower = sum(ratio > _MUCH for ratio, _ in each)
        faster = sum(ratio < 1 / _MUCH for ratio, _ in each)
        worst, row = max(each)
        values = (str(len(each)), f"{means[name]:.3f}", str(slower), str(faster))
        table.add_row(name, *values, f"{worst:.2f} {row}")
    return table
