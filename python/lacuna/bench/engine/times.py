# SPDX-License-Identifier: BSD-3-Clause
"""The medians of `lacuna bench engine`, and ratios between rivals."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable

from lacuna.base.results import Row
from lacuna.launch import mpis

CACHES = ("warm", "cold")
OPS = ("pack", "unpack")
# Made and freed for each message: an experiment of its own, over types that other rows have.
NOT_IN_MEANS = "lifecycle"
OTHER_BUILD = "lacuna-other"  # what --against names
# lacuna-WORD and lacuna-WORD-more are not an instruction set.
_NO_ISAS = ("again", "slices", "lent", "touched", "lifecycle")
_Run = tuple[str, int]  # on which MPI library, and which start there


def geometric_mean(values: Iterable[float]) -> float | None:
    """The geometric mean; None for no values."""
    found = list(values)
    return statistics.geometric_mean(found) if found else None


class Times:
    """Medians by row, direction, state of the caches, rival and run. A run is a start of the
    program on an MPI library.
    """

    def __init__(self, found: list[Row]) -> None:
        self._predicted: dict[tuple[str, str, str], Row] = {}
        self._median: dict[tuple[str, str, str], dict[tuple[_Run, str], float]] = defaultdict(dict)
        for row in found:
            key = (row["row"], row["op"], row["cache"])
            self._median[key][(row["mpi"], row["start"]), row["rival"]] = row["median_ns"]
            if row["rival"] == "lacuna" and row.get("is_measured_machine"):
                self._predicted[key] = row
        self._runs = list(dict.fromkeys((row["mpi"], row["start"]) for row in found))
        self.mpis = list(dict.fromkeys(mpi for mpi, _ in self._runs))
        self.isas = list(
            dict.fromkeys(
                row["rival"]
                for row in found
                if row["rival"].startswith("lacuna-") and row["rival"].split("-")[1] not in _NO_ISAS
            )
        )

    def ns(self, row: str, op: str, cache: str, rival: str) -> float | None:
        """The median over all runs, in ns; None if it was not measured."""
        values = [
            value for (_, name), value in self._median[row, op, cache].items() if name == rival
        ]
        return statistics.median(values) if values else None

    def predicted(self, row: str, op: str, cache: str) -> Row | None:
        """The row of lacuna with its prediction; None if that was not made with a measured
        machine's numbers.
        """
        return self._predicted.get((row, op, cache))

    def over_measured(self, row: str, op: str, cache: str, what: str) -> float | None:
        """The member `what` of the prediction over the measured time."""
        found = self.predicted(row, op, cache)
        ns = self.ns(row, op, cache, "lacuna")
        return found[what] / ns if found and ns else None

    def faster(
        self,
        row: str,
        op: str,
        cache: str,
        rival: str,
        mpi: str | None = None,
        base: str = "lacuna",
    ) -> float | None:
        """How many times as fast `base` is as the rival: the median over runs of the ratio within a
        run, on one MPI library or all.
        """
        values = self._median[row, op, cache]
        ratios = [
            values[run, rival] / values[run, base]
            for run in self._runs
            if mpi in (None, run[0]) and (run, rival) in values and (run, base) in values
        ]
        return statistics.median(ratios) if ratios else None

    def of_best(self, row: str, op: str, cache: str) -> tuple[float, str] | None:
        """How many times as fast lacuna is as the fastest other way, and the name of that."""
        return self._of_best(row, op, cache, "by-hand", "mpi")

    def of_itself(self, row: str, op: str, cache: str) -> float | None:
        """The same with lacuna itself in place of the others: its distance from 1 is noise."""
        found = self._of_best(row, op, cache, "lacuna-again", "lacuna-again")
        return found[0] if found else None

    def _of_best(
        self, row: str, op: str, cache: str, by_hand: str, mpi_pack: str
    ) -> tuple[float, str] | None:
        ratios = [(self.faster(row, op, cache, by_hand), "by hand")]
        ratios += [
            (self.faster(row, op, cache, mpi_pack, mpi), mpis.TITLE[mpi]) for mpi in self.mpis
        ]
        known = [(ratio, who) for ratio, who in ratios if ratio is not None]
        return min(known) if known else None
