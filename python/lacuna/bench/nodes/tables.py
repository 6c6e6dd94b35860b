# SPDX-License-Identifier: BSD-3-Clause
"""The tables of `lacuna bench nodes`."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from lacuna.base import terminal
from lacuna.bench.nodes.summary import RATIOS, Exchange, Job
from lacuna.bench.preload.row import Row
from lacuna.bench.preload.tables import speed_table
from lacuna.launch import mpis

_WIDTH = 140  # of tables that go into a pipe


def show(
    hosts: str,
    messages: list[tuple[Job, Row]],
    means: list[dict[str, Any]],
    exchanges: list[Exchange],
) -> None:
    """Messages by shape and size, their means, exchanges."""
    console = terminal.console(_WIDTH)
    for mpi, job in dict.fromkeys((row.mpi, job.name) for job, row in messages):
        chosen = [row for other, row in messages if (row.mpi, other.name) == (mpi, job)]
        console.print(speed_table(_title(mpi, job), "message", chosen))
    if messages:
        console.print("in brackets: declined by lacuna; !: slower beyond noise\n", markup=False)
        console.print(_means(hosts, means))
        for one in means:
            if one["slower"] and one["which"] == "all":
                title = _title(one["mpi"], Job(one["options"]).name)
                told = f"{title}: slower beyond noise: {', '.join(one['slower'])}"
                console.print(told, markup=False, soft_wrap=True)
    if exchanges:
        console.print(_exchanges(hosts, exchanges))
        for told in _means_of_exchanges(exchanges):
            console.print(told, markup=False, soft_wrap=True)


def _title(mpi: str, job: str) -> str:
    return f"{mpis.TITLE[mpi]}, {job}" if job else mpis.TITLE[mpi]


def _means(hosts: str, means: list[dict[str, Any]]) -> Table:
    table = Table(title=f"Messages between {hosts}: geometric means", box=SIMPLE_HEAD)
    for name in ("MPI", "messages"):
        table.add_column(name, overflow="fold")
    for name in ("rows", "native / lacuna", "lowest beyond noise"):
        table.add_column(name, justify="right")
    for name in RATIOS:
        if name != "native_over_lacuna":
            table.add_column(name.replace("_over_", " / ").replace("_", " "), justify="right")
    for one in means:
        table.add_row(
            _title(one["mpi"], Job(one["options"]).name),
            one["which"],
            str(one["rows"]),
            _ratio(one["native_over_lacuna"]),
            f"{one['lowest']:.2f} {one['lowest_id']}",
            *(_ratio(one[name]) for name in RATIOS if name != "native_over_lacuna"),
        )
    return table


def _exchanges(hosts: str, exchanges: list[Exchange]) -> Table:
    table = Table(title=f"Exchanges between {hosts}", box=SIMPLE_HEAD)
    for name in ("MPI", "exchange"):
        table.add_column(name)
    names = ("contiguous us", "native", "lacuna", "by hand", "native / lacuna")
    for name in names:
        table.add_column(name, justify="right")
    for one in exchanges:
        table.add_row(
            _title(one.mpi, one.job.name),
            one.id,
            f"{one.seconds('contiguous') * 1e6:.1f}",
            *(_ratio(one.ratio(name, "contiguous")) for name in ("native", "lacuna", "by_hand")),
            _ratio(one.ratio("native", "lacuna")),
        )
    table.caption = "fastest samples; methods over contiguous"
    return table


def _means_of_exchanges(exchanges: list[Exchange]) -> list[str]:
    """Native over lacuna, for each library and job."""
    groups: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for one in exchanges:
        ratio = one.ratio("native", "lacuna")
        if ratio is not None:
            groups[_title(one.mpi, one.job.name)].append((ratio, one.id))
    return [
        f"{title}: native / lacuna, geometric mean of {len(group)} exchanges: "
        f"{statistics.geometric_mean(ratio for ratio, _ in group):.2f}; "
        f"lowest: {min(group)[0]:.2f} {min(group)[1]}"
        for title, group in groups.items()
    ]


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
