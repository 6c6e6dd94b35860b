# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna tune --gpu`: from how many bytes on packed data of a CUDA device should lie in its memory
for an MPI library that takes addresses of devices. Adds that to the library's table.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from lacuna.base import results, terminal
from lacuna.base.errors import Exit, LacunaError
from lacuna.base.progress import Progress
from lacuna.base.units import size_name
from lacuna.launch import mpis
from lacuna.messages import program
from lacuna.messages.ratios import Times
from lacuna.tune import messages

_SECONDS = 0.5  # for a size
_QUICK_SECONDS = 0.05
_QUICK_MOST = 1 << 20  # bytes
_STAGING = "LACUNA_GPU_STAGING"


def tune(options: messages.Options) -> None:
    """Measures each library, and adds what it finds to the table that it has."""
    targets = messages.chosen(options)
    transport = "network" if options.network else "shared"
    if options.output and len(targets) > 1:
        raise LacunaError(Exit.USAGE, "one --output for several libraries", "name one with --mpi")
    wanted = options.output or messages.named()
    if wanted and transport not in messages.read(wanted):
        raise _no_table(wanted, "this library")
    for target in targets:

        def check(told: dict[str, Any]) -> None:
            place = wanted or messages.known(told["table_place"])
            table = messages.read(place)
            if table.get("mpi") != told["mpi_name"] or transport not in table:
                raise _no_table(place, told["mpi_name"])
            messages.check_nodes(told, options.network)

        with Progress(1) as progress:
            told, times = program.measure_devices(
                target,
                _QUICK_SECONDS if options.quick else _SECONDS,
                _QUICK_MOST if options.quick else None,
                {"LACUNA_ALWAYS": "1", "LACUNA_DIRECT": "0"},
                progress,
                check,
            )
        place = wanted or messages.known(told["table_place"])
        table = messages.read(place)
        if table.get("mpi") != told["mpi_name"] or transport not in table:
            raise _no_table(place, told["mpi_name"])
        least = device_memory_from(times)
        table["device"] = table.get("device", {}) | {transport: least}
        evidence = table.setdefault("evidence", {})
        kept = [row for row in evidence.get("device", []) if row["transport"] != transport]
        evidence["device"] = kept + [{"transport": transport} | row for row in _rows(times)]
        results.write_text(place, messages.dump(table))
        _show(mpis.TITLE[target.name], times, least)
        print(f"wrote {place}", file=sys.stderr)
        if os.environ.get(_STAGING, "auto") == "device":
            print(
                f"lacuna tune: the table has an effect only without {_STAGING}=device, and if the "
                "library says that it takes addresses of devices",
                file=sys.stderr,
            )


def _no_table(place: Path, library: str) -> LacunaError:
    return LacunaError(
        Exit.USAGE,
        f"{place} is no table of {library} with messages between these ranks",
        "measure them first, with the same words but for --gpu",
    )


def device_memory_from(times: list[Times]) -> int | None:
    """The smallest measured size from which on memory of the device is surely faster for it and all
    larger ones; None: for the largest it is not.
    """
    least = None
    for one in sorted(times, key=lambda row: row.about["bytes"], reverse=True):
        if one.speedup("device", over="host").low <= 1:
            break
        least = one.about["bytes"]
    return least


def _rows(times: list[Times]) -> list[dict[str, Any]]:
    return [
        {"bytes": one.about["bytes"]}
        | {f"{way}_us": round(one.median(way) * 1e6, 3) for way in ("host", "device")}
        for one in times
    ]


def _show(title: str, times: list[Times], least: int | None) -> None:
    """Prints a line for each size."""
    table = Table(title=f"{title}: messages of a device, packed into memory of", box=SIMPLE_HEAD)
    for name in ("message", "the host, us", "the device, us", "host / device"):
        table.add_column(name, justify="right")
    for one in times:
        gain = one.speedup("device", over="host")
        table.add_row(
            size_name(one.about["bytes"]),
            *(f"{one.median(way) * 1e6:.1f}" for way in ("host", "device")),
            f"{gain.median:.2f} ({gain.low:.2f} to {gain.high:.2f})",
        )
    console = terminal.console(messages.WIDTH)
    console.print(table)
    console.print(
        "packed into memory of the device: "
        + ("none" if least is None else f"from {size_name(least)} on")
    )
