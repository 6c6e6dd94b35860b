# SPDX-License-Identifier: BSD-3-Clause
"""What an experiment of `lacuna bench papers` is: the rows that it needs, and its table of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lacuna.base.results import Row

Cells = tuple[list[str], list[list[str]]]


class Found:
    """The lanes of one run."""

    def __init__(self, lanes: list[Row]) -> None:
        self._rows = {(row["mpi"], row["id"], row["method"]): row for row in lanes}
        self.mpis = list(dict.fromkeys(row["mpi"] for row in lanes))
        self.ids = list(dict.fromkeys(row["id"] for row in lanes))
        self.lanes = list(dict.fromkeys(row["method"] for row in lanes))

    def has(self, mpi: str, name: str, lane: str) -> bool:
        """Whether that lane was measured."""
        return (mpi, name, lane) in self._rows

    def s(self, mpi: str, name: str, lane: str, part: str = "median") -> float:
        """The median time of a lane in seconds, or of a part of it (`pack`, `create` and so on)."""
        return self._rows[mpi, name, lane][f"{part}_s"]


@dataclass(frozen=True)
class Experiment:
    """A named run: the rows that it needs, and its table of them."""

    title: str
    then: str  # what the paper found, in a sentence
    rows: Callable[[], list[Row]]
    cells: Callable[[Found], Cells]
    only: tuple[str, ...] = ()  # MPI libraries, where the paper means one


def lane_rows(*all_lanes: tuple[str, str, dict[str, Any]]) -> list[Row]:
    """The lanes of a row: their names, their ways (bench/apps/ways/way.cpp), and further
    members.
    """
    return [{"name": name, "way": way} | more for name, way, more in all_lanes]


LACUNA = {"lacuna": True}
