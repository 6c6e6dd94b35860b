# SPDX-License-Identifier: BSD-3-Clause
"""The tables of `lacuna bench preload`."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.table import Table

from lacuna.base import terminal
from lacuna.base.units import size_name
from lacuna.bench.preload.calls import Calls
from lacuna.bench.preload.row import Row, long_ones, mean_speedup
from lacuna.launch import mpis
from lacuna.messages import shapes

_WIDTH = 140  # of tables that go into a pipe
_TITLE_WIDTH = 78


def show(calls: list[Calls], rows: list[Row]) -> None:
    """Prints the instructions, and the speedups by shape and size."""
    console = terminal.console(_WIDTH)
    if any(one.counts for one in calls):
        console.print(_call_table(calls))
    for mpi, what in dict.fromkeys((row.mpi, row.what) for row in rows):
        chosen = [row for row in rows if (row.mpi, row.what) == (mpi, what)]
        console.print(speed_table(mpis.TITLE[mpi], what, chosen))
        for line in _summary(mpi, what, chosen):
            console.print(line, markup=False, soft_wrap=True)
    if rows:
        console.print(
            "in brackets: declined by lacuna; !: slower beyond noise\n",
            markup=False,
        )


def _summary(mpi: str, what: str, rows: list[Row]) -> list[str]:
    """Sentences: the number of slower rows, and geometric means of messages with gaps."""
    slower = sum(row.is_slower for row in rows)
    alarms = sum(row.same_seems_slower for row in rows)
    title = mpis.TITLE[mpi]
    lines = [
        f"{title}: {slower} of {len(rows)} {what}s slower beyond noise "
        f"({alarms} false alarms in the first job: native against itself)"
    ]
    gaps = [row for row in rows if row.has_gaps]
    if what == "message" and gaps:
        lines.append(f"{title}: {mean_speedup(gaps):.2f} times faster, geometric mean with gaps")
        if long := long_ones(gaps):
            lines[-1] += f"; {mean_speedup(long):.2f} from 16 KiB on"
    return lines


def _call_table(calls: list[Calls]) -> Table:
    table = Table(
        title="Instructions of calls that lacuna cannot help: contiguous data, new types",
        box=SIMPLE_HEAD,
    )
    for name in ("MPI", "call", "native", "lacuna", "more", "times"):
        table.add_column(name, justify="left" if name in ("MPI", "call") else "right")
    for one in calls:
        for name, (native, lacuna) in one.counts.items():
            more = f"{lacuna - native:+.0f}"
            times = f"{lacuna / native:.3f}"
            table.add_row(mpis.TITLE[one.mpi], name, f"{native:.0f}", f"{lacuna:.0f}", more, times)
    return table


def speed_table(of: str, what: str, rows: list[Row]) -> Table:
    """The speedups by shape (or call and run length) and size."""
    by_key = {tuple(row.id.split("/")): row for row in rows}
    sizes = [size_name(size) for size in sorted({shapes.size_of(r.id) for r in rows})]
    title = f"{of}: how many times faster with lacuna"
    # Wide enough for the title, where there are few sizes.
    table = Table(title=title, box=SIMPLE_HEAD, min_width=min(len(title), _TITLE_WIDTH))
    table.add_column("shape" if what == "message" else "call and runs")
    for size in sizes:
        table.add_column(size, justify="right")
    for shape in dict.fromkeys(key[0] for key in by_key):
        cells = [by_key.get((shape, size)) for size in sizes]
        table.add_row(shape, *(_cell(row) if row else "" for row in cells))
    return table


def _cell(row: Row) -> str:
    text = f"{row.times.speedup('ll').median:.2f}"
    way = row.times.ways["ll"]
    if not any(way.get(side) for side in ("send_taken", "receive_taken", "taken")):
        text = f"({text})"
    return f"{text}!" if row.is_slower else text
