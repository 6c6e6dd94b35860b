# SPDX-License-Identifier: BSD-3-Clause
"""The tables of `lacuna bench engine`: geometric means, slow rows, predictions, bounds."""

from __future__ import annotations

import re

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from lacuna.bench.corpus import CorpusRow
from lacuna.bench.engine import findings
from lacuna.bench.engine.times import CACHES, NOT_IN_MEANS, OPS, Times, geometric_mean
from lacuna.launch import mpis

_WIDTH = 140
# Lists longer than this many characters are cut where a person reads them.
_LONG_LIST = re.compile(r"\[([^][]{24})[^][]{16,}\]")


def _cells(rows: list[CorpusRow], times: Times, cache: str, op: str) -> list[str] | None:
    def mean(rival: str, mpi: str | None = None, base: str = "lacuna") -> str:
        ratios = [times.faster(row.id, op, cache, rival, mpi, base) for row in rows]
        value = geometric_mean(ratio for ratio in ratios if ratio is not None)
        return "" if value is None else f"{value:.2f}"

    over_memcpy = mean("lacuna", base="memcpy")
    if not over_memcpy:
        return None
    return [
        str(len(rows)),
        *(mean("mpi", mpi) for mpi in times.mpis),
        mean("by-hand"),
        over_memcpy,
        *(mean(isa) for isa in times.isas),
    ]


def _means(rows: list[CorpusRow], times: Times, cache: str) -> Table | None:
    table = Table(
        title=f"{cache.capitalize()} caches: times slower than lacuna, geometric means",
        box=SIMPLE_HEAD,
    )
    table.add_column("family")
    table.add_column("")
    for name in [
        "rows",
        *(f"MPI_Pack\n{mpis.TITLE[mpi]}" for mpi in times.mpis),
        "by hand",
        "lacuna\n/ memcpy",
        *(isa.replace("lacuna-", "lacuna\n") for isa in times.isas),
    ]:
        table.add_column(name, justify="right")
    families = list(dict.fromkeys(row.family for row in rows))
    counted = [row for row in rows if row.family != NOT_IN_MEANS]
    parts = [(family, [row for row in rows if row.family == family]) for family in families]
    if len(families) > 1 and counted:
        parts.append(("all", counted))
    is_empty = True
    for family, members in parts:
        if family == "all":
            table.add_section()
        for op in OPS:
            cells = _cells(members, times, cache, op)
            if cells:
                is_empty = False
                table.add_row(family if op == "pack" else "", op, *cells)
    return None if is_empty else table


def _predictions(rows: list[CorpusRow], times: Times) -> list[Table]:
    """Sentences about the predictions of each family, and the rows that are far off."""
    found = findings.predictions(rows, times)
    if not found:
        return []
    families = Table(title="Predicted over measured", box=SIMPLE_HEAD)
    families.add_column("family")
    for name in ("predictions", "within 2x", "least", "mean", "most"):
        families.add_column(name, justify="right")
    for family in dict.fromkeys(row.family for row in rows):
        ratios = [ratio for row, _, _, ratio in found if row.startswith(f"{family}/")]
        if ratios:
            near = sum(findings.is_near(ratio) for ratio in ratios)
            mean = geometric_mean(ratios) or 0.0
            numbers = (f"{value:.2f}" for value in (min(ratios), mean, max(ratios)))
            families.add_row(family, str(len(ratios)), f"{near / len(ratios):.0%}", *numbers)
    far = Table(title="Rows that are not within 2x of their prediction", box=SIMPLE_HEAD)
    for name in ("row", "", "caches", "predicted", "measured", "ratio", "bound"):
        justify = "right" if name in ("predicted", "measured", "ratio") else "left"
        far.add_column(name, justify=justify)
    for row, op, cache, ratio in found:
        made = times.predicted(row, op, cache)
        if made and not findings.is_near(ratio):
            ns = made["predicted_ns"]
            cells = (f"{ns:.4g} ns", f"{ns / ratio:.4g} ns", f"{ratio:.2f}")
            far.add_row(row, op, cache, *cells, made["predicted_bound"])
    return [table for table in (families, far) if table.row_count]


def _bounds(rows: list[CorpusRow], times: Times) -> Table | None:
    found = findings.under_bound(rows, times)
    title = "Data in DRAM: time of the cache lines alone over measured time"
    table = Table(title=title, box=SIMPLE_HEAD)
    for name in ("row", "", "caches", "by the profile", "touched, measured"):
        is_share = name in ("by the profile", "touched, measured")
        table.add_column(name, justify="right" if is_share else "left")
    for one in found:
        shares = (
            "" if share is None else f"{share:.2f}" for share in (one.of_profile, one.of_lines)
        )
        table.add_row(one.row, one.op, one.cache, *shares)
    return table if found else None


def _slow(rows: list[CorpusRow], times: Times) -> Table | None:
    title = f"Rows where lacuna is below {findings.LEAST_OF_BEST} of the best of the others"
    table = Table(title=title, box=SIMPLE_HEAD)
    for name in ("row", "", "caches", "best", "lacuna's speed"):
        table.add_column(name, justify="right" if name.startswith("lacuna") else "left")
    # A row that no file has is known by its type alone.
    types = {
        row.id: f"{row.count} x " + _LONG_LIST.sub(r"[\1 ...]", row.text)
        for row in rows
        if not row.is_of_corpus
    }
    if types:
        table.add_column("type", overflow="fold")
    found = findings.slow_rows(rows, times)
    for row, op, cache, ratio, who in found:
        table.add_row(row, op, cache, who, f"{ratio:.2f}", *([types[row]] if types else []))
    return table if found else None


def _against(rows: list[CorpusRow], times: Times) -> Table | None:
    title = f"Rows where lacuna is below {findings.LEAST_OF_BEST} of the other build's speed"
    table = Table(title=f"{title}, beyond noise", box=SIMPLE_HEAD)
    for name in ("row", "", "caches", "speed"):
        table.add_column(name, justify="right" if name == "speed" else "left")
    for row, op, cache, ratio in findings.slower_than_other(rows, times):
        table.add_row(row, op, cache, f"{ratio:.2f}")
    return table if table.row_count else None


def show(rows: list[CorpusRow], times: Times) -> None:
    """Prints all tables."""
    console = Console(highlight=False)
    if not console.is_terminal or console.width < _WIDTH:
        console = Console(highlight=False, width=_WIDTH)
    for cache in CACHES:
        table = _means(rows, times, cache)
        if table:
            console.print(table)
    for table in (
        _slow(rows, times),
        _against(rows, times),
        *_predictions(rows, times),
        _bounds(rows, times),
    ):
        if table:
            console.print(table)
