# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna tune`: measures for which messages packing first is faster than the MPI library, and
writes the table.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from lacuna.base import paths, provenance, results, terminal
from lacuna.base.errors import Exit, LacunaError
from lacuna.base.progress import Progress
from lacuna.base.units import size_name
from lacuna.launch import launchers, mpis
from lacuna.messages import program, shapes
from lacuna.messages.program import Target
from lacuna.tune import rules
from lacuna.tune.rules import Cell

TABLE = "LACUNA_TABLE"  # the environment variable that names the file
FORMAT = 3  # the value of "lacuna_table", as interpose/policy/table.cpp reads it
_SECONDS = 0.1  # for a message
_QUICK_SECONDS = 0.02
_NAME_OF_FAMILY = {"mpich": "mpich", "ompi": "openmpi", "mpiabi": "mpiabi"}
WIDTH = 140  # of what is printed
MOST_LOAD = 0.5  # of the node, before it is measured


@dataclass
class Options:
    """What the command line asked for."""

    launcher: list[str]  # its words; empty: the MPI libraries that `make` fetched
    mpis: list[str]
    network: bool
    quick: bool
    output: Path | None
    mpi_root: Path
    plot: Path | None = None
    most_load: float = MOST_LOAD
    gpu: bool = False  # where packed data of a CUDA device lie, instead of which are packed


def warn_if_busy(most_load: float) -> None:
    """Says on stderr that other work runs on this node, which slows what is measured."""
    try:
        load = os.getloadavg()[0]
    except OSError:
        return
    if load > most_load:
        print(
            f"lacuna tune: other work runs on this node (load {load:.1f}), so the table may be "
            "useless; measure again when nothing else runs",
            file=sys.stderr,
        )


def tune(options: Options) -> None:
    """Measures each library, writes its table, prints its rules."""
    if options.gpu:
        from lacuna.tune import devices

        devices.tune(options)
        return
    targets = chosen(options)
    wanted = options.output or named()
    if wanted and options.network and "shared" not in read(wanted):
        raise _none_on_one_node(wanted, "this library")
    if wanted and len(targets) > 1:
        source = "--output" if options.output else TABLE
        raise LacunaError(Exit.USAGE, f"one {source} for several libraries", "name one with --mpi")
    if options.plot and len(targets) > 1:
        raise LacunaError(Exit.USAGE, "one --plot for several libraries", "name one with --mpi")
    # First, since measuring takes a minute for each library.
    results.make_folders([options.plot], options.plot and options.plot.absolute().parent)
    if wanted:
        results.make_folders([wanted])
    else:
        results.make_folder(known(paths.cache()))
    if not options.network:  # else the nodes are others
        warn_if_busy(options.most_load)
    for target in targets:

        def check(told: dict[str, Any]) -> None:
            if options.network:
                _check_table(wanted or known(told["table_place"]), told)
            check_nodes(told, options.network)

        with Progress(1 if options.network else 2) as progress:
            told, cells = measure(target, options.quick, not options.network, progress, check)
        place = wanted or known(told["table_place"])
        results.make_folder(place.absolute().parent)
        transport = "network" if options.network else "shared"
        table = _table(place, told, cells, transport)
        results.write_text(place, dump(table))
        show(mpis.TITLE[target.name], table[transport])
        if broken := rules.impossible(cells):
            print(
                f"lacuna tune: {mpis.TITLE[target.name]} has a defect: it cannot receive "
                f"contiguous data as {', '.join(broken)}; receivers leave such messages to it",
                file=sys.stderr,
            )
        print(f"wrote {place}", file=sys.stderr)
        if options.plot:
            from lacuna.tune import plot  # matplotlib takes a second to load

            print(f"wrote {plot.draw(table, transport, options.plot)}", file=sys.stderr)


def chosen(options: Options) -> list[Target]:
    """What to measure: the launcher's library, or those that `make` fetched."""
    if not options.launcher:
        if options.network:
            raise LacunaError(
                Exit.USAGE,
                "--network needs a launcher that puts two ranks on two nodes",
                "as in: lacuna tune --network mpirun -n 2 --host a,b",
            )
        return program.bundled(options.mpis, options.mpi_root)
    launcher = launchers.find(options.launcher[0])
    if launcher is None:
        raise LacunaError(
            Exit.USAGE,
            f"not a launcher: {options.launcher[0]}",
            "as in: lacuna tune mpirun -n 2",
        )
    if len(options.mpis) > 1 or not (options.mpis or launcher.family):
        raise LacunaError(
            Exit.USAGE, f"which MPI does {options.launcher[0]} start?", "name one with --mpi"
        )
    name = options.mpis[0] if options.mpis else _NAME_OF_FAMILY[str(launcher.family)]
    paths.family_of(name)
    return [Target(name, options.launcher, {})]


def check_nodes(told: dict[str, Any], network: bool) -> None:
    """Raises LacunaError if the ranks are not where they must be, by the program's header."""
    nodes = told["nodes"]
    if network and len(nodes) == 1:
        raise LacunaError(
            Exit.USAGE,
            f"--network needs two nodes, and both ranks are on node {nodes[0]}",
            "name two nodes, as in: lacuna tune --network mpirun -n 2 --host node1,node2",
        )
    if not network and len(nodes) > 1:
        raise LacunaError(
            Exit.USAGE,
            f"both ranks must be on one node, and are on {' and '.join(nodes)}",
            "start them on one node, or add --network",
        )


def measure(
    target: Target,
    quick: bool,
    direct: bool,
    progress: Progress,
    check: Callable[[dict[str, Any]], None],
) -> tuple[dict[str, Any], list[Cell]]:
    """The program's header line, which `check` gets first, and a cell for each pattern, run length
    and size."""
    rows = rules.messages(shapes.TUNE_QUICK_SIZES if quick else shapes.TUNE_SIZES)
    seconds = _QUICK_SECONDS if quick else _SECONDS
    options = {"LACUNA_ALWAYS": "1", "LACUNA_DIRECT": "0", TABLE: "none"}
    inside = [rules.INSIDE] if paths.family_of(target.name) == "ompi" else []
    ways = rules.WAYS + inside
    told, times = program.measure(target, rows, ways, seconds, options, progress, check=check)
    cells = [rules.judge(one) for one in times]
    if direct:
        options["LACUNA_DIRECT"] = "1"
        ways = rules.DIRECT_WAYS + inside
        _, times = program.measure(target, rows, ways, seconds / 2, options, progress)
        cells = [rules.with_direct(*pair) for pair in zip(cells, times, strict=True)]
    return told, cells


def named() -> Path | None:
    """The file that LACUNA_TABLE names; None: it names none."""
    name = os.environ.get(TABLE, "")
    return None if name in ("", "none") else Path(name)


def known(place: Path | str | None) -> Path:
    """The place, if there is one."""
    if not place:
        raise LacunaError(
            Exit.ENVIRONMENT,
            "no place to keep the table: neither XDG_CACHE_HOME nor HOME is set",
            "give one with --output",
        )
    return Path(place)


def _table(place: Path, told: dict[str, Any], cells: list[Cell], transport: str) -> dict[str, Any]:
    """The new table. Rules of the old file for the other transport are kept."""
    table = _head(told) | {
        "provenance": provenance.collect() | {"mpi_library": told["mpi_library"].strip()},
    }
    old = _same(place, told)
    for kept in ("shared", "network", "device"):
        if kept != transport and kept in old:
            table[kept] = old[kept]
    table[transport] = rules.rules(cells, transport == "shared")
    table["evidence"] = old.get("evidence", {})
    table["evidence"][transport] = [cell.as_json() for cell in cells]
    return table


def _head(told: dict[str, Any]) -> dict[str, Any]:
    return {
        "lacuna_table": FORMAT,
        "mpi": told["mpi_name"],
        "cpu": told["machine"]["cpu"],
    }


def _same(place: Path, told: dict[str, Any]) -> dict[str, Any]:
    """The table in a file, if it is of this library and CPU; else empty."""
    old = read(place)
    return old if _head(told).items() <= old.items() else {}


def _check_table(place: Path, told: dict[str, Any]) -> None:
    """Raises LacunaError if there is no table to which messages between nodes can be added."""
    if "shared" not in _same(place, told):
        raise _none_on_one_node(place, told["mpi_name"])


def _none_on_one_node(place: Path, library: str) -> LacunaError:
    return LacunaError(
        Exit.USAGE,
        f"{place} has no measurements of {library} on one node",
        "measure those first, with two ranks on one node and without --network",
    )


def read(place: Path) -> dict[str, Any]:
    """The table in a file; empty: none that can be read."""
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def dump(table: dict[str, Any]) -> str:
    """JSON with a line for each list of rules and each piece of evidence."""
    lines = []
    for key, value in table.items():
        if key in ("shared", "network"):
            sides = []
            for side, patterns in value.items():
                rows = [f'   "{name}": {json.dumps(spans)}' for name, spans in patterns.items()]
                sides.append(f'  "{side}": {{\n' + ",\n".join(rows) + "\n  }")
            text = "{\n" + ",\n".join(sides) + "\n }"
        elif key == "evidence":
            parts = []
            for transport, cells in value.items():
                rows = [f"   {json.dumps(cell)}" for cell in cells]
                parts.append(f'  "{transport}": [\n' + ",\n".join(rows) + "\n  ]")
            text = "{\n" + ",\n".join(parts) + "\n }"
        else:
            text = json.dumps(value)
        lines.append(f' "{key}": {text}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def show(title: str, book: dict[str, dict[str, list[list[float | None]]]]) -> None:
    """Prints a line for each side and pattern: for each range of sizes, the runs that are packed
    first.
    """
    console = terminal.console(WIDTH)
    table = Table(
        title=f"{title}: packed first, or sent through shared memory, if runs have up to ... bytes",
        box=SIMPLE_HEAD,
    )
    for name in ("side", "pattern", "message size up to: runs up to"):
        table.add_column(name)
    for side, patterns in book.items():
        for pattern, spans in patterns.items():
            parts = []
            for most_bytes, run, *least in spans:
                size = "any" if most_bytes is None else size_name(int(most_bytes))
                span = "".join(f"{one:g} to " for one in least) + f"{run:g}"
                parts.append(f"{size}: {span}" if run else f"{size}: none")
            table.add_row(side, pattern, ", ".join(parts))
    console.print(table)
