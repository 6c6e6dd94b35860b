# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench engine --strategies`: how often the chosen strategy is the fastest that applies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from lacuna.base import results, terminal
from lacuna.bench.corpus import CorpusRow
from lacuna.launch import rows_program

_PROGRAM = "lacuna-strategies"
_CLOSE = 1.10  # times as long as the fastest
_WIDTH = 120


def run(rows: list[CorpusRow], samples: int, seconds: float, output: Path | None) -> None:
    """Times all strategies of each row with data in the caches, and prints what is slower."""
    results.make_folders([output], output and output.absolute().parent)
    words = ["--samples", str(samples), "--seconds", str(seconds)]
    lines = rows_program.lines(_PROGRAM, [(row.id, row.count, row.text) for row in rows], words)
    found = [line for line in lines if line["kind"] == "row"]
    if output:
        results.write_text(output, json.dumps(found, indent=1) + "\n")
    console = terminal.console(_WIDTH)
    slower = [line for line in found if _ratio(line) > _CLOSE]
    if slower:
        console.print(_table(slower))
    close = len(found) - len(slower)
    console.print(
        f"{len(found)} directions of rows that more than one strategy can move: the chosen one is "
        f"the fastest, or takes at most {_CLOSE:.2f} times as long, in {close} "
        f"({100 * close / max(len(found), 1):.0f} %)",
        markup=False,
        soft_wrap=True,
    )


def _ratio(line: dict[str, Any]) -> float:
    return float(line["ns"][line["chosen"]] / min(line["ns"].values()))


def _table(lines: list[dict[str, Any]]) -> Table:
    table = Table(box=SIMPLE_HEAD, title="Rows with a faster strategy")
    for name in ("row", "", "chosen", "fastest"):
        table.add_column(name)
    table.add_column("its time / chosen's", justify="right")
    for line in sorted(lines, key=_ratio, reverse=True):
        fastest = min(line["ns"], key=line["ns"].__getitem__)
        table.add_row(line["row"], line["op"], line["chosen"], fastest, f"{1 / _ratio(line):.2f}")
    return table
