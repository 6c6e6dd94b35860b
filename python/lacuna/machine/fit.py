# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna machine --fit`: finds the habits of this CPU (docs/internals/machine.md) by timing, as a
row of cpus.cpp.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from lacuna import engine
from lacuna.base import paths, results, terminal
from lacuna.machine import numbers

_PROGRAM = "lacuna-fit-cpu"
_QUICK = ("--samples", "5", "--seconds", "0.05")
_WIDTH = 150  # of the table, also in pipes
_PROFILE_FORMAT = 1


def fit(row: str, quick: bool, as_json: bool, output: Path | None) -> None:
    """Times the values of each habit, beginning with those of `row`; prints what was found, and
    with `output` writes it as a profile.
    """
    command = [str(paths.program(_PROGRAM)), "--from", row, *(_QUICK if quick else ())]
    results.make_folders([output], output and output.absolute().parent)
    found: dict[str, Any] = json.loads(numbers.run(command))
    if output:
        results.write_text(output, json.dumps(_profile(found), indent=1) + "\n")
    if as_json:
        print(json.dumps(found, indent=1))
        return
    console = terminal.console(_WIDTH)
    console.print(_table(found))
    console.print("as a row of engine/machine/cpus.cpp:", markup=False)
    console.print(row_text(found["numbers"]), markup=False, highlight=False, soft_wrap=True)
    console.print(
        f"On the types above: {found['speed']:.2f} times the speed of the row {found['from']}; "
        f"the row {found['own_row']}, which is this CPU's: {found['own_speed']:.2f} times.",
        markup=False,
        soft_wrap=True,
    )
    if output:
        console.print(
            f"wrote {output}; use it with LACUNA_CPU={found['from']} and "
            f"{numbers.PROFILE}={output}",
            markup=False,
            soft_wrap=True,
        )
    else:
        console.print("--output FILE keeps it as a profile", markup=False)


def _profile(found: dict[str, Any]) -> dict[str, Any]:
    """The profile in force, with the habits that were found."""
    facts = numbers.facts()
    kept = {
        name: {"value": number["value"], "source": number["source"]}
        for name, number in facts["numbers"].items()
        if number["source"] != "default"
    }
    kept |= {
        name: {"value": value, "source": "measured"} for name, value in found["numbers"].items()
    }
    provenance = {"by": "lacuna machine --fit", "from": found["from"], "lacuna": engine.version()}
    return {
        "lacuna_machine": _PROFILE_FORMAT,
        "cpu": facts["cpu"],
        "provenance": provenance,
        "numbers": kept,
    }


def _setting(setting: dict[str, float]) -> str:
    return ", ".join(f"{name} = {_number(value)}" for name, value in setting.items())


def _table(found: dict[str, Any]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("property")
    table.add_column("value")
    table.add_column("speed", justify="right")
    table.add_column("")
    for trial in found["trials"]:
        for at, tried in enumerate(trial["tried"]):
            table.add_row(
                trial["question"] if at == 0 else "",
                _setting(tried["numbers"]),
                f"{tried['speed']:.2f}",
                "kept" if at == trial["kept"] else "",
            )
    return table


def row_text(habits: dict[str, float]) -> str:
    """The habits as C++, to be pasted into cpus.cpp."""
    known = engine.machine()["numbers"]
    lines = []
    for name, value in habits.items():
        is_flag = known[name]["unit"] == "0 or 1"
        shown = ("false", "true")[int(value)] if is_flag else _number(value)
        lines.append(f"  habits.{name} = {shown};")
    text = ["constexpr CpuHabits kFitted = [] {", "  CpuHabits habits;", *lines]
    return "\n".join([*text, "  return habits;", "}();"])


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)
