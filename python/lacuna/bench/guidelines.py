# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench guidelines`: what users may expect of derived datatypes, checked on any MPI.

Self-consistent performance guidelines: a specialised way must not be slower than what a user can
put together from other calls of MPI (Gropp, Hoefler, Thakur & Traff 2011; Carpen-Amarie, Hunold &
Traff 2016). Each is a comparison of two lanes in one job, on several patterns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from lacuna.base import terminal
from lacuna.base.errors import Exit, LacunaError
from lacuna.base.results import Row
from lacuna.launch import mpis
from lacuna.messages import exchange

# A guideline is violated where the left side is slower by more than this, and by more than noise.
_TOLERANCE = 0.1
_QUICK = (5, 0.2)

RULES = {
    "pack": "a derived type is no slower than MPI_Pack, sending, MPI_Unpack",
    "dense": "a type without gaps is no slower than as many basic elements",
    "count": "n elements of a type are no slower than one element of contiguous(n, type)",
    "element": "one element of contiguous(n, type) is no slower than n elements of the type",
    "described": "a description is no slower than an equivalent one",
    "split": "one message of n elements is no slower than n messages of one",
    "less": "less data of a pattern is no slower than more",
    "alltoall": "an alltoall of derived types is no slower than packing before and after it",
}


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a way to send `count` elements of a type."""

    way: str
    type: str
    count: int = 1


@dataclass(frozen=True)
class Check:
    """A guideline on a pattern: `left` must not be slower than `right`."""

    rule: str
    pattern: str
    left: Side
    right: Side
    test: str = ""  # FFT: the sides are ways of that alltoall
    shape: tuple[int, ...] = ()


# Element types, each with how many of them make a small, a middle and a large message.
_PATTERNS = {
    "column": "resized(0, 64, double)",
    "runs": "resized(0, 256, contiguous(16, double))",
    "struct": "resized(0, 24, struct([1, 2], [0, 8], [int, float]))",
    "gather": "indexed_block(1, random(64, 256, 1), double)",
    "face": "subarray([8, 8, 8], [8, 8, 2], [0, 0, 3], c, double)",
}
_COUNTS = {"column": (16, 4096), "runs": (4, 1024), "struct": (16, 4096), "gather": (1, 64),
           "face": (1, 64)}  # fmt: skip
# Descriptions of the same bytes by other constructors: n doubles, one of every 8.
_DESCRIPTIONS = {
    "vector": "vector({n}, 1, 8, double)",
    "hvector": "hvector({n}, 1, 64, double)",
    "nested": "hvector({half}, 1, 128, vector(2, 1, 8, double))",
    "subarray": "subarray([{n}, 8], [{n}, 1], [0, 0], c, double)",
    "resized": "contiguous({n}, resized(0, 64, double))",
    "indexed_block": "indexed_block(1, [{list}], double)",
    "indexed": "indexed([{ones}], [{list}], double)",
}
_DESCRIBED = 1024
_DENSE = {
    "contiguous": "contiguous({n}, double)",
    "vector": "vector({n}, 1, 1, double)",
    "blocks": "vector({blocks}, 8, 8, double)",
    "indexed_block": "indexed_block(8, [{list}], double)",
}


def checks() -> list[Check]:
    """All checks."""
    found = []
    for name, text in _PATTERNS.items():
        for count in _COUNTS[name]:
            pattern = f"{name} x {count}"
            many = Side("derived", text, count)
            one = Side("derived", f"contiguous({count}, {text})")
            found.append(Check("pack", pattern, many, Side("mpi_pack", text, count)))
            if count > 1:
                found.append(Check("count", pattern, many, one))
                found.append(Check("element", pattern, one, many))
                half = Side("derived", text, count // 2)
                found.append(Check("less", pattern, half, many))
        few = 16
        found.append(
            Check(
                "split",
                f"{name} x {few}",
                Side("derived", text, few),
                Side("one_by_one", text, few),
            )
        )
    found += _described() + _dense()
    for n in (64, 512):
        sides = Side("derived", ""), Side("mpi_pack", "")
        found.append(Check("alltoall", f"FFT {n}", *sides, test="FFT", shape=(n,)))
    return found


def _described() -> list[Check]:
    n = _DESCRIBED
    fill = {
        "n": n,
        "half": n // 2,
        "list": ", ".join(str(8 * i) for i in range(n)),
        "ones": ", ".join("1" for _ in range(n)),
    }
    sides = {name: Side("derived", text.format(**fill)) for name, text in _DESCRIPTIONS.items()}
    return [
        Check("described", f"{name} for vector, {n} doubles", side, sides["vector"])
        for name, side in sides.items()
        if name != "vector"
    ] + [
        Check("described", f"vector for {name}, {n} doubles", sides["vector"], side)
        for name, side in sides.items()
        if name != "vector"
    ]


def _dense() -> list[Check]:
    found = []
    for n in (64, 8192):
        fill = {"n": n, "blocks": n // 8, "list": ", ".join(map(str, range(0, n, 8)))}
        for name, text in _DENSE.items():
            left = Side("derived", text.format(**fill))
            right = Side("derived", "double", n)
            found.append(Check("dense", f"{name}, {n} doubles", left, right))
    return found


def _row(index: int, check: Check) -> Row:
    lanes = []
    for side, one in (("left", check.left), ("right", check.right)):
        for lacuna in (False, True):
            lane = {"name": f"{side}{'_lacuna' if lacuna else ''}", "way": one.way}
            lanes.append(lane | {"lacuna": lacuna, "type": one.type, "count": one.count})
    return {
        "id": f"{index}",
        "test": check.test,
        "shape": list(check.shape),
        "bytes": 0,
        "lanes": lanes,
    }


def guidelines(options: exchange.Options, rules: list[str], quick: bool, strict: bool) -> None:
    """Measures, writes the file, prints the table. With `strict`, a violation under lacuna is an
    error.
    """
    for rule in rules:
        if rule not in RULES:
            raise LacunaError(
                Exit.USAGE, f"unknown guideline: {rule}", f"known are {', '.join(RULES)}"
            )
    chosen = [check for check in checks() if not rules or check.rule in rules]
    if quick:
        options.samples, options.seconds = _QUICK
    rows = [_row(index, check) for index, check in enumerate(chosen)]
    measured = exchange.measure("guidelines", rows, options)
    verdicts = judge(chosen, measured.lanes)
    exchange.write(measured, options, verdicts=verdicts)
    _show(verdicts)
    broken = [
        verdict for verdict in verdicts if verdict["method"] == "lacuna" and verdict["broken"]
    ]
    if strict and broken:
        raise LacunaError(
            Exit.CHECK_FAILED,
            f"{len(broken)} guidelines do not hold under lacuna",
            "they are in the table",
        )


def judge(chosen: list[Check], lanes: list[Row]) -> list[dict[str, Any]]:
    """For each check, MPI library and method (native, lacuna): the two times and the verdict."""
    times = {(row["mpi"], row["id"], row["method"]): row for row in lanes}
    verdicts = []
    for mpi in dict.fromkeys(row["mpi"] for row in lanes):
        for index, check in enumerate(chosen):
            for method, suffix in (("native", ""), ("lacuna", "_lacuna")):
                left = times[mpi, str(index), f"left{suffix}"]
                right = times[mpi, str(index), f"right{suffix}"]
                noise = 3 * (left["mad_s"] + right["mad_s"])
                ratio = left["median_s"] / right["median_s"]
                verdicts.append(
                    {
                        "mpi": mpi,
                        "rule": check.rule,
                        "pattern": check.pattern,
                        "method": method,
                        "left_s": left["median_s"],
                        "right_s": right["median_s"],
                        "ratio": ratio,
                        "broken": ratio > 1 + _TOLERANCE
                        and left["median_s"] - right["median_s"] > noise,
                    }
                )
    return verdicts


def counts(verdicts: list[dict[str, Any]]) -> list[list[str]]:
    """For each guideline: the number of violated checks on each MPI library, and the worst."""
    found = []
    columns = list(dict.fromkeys((one["mpi"], one["method"]) for one in verdicts))
    for rule in dict.fromkeys(one["rule"] for one in verdicts):
        cells = [f"{rule}: {RULES[rule]}"]
        for mpi, method in columns:
            ours = [
                one
                for one in verdicts
                if (one["rule"], one["mpi"], one["method"]) == (rule, mpi, method)
            ]
            broken = [one for one in ours if one["broken"]]
            worst = max(ours, key=lambda one: one["ratio"])
            cells.append(
                f"{len(broken)} of {len(ours)}"
                + (f" ({worst['ratio']:.1f}x: {worst['pattern']})" if broken else "")
            )
        found.append(cells)
    return found


def headings(verdicts: list[dict[str, Any]]) -> list[str]:
    """The columns of `counts`."""
    columns = dict.fromkeys((one["mpi"], one["method"]) for one in verdicts)
    return ["violated", *(f"{mpis.TITLE[mpi]}, {method}" for mpi, method in columns)]


def cells(verdicts: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Every check as a line of a table."""
    rows = []
    for one in verdicts:
        said = "violated" if one["broken"] else "holds"
        times = [f"{one[side] * 1e6:.2f}" for side in ("left_s", "right_s")]
        names = [one["rule"], one["pattern"], mpis.TITLE[one["mpi"]], one["method"]]
        rows.append([*names, *times, f"{one['ratio']:.2f}", said])
    return ["guideline", "pattern", "MPI", "method", "left us", "right us", "ratio", ""], rows


def _show(verdicts: list[dict[str, Any]]) -> None:
    console = terminal.console(200)
    table = Table(title="Guidelines that do not hold", box=SIMPLE_HEAD)
    for name in headings(verdicts):
        table.add_column(name)
    for row in counts(verdicts):
        table.add_row(*row)
    console.print(table)
