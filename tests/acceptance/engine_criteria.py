# SPDX-License-Identifier: BSD-3-Clause
"""What is promised of the engine, held against the rows of `lacuna bench engine --json`."""

from __future__ import annotations

from collections.abc import Callable

from verdict import Verdict

from lacuna.bench.corpus import CorpusRow
from lacuna.bench.engine.findings import (
    LEAST_OF_BEST,
    PREDICTED_WITHIN,
    is_near,
    predictions,
    slow_rows,
    under_bound,
)
from lacuna.bench.engine.times import CACHES, NOT_IN_MEANS, OPS, Times, geometric_mean
from lacuna.launch import mpis

_MEAN_OVER_MPI = {"mpich": 3.0, "openmpi": 2.5, "intelmpi": 4.0}
_MEAN_OVER_BY_HAND = 1.3
_TRANSPOSE_OVER_MEMCPY = {"w8": 1.25, "w4": 1.6, "w16": 1.6}
_LEAST_TRANSPOSE_ORDER = 1024
_SHARE_OF_BOUND = 0.8
_PREDICTED_SHARE = 0.8
_MOST_NS = {"tiny/struct": 12.0, "tiny/vector-16": 10.0}
_STRUCT_ARRAY = "structs/three-1024"
_STRUCT_ARRAY_OVER_MPI = {"openmpi": 10.0, "mpich": 25.0}
_SLICES = {"": ("in order", 1.15), "-random": ("in random order", 1.4)}
# Rivals, what becomes of their slices, and what they are held against.
_SLICED = {
    "lacuna-slices": ("slices of 8 KiB, copied,", "the whole", "lacuna"),
    "lacuna-lent": ("slices of 8 KiB, lent,", "the whole", "lacuna"),
    "lacuna-touched-lent": (
        "slices of 8 KiB, lent, each byte touched,",
        "the whole, touched",
        "lacuna-touched-whole",
    ),
}


def _most(what: str, limit: float, values: dict[str, float], unit: str = "") -> Verdict:
    """Every value at most the limit; what was found is the worst."""
    if not values:
        return Verdict(what, f"at most {limit:g}{unit}", "not measured", None)
    worst = max(values, key=lambda name: values[name])
    found = f"{values[worst]:.3g}{unit} ({worst})"
    return Verdict(what, f"at most {limit:g}{unit}", found, values[worst] <= limit)


def _least(what: str, limit: float, values: dict[str, float]) -> Verdict:
    """Every value at least the limit; what was found is the worst."""
    if not values:
        return Verdict(what, f"at least {limit:g}x", "not measured", None)
    worst = min(values, key=lambda name: values[name])
    found = f"{values[worst]:.3g}x ({worst})"
    return Verdict(what, f"at least {limit:g}x", found, values[worst] >= limit)


def _each(
    rows: list[CorpusRow],
    value: Callable[[str, str, str], float | None],
    caches: tuple[str, ...] = CACHES,
) -> dict[str, float]:
    """The values that there are, called by row, direction and caches."""
    found = {}
    for row in rows:
        for cache in caches:
            for op in OPS:
                one = value(row.id, op, cache)
                if one is not None:
                    found[f"{row.id}, {op}, {cache}"] = one
    return found


def _means(rows: list[CorpusRow], times: Times) -> list[Verdict]:
    counted = [row for row in rows if row.family != NOT_IN_MEANS]

    def mean(rival: str, mpi: str | None) -> dict[str, float]:
        found = {}
        for cache in CACHES:
            ratios = _each(
                counted, lambda row, op, at: times.faster(row, op, at, rival, mpi), (cache,)
            )
            value = geometric_mean(ratios.values())
            if value is not None:
                found[f"{cache} caches, {len(counted)} rows"] = value
        return found

    verdicts = [
        _least(
            f"MPI_Pack and MPI_Unpack of {mpis.TITLE[mpi]} over lacuna, mean",
            limit,
            mean("mpi", mpi),
        )
        for mpi, limit in _MEAN_OVER_MPI.items()
    ]
    by_hand = mean("by-hand", None)
    return [*verdicts, _least("loops by hand over lacuna, mean", _MEAN_OVER_BY_HAND, by_hand)]


def _no_slow_row(rows: list[CorpusRow], times: Times) -> Verdict:
    slow = slow_rows(rows, times)
    number = len(_each(rows, lambda row, op, cache: (times.of_best(row, op, cache) or [None])[0]))
    limit = f"at least {LEAST_OF_BEST}x"
    if number == 0:
        return Verdict("every row against the best of the others", limit, "not measured", None)
    found = f"{number - len(slow)} of {number}"
    return Verdict("every row against the best of the others", limit, found, not slow)


def _by_chance(rows: list[CorpusRow], times: Times) -> Verdict:
    """How many rows would pass `_no_slow_row` if all others were as fast as lacuna."""
    what = "the same if the others were lacuna itself: what chance makes"
    ratios = _each(rows, times.of_itself).values()
    good = sum(ratio >= LEAST_OF_BEST for ratio in ratios)
    found = f"{good} of {len(ratios)}" if ratios else "not measured"
    return Verdict(what, "none promised", found, None)


def _transposes(rows: list[CorpusRow], times: Times) -> list[Verdict]:
    verdicts = []
    for width, limit in _TRANSPOSE_OVER_MEMCPY.items():
        chosen = [
            row
            for row in rows
            if row.family == "transpose"
            and width in row.tags
            and any(
                tag[1:].isdigit() and int(tag[1:]) >= _LEAST_TRANSPOSE_ORDER
                for tag in row.tags
                if tag.startswith("n")
            )
        ]
        # Warm: memcpy at its best, which is what is promised against.
        values = _each(
            chosen,
            lambda row, op, cache: times.faster(row, op, cache, "lacuna", base="memcpy"),
            ("warm",),
        )
        what = f"transposes of {width[1:]}-byte elements over memcpy"
        verdicts.append(_most(what, limit, values))
    return verdicts


def _share(what: str, limit: str, good: int, of: int, least_share: float) -> Verdict:
    if of == 0:
        return Verdict(what, limit, "needs lacuna machine --measure", None)
    return Verdict(what, limit, f"{good} of {of} ({good / of:.0%})", good >= least_share * of)


def _bounds(rows: list[CorpusRow], times: Times) -> list[Verdict]:
    found = under_bound(rows, times)
    what = "strided and indexed rows out of the caches: of the bound of their lines"
    limit = f"at least {_SHARE_OF_BOUND:g}, each"
    profile = [one.of_profile for one in found if one.of_profile is not None]
    lines = [one.of_lines for one in found if one.of_lines is not None]
    good = sum(share >= _SHARE_OF_BOUND for share in profile)
    verdicts = [_share(what, limit, good, len(profile), 1)]
    if lines:
        good = sum(share >= _SHARE_OF_BOUND for share in lines)
        # Judged where there is no profile: what is promised is by the profile.
        is_met = None if profile else good == len(lines)
        words = f"{good} of {len(lines)} ({good / len(lines):.0%})"
        what = "the same rows: of their lines touched alone, in the same job"
        verdicts.append(Verdict(what, limit, words, is_met))
    return verdicts


def _predictions(rows: list[CorpusRow], times: Times) -> Verdict:
    found = predictions(rows, times)
    good = sum(is_near(ratio) for *_, ratio in found)
    what = f"predictions within {PREDICTED_WITHIN:g}x of the measurement"
    return _share(what, f"{_PREDICTED_SHARE:.0%} of them", good, len(found), _PREDICTED_SHARE)


def _calls(rows: list[CorpusRow], times: Times) -> list[Verdict]:
    verdicts = []
    for name, limit in _MOST_NS.items():
        chosen = [row for row in rows if row.id == name]
        values = _each(chosen, lambda row, op, cache: times.ns(row, op, cache, "lacuna"), ("warm",))
        verdicts.append(_most(f"one call, {name}", limit, values, " ns"))
    chosen = [row for row in rows if row.id == _STRUCT_ARRAY]
    for mpi, limit in _STRUCT_ARRAY_OVER_MPI.items():
        values = _each(
            chosen,
            lambda row, op, cache, mpi=mpi: times.faster(row, op, cache, "mpi", mpi),
            ("warm",),
        )
        verdicts.append(_least(f"{_STRUCT_ARRAY}: {mpis.TITLE[mpi]} over lacuna", limit, values))
    return verdicts


def _slices(rows: list[CorpusRow], times: Times) -> list[Verdict]:
    chosen = [row for row in rows if "slices" in row.tags]

    def over(rival: str, base: str) -> dict[str, float]:
        return _each(chosen, lambda row, op, cache: times.faster(row, op, cache, rival, base=base))

    verdicts = [
        _most(f"{what} {order} over {whole}", limit, over(rival + suffix, base))
        for rival, (what, whole, base) in _SLICED.items()
        for suffix, (order, limit) in _SLICES.items()
    ]
    alone = over("lacuna-slices-alone", "lacuna")
    if alone:
        worst = max(alone, key=lambda name: alone[name])
        what = "slices of 8 KiB in random order, each alone, over the whole"
        verdicts.append(Verdict(what, "none promised", f"{alone[worst]:.3g} ({worst})", None))
    return verdicts


def _lifecycles(rows: list[CorpusRow], times: Times) -> list[Verdict]:
    chosen = [row for row in rows if "lifecycle" in row.tags]
    return [
        _least(
            f"create, commit, pack, free: {mpis.TITLE[mpi]} over lacuna",
            1.0,
            _each(
                chosen,
                lambda row, op, cache, mpi=mpi: times.faster(
                    row, op, cache, "mpi-lifecycle", mpi, "lacuna-lifecycle"
                ),
                ("warm",),
            ),
        )
        for mpi in times.mpis
    ]


def judge(rows: list[CorpusRow], times: Times) -> list[Verdict]:
    """One verdict for each promise."""
    return [
        *_means(rows, times),
        _no_slow_row(rows, times),
        _by_chance(rows, times),
        *_transposes(rows, times),
        *_bounds(rows, times),
        _predictions(rows, times),
        *_calls(rows, times),
        *_slices(rows, times),
        *_lifecycles(rows, times),
    ]
