# SPDX-License-Identifier: BSD-3-Clause
"""Ratios of the times of `lacuna bench nodes`, and their geometric means."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from lacuna.base import results
from lacuna.bench.preload.row import Row, long_ones
from lacuna.messages.ratios import Ratio

ALL, LONG = "all", "16 KiB and more"
# Name: over which way, which way.
RATIOS = {
    "native_over_lacuna": ("nn", "ll"),
    "native_over_contiguous": ("nn", "cc"),
    "lacuna_over_contiguous": ("ll", "cc"),
    "by_hand_over_contiguous": ("hh", "cc"),
}


@dataclass(frozen=True)
class Job:
    """A job: the LACUNA_* variables that its ranks have beside the usual ones."""

    options: dict[str, str]

    @property
    def name(self) -> str:
        """The variables as on the command line; empty: none."""
        return ",".join(f"{key}={value}" for key, value in self.options.items())


def of_messages(rows: list[tuple[Job, Row]]) -> list[dict[str, Any]]:
    """For each library and job: the geometric means of all messages, and of the long ones."""
    groups: dict[tuple[str, str], list[tuple[Job, Row]]] = defaultdict(list)
    for job, row in rows:
        groups[row.mpi, job.name].append((job, row))
    found = []
    for (mpi, _), group in groups.items():
        all_rows = [row for _, row in group]
        for which, chosen in ((ALL, all_rows), (LONG, long_ones(all_rows))):
            if chosen:
                found.append(
                    {"mpi": mpi, "options": group[0][0].options, "which": which} | _means(chosen)
                )
    return found


def _means(rows: list[Row]) -> dict[str, Any]:
    means = {}
    for name, (slow, fast) in RATIOS.items():
        ratios = [
            row.times.speedup(fast, slow).median
            for row in rows
            if {slow, fast} <= set(row.times.ways)
        ]
        means[name] = statistics.geometric_mean(ratios) if ratios else None
    lowest = min(rows, key=lambda row: _last(row).high)
    return {
        "rows": len(rows),
        **means,
        "lowest": _last(lowest).median,
        "lowest_id": lowest.id,
        "slower": [row.id for row in rows if row.is_slower],
    }


def _last(row: Row) -> Ratio:
    """The speedup over native from the job with most samples. The lowest row is judged by the upper
    end of its interval, since disturbed rows have wide intervals.
    """
    return (row.again or row.times).speedup("ll")


@dataclass(frozen=True)
class Exchange:
    """An exchange on one library, in one job: the samples of each method.

    A sample is the mean over some milliseconds. On a busy machine most samples are disturbed, and
    so are medians; methods are compared by their fastest samples.
    """

    mpi: str
    job: Job
    id: str
    samples: dict[str, list[float]]

    def seconds(self, method: str) -> float:
        """The fastest sample of a method."""
        return min(self.samples[method])

    def ratio(self, slow: str, fast: str) -> float | None:
        """The time of one method over that of another; None if one was not timed."""
        if slow not in self.samples or fast not in self.samples:
            return None
        return self.seconds(slow) / self.seconds(fast)

    def as_json(self) -> dict[str, Any]:
        """With the raw samples."""
        return {
            "mpi": self.mpi,
            "options": self.job.options,
            "id": self.id,
            "fastest_s": {method: min(values) for method, values in self.samples.items()},
            "median_s": {
                method: statistics.median(values) for method, values in self.samples.items()
            },
            "native_over_lacuna": self.ratio("native", "lacuna"),
            "samples_s": self.samples,
        }


def of_exchanges(job: Job, lanes: list[results.Row]) -> list[Exchange]:
    """From the lanes of lacuna.messages.exchange."""
    groups: dict[tuple[str, str], list[results.Row]] = defaultdict(list)
    for lane in lanes:
        groups[lane["mpi"], lane["id"]].append(lane)
    return [
        Exchange(mpi, job, name, {lane["method"]: lane["samples_s"] for lane in group})
        for (mpi, name), group in groups.items()
    ]
