# SPDX-License-Identifier: BSD-3-Clause
"""What is promised of the preload, held against a file of `lacuna bench preload --json`."""

from __future__ import annotations

from verdict import Verdict

from lacuna.bench.preload.calls import CONTIGUOUS, NEW_TYPES, Calls
from lacuna.bench.preload.row import LEAST_SPEED, Row, long_ones, mean_speedup
from lacuna.launch import mpis

# More instructions than without lacuna, with contiguous data and the direct path open.
MOST_TO_SEND = 60
MOST_TO_RECEIVE = 80
MOST_TIMES = 1.05  # of the library alone: create, commit, send and free
LEAST_MEAN = {"mpich": 1.8, "openmpi": 1.25, "intelmpi": 2.8, "mpiabi": 1.8}
LEAST_LONG_MEAN = {"mpich": 5.0, "openmpi": 2.2, "intelmpi": 5.0, "mpiabi": 5.0}


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
    sends = (f"{title}: contiguous sends", f"at most {MOST_TO_SEND} instructions more")
    receives = (f"{title}: contiguous receives", f"at most {MOST_TO_RECEIVE} instructions more")
    times = (f"{title}: types made for one small message", f"at most {MOST_TIMES:g} times")
    if calls.problem:
        problem = f"not counted: {calls.problem}"
        return [Verdict(*promise, problem, False) for promise in (sends, receives, times)]
    added = {name: two - one for name, (one, two) in calls.counts.items() if name in CONTIGUOUS}
    ratios = {name: two / one for name, (one, two) in calls.counts.items() if name in NEW_TYPES}
    verdicts = []
    for promise, word, most in (
        (sends, "send", MOST_TO_SEND),
        (receives, "recv", MOST_TO_RECEIVE),
    ):
        chosen = {name: value for name, value in added.items() if word in name.lower()}
        told = ", ".join(f"{name} {value:+.0f}" for name, value in chosen.items())
        verdicts.append(Verdict(*promise, told, max(chosen.values()) <= most))
    told = ", ".join(f"{name} {value:.3f}" for name, value in ratios.items())
    return [*verdicts, Verdict(*times, told, max(ratios.values()) <= MOST_TIMES)]


def _judge_slowest(mpi: str, what: str, rows: list[Row]) -> Verdict:
    slower = [row.id for row in rows if row.is_slower]
    alarms = sum(row.same_seems_slower for row in rows)
    found = f"{len(slower)} of {len(rows)} are" + (f": {', '.join(slower)}" if slower else "")
    found += f" ({alarms} false alarms in the first job: native against itself)"
    limit = f"none slower than {LEAST_SPEED:g}, beyond noise"
    return Verdict(f"{mpis.TITLE[mpi]}: {what}s", limit, found, not slower)


def _judge_means(mpi: str, rows: list[Row]) -> list[Verdict]:
    """Of messages with gaps: all, and the long ones alone."""
    verdicts = []
    for chosen, leasts, size in (
        (rows, LEAST_MEAN, ""),
        (long_ones(rows), LEAST_LONG_MEAN, " from 16 KiB on"),
    ):
        if chosen:
            mean, least = mean_speedup(chosen), leasts[mpi]
            what = f"{mpis.TITLE[mpi]}: geometric mean of messages with gaps{size}"
            verdicts.append(Verdict(what, f"at least {least:g}", f"{mean:.2f}", mean >= least))
    return verdicts
