# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna explain FILE.opt.yaml`: what lacuna-cc did with each MPI call, and the reasons.

The file is clang's record of its optimizations (-fsave-optimization-record).
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from lacuna.base import terminal
from lacuna.base.errors import Exit, LacunaError

ENDING = ".opt.yaml"
_PLACE = re.compile(r"File: '?([^,']*)'?,\s+Line: (\d+),\s+Column: (\d+)")
_ARGUMENT = re.compile(r"^  - (\w+):\s+(.*)$", re.MULTILINE)
_OUTCOMES = {
    "Specialized": "specialized",
    "Removed": "removed",
    "Unmerged": "not merged",
    "Asks": "looks its type up at run time",
    "Registered": "registers kernels",
}
# A remedy for each reason (by words in it): for calls that were left as they are, and for those
# that look their type up when they run and could be specialized when they are compiled.
_LTO = "compile and link with --lto"
_OWN_VARIABLE = "keep the handle in a variable whose address is not passed on"
_REMEDIES = {
    "other files": f"{_LTO}, or make the variable static",
    "argument of the function": f"{_LTO}, or let the function be inlined",
    "result of a function": f"{_LTO}, or let that function be inlined",
    "loaded from memory": f"{_OWN_VARIABLE}, or make the type in the function that uses it",
    "given away": _OWN_VARIABLE,
    "comes out of a structure": _OWN_VARIABLE,
    "never made here": _LTO,
    "initialized variable": "leave the variable without a value at first, or MPI_DATATYPE_NULL",
    "volatile": "a variable that is neither volatile nor atomic",
    "run-time parameters": "make the type in the function that uses it, on the same path",
    "different types": "a variable for each type, and a call for each",
    "changes in a loop": "make the type before the loop, or in the iteration that uses it",
    "arrays are not known": "fill the constructor's arrays in the function that calls it",
    "extent of": "give the type its extent with MPI_Type_create_resized",
    "not proven to complete": "wait for the request in the same function, on every path",
    "more than pay": "nothing: the MPI library is as fast",
}
_COLUMNS = ["place", "call", "became", "what or why", "what would help"]
_TO_MERGE = "send both as one struct type of the two, and receive them as one"


@dataclass(frozen=True)
class Site:
    """An MPI call in the source, and what lacuna-cc did with it."""

    place: str
    function: str
    outcome: str
    detail: str
    remedy: str = ""


def _text(value: str) -> str:
    value = value.strip()
    return value[1:-1].replace("''", "'") if value.startswith("'") else value


def read(path: Path) -> list[Site]:
    """The calls in the file, each once, though the compiler may have copied it."""
    try:
        text = path.read_text()
    except OSError as error:
        what = f"cannot read {path}: {error.strerror}"
        remedy = "name a file NAME.opt.yaml, which lacuna-cc writes beside NAME.o"
        raise LacunaError(Exit.USAGE, what, remedy) from error
    sites: dict[Site, None] = {}
    for entry in re.split(r"^--- !", text, flags=re.MULTILINE)[1:]:
        if not re.search(r"^Pass:\s+lacuna$", entry, re.MULTILINE):
            continue
        arguments = {name: _text(value) for name, value in _ARGUMENT.findall(entry)}
        at = _PLACE.search(entry)
        place = f"{at[1]}:{at[2]}" if at else "?"
        name = re.search(r"^Name:\s+(\w+)$", entry, re.MULTILINE)
        outcome = _OUTCOMES.get(name[1] if name else "", "left as it is")
        if entry.startswith("Analysis"):
            outcome = "warning"
        detail = arguments.get("What", arguments.get("Reason", ""))
        helps = outcome in ("left as it is", _OUTCOMES["Asks"])
        remedy = next((r for word, r in _REMEDIES.items() if helps and word in detail), "")
        if outcome == _OUTCOMES["Unmerged"]:
            remedy = _TO_MERGE
        function = "MPI_Type_commit" if outcome == _OUTCOMES["Registered"] else "?"
        sites[Site(place, arguments.get("Function", function), outcome, detail, remedy)] = None
    return list(sites)


def explain(path: Path, as_json: bool) -> None:
    """Prints the table on stdout."""
    sites = read(path)
    if as_json:
        print(json.dumps([asdict(site) for site in sites], indent=2))
        return
    table = Table(box=None)
    rows = [[one.place, one.function, one.outcome, one.detail, one.remedy] for one in sites]
    terminal.show(Console(highlight=False), table, _COLUMNS, rows, set(_COLUMNS) - {"call"})
