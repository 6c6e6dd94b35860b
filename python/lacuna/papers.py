# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench papers`: the experiments of the papers lacuna comes from, then and now.

Then is what a paper prints or says in words; where it has only a picture, there is no number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from lacuna import bench_apps, exchange, mpis
from lacuna.errors import Exit, LacunaError
from lacuna.results import Row

Cells = tuple[list[str], list[list[str]]]


class Found:
    """The lanes of one run."""

    def __init__(self, lanes: list[Row]) -> None:
        self._rows = {(row["mpi"], row["id"], row["method"]): row for row in lanes}
        self.mpis = list(dict.fromkeys(row["mpi"] for row in lanes))
        self.ids = list(dict.fromkeys(row["id"] for row in lanes))
        self.lanes = list(dict.fromkeys(row["method"] for row in lanes))

    def s(self, mpi: str, name: str, lane: str, part: str = "median") -> float:
        """The median of a lane, or of a part of it."""
        return self._rows[mpi, name, lane][f"{part}_s"]


@dataclass(frozen=True)
class Experiment:
    """A named run: the rows that it needs, and its table of them."""

    title: str
    then: str  # what the paper found, in a sentence
    rows: Callable[[], list[Row]]
    cells: Callable[[Found], Cells]
    only: tuple[str, ...] = ()  # MPI libraries, where the paper means one


@dataclass(frozen=True)
class Shown:
    """An experiment with its numbers."""

    title: str
    then: str
    cells: Cells


def _lanes(*lanes: tuple[str, str, dict]) -> list[Row]:
    return [{"name": name, "way": way} | more for name, way, more in lanes]


_LACUNA = {"lacuna": True}


# ---- Gropp, Lusk & Swider 1999 -------------------------------------------------------------------
def _strided(name: str, n: int, stride: int) -> Row:
    struct = {"type": f"resized(0, {8 * stride}, double)", "count": n}
    return {
        "id": name,
        "test": "strided",
        "shape": [n, 1, stride, 1],
        "type": f"vector({n}, 1, {stride}, double)",
        "bytes": 8 * n,
        "lanes": _lanes(
            ("vector", "derived", {}),
            ("vector_lacuna", "derived", _LACUNA),
            ("struct", "derived", struct),
            ("struct_lacuna", "derived", struct | _LACUNA),
            ("user", "by_hand", {}),
        ),
    }


def _table1() -> list[Row]:
    return [_strided("gropp-1000", 1000, 24)]


def _mb(count: int, seconds: float) -> str:
    return f"{count / seconds / 1e6:.1f}"


def _table1_cells(found: Found) -> Cells:
    rows = [
        ["1999, IBM SP", "3.8", "2.9", "9.5"],
        ["1999, SGI Origin 2000", "7.6", "3.1", "44"],
        ["1999, Intel TFLOPS", "32", "3.3", "35"],
    ]
    for mpi in found.mpis:
        for lacuna in ("", "_lacuna"):
            lanes = [f"vector{lacuna}", f"struct{lacuna}", "user"]
            numbers = [_mb(8000, found.s(mpi, "gropp-1000", lane)) for lane in lanes]
            rows.append([f"{mpis.TITLE[mpi]}{', lacuna' if lacuna else ''}", *numbers])
    return ["system", "vector, MB/s", "struct, MB/s", "user, MB/s"], rows


def _table2() -> list[Row]:
    return [_strided("gropp-100", 100, 16), _strided("gropp-10000", 10000, 16)]


def _table2_cells(found: Found) -> Cells:
    rows = [
        ["1999, MPICH", "14.2", "19.7", "42.9", "60.3"],
        ["1999, SGI", "3.9", "28.4", "6.8", "86.3"],
    ]
    for mpi in found.mpis:
        for lacuna in ("", "_lacuna"):
            numbers = [
                _mb(8 * n, found.s(mpi, f"gropp-{n}", lane))
                for n in (100, 10000)
                for lane in (f"struct{lacuna}", "user")
            ]
            rows.append([f"{mpis.TITLE[mpi]}{', lacuna' if lacuna else ''}", *numbers])
    return ["system", "struct 100, MB/s", "user 100", "struct 10000", "user 10000"], rows


def _table3() -> list[Row]:
    lanes = _lanes(
        ("native", "derived", {}), ("lacuna", "derived", _LACUNA), ("user", "by_hand", {})
    )
    return [
        {
            "id": "gropp-face",
            "test": "strided",
            "shape": [100, 100, 200 * 200, 200],
            "type": "hvector(100, 1, 320000, vector(100, 1, 200, double))",
            "bytes": 80000,
            "lanes": lanes,
        }
    ]


def _table3_cells(found: Found) -> Cells:
    rows = [
        ["1999, MPICH", "1900", "42.6"],
        ["1999, SGI", "6600", "12.2"],
        ["1999, MPICH-old", "3100", "26.0"],
    ]
    for mpi in found.mpis:
        for lane in ("native", "lacuna", "user"):
            seconds = found.s(mpi, "gropp-face", lane)
            rows.append([f"{mpis.TITLE[mpi]}, {lane}", f"{seconds * 1e6:.1f}", _mb(80000, seconds)])
    return ["system", "us", "MB/s"], rows


# ---- Byna, Gropp, Sun & Thakur 2003 --------------------------------------------------------------
_ORDERS = (512, 1024, 2048, 4096)
_BLOCK = 32  # doubles: a block of both sides stays in the first cache
_PADDING = 8


def _transpose(n: int) -> Row:
    text = "contiguous({n}, resized(0, 8, vector({n}, 1, {stride}, double)))"
    blocks = {"test": "strided_blocks", "shape": [n, n, 1, n, _BLOCK]}
    padded = {
        "type": text.format(n=n, stride=n + _PADDING),
        "test": "strided_blocks",
        "shape": [n, n, 1, n + _PADDING, _BLOCK],
    }
    return {
        "id": f"transpose-{n}",
        "test": "strided",
        "shape": [n, n, 1, n],
        "type": text.format(n=n, stride=n),
        "receives_packed": True,
        "bytes": 8 * n * n,
        "lanes": _lanes(
            ("native", "derived", {}),
            ("lacuna", "derived", _LACUNA),
            ("by_hand", "by_hand", {}),
            ("by_hand_blocks", "by_hand", blocks),
            ("contiguous", "contiguous", {}),
            ("copy", "copy_alone", {}),
            ("pack", "mpi_pack_alone", {}),
            ("pack_lacuna", "mpi_pack_alone", _LACUNA),
            ("pack_by_hand", "by_hand_alone", {}),
            ("pack_blocks", "by_hand_alone", blocks),
            ("pack_padded", "by_hand_alone", padded),
        ),
    }


def _transposes() -> list[Row]:
    return [_transpose(n) for n in _ORDERS]


def _by_order(found: Found, lanes: dict[str, str], value: Callable[[float, int], str]) -> Cells:
    """One line for each MPI library and order; `lanes` are columns by heading."""
    rows = []
    for mpi in found.mpis:
        for n in _ORDERS:
            numbers = [value(found.s(mpi, f"transpose-{n}", lane), n) for lane in lanes.values()]
            rows.append([mpis.TITLE[mpi], str(n), *numbers])
    return ["MPI", "n", *lanes], rows


def _per_reference(seconds: float, n: int) -> str:
    return f"{seconds / n**2 * 1e9:.2f}"


def _fig1_cells(found: Found) -> Cells:
    lanes = {
        "MPI_Pack, ns a reference": "pack",
        "by hand": "pack_by_hand",
        "by hand, blocked": "pack_blocks",
        "blocked and padded": "pack_padded",
        "MPI_Pack, lacuna": "pack_lacuna",
    }
    return _by_order(found, lanes, _per_reference)


def _fig2_cells(found: Found) -> Cells:
    rows = []
    for mpi in found.mpis:
        for n in _ORDERS:
            name = f"transpose-{n}"
            for lane, pack in (("native", "pack"), ("lacuna", "pack_lacuna")):
                copy = found.s(mpi, name, "copy")
                network = max(found.s(mpi, name, "contiguous") - copy, 0.0)
                packing = max(found.s(mpi, name, pack) - copy, 0.0)
                whole = found.s(mpi, name, lane)
                rest = whole - copy - network - packing
                parts = [_per_reference(one, n) for one in (copy, packing, rest, network, whole)]
                rows.append([f"{mpis.TITLE[mpi]}, {lane}", str(n), *parts])
    return ["MPI", "n", "copy o, ns", "packing l_p", "middleware l_m", "network L", "whole"], rows


def _fig6_cells(found: Found) -> Cells:
    lanes = {"library alone, ns a reference": "native", "by hand": "by_hand", "lacuna": "lacuna"}
    return _by_order(found, lanes, _per_reference)


def _fig7_cells(found: Found) -> Cells:
    lanes = {"library alone, MB/s": "native", "lacuna": "lacuna", "contiguous": "contiguous"}
    return _by_order(found, lanes, lambda seconds, n: f"{8 * n * n / seconds / 1e6:.0f}")


def _fig8_cells(found: Found) -> Cells:
    lanes = {
        "library alone, ms": "native",
        "by hand": "by_hand",
        "by hand, blocked": "by_hand_blocks",
        "lacuna": "lacuna",
    }
    return _by_order(found, lanes, lambda seconds, n: f"{seconds * 1e3:.2f}")


# ---- Schneider, Gerstenberger & Hoefler 2012 -----------------------------------------------------
_FIG5 = ("WRF_*_vec-*", "NAS_LU_*", "NAS_MG_*", "MILC*", "SPECFEM3D_*", "LAMMPS_*", "FFT*")
_FIG6 = ("WRF_x_vec-2x2", "WRF_y_vec-2x2", "SPECFEM3D_cm-*", "SPECFEM3D_oc-*")
_METHODS = ["native", "lacuna", "by_hand", "mpi_pack"]


def _fig5() -> list[Row]:
    return bench_apps.choose(bench_apps.tests(), list(_FIG5), _METHODS, quick=False)


def _schneider6() -> list[Row]:
    return bench_apps.choose(bench_apps.tests(), list(_FIG6), _METHODS, quick=False)


def _fig5_cells(found: Found) -> Cells:
    then = {"WRF_x_vec": ("80", "70"), "NAS_LU_x": ("40", "15")}
    rows = []
    for mpi in found.mpis:
        for name in found.ids:
            base = found.s(mpi, name, "contiguous")
            numbers = [
                f"{100 * (1 - base / found.s(mpi, name, lane)):.0f}"
                for lane in ("by_hand", "native", "mpi_pack", "lacuna")
            ]
            by_hand, derived = then.get(name.partition("-")[0], ("", ""))
            rows.append([name, mpis.TITLE[mpi], by_hand, derived, *numbers])
    return [
        *("test", "MPI", "2012: by hand, %", "2012: derived, %"),
        *("by hand, %", "derived, %", "MPI_Pack, %", "lacuna, %"),
    ], rows


def _fig6_schneider_cells(found: Found) -> Cells:
    rows = []
    for mpi in found.mpis:
        for name in found.ids:
            numbers = [
                found.s(mpi, name, "native", "create") + found.s(mpi, name, "native", "destroy"),
                found.s(mpi, name, "by_hand", "pack") + found.s(mpi, name, "by_hand", "unpack"),
                found.s(mpi, name, "by_hand", "communicate"),
                found.s(mpi, name, "native"),
                found.s(mpi, name, "lacuna"),
            ]
            rows.append([name, mpis.TITLE[mpi], *(f"{one * 1e6:.1f}" for one in numbers)])
    return [
        *("test", "MPI", "type: make, commit, free, us", "by hand: pack and unpack"),
        *("communicate", "derived", "lacuna"),
    ], rows


# ---- Ogawa & Matsuoka 1996 -----------------------------------------------------------------------
_PING_PONG = {
    "a double": ("double", 1),
    "1 KiB": ("double", 128),
    "1 KiB, strided": ("vector(128, 1, 2, double)", 1),
}


def _ping_pong() -> list[Row]:
    rows = []
    for name, (text, count) in _PING_PONG.items():
        lanes = _lanes(
            ("generic", "derived", {}),
            ("persistent", "persistent", {}),
            ("generic_lacuna", "derived", _LACUNA),
            ("persistent_lacuna", "persistent", _LACUNA),
        )
        rows.append({"id": name, "type": text, "count": count, "bytes": 0, "lanes": lanes})
    return rows


def _ping_pong_cells(found: Found) -> Cells:
    rows = [["1996, AP1000", "", "338", "", "76 (specialised)", ""]]
    for mpi in found.mpis:
        for name in found.ids:
            lanes = ("generic", "persistent", "generic_lacuna", "persistent_lacuna")
            numbers = [f"{found.s(mpi, name, lane) * 1e6:.2f}" for lane in lanes]
            rows.append([mpis.TITLE[mpi], name, *numbers])
    return [
        "MPI",
        "message",
        "generic, us",
        "persistent",
        "generic, lacuna",
        "persistent, lacuna",
    ], rows


# ---- what the papers left to future work ---------------------------------------------------------
_FIVE = [
    ("native", "derived", {}),
    ("lacuna", "derived", _LACUNA),
    ("by_hand", "by_hand", {}),
    ("mpi_pack", "mpi_pack", {}),
    ("contiguous", "contiguous", {}),
]
_CACHES_KIB = (32, 256, 1024)


def _tests_named(names: list[str], lanes: list[Row], **more: object) -> list[Row]:
    return [
        {k: v for k, v in row.items() if k != "quick"} | {"lanes": lanes} | more
        for row in bench_apps.tests()
        if row["id"] in names
    ]


def _overlap() -> list[Row]:
    lanes = _lanes(
        ("work", "work", {}),
        ("native", "nonblocking", {}),
        ("native_work", "nonblocking_work", {}),
        ("lacuna", "nonblocking", _LACUNA),
        ("lacuna_work", "nonblocking_work", _LACUNA),
    )
    rows = _tests_named(["WRF_x_vec-2x2", "NAS_MG_x-258", "NAS_MG_y-258"], lanes)
    return [
        row | {"id": f"{row['id']} beside 100 us", "needs_received": True, "work_us": 100}
        for row in rows
    ]


def _overlap_cells(found: Found) -> Cells:
    rows = []
    for mpi in found.mpis:
        for name in found.ids:
            work = found.s(mpi, name, "work")
            cells = [name, mpis.TITLE[mpi], f"{work * 1e6:.0f}"]
            for lane in ("native", "lacuna"):
                alone = found.s(mpi, name, lane)
                both = found.s(mpi, name, f"{lane}_work")
                hidden = (alone + work - both) / min(alone, work)
                cells += [f"{alone * 1e6:.1f}", f"{both * 1e6:.1f}", f"{100 * hidden:.0f}"]
            rows.append(cells)
    return [
        *("exchange", "MPI", "work, us", "native alone", "native with work", "hidden, %"),
        *("lacuna alone", "lacuna with work", "hidden, %"),
    ], rows


def _cache() -> list[Row]:
    lanes = _lanes(
        ("nothing", "evict_nothing", {}),
        ("native", "evict_mpi_pack", {}),
        ("lacuna", "evict_mpi_pack", _LACUNA),
        ("by_hand", "evict_by_hand", {}),
    )
    rows = []
    for kib in _CACHES_KIB:
        for row in _tests_named(["NAS_MG_x-258", "NAS_MG_y-258", "LAMMPS_full-3062"], lanes):
            rows.append(row | {"id": f"{row['id']} in {kib} KiB", "work_kib": kib})
    return rows


def _cache_cells(found: Found) -> Cells:
    lanes = ("nothing", "native", "lacuna", "by_hand")
    rows = []
    for mpi in found.mpis:
        for name in found.ids:
            numbers = [found.s(mpi, name, lane, "communicate") for lane in lanes]
            rows.append([name, mpis.TITLE[mpi], *(f"{one * 1e6:.2f}" for one in numbers)])
    return ["packed; working set", "MPI", "read again after nothing, us", "MPI_Pack", "lacuna",
            "by hand"], rows  # fmt: skip


def _one_sided() -> list[Row]:
    lanes = _lanes(
        *_FIVE[:2],
        ("put", "put", {}),
        ("put_lacuna", "put", _LACUNA),
        ("put_contiguous", "put_contiguous", {}),
        _FIVE[-1],
    )
    names = ["WRF_x_vec-2x2", "NAS_MG_x-258", "NAS_LU_y-1020", "SPECFEM3D_oc-3225"]
    rows = _tests_named(names, lanes, needs_received=True)
    return [row | {"id": f"{row['id']} put"} for row in rows]


def _methods_cells(found: Found) -> Cells:
    """Times of all lanes, whatever they are."""
    lanes = found.lanes
    rows = []
    for mpi in found.mpis:
        for name in found.ids:
            numbers = [f"{found.s(mpi, name, lane) * 1e6:.1f}" for lane in lanes]
            rows.append([name, mpis.TITLE[mpi], *numbers])
    return ["exchange", "MPI", *(f"{lane}, us" for lane in lanes)], rows


def _gathered(name: str, lists: dict[str, str]) -> list[Row]:
    return [
        {
            "id": f"{name}: {what}",
            "test": "gather",
            "type": f"indexed_block(1, {text}, double)",
            "bytes": 0,
            "lanes": _lanes(*_FIVE),
        }
        for what, text in lists.items()
    ]


def _graph() -> list[Row]:
    # A power law has a few long lists and many short ones.
    return _gathered(
        "graph",
        {f"{n} of {8 * n} vertices": f"random({n}, {8 * n}, {n})" for n in (16, 256, 4096, 65536)},
    )


def _mesh() -> list[Row]:
    return _gathered(
        "mesh",
        {
            "4096 boundary points in order": "sorted(4096, 65536, 21)",
            "4096 points in runs of 8": "clustered(4096, 65536, 22, 8)",
            "65536 points in runs of 4": "clustered(65536, 1048576, 23, 4)",
        },
    )


def _grids(test: str, orders: tuple[int, ...]) -> list[Row]:
    return [
        {"id": f"{test} {n}^3", "test": test, "shape": [n], "bytes": 0, "lanes": _lanes(*_FIVE)}
        for n in orders
    ]


def _halo() -> list[Row]:
    return _grids("HALO", (8, 32, 128))


def _slabs() -> list[Row]:
    return _grids("SLABS", (32, 64, 128))


_DARRAY = "darray({ranks}, 0, [{n}, {n}], {distribs}, {dargs}, {dims}, c, double)"


def _darray() -> list[Row]:
    lanes = _lanes(*(one for one in _FIVE if one[0] != "by_hand"))
    rows = []
    for n in (256, 1024):
        block = _DARRAY.format(
            ranks=4, n=n, distribs="[block, block]", dargs="[default, default]", dims="[2, 2]"
        )
        cyclic = _DARRAY.format(
            ranks=4, n=n, distribs="[cyclic, cyclic]", dargs="[8, 8]", dims="[2, 2]"
        )
        rows.append(
            {
                "id": f"{n} x {n}, blocks to cyclic(8)",
                "type": block,
                "partner_type": cyclic,
                "bytes": 2 * n * n,
                "lanes": lanes,
            }
        )
    return rows


_BYNA = "MPICH 1.2.5 on an SGI Origin2000 (195 MHz)"
EXPERIMENTS = {
    "gropp-table1": Experiment(
        "Gropp 1999, table 1: 1000 doubles with a stride of 24",
        "Packing by hand was always faster than a derived type; the struct form far slower still.",
        _table1,
        _table1_cells,
    ),
    "gropp-table2": Experiment(
        "Gropp 1999, table 2: doubles with a stride of 16 as a resized type",
        "MPICH reached 0.7 of packing by hand, SGI's MPI 0.08 to 0.14.",
        _table2,
        _table2_cells,
    ),
    "gropp-table3": Experiment(
        "Gropp 1999, table 3: a 100 x 100 face of a 200^3 cube",
        "Vectors of vectors without recursion: 3.5 times faster than SGI's MPI.",
        _table3,
        _table3_cells,
    ),
    "byna-fig1": Experiment(
        "Byna 2003, figure 1: packing a transpose by hand, in variants",
        f"{_BYNA}: padding and cache blocking were 3.8 to 5.5 times faster than MPICH's packing.",
        _transposes,
        _fig1_cells,
    ),
    "byna-fig2": Experiment(
        "Byna 2003, figure 2: what a transposed message costs, by the Memory-LogP model",
        f"{_BYNA}: copy and network cost the same per reference at all sizes; packing and "
        "middleware grew with the size.",
        _transposes,
        _fig2_cells,
    ),
    "byna-fig6": Experiment(
        "Byna 2003, figure 6: time of a transposed message",
        f"{_BYNA}: the same up to 512 x 512, then clearly faster than both.",
        _transposes,
        _fig6_cells,
    ),
    "byna-fig7": Experiment(
        "Byna 2003, figure 7: bandwidth of a transposed message",
        f"{_BYNA}: up to 85 % more bandwidth than the library alone.",
        _transposes,
        _fig7_cells,
    ),
    "byna-fig8": Experiment(
        "Byna 2003, figure 8: a vendor's MPI",
        "IBM's MPI on an SP then, Intel MPI now: blocked packing by hand took much less than both "
        "the derived type and plain loops.",
        _transposes,
        _fig8_cells,
        only=("intelmpi",),
    ),
    "schneider-fig5": Experiment(
        "Schneider 2012, figure 5: packing overhead relative to communication",
        "Open MPI 1.6 and MVAPICH 1.8 on Opterons with InfiniBand: up to 80 % of WRF_x_vec is "
        "packing by hand, 70 % with derived types; NAS_LU_x went from 40 to 15 %.",
        _fig5,
        _fig5_cells,
    ),
    "schneider-fig6": Experiment(
        "Schneider 2012, figure 6: making the type, packing, communicating",
        "Open MPI's derived types were faster than packing by hand for WRF even if made anew for "
        "each message; making indexed types (SPECFEM3D) cost it much more than MVAPICH.",
        _schneider6,
        _fig6_schneider_cells,
    ),
    "ompi-fig5": Experiment(
        "Ogawa & Matsuoka 1996, figure 5: latency of a ping-pong",
        "A message with generic arguments took 338 us, specialised at compile time 76 us; a cache "
        "of arguments helped basic types, not derived ones. Its heir is the persistent request.",
        _ping_pong,
        _ping_pong_cells,
    ),
    "schneider-overlap": Experiment(
        "Schneider 2012, future work: overlap of an exchange with computation",
        "Hidden: how much of the shorter one did not show in the time of both.",
        _overlap,
        _overlap_cells,
    ),
    "schneider-cache": Experiment(
        "Schneider 2012, future work: what packing leaves of the cache",
        "A working set is read again after packing; what it takes longer was evicted.",
        _cache,
        _cache_cells,
    ),
    "schneider-onesided": Experiment(
        "One-sided versions: MPI_Put and a fence for MPI_Send and MPI_Recv",
        "One transfer; lacuna leaves one-sided calls to the library.",
        _one_sided,
        _methods_cells,
    ),
    "schneider-graph": Experiment(
        "Schneider 2012, future work: irregular exchange of graphs",
        "Vertices in random order.",
        _graph,
        _methods_cells,
    ),
    "byna-mesh": Experiment(
        "Byna 2003, future work: unstructured meshes", "Shared points.", _mesh, _methods_cells
    ),
    "byna-halo": Experiment(
        "Byna 2003, future work: 3-d nearest neighbours, all 26",
        "One exchange of a periodic grid of n^3 doubles a rank with its halo.",
        _halo,
        _methods_cells,
    ),
    "byna-darray": Experiment(
        "Byna 2003, future work: array redistribution, darray to darray",
        "One rank's part of a 2 x 2 distribution by blocks into one of cyclic(8).",
        _darray,
        _methods_cells,
    ),
    "byna-fft": Experiment(
        "Byna 2003, future work: distributed FFTs, alltoallw of subarrays",
        "One turn of a 3-d array from slabs of its first dimension to slabs of its second.",
        _slabs,
        _methods_cells,
    ),
}
_QUICK = (3, 0.3)


def papers(options: exchange.Options, names: list[str], quick: bool) -> None:
    """Runs the experiments, writes the file, prints a table for each."""
    for name in names:
        if name not in EXPERIMENTS:
            raise LacunaError(
                Exit.USAGE, f"unknown experiment: {name}", f"known are {', '.join(EXPERIMENTS)}"
            )
    chosen = {name: EXPERIMENTS[name] for name in names or EXPERIMENTS}
    if quick:
        options.samples, options.seconds = _QUICK
    only = {one for experiment in chosen.values() for one in experiment.only}
    if not options.mpis and only and all(experiment.only for experiment in chosen.values()):
        options.mpis = sorted(only)
    # Experiments share rows: each is run once.
    rows: dict[str, Row] = {}
    for experiment in chosen.values():
        for row in experiment.rows():
            rows.setdefault(row["id"], row)
    measured = exchange.measure("papers", list(rows.values()), options)
    exchange.write(measured, options, experiments=list(chosen))
    for shown in experiments(measured.lanes, list(chosen)):
        _show(shown)


def experiments(lanes: list[Row], names: list[str]) -> list[Shown]:
    """The experiments with their numbers, from the lanes of a run of them."""
    shown = []
    for name in names:
        experiment = EXPERIMENTS[name]
        ids = {row["id"] for row in experiment.rows()}
        ours = [
            row
            for row in lanes
            if row["id"] in ids and (not experiment.only or row["mpi"] in experiment.only)
        ]
        if ours:
            title = f"{name}: {experiment.title}"
            shown.append(Shown(title, experiment.then, experiment.cells(Found(ours))))
    return shown


def _show(shown: Shown) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=140)
    table = Table(title=shown.title, caption=shown.then, box=SIMPLE_HEAD)
    headings, rows = shown.cells
    for index, name in enumerate(headings):
        table.add_column(name, justify="right" if index else "left")
    for row in rows:
        table.add_row(*row)
    console.print(table)
