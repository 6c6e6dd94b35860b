# SPDX-License-Identifier: BSD-3-Clause
"""The data files under bench/results: a folder for each machine, a file for each benchmark.

A data file is what `lacuna bench NAME --json` wrote, without the raw samples, a row on a line:
small enough for the repository, and its changes can be read.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lacuna.base import paths, results
from lacuna.base.errors import Exit, LacunaError
from lacuna.base.results import Row

# What is kept of each benchmark, in the order of the pages.
COLUMNS = {
    "transpose": ["mpi", "n", "method", "bytes", "median_s", "mad_s", "samples"],
    "preload": [
        *("mpi", "what", "id", "bytes", "contiguous", "speedup", "speedup_low", "speedup_high"),
        *("over_contiguous", "is_slower"),
    ],
    "apps": ["mpi", "id", "test", "bytes", "method", "median_s", "mad_s", "samples"],
    "engine": [
        *("mpi", "start", "row", "family", "op", "cache", "rival", "bytes"),
        *("median_ns", "mad_ns", "samples"),
    ],
    "gpu": [
        *("row", "op", "bytes", "us", "ceiling_us", "ceiling_with_reads_us"),
        *("hand", "element", "2d", "blocks"),
    ],
}
_RIVALS = ("memcpy", "by-hand", "mpi", "lacuna")
_DIGITS = 5  # of a time
_PLACES = ("--json", "--csv", "--plots", "--mpi-root")  # options that name files and folders


@dataclass(frozen=True)
class Data:
    """The results of one benchmark on one machine."""

    kind: str
    provenance: dict[str, Any]
    rows: list[Row]
    calls: list[dict[str, Any]]  # instructions of calls, of `preload`
    small: list[dict[str, Any]]  # times of small messages, of `gpu`
    digest: str  # of the file

    def mark(self) -> str:
        """The text by which a plot names its data, with their digest."""
        return f"lacuna bench results: data {self.digest}"


def load(path: Path) -> Data:
    """Reads a data file."""
    text = _read(path)
    try:
        found = json.loads(text)
        rows = [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        calls, small = found.get("calls", []), found.get("small", [])
        return Data(found["kind"], found["provenance"], rows, calls, small, digest)
    except (ValueError, KeyError, TypeError) as error:
        raise LacunaError(
            Exit.USAGE,
            f"{path} is no data file of lacuna bench results",
            "make it anew with lacuna bench results --add",
        ) from error


def of_machine(folder: Path) -> list[Data]:
    """The data files in the folder of a machine, in the order of the pages."""
    files = [folder / f"{kind}.json" for kind in COLUMNS]
    return [load(file) for file in files if file.is_file()]


def add(path: Path, folder: Path) -> Path:
    """Makes a data file from a result file of a benchmark, in the folder of a machine."""
    try:
        found = json.loads(_read(path))
        kind = _kind(found)
        rows = [_row(kind, row) for row in found["rows"] if row.get("rival", "lacuna") in _RIVALS]
        header = {
            "kind": kind,
            "provenance": _without_places(found["provenance"]),
            "columns": COLUMNS[kind],
        }
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise LacunaError(
            Exit.USAGE,
            f"{path} holds no results that are shown",
            f"give a file of lacuna bench {', '.join(COLUMNS)} with --json",
        ) from error
    header |= {name: found[name] for name in ("calls", "small") if name in found}
    cpu = found["provenance"]["cpu"]
    if any(other.provenance["cpu"] != cpu for other in of_machine(folder) if other.kind != kind):
        raise LacunaError(
            Exit.USAGE,
            f"{path} is of another CPU than the other results in {folder}",
            "add it to the folder of its own machine",
        )
    lines = [f"{json.dumps(name)}: {json.dumps(value)},\n" for name, value in header.items()]
    text = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    results.make_folder(folder)
    kept = folder / f"{kind}.json"
    results.write_text(kept, "{\n" + "".join(lines) + f'"rows": [\n{text}\n]}}\n')
    return kept


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise LacunaError(
            Exit.USAGE, f"cannot read {path}: {error.strerror}", "name a file that is there"
        ) from error


def _kind(found: dict[str, Any]) -> str:
    """The benchmark that wrote the result file."""
    if found["provenance"].get("kind") == "apps":
        return "apps"
    first = found["rows"][0]
    marks = {"engine": "rival", "preload": "ways", "transpose": "n", "gpu": "ceiling_us"}
    for kind, mark in marks.items():
        if mark in first:
            return kind
    raise KeyError("rows")


def _without_places(provenance: dict[str, Any]) -> dict[str, Any]:
    """The provenance without names of folders, and without the configure options of the MPI
    libraries.
    """
    words = list(provenance["command"])
    for option in _PLACES:
        while option in words:
            del words[words.index(option) : words.index(option) + 2]
    environment = dict(provenance["environment"])
    environment.pop(paths.LIBRARY_DIR, None)
    libraries = {name: text.splitlines()[0] for name, text in provenance.get("mpi", {}).items()}
    return provenance | {"command": words, "environment": environment, "mpi": libraries}


def _row(kind: str, row: Row) -> list[Any]:
    taken = row | {"samples": len(row.get("samples_s") or row.get("samples_ns") or [])}
    taken |= row.get("rivals_us", {})
    return [_short(taken.get(name)) for name in COLUMNS[kind]]


def _short(value: Any) -> Any:
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value
