# SPDX-License-Identifier: BSD-3-Clause
"""The tables of `lacuna report` for a job, from a file of `lacuna run --report FILE.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from lacuna.base import terminal
from lacuna.base.errors import Exit, LacunaError
from lacuna.report import advice, sites

KIND = "job"  # provenance.kind
_FORMAT = 1
_WIDTH = 160  # of a table that goes into a pipe
_SHOWN_TYPE = 60  # letters
_WORDS = {"function", "type", "called in"}
# Files that were written before these names were changed are still read.
_OLD_KEYS = {"taken": "handled", "bytes_taken": "bytes_handled"}
_OLD_REASONS = {
    "new, and few data": "new type, small message",
    "nothing to move, or undecided": "no data, or not examined",
    "one run": "one contiguous element",
    "too many lengths": "too many message lengths",
}

Cells = tuple[list[str], list[list[str]]]


def check_version(file: Path, report: dict[str, Any]) -> None:
    """Raises LacunaError if the document is a job's of a version that cannot be read."""
    header = report["provenance"]
    if header["kind"] == KIND and header.get("format") != _FORMAT:
        raise LacunaError(
            Exit.USAGE,
            f"{file} is of another version of lacuna, {header.get('lacuna', 'which is not named')}",
            "show it with that version",
        )


def rename_old_keys(report: dict[str, Any]) -> None:
    """Renames the keys of a file of an earlier version."""
    for row in report["rows"]:
        for old in _OLD_KEYS.keys() & row.keys():
            row[_OLD_KEYS[old]] = row.pop(old)
        declined = row["declined"]
        row["declined"] = {_OLD_REASONS.get(why, why): calls for why, calls in declined.items()}


def show(report: dict[str, Any]) -> None:
    """Prints the tables (docs/user/report.md explains the document)."""
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, _WIDTH)
    first = escape(headline(report))
    columns, rows = cells(report, place_names(report))  # before a word of a damaged file is printed
    console.print(first, highlight=False)
    if not rows:
        console.print("no calls on derived types")
        return
    title = "seconds in calls, summed over ranks" if has_costs(report) else None
    table = Table(box=SIMPLE_HEAD, title=title)
    numbers = columns[:-1]  # and then sentences, for which a column would be too narrow
    shown = [row[:-1] for row in rows]
    terminal.show(console, table, numbers, shown, _WORDS - {"function"}, set(numbers) - _WORDS)
    told = [row for row in rows if row[-1]]
    if told:
        console.print(f"{columns[-1]}:", highlight=False)
    for row in told:
        which = [cell for name, cell in zip(numbers, row, strict=False) if name in _WORDS]
        console.print(Padding(escape(", ".join(which)), (0, 0, 0, 2)), highlight=False)
        console.print(Padding(escape(row[-1]), (0, 0, 0, 6)), highlight=False)


def has_costs(report: dict[str, Any]) -> bool:
    """Whether the job's calls were timed."""
    return any("costs" in row for row in report["rows"])


def place_names(report: dict[str, Any]) -> dict[str, str]:
    """The names of the places of calls, if these were timed. Starts a tool for each file."""
    return sites.names([row["costs"]["site"] for row in report["rows"] if "costs" in row])


def cells(report: dict[str, Any], places: dict[str, str]) -> Cells:
    """The headings, and the cells for each function, type and place."""
    return _cost_cells(report, places) if has_costs(report) else _cells(report)


def _size(number: float) -> str:
    """Bytes for people."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if number < 1024 or unit == "TiB":
            break
        number /= 1024
    return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"


def headline(report: dict[str, Any]) -> str:
    """A line that names the job."""
    header = report["provenance"]
    words = (
        f"{header['program']} on {header['library']}: {report['ranks']} ranks, "
        f"{report['seconds']:.3g} s, {header['date']}"
    )
    if report["reporting_ranks"] != report["ranks"]:
        words += f" (numbers of {report['reporting_ranks']} ranks only)"
    return words


def _on_device(row: dict[str, Any]) -> list[str]:
    """Sentences about what was packed and unpacked on a device; none in older files."""
    there = row.get("bytes_on_device", 0)
    return [f"{_size(there)} packed and unpacked on a device"] if there else []


def _cells(report: dict[str, Any]) -> Cells:
    columns = ["function", "type", "calls", "handled", "data", "packing s", "GB/s"]
    columns.append("declined calls, and what could be done")
    rows = []
    for row in report["rows"]:
        seconds = row["pack_seconds"] + row["unpack_seconds"]
        handled = row["bytes_handled"]
        speed = f"{handled * 1e-9 / seconds:.2f}" if seconds and handled else "-"
        words = _on_device(row) + [f"{count} {why}" for why, count in row["declined"].items()]
        rows.append(
            [
                row["function"],
                type_text(report, row),
                f"{row['calls']}",
                f"{row['handled']}",
                _size(row["bytes_handled"] + row["bytes_declined"]),
                f"{seconds:.3g}",
                speed,
                "\n".join(words + row["advice"]),
            ]
        )
    return columns, rows


def _cost_cells(report: dict[str, Any], places: dict[str, str]) -> Cells:
    """Seconds by call and part of the time (docs/internals/costs.md), the largest first."""
    columns = ["function", "type", "called in", "calls", "data"]
    columns += ["all", "o", "l_p", "l_m", "L", "waiting", "saved", "might", "advice"]
    rows = []
    for row in report["rows"]:
        costs = row["costs"]
        pieces = ["seconds", "o_seconds", "l_p_seconds", "l_m_seconds", "L_seconds", "wait_seconds"]
        pieces += ["saved_seconds", "would_save_seconds"]
        rows.append(
            [
                row["function"],
                type_text(report, row),
                places[costs["site"]] or "not known",
                f"{costs['calls']}",
                _size(row["bytes_handled"] + row["bytes_declined"]),
                *(f"{costs.get(name, 0):.3g}" for name in pieces),
                "\n".join(_on_device(row) + row["advice"] + advice.on_threshold(report, row)),
            ]
        )
    return columns, rows


def type_text(report: dict[str, Any], row: dict[str, Any]) -> str:
    """The text of a row's type, shortened."""
    text = report["types"][row["type"]]["text"]
    if text is None:
        return "(other types, or none)"
    return text if len(text) <= _SHOWN_TYPE else text[: _SHOWN_TYPE - 3] + "..."
