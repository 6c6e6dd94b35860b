# SPDX-License-Identifier: BSD-3-Clause
"""Rows of `lacuna bench engine` that deserve a look: slow ones, and predictions that are
far off.
"""

from __future__ import annotations

from dataclasses import dataclass

from lacuna.bench.corpus import CorpusRow
from lacuna.bench.engine.times import CACHES, NOT_IN_MEANS, OPS, OTHER_BUILD, Times

LEAST_OF_BEST = 0.95  # a row is slow below this share of the best rival's speed
PREDICTED_WITHIN = 2.0  # a prediction within this factor is near


def slow_rows(rows: list[CorpusRow], times: Times) -> list[tuple[str, str, str, float, str]]:
    """(row, op, cache, speed relative to the best rival, that rival) of rows below LEAST_OF_BEST,
    the worst first.
    """
    found = []
    for row in rows:
        for cache in CACHES:
            for op in OPS:
                best = times.of_best(row.id, op, cache)
                if best and best[0] < LEAST_OF_BEST:
                    found.append((row.id, op, cache, *best))
    return sorted(found, key=lambda one: one[3])


def slower_than_other(rows: list[CorpusRow], times: Times) -> list[tuple[str, str, str, float]]:
    """(row, op, cache, speed relative to another build), the worst first: rows that are slower by
    more than lacuna differs from itself there.
    """
    found = []
    for row in rows:
        for cache in CACHES:
            for op in OPS:
                ratio = times.faster(row.id, op, cache, OTHER_BUILD)
                itself = times.faster(row.id, op, cache, "lacuna-again")
                if ratio and itself and ratio < LEAST_OF_BEST * min(itself, 1 / itself):
                    found.append((row.id, op, cache, ratio))
    return sorted(found, key=lambda one: one[3])


@dataclass(frozen=True)
class Bounded:
    """A row whose data exceed the caches, and its share of two bounds for the lines that it must
    touch: from the machine's profile, and from touching the lines alone in the same job (the rival
    `lines`).
    """

    row: str
    op: str
    cache: str
    of_profile: float | None
    of_lines: float | None


def under_bound(rows: list[CorpusRow], times: Times) -> list[Bounded]:
    """The rows that have a bound, the farthest from it first."""
    found = [
        Bounded(
            row.id,
            op,
            cache,
            times.over_measured(row.id, op, cache, "traffic_ns"),
            times.faster(row.id, op, cache, "lines"),
        )
        for row in rows
        if row.is_far
        for cache in CACHES
        for op in OPS
    ]
    known = [(min(_shares(one)), one) for one in found if _shares(one)]
    return [one for _, one in sorted(known, key=lambda pair: pair[0])]


def _shares(one: Bounded) -> list[float]:
    return [share for share in (one.of_profile, one.of_lines) if share is not None]


def predictions(rows: list[CorpusRow], times: Times) -> list[tuple[str, str, str, float]]:
    """(row, op, cache, predicted over measured time) of lacuna, the farthest from 1 first."""
    found = [
        (row.id, op, cache, ratio)
        for row in rows
        if row.family != NOT_IN_MEANS
        for cache in CACHES
        for op in OPS
        if (ratio := times.over_measured(row.id, op, cache, "predicted_ns")) is not None
    ]
    return sorted(found, key=lambda one: -max(one[3], 1 / one[3]))


def is_near(ratio: float) -> bool:
    """Whether a prediction is within PREDICTED_WITHIN of the measurement."""
    return 1 / PREDICTED_WITHIN <= ratio <= PREDICTED_WITHIN
