# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench gpu`: types in a device's memory, lacuna and its rivals."""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lacuna.base import paths, provenance, results
from lacuna.base.errors import Exit, LacunaError
from lacuna.base.results import Row
from lacuna.bench import corpus
from lacuna.gpu import machine

PROGRAM = "lacuna-gpu-bench"
OWN_FAMILIES = ("strided", "listed", "records", "parts", "odd", "transposed", "small")
# Of the corpus, what `bench engine` packs; transposes and index lists are also families here.
_CORPUS = ("gropp", "ddtbench", "transpose", "faces", "structs", "index", "sweep", "tiny")
_LOST = 1.03  # of a rival's time, from where on it counts as faster
COLUMNS = ["row", "op", "bytes", "us", "ceiling_us", "ceiling_with_reads_us", "fastest", "over"]


@dataclass
class Options:
    """What the command line asked for."""

    only: list[str] = field(default_factory=list)
    quick: bool = False
    rivals: bool = True
    sectors: bool = False
    given: tuple[str, int] | None = None
    json: Path | None = None
    csv: Path | None = None


def bench(options: Options) -> None:
    """Measures, writes the files, prints the table."""
    types, patterns = _asked(options)
    program = paths.program(PROGRAM)
    results.make_folders([options.json, options.csv])
    header = provenance.collect()
    lines = _run(program, types, patterns, options)
    header |= {key: value for key, value in lines[0].items() if key not in ("kind", "rows")}
    found = [_row(line) for line in lines if line["kind"] == "row"]
    small = [line for line in lines if line["kind"] == "small"]
    if options.json:
        copies = [line for line in lines if line["kind"] == "copy"]
        left_out = [line for line in lines if line["kind"] == "left_out"]
        results.write_json(
            options.json, header, found, small=small, copies=copies, left_out=left_out
        )
    if options.csv:
        results.write_csv(options.csv, found, COLUMNS)
    _print_table(header, found, small)
    for path in (options.json, options.csv):
        if path:
            print(f"wrote {path}", file=sys.stderr)
    wrong = lines[-1]["wrong"]
    if wrong:
        raise LacunaError(
            Exit.CHECK_FAILED,
            f"{wrong} results were wrong, which were not timed",
            f"run {PROGRAM} to see which (lines with WRONG)",
        )


def _asked(options: Options) -> tuple[list[corpus.CorpusRow], list[str]]:
    """The rows of the corpus, and the patterns by which the program chooses among all its rows."""
    if options.given:
        row = corpus.given(*options.given)
        return [row], [row.id]
    rows = corpus.select(corpus.load(), [], options.quick)
    rows = [row for row in rows if row.family in _CORPUS]
    if not options.only:
        return rows, []
    for pattern in options.only:
        family = pattern.partition("/")[0]
        if family in OWN_FAMILIES or "*" in family or "?" in family:
            continue
        try:
            corpus.chosen(rows, [pattern])
        except LacunaError as error:
            what = f"no row fits --only {pattern}"
            families = ", ".join([*OWN_FAMILIES, *_CORPUS])
            remedy = f"families are {families}; as in --only 'ddtbench/WRF*'"
            raise LacunaError(Exit.USAGE, what, remedy) from error
    return rows, options.only


def _run(
    program: Path, types: list[corpus.CorpusRow], patterns: list[str], options: Options
) -> list[dict[str, Any]]:
    """The lines of the program; the last one says that it ended well."""
    with tempfile.TemporaryDirectory(prefix="lacuna-") as folder:
        file, out = Path(folder) / "rows", Path(folder) / "lines"
        file.write_text("".join(row.line() for row in types), encoding="utf-8")
        words = ["--rows", str(file), "--out", str(out)]
        for pattern in patterns:
            words += ["--only", pattern]
        words += ["--quick"] * options.quick + ["--sectors"] * options.sectors
        words += ["--own"] * (not options.rivals)
        done = machine.ended(program, words)
        lines = []
        if out.is_file():
            lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        if not lines or lines[-1]["kind"] != "end":
            raise machine.failure(PROGRAM, done.returncode, done.stderr.splitlines())
        return lines


def _row(line: dict[str, Any]) -> Row:
    """The row, with the fastest rival and lacuna's time relative to it; memcpy is a bound and no
    rival.
    """
    row = {key: value for key, value in line.items() if key != "kind"}
    rivals = {name: us for name, us in row["rivals_us"].items() if name != "memcpy"}
    fastest = min(rivals, key=rivals.__getitem__, default=None)
    row["fastest"] = fastest
    row["over"] = row["us"] / rivals[fastest] if fastest else None
    return row


def _print_table(header: dict[str, Any], found: list[Row], small: list[Row]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from lacuna.base import terminal

    console = terminal.console(140)
    title = f"{header['device']}: % of its own copy of the payload and touched sectors"
    table = Table(title=title, box=SIMPLE_HEAD)
    table.add_column("row")
    for name in ("MiB", "us", "GB/s", "%", "% with reads", "fastest rival", "its time / ours"):
        table.add_column(name, justify="right")
    for row in found:
        rival = [row["fastest"], f"{1 / row['over']:.2f}"] if row["fastest"] else ["", ""]
        table.add_row(
            f"{row['row']}, {row['op']}",
            f"{row['bytes'] / 2**20:.3g}",
            f"{row['us']:.4g}",
            f"{row['bytes'] / row['us'] / 1000:.4g}",
            f"{100 * row['ceiling_us'] / row['us']:.0f}",
            f"{100 * row['ceiling_with_reads_us'] / row['us']:.0f}",
            *rival,
        )
    console.print(table)
    for line in small:
        console.print(f"{line['what']:44} {line['value']:9.4g} {line['unit']}", markup=False)
    lost = [row for row in found if row["over"] is not None and row["over"] > _LOST]
    console.print(
        f"{len(found)} timed, a rival is more than 3 % faster in {len(lost)}", markup=False
    )
    for row in lost:
        by = f"{row['row']}, {row['op']}: {row['fastest']} takes {1 / row['over']:.2f} of the time"
        console.print(f"  {by}", markup=False)
