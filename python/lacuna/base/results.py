# SPDX-License-Identifier: BSD-3-Clause
"""From raw samples to rows, and from rows to JSON and CSV files, which are written completely or
not at all.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import os
import secrets
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

from lacuna.base.errors import Exit, LacunaError, no_figures

Row = dict[str, Any]

COLUMNS = [
    "n",
    "mpi",
    "method",
    "bytes",
    "median_s",
    "mad_s",
    "over_memcpy",
    "over_contiguous",
    "samples",
]
PING_PONG = ("native", "by_hand", "lacuna", "contiguous")


def rows(mpi: str, samples: list[dict[str, Any]]) -> list[Row]:
    """One row for each matrix order n and method, in the order in which they first appear: median
    and median absolute deviation in seconds, and ratios to memcpy and to a contiguous message.
    """
    times: dict[tuple[int, str], list[float]] = defaultdict(list)
    for sample in samples:
        times[sample["n"], sample["method"]].append(sample["seconds"])
    medians = {key: statistics.median(values) for key, values in times.items()}
    found = []
    for (n, method), values in times.items():
        median = medians[n, method]
        row = {
            "n": n,
            "mpi": mpi,
            "method": method,
            "bytes": 8 * n * n,
            "median_s": median,
            "mad_s": statistics.median(abs(value - median) for value in values),
            "over_memcpy": median / medians[n, "memcpy"],
        }
        if method in PING_PONG:
            row["over_contiguous"] = median / medians[n, "contiguous"]
        row["samples_s"] = values
        found.append(row)
    return found


def write_json(path: Path, provenance: dict[str, Any], found: list[Row], **more: Any) -> None:
    """Writes the provenance, the rows with their raw samples, and the members in `more`."""
    everything = {"provenance": provenance} | more | {"rows": found}
    _write(path, json.dumps(everything, indent=1) + "\n")


def write_csv(path: Path, found: list[Row], columns: list[str] | None = None) -> None:
    """Writes the rows without raw samples; the column `samples` is their number."""
    text = io.StringIO()
    names = columns or COLUMNS
    writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in found:
        samples = row.get("samples_s") or row.get("samples_ns") or []
        writer.writerow(row | {"samples": len(samples)})
    _write(path, text.getvalue())


def write_text(path: Path, text: str) -> None:
    """Writes a text file, completely or not at all."""
    _write(path, text)


def make_folders(files: list[Path | None], folder: Path | None = None) -> None:
    """Makes the folders of the result files, and the one for figures. Raises LacunaError if a file
    could not be written, before minutes are spent on measuring.
    """
    for file in files:
        if file:
            make_folder(file.absolute().parent)
            if os.path.isdir(file):
                raise _cannot_write(file, IsADirectoryError(0, "it is a folder"))
            try:
                os.lstat(_temporary(file))
            except FileNotFoundError:
                pass
            except OSError as error:  # such as a name that is too long
                raise _cannot_write(file, error) from error
    if folder:
        if not can_draw():
            raise no_figures()
        make_folder(folder)


def can_draw() -> bool:
    """Whether figures can be drawn (matplotlib is installed)."""
    return importlib.util.find_spec("matplotlib") is not None


def make_folder(folder: Path) -> None:
    """Makes a folder. Raises LacunaError if it cannot be made or written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_write(folder, error) from error
    if not os.access(folder, os.W_OK):
        raise _cannot_write(folder, PermissionError(0, "permission denied"))


def _temporary(path: Path) -> Path:
    return path.absolute().with_name(f".{path.name}.{secrets.token_hex(4)}")


def _write(path: Path, text: str) -> None:
    """Writes a temporary file in the same folder and renames it. The umask decides who may read it
    (tempfile's files are for their owner alone).
    """
    temporary = _temporary(path)
    try:
        try:
            with temporary.open("x", encoding="utf-8") as file:
                file.write(text)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> LacunaError:
    return LacunaError(
        Exit.ENVIRONMENT, f"cannot write {path}: {error.strerror}", "give another place for it"
    )
