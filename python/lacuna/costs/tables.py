# SPDX-License-Identifier: BSD-3-Clause
"""The tables of `lacuna costs machine`, from its result."""

from __future__ import annotations

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from lacuna.base import terminal
from lacuna.costs import knobs, logp
from lacuna.costs.pieces import MOST_REST, PIECES
from lacuna.launch import mpis

Result = dict[str, Any]
Cells = tuple[list[str], list[list[str]]]

_WIDTH = 150  # of tables that go into a pipe
_REFERENCE_BYTES = 8  # as the papers count
_GBIT_PER_S = (100, 200, 400)  # of networks that this machine does not have
PIECE_MEANINGS = (
    "o: one copy; l_p: packing minus that copy; l_m: what the library adds for the type; "
    "L: a contiguous message minus one copy; rest: time that these pieces do not explain"
)
_WORDS = {"message", "mode", "parameter", "of", "bytes", "what", "seen in", "evidence", "cause"}


def show(result: Result, cycle: float | None) -> None:
    """Prints all tables on stdout, and whether the parts add up."""
    console = terminal.console(_WIDTH)
    for title, (columns, rows) in all_cells(result, cycle):
        if not rows:
            continue
        table = Table(title=title, box=SIMPLE_HEAD)
        for column in columns:
            table.add_column(column, justify="left" if column in _WORDS else "right")
        for row in rows:
            table.add_row(*row)
        console.print(table)
    for line in verdicts(result):
        console.print(line, markup=False, soft_wrap=True)
    if result["rows"]:
        console.print(PIECE_MEANINGS, markup=False, soft_wrap=True)


def cycle_ns(numbers: dict[str, Any]) -> float | None:
    """Nanoseconds of a clock cycle, if `lacuna machine --measure` has measured it."""
    number = numbers["cycle_ns"]
    return number["value"] if number["source"] == "measured" else None


def all_cells(result: Result, cycle: float | None) -> list[tuple[str, Cells]]:
    """All tables: title, headings and cells of each."""
    found = []
    for mpi in result["provenance"]["mpi"]:
        title = mpis.TITLE[mpi]
        found += [
            (f"{title}: microseconds of a message with gaps, by piece", _split(result, mpi, cycle)),
            (
                f"{title}: packing's share of a message, calculated for so many Gbit/s",
                calculated(result, mpi),
            ),
            (f"{title}: Memory-LogP", _parameters(result, mpi)),
            (f"{title}: thresholds and hidden buffers", _findings(result, mpi)),
        ]
    return found


def _of(result: Result, what: str, mpi: str) -> list[dict[str, Any]]:
    return [one for one in result[what] if one["mpi"] == mpi]


def _split(result: Result, mpi: str, cycle: float | None) -> Cells:
    columns = ["message", "mode", "time", *PIECES, "rest", "rest %"]
    if cycle:
        columns.append("cycles/8 B")
    rows = []
    for row in _of(result, "rows", mpi):
        times = [row[f"{name}_s"] for name in ("median", *PIECES, "rest")]
        cells = [row["id"], row["method"], *(f"{time * 1e6:.2f}" for time in times)]
        cells.append(f"{row['rest_share']:.1%}" + ("" if row["adds_up"] else " FAIL"))
        if cycle:
            references = row["bytes"] / _REFERENCE_BYTES
            cells.append(f"{row['median_s'] * 1e9 / cycle / references:.1f}")
        rows.append(cells)
    return columns, rows


def calculated(result: Result, mpi: str) -> Cells:
    """From the packing that was measured, the start of a short message, and the wire."""
    columns = ["message", "mode", "packing, us", *map(str, _GBIT_PER_S)]
    starts = [one for one in _of(result, "parameters", mpi) if one["name"] == "L"]
    start = min(starts, key=lambda one: one["low"])["start_s"] if starts else 0.0
    rows = []
    for row in _of(result, "rows", mpi):
        pack = row["o_s"] + row["l_p_s"]
        shares = [logp.packing_share(pack, start, row["bytes"], rate) for rate in _GBIT_PER_S]
        rows.append(
            [row["id"], row["method"], f"{pack * 1e6:.2f}", *(f"{share:.0%}" for share in shares)]
        )
    return columns, rows


def _parameters(result: Result, mpi: str) -> Cells:
    """The table of l, o, g and L, each a start and a time per byte, and of P."""
    columns = ["parameter", "of", "bytes", "start, us", "ns per KiB", "residual"]
    rows = [
        [
            one["name"],
            one["of"],
            f"{one['low']} to {one['high']}",
            f"{one['start_s'] * 1e6:.3f}",
            f"{one['per_byte_s'] * 1e9 * 1024:.2f}",
            f"{one['residual']:.0%}",
        ]
        for one in _of(result, "parameters", mpi)
    ]
    if rows:
        rows.append(["P", "processors on a side of a message", "", "1", "", ""])
    return columns, rows


def _findings(result: Result, mpi: str) -> Cells:
    """The table of thresholds, cells and copies: evidence, confidence and cause."""
    columns = ["what", "seen in", "bytes", "evidence", "confidence", "cause"]
    rows = [
        [
            one["kind"],
            one["seen_in"],
            f"{one['low']} to {one['high']}",
            one["evidence"],
            f"{one['confidence']:.3f}",
            one["cause"] or "not known",
        ]
        for one in _of(result, "findings", mpi)
    ]
    return columns, rows


def known_knobs(mpi: str, values: dict[str, int]) -> dict[str, int]:
    """The values of the settings that are about buffers."""
    names = [knob.control for knob in knobs.KNOBS.get(mpi, [])]
    return {name: values[name] for name in names if name in values}


def verdicts(result: Result) -> list[str]:
    """A line for each library: whether the parts add up."""
    lines = []
    for mpi in result["provenance"]["mpi"]:
        rows = _of(result, "rows", mpi)
        if not rows:
            continue
        off = [f"{row['id']} {row['method']}" for row in rows if not row["adds_up"]]
        which = f"; not in {', '.join(off)}" if off else ""
        lines.append(
            f"{'FAIL' if off else 'PASS'}  {mpis.TITLE[mpi]}: the pieces add up to the time "
            f"within {MOST_REST:.0%} in {len(rows) - len(off)} of {len(rows)} rows{which}"
        )
    return lines
