# SPDX-License-Identifier: BSD-3-Clause
"""Summaries of `lacuna bench apps`: ratios, geometric means, worst cases, classes of access
patterns.
"""

from __future__ import annotations

import statistics
from typing import Any

from lacuna.base.results import Row

# Section 2 of Schneider et al. (2012) puts the patterns of all applications into three classes.
_CLASS = {
    "WRF": "faces of grids",
    "MILC": "faces of grids",
    "NAS": "faces of grids",
    "LAMMPS": "unstructured",
    "SPECFEM3D": "unstructured",
    "FFT": "interleaved",
}
CLASSES = list(dict.fromkeys(_CLASS.values()))

# Ratios of times: what is divided by what, and whether more is better.
RATIOS = [
    ("native", "contiguous", False),
    ("by_hand", "contiguous", False),
    ("mpi_pack", "contiguous", False),
    ("lacuna", "contiguous", False),
    ("native", "lacuna", True),
    ("mpi_pack", "mpi_pack_lacuna", True),
    ("lacuna", "by_hand", False),
]


def access_class(test: str) -> str:
    """The class of a test's access pattern."""
    return "interleaved" if test == "SPECFEM3D_mt" else _CLASS[test.partition("_")[0]]


class Apps:
    """The rows of a result, looked up by MPI library, test and method."""

    def __init__(self, rows: list[Row]) -> None:
        self._rows = {(row["mpi"], row["id"], row["method"]): row for row in rows}
        self.mpis = list(dict.fromkeys(row["mpi"] for row in rows))
        self.methods = list(dict.fromkeys(row["method"] for row in rows))

    def ids(self, mpi: str) -> list[str]:
        """The tests with their sizes, in the order in which they ran."""
        return list(dict.fromkeys(name for m, name, _ in self._rows if m == mpi))

    def row(self, mpi: str, name: str, method: str) -> Row:
        """A row that must exist."""
        return self._rows[mpi, name, method]

    def get(self, mpi: str, name: str, method: str) -> Row | None:
        """A row, or None."""
        return self._rows.get((mpi, name, method))

    def ratio(self, mpi: str, name: str, method: str, over: str) -> float | None:
        """The time of one method over that of another; None if one was not measured."""
        one, other = self.get(mpi, name, method), self.get(mpi, name, over)
        return one["median_s"] / other["median_s"] if one and other else None

    def ratios(self, mpi: str, method: str, over: str) -> dict[str, float]:
        """The ratios of all tests for which both methods were measured."""
        found = {name: self.ratio(mpi, name, method, over) for name in self.ids(mpi)}
        return {name: value for name, value in found.items() if value is not None}

    def overhead(self, mpi: str, name: str, method: str) -> float | None:
        """The share of a transfer that is not communication (the paper's ovh, section 3)."""
        ratio = self.ratio(mpi, name, method, "contiguous")
        return None if ratio is None else 1 - 1 / ratio


def summary(found: Apps) -> list[dict[str, Any]]:
    """For each ratio: its geometric mean and its worst case on each MPI library."""
    lines = []
    for method, over, more_is_better in RATIOS:
        line: dict[str, Any] = {"what": f"{method} / {over}", "mpi": {}}
        for mpi in found.mpis:
            ratios = found.ratios(mpi, method, over)
            if not ratios:
                continue
            worst = (min if more_is_better else max)(ratios, key=lambda name: ratios[name])
            line["mpi"][mpi] = {
                "mean": statistics.geometric_mean(ratios.values()),
                "worst": ratios[worst],
                "worst_id": worst,
                "tests": len(ratios),
            }
        if line["mpi"]:
            lines.append(line)
    return lines


def by_class(found: Apps, mpi: str, method: str, over: str) -> dict[str, float]:
    """Geometric means of a ratio over the tests of each access class."""
    ratios = found.ratios(mpi, method, over)
    means = {}
    for name in CLASSES:
        of = [value for test, value in ratios.items() if access_class(_test(test)) == name]
        if of:
            means[name] = statistics.geometric_mean(of)
    return means


def _test(name: str) -> str:
    return name.partition("-")[0]
