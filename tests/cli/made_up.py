# SPDX-License-Identifier: BSD-3-Clause
"""Measurements that are made up, for what judges or shows those of benchmarks; and what doctor
finds of machines that are made up."""

import dataclasses
import json
from pathlib import Path

from lacuna.launch.check.finding import OK
from lacuna.launch.check.start import Rank
from lacuna.messages.ratios import Times

FAST = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.0]

# Ranks as doctor finds them, and the line of the log that lacuna is on.
LIBRARY = Path("/mpi/lib/libmpi.so.12")
RANK = Rank(
    "n1",
    7,
    0,
    2,
    "MPICH Version: 5.0.2",
    "/l/liblacuna-mpich.so",
    ("LACUNA_LOG",),
    True,
    ("/l/liblacuna-mpich.so", str(LIBRARY)),
)
OTHER = dataclasses.replace(RANK, process=8, rank=1)
FAR = dataclasses.replace(OTHER, host="n2")
LOST = dataclasses.replace(OTHER, rank=-1, size=0, version="")
ON = "on: lacuna 0.2.0 under MPICH Version: 5.0.2, 2 ranks; CPU: zen4 (x); table: {}; {}"
SHIPPED = "shipped for MPICH"
OFF = ON.format(SHIPPED, "shared-memory path off")


def rows_of_engine(rivals_ns, names=("gropp/face-200",), mpi="mpich", start=0):
    """Rows as if measured: the same time for each name, direction and state of the caches."""
    run = {"mpi": mpi, "start": start}
    return [
        run | {"row": name, "op": op, "cache": cache, "rival": rival, "median_ns": ns}
        for name in names
        for op in ("pack", "unpack")
        for cache in ("warm", "cold")
        for rival, ns in rivals_ns.items()
    ]


def message_times(size="1KiB", contiguous=False, **ways):
    """A message whose ways take that many times FAST; nn is 1."""
    about = {"id": f"x/{size}", "bytes": 1024, "pattern": "strided", "mean_run_bytes": 8}
    about["contiguous"] = contiguous
    lines = {
        way: {"seconds": [value * factor for value in FAST]}
        for way, factor in ({"nn": 1.0, "nn*": 1.0} | ways).items()
    }
    return Times(about, lines)


def is_like(finding, level, *words):
    assert finding.level == level, finding
    for word in words:
        assert word in f"{finding.found}; {finding.remedy}", finding
    assert bool(finding.remedy) == (level != OK), finding


def findings(result):
    """Of a page of doctor's, as JSON: what was found of the launch, by the names of the checks."""
    sections = json.loads(result.stdout)["sections"]
    return {one["check"]: one for one in sections[-1]["findings"]}
