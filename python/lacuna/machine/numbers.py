# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna machine`: shows and measures the numbers about this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from lacuna import engine
from lacuna.base import paths, results, terminal
from lacuna.base.errors import Exit, LacunaError
from lacuna.base.progress import Progress
from lacuna.base.units import size

PROFILE = "LACUNA_PROFILE"  # the environment variable that names the file
_PROBE = "lacuna-machine-probe"
_LEVELS = ("l1", "l2", "l3", "memory")
_SHOWN_LINES = 10
_WIDTH = 120  # of tables that go into a pipe


def measure(quick: bool, output: Path | None) -> None:
    """Runs the probe, writes its profile, and lets this process use it."""
    probe = str(paths.program(_PROBE))
    place = output or _default_place(probe)
    results.make_folders([place])
    text = run([probe, "--quick"] if quick else [probe])
    results.write_text(place, text)
    print(f"wrote {place}", file=sys.stderr)
    os.environ[PROFILE] = str(place)  # before the library reads it


def _default_place(probe: str) -> Path:
    done = subprocess.run([probe, "--place"], capture_output=True, text=True, check=False)
    place = done.stdout.strip()
    if done.returncode != 0:
        raise LacunaError(
            Exit.ENVIRONMENT, f"cannot run {probe}: {done.stderr.strip()}", paths.BRING
        )
    if not place:
        raise LacunaError(
            Exit.ENVIRONMENT,
            "no place to keep the profile: neither XDG_CACHE_HOME nor HOME is set",
            "give one with --output",
        )
    return Path(place)


def run(command: list[str]) -> str:
    """The output of a program of `lacuna machine`; its lines on stderr move the progress bar."""
    said: list[str] = []
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out, Progress() as progress:
        progress.begin("measuring")
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
            )
        except OSError as error:
            raise LacunaError(
                Exit.ENVIRONMENT,
                f"cannot run {command[0]}: {error.strerror}",
                paths.BRING,
            ) from error
        try:
            for line in process.stderr or ():
                said.append(line.rstrip())
                part = _part(line)
                if part:
                    progress.at(part["done"], part["of"], part["what"])
            code = process.wait()
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
        out.seek(0)
        text = out.read()
    if code != 0 or not text:
        raise LacunaError(
            Exit.CHECK_FAILED,
            f"{Path(command[0]).name} failed: exit code {code}",
            "its last words are below",
            "\n".join(said[-_SHOWN_LINES:]),
        )
    return text


def _part(line: str) -> dict[str, Any] | None:
    try:
        part = json.loads(line)
    except ValueError:
        return None
    return part if isinstance(part, dict) and {"what", "done", "of"} <= set(part) else None


def facts() -> dict[str, Any]:
    """The numbers in force, and the evidence, provenance and curves of their profile."""
    found = engine.machine()
    found["curves"] = []
    if found["profile"] is None:
        return found
    try:
        # The library has read and checked this file.
        profile = json.loads(Path(found["profile"]).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LacunaError(
            Exit.ENVIRONMENT, f"cannot read {found['profile']}: {error}", "measure again"
        ) from error
    found["provenance"] = profile.get("provenance", {})
    found["curves"] = profile.get("curves", [])
    for name, number in found["numbers"].items():
        known = profile["numbers"].get(name, {})
        number.update({key: known[key] for key in ("told", "evidence") if key in known})
    return found


def show(as_json: bool, plot: Path | None) -> None:
    """Prints the numbers in force, or writes the figure of their curves."""
    found = facts()
    for complaint in (found["row"]["complaint"], found["complaint"]):
        if complaint:
            print(f"lacuna machine: {complaint}", file=sys.stderr)
    if plot:
        if not found["curves"]:
            raise LacunaError(
                Exit.ENVIRONMENT,
                "no curves to draw: this machine was not measured",
                "add --measure",
            )
        from lacuna.machine import plot as machine_plot  # matplotlib takes a second to load

        machine_plot.draw(plot, found)
        print(f"wrote {plot}", file=sys.stderr)
    if as_json:
        print(json.dumps(found, indent=1))
    else:
        _print_tables(found)


def _value(number: dict[str, Any]) -> tuple[str, str]:
    """(value, unit) as text for people."""
    if number["unit"] == "bytes":
        value, unit = size(number["value"]).split(" ")
        return value, unit
    return f"{number['value']:.4g}" if number["value"] < 1e4 else str(number["value"]), number[
        "unit"
    ]


def _print_tables(found: dict[str, Any]) -> None:
    console = terminal.console(_WIDTH)
    console.print(found["cpu"], markup=False)
    row = found["row"]
    origin = found["rows"][row["name"]]  # "not measured: ...", or the CPUs
    how = origin if origin.startswith("not measured") else f"measured on {origin}"
    console.print(f"row      {row['name']} ({row['why']}), {how}", markup=False, soft_wrap=True)
    if found["profile"]:
        date = found["provenance"].get("date") or "no date"
        console.print(f"profile  {found['profile']} ({date})", markup=False, soft_wrap=True)
    else:
        console.print("profile  none: `lacuna machine --measure` makes one", markup=False)

    numbers = found["numbers"]
    by_level = _by_level(numbers)
    console.print(_first_table(numbers, {name for row in by_level.values() for name in row}))
    console.print(_level_table(numbers, by_level))
    if any(number["source"] == "default" for number in numbers.values()):
        console.print("in parentheses: a default, not measured on this machine", markup=False)


def _by_level(numbers: Iterable[str]) -> dict[str, list[str]]:
    """The names of numbers that exist for every cache level, by the part of the name that is
    common.
    """
    rows: dict[str, list[str]] = {}
    for name in numbers:
        level, _, rest = name.partition("_")
        if level in _LEVELS:
            rows.setdefault(rest, []).append(name)
    return {rest: names for rest, names in rows.items() if len(names) == len(_LEVELS)}


def _first_table(numbers: dict[str, Any], others: set[str]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("number")
    table.add_column("value", justify="right")
    for name in ("unit", "source", "meaning"):
        table.add_column(name)
    for name, number in numbers.items():
        if name in others:
            continue
        told = number.get("told")
        source = number["source"]
        if source == "measured" and told:
            source += f" (told: {size(told)})"
        table.add_row(name, *_value(number), source, number["meaning"])
    return table


def _level_table(numbers: dict[str, Any], by_level: dict[str, list[str]]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("number, by level")
    for level in _LEVELS:
        table.add_column(level, justify="right")
    for name in ("unit", "meaning"):
        table.add_column(name)
    for rest, names in by_level.items():
        cells = []
        for name in names:
            text = f"{numbers[name]['value']:.3g}"
            cells.append(f"({text})" if numbers[name]["source"] == "default" else text)
        first = numbers[names[0]]
        table.add_row(rest, *cells, first["unit"], first["meaning"])
    return table
