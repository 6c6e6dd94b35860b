# SPDX-License-Identifier: BSD-3-Clause
"""What the program of `lacuna bench engine` wrote, as rows: one for each rival and experiment."""

from __future__ import annotations

import statistics
from typing import Any

from lacuna.base.errors import Exit, LacunaError
from lacuna.base.results import Row
from lacuna.bench.corpus import CorpusRow

COLUMNS = [
    "mpi",
    "start",
    "row",
    "family",
    "op",
    "cache",
    "rival",
    "bytes",
    "runs",
    "span_bytes",
    "lines_read",
    "lines_written",
    "mem_pages",
    "working_set_bytes",
    "calls",
    "median_ns",
    "mad_ns",
    "over_memcpy",
    "predicted_ns",
    "predicted_bound",
    "traffic_ns",
    "samples",
]
_LINE_BYTES = 64
_ALWAYS = {"memcpy", "mpi", "lacuna"}
_ALWAYS_OF_CORPUS = _ALWAYS | {"by-hand"}


def described(rows: list[CorpusRow]) -> dict[str, Any]:
    """The type, count, bytes, source and tags of each row's name, for the result file."""
    return {
        row.id: {
            "type": row.text,
            "count": row.count,
            "bytes": row.bytes,
            "source": row.source,
            "tags": sorted(row.tags),
        }
        for row in rows
    }


def rows(mpi: str, start: int, asked: list[CorpusRow], lines: list[dict[str, Any]]) -> list[Row]:
    """One row for each rival, direction and state of the caches, from the lines that the program
    wrote when it was started on this MPI library for the `start`th time.

    `lines_read` and `lines_written` are the cache lines that hold data, which every way must touch:
    with a machine's bandwidths they give a bound.
    """
    declared = {row.id: row for row in asked}
    found: list[Row] = []
    about: dict[str, Any] = {}
    for line in lines:
        if line["kind"] == "row":
            about = line
            _check(declared[line["row"]], line)
        elif line["kind"] == "times":
            found.append({"mpi": mpi, "start": start} | _row(declared[line["row"]], about, line))
    memcpy = {
        (row["row"], row["op"], row["cache"]): row["median_ns"]
        for row in found
        if row["rival"] == "memcpy"
    }
    for row in found:
        row["over_memcpy"] = row["median_ns"] / memcpy[row["row"], row["op"], row["cache"]]
    return found


def _check(row: CorpusRow, line: dict[str, Any]) -> None:
    missing = (_ALWAYS_OF_CORPUS if row.is_of_corpus else _ALWAYS) - set(line["rivals"])
    if missing:
        raise LacunaError(
            Exit.CHECK_FAILED,
            f"{row.id} is left out by {', '.join(sorted(missing))}",
            "make them able to pack it (bench/engine/rivals), or leave the row out of the corpus",
        )
    if line["bytes"] != row.bytes:
        raise LacunaError(
            Exit.CHECK_FAILED,
            f"{row.id} has {line['bytes']} bytes, not the {row.bytes} of the corpus",
            "correct the file in bench/corpus",
        )


def _row(row: CorpusRow, about: dict[str, Any], line: dict[str, Any]) -> Row:
    values = line["samples_ns"]
    median = statistics.median(values)
    sides = (about["mem_lines"], about["packed_lines"])
    read, written = sides if line["op"] == "pack" else sides[::-1]
    made = {
        "row": row.id,
        "family": row.family,
        "op": line["op"],
        "cache": line["cache"],
        "rival": line["rival"],
        "bytes": about["bytes"],
        "runs": about["runs"],
        "span_bytes": about["span_bytes"],
        "lines_read": read,
        "lines_written": written,
        "mem_pages": about["mem_pages"],
        "working_set_bytes": sum(sides) * _LINE_BYTES,
        "calls": line["calls"],
        "median_ns": median,
        "mad_ns": statistics.median(abs(value - median) for value in values),
        "over_memcpy": 0.0,
        "samples_ns": values,
    }
    return made | _predicted(about.get("predicted"), line)


def _predicted(cost: dict[str, Any] | None, line: dict[str, Any]) -> Row:
    """The engine's prediction for lacuna (or memcpy) in this direction and state of the caches;
    `traffic_ns` is the time of the lines alone, without instructions.
    """
    side = {"lacuna": line["op"], "memcpy": "memcpy"}.get(line["rival"])
    if cost is None or side is None:
        return {}
    found = cost[side][line["cache"]]
    return {
        "predicted_ns": found["ns"],
        "predicted_bound": found["bound"],
        "traffic_ns": found["traffic_ns"],
        "is_measured_machine": cost["is_measured_machine"],
    }
