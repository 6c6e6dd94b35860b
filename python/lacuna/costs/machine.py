# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna costs machine`: where the time of a message goes, for each MPI library."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lacuna.base import paths, provenance, results
from lacuna.base.errors import Exit, LacunaError
from lacuna.base.progress import Progress
from lacuna.costs import curve, find, knobs, logp, misses, pieces, shapes, tables
from lacuna.costs.curve import Samples
from lacuna.costs.find import Found
from lacuna.costs.logp import Parameter
from lacuna.costs.pieces import Split
from lacuna.costs.transport import COPY, MESSAGE, STREAM, Transport
from lacuna.launch import mpis, watch

KIND = "costs"
_ROUNDS = 15
_QUICK_ROUNDS = 7
_SECONDS = 0.6  # of a row
_QUICK_SECONDS = 0.15
_LEAST, _MOST, _QUICK_MOST = 64, 4 << 20, 1 << 20
_LONG = 64 << 10  # Memory-LogP is fitted separately below and above this size
_COPIES_FROM = 1 << 20  # sizes from which copies are counted: beyond the L1 and L2
_MEMCPY_STEP = 1.25  # memcpy itself has a threshold where it becomes slower by this factor
_LANE_NAMES = {MESSAGE: "one message", STREAM: "a stream of messages"}


@dataclass
class Options:
    """What the command line asked for."""

    mpis: list[str] = field(default_factory=list)
    quick: bool = False
    rows: bool = True
    sweep: bool = True
    mpi_root: Path = field(default_factory=paths.default_mpi_root)
    json: Path | None = None
    output: Path | None = None
    hosts: tuple[str, ...] = ()
    launch_agent: str | None = None


@dataclass(frozen=True)
class Finding:
    """A threshold, a cell size or a number of copies, in words."""

    mpi: str
    kind: str  # step, bend, cells
    seen_in: str  # the kind of times
    low: int
    high: int
    evidence: str
    confidence: float
    cause: str  # a setting of the library, a cache, the C library's copy; empty: unknown

    def as_json(self) -> dict[str, Any]:
        """For the result file."""
        return dict(vars(self))


@dataclass
class Machine:
    """All results of one MPI library."""

    mpi: str
    splits: list[Split]
    found: dict[str, Found]  # by lane
    sweeps: dict[str, Samples]
    findings: list[Finding]
    parameters: list[Parameter]
    knobs: dict[str, int]


def machine(options: Options) -> dict[str, Any]:
    """Measures each library, writes the result file, prints the tables, and returns the result."""
    libraries = targets(options)
    results.make_folders([options.json], options.output)
    header: dict[str, Any] = provenance.collect() | {
        "kind": KIND,
        "ranks": 2,
        "hosts": list(options.hosts),
        "mpi": {},
    }
    numbers = _numbers()
    found = []
    with Progress(len(libraries)) as progress:
        for target in libraries:
            found.append(_run_one(target, options, numbers, header, progress))
    rows = [split.as_json() for one in found for split in one.splits]
    more = _more(found) | {"misses": _misses(options.quick) if options.rows else []}
    result = {"provenance": header} | more | {"rows": rows}
    if options.json:
        results.write_json(options.json, header, rows, **more)
    tables.show(result, tables.cycle_ns(numbers))
    if options.json:
        print(f"wrote {options.json}", file=sys.stderr)
    return result


def _more(found: list[Machine]) -> dict[str, Any]:
    """What the result file has beside the rows."""
    return {
        "findings": [finding.as_json() for one in found for finding in one.findings],
        "parameters": [
            {"mpi": one.mpi} | parameter.as_json() for one in found for parameter in one.parameters
        ],
        "sweeps": [
            {"mpi": one.mpi, "lane": lane, "bytes": size, "seconds": seconds}
            for one in found
            for lane, samples in one.sweeps.items()
            for size, seconds in samples.items()
        ],
        "knobs": {one.mpi: tables.known_knobs(one.mpi, one.knobs) for one in found},
    }


def _misses(quick: bool) -> list[dict[str, Any]]:
    """The misses of packing the messages of the paper's curves again and again (`warm`)."""
    _, lines = misses.measure(shapes.curves(quick), [])
    found = []
    for line in lines:
        if line["op"] != "pack":
            continue
        how = "simulated" if "simulated" in line else "model"
        levels = line[how]["warm"]
        found.append(
            {"stride": int(line["id"].partition("/")[0]), "bytes": line["bytes"], "how": how}
            | {name: misses.total(levels.get(name, 0)) for name in misses.LEVELS}
        )
    return found


def targets(options: Options) -> list[mpis.Installed]:
    """The MPI libraries to measure."""
    if options.launch_agent and not options.hosts:
        raise LacunaError(Exit.USAGE, "--launch-agent starts ranks on hosts", "add --hosts")
    if not options.hosts:
        return mpis.chosen(options.mpis, options.mpi_root)
    names = options.mpis or ["mpich"]
    return [
        mpis.installed(name, options.mpi_root, options.hosts, options.launch_agent)
        for name in names
    ]


def _numbers() -> dict[str, Any]:
    from lacuna.machine import numbers as machine_numbers  # loads the engine's library

    return machine_numbers.facts()["numbers"]


def _run_one(
    target: mpis.Installed,
    options: Options,
    numbers: dict[str, Any],
    header: dict[str, Any],
    progress: Progress,
) -> Machine:
    rows = shapes.rows(options.quick) if options.rows else []
    seconds = _QUICK_SECONDS if options.quick else _SECONDS
    one = Machine(target.name, [], {}, {}, [], [], {})
    with Transport(target, rows, seconds, progress) as transport:
        told = transport.header()
        watch.check_loaded(target.name, [told])
        header["mpi"][target.name] = told["mpi_library"].strip()
        header["compiler"] = told["compiler"]
        one.knobs = told["knobs"]
        for row in transport.measured_rows():
            one.splits += pieces.splits(target.name, row)
        if options.sweep:
            _sweep(transport, one, options, numbers)
    one.parameters = _parameters(one)
    return one


def _sweep(transport: Transport, one: Machine, options: Options, numbers: dict[str, Any]) -> None:
    rounds = _QUICK_ROUNDS if options.quick else _ROUNDS
    most = _QUICK_MOST if options.quick else _MOST
    sizes = find.sweep_sizes(_LEAST, most, 3 if options.quick else 4)
    one.sweeps = transport.sweep(sizes, MESSAGE + COPY + STREAM, rounds)
    for lane in (MESSAGE, STREAM):
        measure = _measure(transport, lane, rounds)
        one.found[lane] = find.find(measure, _LEAST, most)
        one.findings += _findings(one, lane, _measure(transport, COPY, rounds), numbers)
    copies = find.copies(
        curve.curve(one.sweeps[MESSAGE]),
        curve.curve(one.sweeps[COPY]),
        _COPIES_FROM,
        most,
    )
    if copies:
        one.findings.append(
            Finding(
                one.mpi,
                "copies",
                _LANE_NAMES[MESSAGE],
                _COPIES_FROM,
                most,
                f"a further byte takes {copies[0]:.1f} +- {copies[1]:.1f} times memcpy's time",
                find.confidence(copies[0] / max(copies[1], 1e-9), 1),
                f"about {max(1, round(copies[0]))} on the critical path",
            )
        )


def _measure(transport: Transport, lane: str, rounds: int) -> find.Measure:
    return lambda sizes: transport.sweep(sizes, lane, rounds)[lane]


def _findings(
    one: Machine, lane: str, measure_copy: find.Measure, numbers: dict[str, Any]
) -> list[Finding]:
    found = []
    for threshold in one.found[lane].thresholds:
        low, high = threshold.below, threshold.above
        if threshold.kind == "step":
            evidence = (
                f"{threshold.step_s * 1e6:+.2f} us "
                f"({threshold.step_s / threshold.seconds:+.0%}) at once, "
                f"+- {threshold.error_s * 1e6:.2f}"
            )
            cause = _cause_of_step(one, low, high, measure_copy)
        else:
            evidence = (
                f"{_per_kib(threshold.per_byte_before_s)} ns per KiB before, "
                f"{_per_kib(threshold.per_byte_after_s)} after"
            )
            cause = cache_near(low, high, numbers)
        found.append(
            Finding(
                one.mpi,
                threshold.kind,
                _LANE_NAMES[lane],
                low,
                high,
                evidence,
                threshold.confidence,
                cause,
            )
        )
    for cells in one.found[lane].cells:
        low, high = round(cells.bytes * 0.97), round(cells.bytes * 1.03)
        evidence = (
            f"{cells.step_s * 1e6:+.2f} us for each further {cells.bytes} bytes, "
            f"from {cells.low} to {cells.high}"
        )
        page = numbers["page_bytes"]["value"]
        cause = _named(one, low, high)
        if low <= page <= high:
            cause = f"pages of {page} bytes: a system call copies page by page"
        found.append(
            Finding(
                one.mpi, "cells", _LANE_NAMES[lane], low, high, evidence, cells.confidence, cause
            )
        )
    return found


def _per_kib(seconds: float) -> str:
    return f"{seconds * 1e9 * 1024:.0f}"


def _named(one: Machine, low: int, high: int) -> str:
    known = knobs.explaining(one.mpi, low, high, one.knobs)
    return "; or ".join(f"{knob.variable}={one.knobs[knob.control]}: {knob.what}" for knob in known)


def _cause_of_step(one: Machine, low: int, high: int, measure_copy: find.Measure) -> str:
    """A setting of the library, or the C library's memcpy, which has thresholds of its own; else
    empty.
    """
    named = _named(one, low, high)
    if named:
        return named
    samples = measure_copy([max(1, round(low * 0.97)), round(high * 1.03)])
    before, after = curve.curve(samples).seconds
    if after > _MEMCPY_STEP * before:
        return "the C library's memcpy changes its method at this size, too"
    return ""


def cache_near(low: int, high: int, numbers: dict[str, Any]) -> str:
    """The cache that is about as large as, or twice as large as, the message (which exists twice);
    else empty.
    """
    size = (low + high) / 2
    for level in ("l1", "l2", "l3"):
        cache = numbers[f"{level}_bytes"]["value"]
        for part, words in ((0.5, "half of the"), (1.0, "the")):
            if 0.72 < size / (part * cache) < 1.4:
                return f"about {words} {level.upper()} cache of {cache} bytes"
    return ""


def _parameters(one: Machine) -> list[Parameter]:
    """The parameters of Memory-LogP, for short messages and for long ones."""
    found: list[Parameter | None] = []
    sweeps = one.sweeps
    for name, of, samples in (
        ("o", "memcpy", sweeps.get(COPY, {})),
        ("g", "between messages of a stream", sweeps.get(STREAM, {})),
        (
            "L",
            "a contiguous message, minus o",
            logp.difference(sweeps.get(MESSAGE, {}), sweeps.get(COPY, {})),
        ),
    ):
        for low, high in ((0, _LONG), (_LONG, 1 << 40)):
            part = {size: values for size, values in samples.items() if low <= size <= high}
            found.append(logp.parameter(name, of, part) if part else None)
    for mode in pieces.MODES:
        for shape in dict.fromkeys(split.id.partition("/")[0] for split in one.splits):
            samples = pieces.latency(one.splits, shape, mode)
            found.append(logp.parameter("l", f"{shape}, {mode}", samples) if samples else None)
    return [parameter for parameter in found if parameter]
