# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna machine --gpu`: the numbers of a CUDA device, measured and kept, shown."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from lacuna.base import paths
from lacuna.base.errors import Exit, LacunaError

PROGRAM = "lacuna-gpu-probe"
_NO_DEVICE = 3  # the program's exit code
_UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))

# Of an H100 (docs/experiments/2026-11-26-gpu-rows.md), for where nothing was measured.
_DEFAULT_CURVE = [
    [2**14, 1.2],
    [2**18, 1.4],
    [2**20, 2.0],
    [2**22, 4.4],
    [2**24, 13.2],
    [2**26, 46.0],
    [2**28, 178.0],
]


def _default(value: float, unit: str, meaning: str) -> dict[str, Any]:
    return {"value": value, "unit": unit, "meaning": meaning}


DEFAULTS: dict[str, Any] = {
    "facts": {"device": "NVIDIA H100 80GB HBM3", "fetch_bytes": 64},
    "numbers": {
        "copy_bytes_per_ns": _default(
            1508, "GB/s", "its own copy of the largest size, each byte read and written"
        ),
        "kernel_us": _default(1.2, "us", "an empty kernel in a graph, on the device"),
        "enqueue_us": _default(3.3, "us", "a launch on the host, until the call returns"),
    },
    "copy_curve": _DEFAULT_CURVE,
    "source": "default",
}


def ended(program: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    """Runs one of lacuna's programs to its end and returns its exit code and output."""
    try:
        return subprocess.run(
            [str(program), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        what = f"cannot run {program}: {error.strerror}"
        raise LacunaError(Exit.ENVIRONMENT, what, paths.BRING) from error


def run(words: list[str]) -> str:
    """What the program prints; where there is no device, its sentence with exit code 3."""
    done = ended(paths.program(PROGRAM), words)
    if done.returncode == 0:
        return done.stdout
    said = [line for line in done.stderr.splitlines() if not line.startswith("{")]
    raise failure(PROGRAM, done.returncode, said)


def failure(program: str, code: int, said: list[str]) -> LacunaError:
    """What a program of ours that needs a device ended with."""
    last = said[-1] if said else ""
    no_device = re.search(r"no CUDA device: (.*)", last)
    if code == _NO_DEVICE and no_device:
        what = f"no CUDA device: {no_device.group(1)}"
        remedy = "run where an NVIDIA device and its driver are (nvidia-smi shows them)"
        return LacunaError(Exit.ENVIRONMENT, what, remedy)
    what = f"{program} failed: exit code {code}"
    return LacunaError(Exit.CHECK_FAILED, what, "its last words are below", "\n".join(said[-5:]))


def device_facts() -> dict[str, Any]:
    """The device of this machine, as its driver describes it."""
    return json.loads(run(["--facts"]))["facts"]


def place_of(device: str) -> Path:
    """The file in which the numbers of a device of that name are kept."""
    folder = paths.cache()
    if folder is None:
        raise LacunaError(
            Exit.ENVIRONMENT,
            "no place to keep the numbers: neither XDG_CACHE_HOME nor HOME is set",
            "give one with --output",
        )
    name = re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-")
    return folder / f"gpu-{name}.json"


def measure(quick: bool, output: Path | None) -> Path:
    """Runs the program that measures the device, and writes its numbers to a file, which is
    returned.
    """
    from lacuna.base import results

    place = output or place_of(device_facts()["device"])
    results.make_folders([place])
    text = run(["--quick"] if quick else [])
    results.write_text(place, text)
    print(f"wrote {place}", file=sys.stderr)
    return place


def kept(place: Path) -> dict[str, Any]:
    """The numbers in a file."""
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
        if found["lacuna_gpu"] != 1 or not found["copy_curve"] or "device" not in found["facts"]:
            raise ValueError("not what lacuna-gpu-probe writes")
    except (OSError, ValueError, KeyError, TypeError) as error:
        what = f"cannot read the device's numbers in {place}: {error}"
        remedy = "measure again: lacuna machine --gpu --measure"
        raise LacunaError(Exit.ENVIRONMENT, what, remedy) from error
    return found | {"source": "measured", "profile": str(place)}


def in_force() -> dict[str, Any]:
    """The numbers that predictions use: of this machine's device if they were measured, else of an
    H100. Works without a device.
    """
    try:
        facts = device_facts()
    except LacunaError:
        return DEFAULTS | {"has_device": False}
    if paths.cache() is not None and place_of(facts["device"]).is_file():
        return kept(place_of(facts["device"])) | {"has_device": True}
    return DEFAULTS | {"facts": facts, "has_device": True}


def show(as_json: bool, quick: bool, is_measured: bool, output: Path | None) -> None:
    """Prints the numbers in force on stdout."""
    place = measure(quick, output) if is_measured else None
    facts = device_facts()
    found = kept(place) if place else in_force()
    found["facts"] = facts
    if as_json:
        print(json.dumps(found, indent=1))
    else:
        _print_tables(found)


def size(bytes_: float) -> str:
    """Bytes for people."""
    for unit, factor in _UNITS:
        if bytes_ >= factor:
            return f"{bytes_ / factor:.4g} {unit}"
    return f"{bytes_:g} bytes"


def _print_tables(found: dict[str, Any]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from lacuna.base import terminal

    console = terminal.console(120)
    facts = found["facts"]
    told = f"{facts['multiprocessors']} multiprocessors, {size(facts['memory_bytes'])}"
    console.print(f"{facts['device']}, {told}, {facts['pci']}", markup=False)
    if found["source"] == "measured":
        console.print(f"profile  {found['profile']}", markup=False, soft_wrap=True)
    else:
        console.print(
            "profile  none: `lacuna machine --gpu --measure` makes one; these are an H100's",
            markup=False,
        )
    table = Table(box=SIMPLE_HEAD)
    table.add_column("number")
    table.add_column("value", justify="right")
    for name in ("unit", "meaning"):
        table.add_column(name)
    for name, number in found["numbers"].items():
        table.add_row(name, f"{number['value']:.4g}", number["unit"], number["meaning"])
    console.print(table)
    curve = Table(box=SIMPLE_HEAD)
    for name in ("copy in its memory", "us", "GB/s read and written"):
        curve.add_column(name, justify="right")
    for bytes_, us in found["copy_curve"]:
        curve.add_row(size(bytes_), f"{us:.4g}", f"{2e-3 * bytes_ / us:.4g}")
    console.print(curve)
