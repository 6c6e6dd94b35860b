# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna costs misses`: the misses of caches and TLB when types are packed and unpacked.

Known in three ways, each labelled: counted by the CPU, where it has counters; simulated, access by
access, for small messages; and predicted by the cost model, for all.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from lacuna.base import provenance, results, terminal
from lacuna.launch import rows_program
from lacuna.launch.rows_program import Row

KIND = "misses"
PROGRAM = "lacuna-misses"
LEVELS = ("l1", "l2", "l3", "tlb", "tlb2")
STATES = ("cold", "warm")
OPS = ("pack", "unpack")
# Without types on the command line: one of each shape, small enough to be simulated.
SHAPES: list[Row] = [
    ("rows", 1, "vector(1000, 12, 50, double)"),
    ("stride-1", 1, "contiguous(4096, double)"),
    ("stride-16", 1, "vector(4096, 1, 16, double)"),
    ("transpose", 1, "contiguous(200, resized(0, 8, vector(200, 1, 200, double)))"),
    ("indexed", 1, "indexed_block(1, random(4000, 60000, 7), double)"),
    ("blocks", 1, "indexed(lengths(600, 1, 40, 3), starts(600, 1, 40, 9, 3), int)"),
    ("structs", 5000, "struct([1, 2, 1], [0, 8, 28], [int, double, char])"),
]

_WIDTH = 150
# The hardware counter of each level (warm).
_COUNTERS = {"l1": "l1_load_misses", "l2": "l2_misses", "l3": "l3_misses"}
_TITLES = {"l1": "L1", "l2": "L2", "l3": "L3", "tlb": "TLB", "tlb2": "TLB, 2nd"}
MEANINGS = (
    "misses: cache lines missing in a level, and pages missing in the first and the second level "
    "of the TLB. counted: hardware counters, packing repeatedly; simulated: every access of the "
    "plan, LRU replacement; model: the formula of lacuna explain. cold: nothing is cached; warm: "
    "the same message was packed before"
)

Line = dict[str, Any]


@dataclass
class Options:
    """What the command line asked for."""

    rows: list[Row] = field(default_factory=lambda: list(SHAPES))
    json: Path | None = None
    caches: list[str] = field(default_factory=list)  # options for the program


def misses(options: Options) -> None:
    """Prints the table and writes the result file."""
    results.make_folders([options.json])
    header, found = measure(options.rows, options.caches)
    console = terminal.console(_WIDTH)
    console.print(_machine(header), markup=False, soft_wrap=True)
    console.print(_table(found))
    for line in (not_counted(found), MEANINGS):
        if line:
            console.print(line, markup=False, soft_wrap=True)
    if options.json:
        about = provenance.collect() | {"kind": KIND, "machine": header}
        text = json.dumps({"provenance": about, "rows": found}, indent=1)
        results.write_text(options.json, text + "\n")


def measure(rows: list[Row], words: list[str]) -> tuple[Line, list[Line]]:
    """The header line (the machine that was simulated), and a line for each row and direction."""
    lines = rows_program.lines(PROGRAM, rows, words)
    return lines[0], [line for line in lines if line["kind"] == KIND]


def not_counted(found: list[Line]) -> str:
    """The reasons why events were not counted, as one line; empty: all were counted."""
    whys: dict[str, list[str]] = {}
    for name, why in (found[0]["not_counted"] if found else {}).items():
        whys.setdefault(why, []).append(name.replace("_", " "))
    return "; ".join(f"not counted: {', '.join(names)}: {why}" for why, names in whys.items())


def total(misses_of: Line) -> float:
    """Reads plus writes, or the number itself where they are not distinguished."""
    return sum(misses_of.values()) if isinstance(misses_of, dict) else misses_of


def _machine(header: Line) -> str:
    caches = ", ".join(
        f"{_TITLES[level]} {header[level]['bytes'] >> 10} KiB of {header[level]['ways']} ways"
        for level in ("l1", "l2", "l3")
        if level in header
    )
    return f"{caches}; TLB {header['tlb']} and {header['tlb2']} pages"


def _table(found: list[Line]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    for name in ("message", "bytes", "", "caches", "misses"):
        table.add_column(name, justify="right" if name == "bytes" else "left")
    for level in LEVELS:
        table.add_column(_TITLES[level], justify="right")
    for line in found:
        for state in STATES:
            head = [line["id"], f"{line['bytes']}", line["op"], state]
            for how, cells in _cells(line, state):
                table.add_row(*head, how, *cells)
                head = [""] * len(head)
    return table


def _cells(line: Line, state: str) -> list[tuple[str, list[str]]]:
    found = []
    if state == "warm" and _counted(line):
        found.append(("counted", _counted(line)))
    if "simulated" in line:
        levels = line["simulated"][state]
        values = [f"{total(levels[name])}" if name in levels else "" for name in LEVELS]
        found.append(("simulated", values))
    found.append(("model", [f"{line['model'][state][name]:.0f}" for name in LEVELS]))
    return found


def _counted(line: Line) -> list[str]:
    """Counted misses by level; empty: no counter is about a level."""
    values = line["counted"]
    tlb = [values[name] for name in ("tlb_load_misses", "tlb_store_misses") if name in values]
    cells = [f"{values[name]:.0f}" if name in values else "" for name in _COUNTERS.values()]
    cells += [f"{sum(tlb):.0f}" if tlb else "", ""]
    return cells if any(cells) else []
