# SPDX-License-Identifier: BSD-3-Clause
"""The tables of a benchmark in docs/results, in Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from lacuna.base.results import Row
from lacuna.base.units import size_name
from lacuna.bench.apps.summary import Apps
from lacuna.bench.engine.times import CACHES, NOT_IN_MEANS, OPS, Times, geometric_mean
from lacuna.bench.results.data import Data
from lacuna.launch import mpis
from lacuna.messages import shapes

_WIDTH = 120
_LATER = ", later"  # ends the name of a call that was counted again


def table(head: list[str], rows: Iterable[list[str]], texts: int = 1) -> list[str]:
    """The lines of a table; the first `texts` columns are text, the others numbers."""
    rule = ["---" if index < texts else "---:" for index in range(len(head))]
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)]


def prose(words: str) -> list[str]:
    """Text as lines of at most the width of the documents."""
    return textwrap.wrap(words, _WIDTH, break_long_words=False, break_on_hyphens=False)


def times(value: float | None) -> str:
    """A ratio with two or three digits; empty for None."""
    if value is None:
        return ""
    return f"{value:.1f}" if value >= 1.95 else f"{value:.2f}"


def names(rows: list[Row]) -> list[str]:
    """The MPI libraries, in the order of the file."""
    return list(dict.fromkeys(row["mpi"] for row in rows))


# ---- transpose -------------------------------------------------------------------------------


class Transposes:
    """Median times by library, order and method."""

    def __init__(self, rows: list[Row]) -> None:
        self._rows = {(row["mpi"], row["n"], row["method"]): row for row in rows}
        self.keys = list(dict.fromkeys((row["mpi"], row["n"]) for row in rows))

    def seconds(self, mpi: str, n: int, method: str) -> float:
        """A median time in seconds."""
        return self._rows[mpi, n, method]["median_s"]

    def speed(self, mpi: str, n: int, method: str) -> float:
        """A speed in GB/s."""
        row = self._rows[mpi, n, method]
        return row["bytes"] / row["median_s"] / 1e9

    def faster(self, mpi: str, n: int, rival: str, base: str = "lacuna") -> float:
        """How many times as fast `base` is as another method."""
        return self.seconds(mpi, n, rival) / self.seconds(mpi, n, base)


def _transpose(data: Data) -> list[str]:
    found = Transposes(data.rows)
    transfer, packing = [], []
    for mpi, n in found.keys:
        speeds = [found.speed(mpi, n, one) for one in ("native", "by_hand", "lacuna", "contiguous")]
        faster = [found.faster(mpi, n, one) for one in ("native", "by_hand", "contiguous")]
        cells = [mpis.TITLE[mpi], str(n)]
        transfer.append([*cells, *(f"{one:.2f}" for one in speeds), *map(times, faster)])
        packs = ("pack_native", "pack_lacuna", "unpack_native", "unpack_lacuna", "memcpy")
        packing.append([*cells, *(f"{found.speed(mpi, n, one):.2f}" for one in packs)])
    return [
        *prose(
            "A matrix of n x n doubles, sent by columns between two ranks of a node, in GB/s; and "
            "how many times as fast lacuna is as the others."
        ),
        "",
        *table(
            [
                *("MPI", "n", "library", "by hand", "lacuna", "contiguous"),
                *("over library", "over by hand", "over contiguous"),
            ],
            transfer,
        ),
        "",
        "The same matrix packed and unpacked, in GB/s.",
        "",
        *table(["MPI", "n", "`MPI_Pack`", "lacuna", "`MPI_Unpack`", "lacuna", "`memcpy`"], packing),
    ]


# ---- preload ---------------------------------------------------------------------------------


def shares(rows: list[Row], mpi: str, size: int) -> tuple[float, float] | None:
    """The speed relative to a contiguous message, of the library alone and of lacuna: geometric
    means over the shapes with gaps.
    """
    chosen = [row for row in _with_gaps(rows, mpi) if shapes.size_of(row["id"]) == size]
    if not chosen:
        return None
    lacuna = geometric_mean(1 / row["over_contiguous"] for row in chosen)
    library = geometric_mean(1 / row["over_contiguous"] / row["speedup"] for row in chosen)
    assert lacuna and library
    return library, lacuna


def sizes(rows: list[Row], mpi: str) -> list[int]:
    """The sizes of messages with gaps on this library."""
    return sorted({shapes.size_of(row["id"]) for row in _with_gaps(rows, mpi)})


def _with_gaps(rows: list[Row], mpi: str) -> list[Row]:
    return [
        row
        for row in rows
        if row["mpi"] == mpi and row["what"] == "message" and not row["contiguous"]
    ]


def _preload(data: Data) -> list[str]:
    lines = prose(
        "Messages of derived types between two ranks of a node. How many times as fast as the "
        "library alone lacuna is, and which share of the speed of a contiguous message either has: "
        "geometric means over the shapes with gaps."
    )
    libraries = names(data.rows)
    head = ["bytes"]
    for mpi in libraries:
        head += [f"{mpis.TITLE[mpi]}: times", "library's share", "lacuna's share"]
    rows = []
    for size in sorted({size for mpi in libraries for size in sizes(data.rows, mpi)}):
        cells = [size_name(size)]
        for mpi in libraries:
            found = shares(data.rows, mpi, size)
            cells += (
                [times(found[1] / found[0]), *(f"{one:.2f}" for one in found)]
                if found
                else ["", "", ""]
            )
        rows.append(cells)
    if rows:
        lines += ["", *table(head, rows)]
    lines += [
        "",
        *table(["MPI", "", "rows", "slower beyond noise", "geometric mean"], _all(data), 2),
    ]
    return lines + _calls(data)


def _all(data: Data) -> list[list[str]]:
    rows = []
    for mpi, what in dict.fromkeys((row["mpi"], row["what"]) for row in data.rows):
        chosen = [row for row in data.rows if (row["mpi"], row["what"]) == (mpi, what)]
        gaps = [row["speedup"] for row in chosen if not row["contiguous"]]
        slower = str(sum(row["is_slower"] for row in chosen))
        cells = [mpis.TITLE[mpi], f"{what}s", str(len(chosen)), slower]
        rows.append([*cells, times(geometric_mean(gaps))])
    return rows


def _calls(data: Data) -> list[str]:
    counted = [one for one in data.calls if one["instructions"]]
    if not counted:
        return []
    calls = dict.fromkeys(name for one in counted for name in one["instructions"])
    head = ["call", *(mpis.TITLE[one["mpi"]] for one in counted)]
    rows = {name: [_more(one["instructions"].get(name)) for one in counted] for name in calls}
    # After a token has come: only where that is different.
    shown = [
        [name, *cells]
        for name, cells in rows.items()
        if not name.endswith(_LATER) or cells != rows.get(name.removesuffix(_LATER))
    ]
    what = (
        "Instructions that lacuna adds to calls that it cannot help (contiguous data, new types)."
    )
    return ["", what, "", *table(head, shown)]


def _more(found: dict[str, float] | None) -> str:
    return f"{found['lacuna'] - found['native']:+.0f}" if found else ""


# ---- apps ------------------------------------------------------------------------------------


def by_test(found: Apps, mpi: str) -> dict[str, list[str]]:
    """The inputs of each test on a library, and of all tests."""
    tests: dict[str, list[str]] = {}
    for name in found.ids(mpi):
        tests.setdefault(found.row(mpi, name, "contiguous")["test"], []).append(name)
    return tests | {"all": found.ids(mpi)}


def share(found: Apps, mpi: str, inputs: list[str], method: str, of: str = "contiguous") -> float:
    """The speed of a method relative to another, geometric mean over inputs; 0: not measured."""
    ratios = [found.ratio(mpi, name, of, method) for name in inputs]
    return geometric_mean(ratio for ratio in ratios if ratio is not None) or 0.0


def _apps(data: Data) -> list[str]:
    found = Apps(data.rows)
    lines = prose(
        "The communication of applications (Schneider et al. 2012) between two ranks of a node: "
        "each way's share of the speed of the same bytes without gaps, and how many times as fast "
        "lacuna is as the others. Geometric means over a test's inputs."
    )
    for mpi in found.mpis:
        rows = []
        for test, inputs in by_test(found, mpi).items():
            shares = [share(found, mpi, inputs, way) for way in ("native", "by_hand", "lacuna")]
            faster = [share(found, mpi, inputs, "lacuna", of) for of in ("native", "by_hand")]
            cells = [test, str(len(inputs)), *(f"{one:.2f}" for one in shares)]
            rows.append([*cells, *map(times, faster)])
        head = ["test", "inputs", "library", "by hand", "lacuna", "over library", "over by hand"]
        lines += ["", f"On {mpis.TITLE[mpi]}:", "", *table(head, rows)]
    return lines


# ---- engine ----------------------------------------------------------------------------------


def families(rows: list[Row]) -> dict[str, list[str]]:
    """The rows of each family that is shown, and all of them."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row["family"] != NOT_IN_MEANS:
            found.setdefault(row["family"], [])
            if row["row"] not in found[row["family"]]:
                found[row["family"]].append(row["row"])
    return found | {"all": [name for members in found.values() for name in members]}


def mean(
    found: Times,
    members: list[str],
    where: tuple[str, str],
    rival: str,
    mpi: str | None = None,
    base: str = "lacuna",
) -> float | None:
    """How many times as fast `base` is as a rival, geometric mean. `where`: direction and
    caches.
    """
    ratios = [found.faster(row, *where, rival, mpi, base) for row in members]
    return geometric_mean(ratio for ratio in ratios if ratio is not None)


def _engine(data: Data) -> list[str]:
    found = Times(data.rows)
    lines = prose(
        "Packing and unpacking alone. How many times as fast lacuna is as `MPI_Pack` and "
        "`MPI_Unpack` of each library and as loops by hand, and its share of the speed of "
        "`memcpy`: geometric means."
    )
    for cache in CACHES:
        rows = []
        for family, members in families(data.rows).items():
            for op in OPS:
                where = (op, cache)
                share = mean(found, members, where, "memcpy")
                if share is None:
                    continue
                others = [mean(found, members, where, "mpi", mpi) for mpi in found.mpis]
                by_hand = mean(found, members, where, "by-hand")
                cells = [family if op == OPS[0] else "", op, str(len(members))]
                rows.append([*cells, *map(times, [*others, by_hand]), f"{share:.2f}"])
        if rows:
            titles = [mpis.TITLE[mpi] for mpi in found.mpis]
            head = ["family", "", "rows", *titles, "by hand", "share of `memcpy`"]
            where_data = "in cache" if cache == "warm" else "in DRAM"
            lines += ["", f"With the data {where_data}:", "", *table(head, rows, 2)]
    return lines


# ---- gpu -------------------------------------------------------------------------------------

# The rivals of `lacuna bench gpu`, as columns are headed.
GPU_RIVALS = {
    "hand": "by hand",
    "element": "a thread an element",
    "2d": "`cudaMemcpy2DAsync`",
    "blocks": "a copy a block",
}


def gpu_families(rows: list[Row]) -> dict[str, list[Row]]:
    """The rows of each family, and all."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["row"].partition("/")[0], []).append(row)
    return found | {"all": rows}


def gpu_share(rows: list[Row], way: str = "us") -> float | None:
    """The speed of lacuna or a rival relative to the device's own copy of data and touched sectors:
    the geometric mean over the rows for which that was measured.
    """
    return geometric_mean(row["ceiling_us"] / row[way] for row in rows if row[way])


def gpu_faster(rows: list[Row], rival: str) -> float | None:
    """How many times as fast lacuna is as a rival, geometric mean."""
    return geometric_mean(row[rival] / row["us"] for row in rows if row[rival])


def _gpu(data: Data) -> list[str]:
    lines = prose(
        "Packing and unpacking in the device's memory. Share of the speed of the device's own copy "
        "of as many bytes as the payload and the touched sectors of 32 bytes have, and how many "
        "times as fast lacuna is as other ways: geometric means."
    )
    rows = []
    for family, members in gpu_families(data.rows).items():
        for op in OPS:
            chosen = [row for row in members if row["op"] == op]
            share = gpu_share(chosen)
            if share is None:
                continue
            cells = [family if op == OPS[0] else "", op, str(len(chosen)), f"{share:.2f}"]
            rows.append([*cells, *(times(gpu_faster(chosen, one)) for one in GPU_RIVALS)])
    lines += ["", *table(["family", "", "rows", "share", *GPU_RIVALS.values()], rows, 2)]
    if data.small:
        small = [[one["what"], f"{one['value']:.4g} {one['unit']}"] for one in data.small]
        lines += ["", *table(["small messages, mapped memory", ""], small)]
    return lines


SECTIONS = {
    "transpose": _transpose,
    "preload": _preload,
    "apps": _apps,
    "engine": _engine,
    "gpu": _gpu,
}
TITLES = {
    "transpose": "Transpose (Byna et al. 2003)",
    "preload": "Messages and collectives",
    "apps": "Applications",
    "engine": "The engine alone",
    "gpu": "In a GPU's memory",
}
