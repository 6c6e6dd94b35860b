# SPDX-License-Identifier: BSD-3-Clause
"""The table of `lacuna report` for a job: of what `lacuna run --report FILE.json` has written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lacuna import costs_sites
from lacuna.errors import Exit, LacunaError

KIND = "job"  # provenance.kind
_FORMAT = 1
_WIDTH = 160  # of a table that goes into a pipe
_SHOWN_TYPE = 60  # letters


def show(file: Path, report: dict[str, Any]) -> None:
    """Prints the table of the document in `file` (docs/report.md says what is in it)."""
    if report["provenance"].get("format") != _FORMAT:
        raise LacunaError(
            Exit.USAGE,
            f"{file} is of another version of lacuna, {report['provenance'].get('lacuna')}",
            "show it with that version",
        )
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, _WIDTH)
    console.print(escape(_headline(report)), highlight=False)
    if not report["rows"]:
        console.print("no calls on derived types")
        return
    if any("costs" in row for row in report["rows"]):
        console.print(_cost_table(report))
        return
    console.print(_table(report))


def _size(number: float) -> str:
    """Bytes for people."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if number < 1024 or unit == "TiB":
            break
        number /= 1024
    return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"


def _headline(report: dict[str, Any]) -> str:
    header = report["provenance"]
    words = (
        f"{header['program']} on {header['library']}: {report['ranks']} ranks, "
        f"{report['seconds']:.3g} s, {header['date']}"
    )
    if report["reporting_ranks"] != report["ranks"]:
        words += f" (numbers of {report['reporting_ranks']} of them alone)"
    return words


def _table(report: dict[str, Any]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("function")
    table.add_column("type")
    for name in ("calls", "taken", "data", "packing s", "GB/s"):
        table.add_column(name, justify="right")
    table.add_column("not taken, and what could be done")
    for row in report["rows"]:
        seconds = row["pack_seconds"] + row["unpack_seconds"]
        speed = f"{row['bytes_taken'] * 1e-9 / seconds:.2f}" if seconds else "-"
        words = [f"{count} {why}" for why, count in row["declined"].items()] + row["advice"]
        table.add_row(
            row["function"],
            escape(_type(report, row)),
            f"{row['calls']}",
            f"{row['taken']}",
            _size(row["bytes_taken"] + row["bytes_declined"]),
            f"{seconds:.3g}",
            speed,
            escape("\n".join(words)),
        )
    return table


def _cost_table(report: dict[str, Any]) -> Table:
    """Seconds by call and piece (docs/costs.md), those with the most first."""
    table = Table(box=SIMPLE_HEAD, title="seconds of calls, all ranks together")
    for name in ("function", "type", "called in"):
        table.add_column(name)
    for name in ("calls", "data", "all", "o", "l_p", "l_m", "L", "waiting"):
        table.add_column(name, justify="right")
    table.add_column("advice")
    places = costs_sites.names([row["costs"]["site"] for row in report["rows"]])
    for row in report["rows"]:
        costs = row["costs"]
        pieces = ("seconds", "o_seconds", "l_p_seconds", "l_m_seconds", "L_seconds", "wait_seconds")
        table.add_row(
            row["function"],
            escape(_type(report, row)),
            escape(places[costs["site"]] or "not known"),
            f"{costs['calls']}",
            _size(row["bytes_taken"] + row["bytes_declined"]),
            *(f"{costs[name]:.3g}" for name in pieces),
            escape("\n".join(row["advice"])),
        )
    return table


def _type(report: dict[str, Any], row: dict[str, Any]) -> str:
    text = report["types"][row["type"]]["text"]
    if text is None:
        return "(other types, or none)"
    return text if len(text) <= _SHOWN_TYPE else text[: _SHOWN_TYPE - 3] + "..."
