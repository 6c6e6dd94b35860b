# SPDX-License-Identifier: BSD-3-Clause
"""The experiments that the papers report, with their numbers."""

from __future__ import annotations

from collections.abc import Callable

from lacuna.base.results import Row
from lacuna.bench.apps import command as bench_apps
from lacuna.bench.papers.experiment import LACUNA, Cells, Experiment, Found, lane_rows
from lacuna.launch import mpis


# ---- Gropp, Lusk & Swider 1999 -------------------------------------------------------------------
def _strided(name: str, n: int, stride: int) -> Row:
    struct = {"type": f"resized(0, {8 * stride}, double)", "count": n}
    return {
        "id": name,
        "test": "strided",
        "shape": [n, 1, stride, 1],
        "type": f"vector({n}, 1, {stride}, double)",
        "bytes": 8 * n,
        "lanes": lane_rows(
            ("vector", "derived", {}),
            ("vector_lacuna", "derived", LACUNA),
            ("struct", "derived", struct),
            ("struct_lacuna", "derived", struct | LACUNA),
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
    lanes = lane_rows(
        ("native", "derived", {}), ("lacuna", "derived", LACUNA), ("user", "by_hand", {})
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
        "lanes": lane_rows(
            ("native", "derived", {}),
            ("lacuna", "derived", LACUNA),
            ("by_hand", "by_hand", {}),
            ("by_hand_blocks", "by_hand", blocks),
            ("contiguous", "contiguous", {}),
            ("copy", "copy_alone", {}),
            ("pack", "mpi_pack_alone", {}),
            ("pack_lacuna", "mpi_pack_alone", LACUNA),
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


_BYNA = "MPICH 1.2.5 on an SGI Origin2000 (195 MHz)"
PAST = {
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
}
