# SPDX-License-Identifier: BSD-3-Clause
"""What was promised of the preload, held against a run of `lacuna bench preload`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lacuna.bench.preload.calls import CONTIGUOUS, NEW_TYPES, Calls
from lacuna.launch import mpis
from lacuna.messages import shapes as preload_rows
from lacuna.messages.ratios import Times, geometric_mean

# More instructions than without lacuna, with contiguous data and the direct path open.
MOST_TO_SEND = 60
MOST_TO_RECEIVE = 80
MOST_TIMES = 1.05  # of the library alone: create, commit, send and free
LEAST_SPEED = 0.95  # of the library's own
LEAST_MEAN = {"mpich": 1.8, "openmpi": 1.25, "intelmpi": 2.8, "mpiabi": 1.8}
LONG_BYTES = 16 * preload_rows.KIB
LEAST_LONG_MEAN = {"mpich": 5.0, "openmpi": 2.2, "intelmpi": 5.0, "mpiabi": 5.0}


@dataclass
class Row:
    """A message, or a collective, on one library."""

    mpi: str
    times: Times
    again: Times | None = None  # in a second job, where the first one said slower
    what: str = "message"

    @property
    def id(self) -> str:
        """shape/size."""
        return self.times.id

    @property
    def has_gaps(self) -> bool:
        """Whether there is anything to do for lacuna."""
        return not self.times.about["contiguous"]

    @property
    def seems_slower(self) -> bool:
        """In the first job, beyond what its rounds differ by."""
        return self.times.speedup("ll").high < LEAST_SPEED

    @property
    def is_slower(self) -> bool:
        """In both jobs, beyond what their rounds differ by."""
        return self.seems_slower and (
            self.again is None or self.again.speedup("ll").high < LEAST_SPEED
        )

    @property
    def same_seems_slower(self) -> bool:
        """What the same rule says of nn against nn: a false alarm."""
        return self.times.speedup("nn*").high < LEAST_SPEED

    def as_json(self) -> dict[str, Any]:
        """With the raw samples."""
        speedup = self.times.speedup("ll")
        found = {"mpi": self.mpi, "what": self.what, **self.times.about}
        del found["kind"]
        found |= {
            "speedup": speedup.median,
            "speedup_low": speedup.low,
            "speedup_high": speedup.high,
            "same_over_same": self.times.speedup("nn*").median,
            "is_slower": self.is_slower,
            "ways": _bare(self.times),
        }
        if "cc" in self.times.ways:
            found["over_contiguous"] = self.times.speedup("cc", "ll").median
        if self.again:
            found["again"] = _bare(self.again)
        return found


def _bare(times: Times) -> dict[str, Any]:
    return {
        way: {key: value for key, value in line.items() if key not in ("kind", "id", "way")}
        for way, line in times.ways.items()
    }


@dataclass(frozen=True)
class Verdict:
    """One promise and what was found."""

    promise: str
    found: str
    holds: bool

    def as_json(self) -> dict[str, Any]:
        """For the file."""
        return {"promise": self.promise, "found": self.found, "holds": self.holds}


def mean_speedup(rows: list[Row]) -> float:
    """Of all of them, geometric."""
    return geometric_mean([row.times.speedup("ll").median for row in rows])


def judge(calls: list[Calls], rows: list[Row]) -> list[Verdict]:
    """One verdict for each promise and library."""
    verdicts = [verdict for one in calls for verdict in _judge_calls(one)]
    for mpi, what in dict.fromkeys((row.mpi, row.what) for row in rows):
        chosen = [row for row in rows if (row.mpi, row.what) == (mpi, what)]
        verdicts.append(_judge_slowest(mpi, what, chosen))
        if what == "message":
            verdicts += _judge_means(mpi, [row for row in chosen if row.has_gaps])
    return verdicts


def _judge_calls(calls: Calls) -> list[Verdict]:
    title = mpis.TITLE[calls.mpi]
    sends = f"{title}: contiguous sends, at most {MOST_TO_SEND} instructions more"
    receives = f"{title}: contiguous receives, at most {MOST_TO_RECEIVE} instructions more"
    times = f"{title}: types made for one small message, at most {MOST_TIMES:g} times"
    if calls.problem:
        problem = f"not counted: {calls.problem}"
        return [Verdict(promise, problem, False) for promise in (sends, receives, times)]
    added = {name: two - one for name, (one, two) in calls.counts.items() if name in CONTIGUOUS}
    ratios = {name: two / one for name, (one, two) in calls.counts.items() if name in NEW_TYPES}
    verdicts = []
    for promise, word, most in (
        (sends, "send", MOST_TO_SEND),
        (receives, "recv", MOST_TO_RECEIVE),
    ):
        chosen = {name: value for name, value in added.items() if word in name.lower()}
        told = ", ".join(f"{name} {value:+.0f}" for name, value in chosen.items())
        verdicts.append(Verdict(promise, told, max(chosen.values()) <= most))
    return [
        *verdicts,
        Verdict(
            times,
            ", ".join(f"{name} {value:.3f}" for name, value in ratios.items()),
            max(ratios.values()) <= MOST_TIMES,
        ),
    ]


def _judge_slowest(mpi: str, what: str, rows: list[Row]) -> Verdict:
    slower = [row.id for row in rows if row.is_slower]
    alarms = sum(row.same_seems_slower for row in rows)
    found = f"{len(slower)} of {len(rows)} are" + (f": {', '.join(slower)}" if slower else "")
    found += f" ({alarms} false alarms in the first job: native against itself)"
    promise = f"{mpis.TITLE[mpi]}: no {what} slower than {LEAST_SPEED:g}, beyond noise"
    return Verdict(promise, found, not slower)


def _judge_means(mpi: str, rows: list[Row]) -> list[Verdict]:
    """Of messages with gaps: all, and the long ones alone."""
    long = [row for row in rows if preload_rows.size_of(row.id) >= LONG_BYTES]
    verdicts = []
    for chosen, leasts, size in (
        (rows, LEAST_MEAN, ""),
        (long, LEAST_LONG_MEAN, " from 16 KiB on"),
    ):
        if chosen:
            mean, least = mean_speedup(chosen), leasts[mpi]
            promise = f"{mpis.TITLE[mpi]}: geometric mean at least {least:g} where there are gaps"
            verdicts.append(Verdict(promise + size, f"{mean:.2f}", mean >= least))
    return verdicts
