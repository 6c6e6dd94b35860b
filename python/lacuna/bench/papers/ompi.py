# SPDX-License-Identifier: BSD-3-Clause
"""Ogawa & Matsuoka 1996: calls as they are, from a cache of requests, specialised when compiled."""

from __future__ import annotations

from lacuna.base.results import Row
from lacuna.bench.papers.experiment import LACUNA, Cells, Experiment, Found, lane_rows
from lacuna.launch import mpis
from lacuna.messages.ompi_programs import SPECIALISED

_PING_PONG = {
    "a double": ("double", 1),
    "1 KiB": ("double", 128),
    "1 KiB, strided": ("vector(128, 1, 2, double)", 1),
}
_IN_PROGRAM = {"8 B": 8, "1 KiB": 1024, "16 KiB": 16384, "1 KiB, strided": 1024}
_CORES = {
    "MM": ("mm", 16384, "a little less"),
    "LU": ("lu", 1000, "noticeably less"),
    "CG": ("cg", 8, "0.47"),
}
_THREE = ("generic", "cache", SPECIALISED)


def _program(name: str, prefix: str, program: str, size: int, lanes: tuple[str, ...]) -> Row:
    return {
        "id": f"{prefix}{name}",
        "program": program,
        "prefix": prefix,
        "bytes": size,
        "lanes": [{"name": lane} for lane in lanes],
    }


def _fig5() -> list[Row]:
    rows = []
    for name, (text, count) in _PING_PONG.items():
        lanes = lane_rows(
            ("generic", "derived", {}),
            ("persistent", "persistent", {}),
            ("generic_lacuna", "derived", LACUNA),
            ("persistent_lacuna", "persistent", LACUNA),
        )
        rows.append({"id": name, "type": text, "count": count, "bytes": 0, "lanes": lanes})
    for name, size in _IN_PROGRAM.items():
        # The cache leaves derived types alone.
        lanes = ("generic", SPECIALISED) if "strided" in name else _THREE
        rows.append(_program(name, "constant ", "pingpong", size, lanes))
    return rows


def _us(found: Found, mpi: str, name: str, lanes: tuple[str, ...]) -> list[str]:
    """Microseconds of the lanes that exist."""
    return [
        f"{found.s(mpi, name, lane) * 1e6:.2f}" if found.has(mpi, name, lane) else ""
        for lane in lanes
    ]


def _fig5_cells(found: Found) -> Cells:
    lanes = ("generic", "persistent", "cache", SPECIALISED, "generic_lacuna", "persistent_lacuna")
    rows = [["1996, AP1000, MPICH", "short", "338", "", "", "76", "", ""]]
    rows.append(["1996, AP1000, no MPI", "none", "37 to 193", "", "", "", "", ""])
    for mpi in found.mpis:
        for name in found.ids:
            rows.append([mpis.TITLE[mpi], name, *_us(found, mpi, name, lanes)])
    return [
        *("MPI", "message", "generic, us", "persistent by hand", "cache", SPECIALISED),
        *("generic, lacuna", "persistent, lacuna"),
    ], rows


def _fig6() -> list[Row]:
    return [_program(name, "", core[0], core[1], _THREE) for name, core in _CORES.items()]


def _fig6_cells(found: Found) -> Cells:
    rows = []
    for name, (_, size, gain) in _CORES.items():
        rows.append([f"{name}, 1996", "MPICH, AP1000", f"{size}", "", "", "", "", "", gain])
    for mpi in found.mpis:
        for name in found.ids:
            generic = found.s(mpi, name, "generic")
            of_generic = [
                f"{found.s(mpi, name, lane) / generic:.2f}" if found.has(mpi, name, lane) else ""
                for lane in _THREE[1:]
            ]
            size = str(_CORES[name][1])
            in_mpi = f"{100 * found.s(mpi, name, 'generic', 'mpi') / generic:.0f}"
            times = _us(found, mpi, name, _THREE)
            rows.append([name, mpis.TITLE[mpi], size, in_mpi, *times, *of_generic])
    return [
        *("core", "MPI", "bytes", "in MPI, %", "generic, us", "cache", SPECIALISED),
        *("cache / generic", f"{SPECIALISED} / generic"),
    ], rows


OMPI = {
    "ompi-fig5": Experiment(
        "Ogawa & Matsuoka 1996, figure 5: latency of a ping-pong",
        "A message with generic arguments took 338 us, specialised at compile time 76 us; a cache "
        "of arguments helped basic types, not derived ones. The last lines are of a program whose "
        "arguments are constants.",
        _fig5,
        _fig5_cells,
    ),
    "ompi-fig6": Experiment(
        "Ogawa & Matsuoka 1996, figure 6: cores of applications",
        "Specialised, CG took 53 % less time, LU noticeably less, MM a little, and all were "
        "faster than the cache, which LU's pivots made useless. In our lines: two ranks, one "
        "node; the time of a product of 1024 x 1024, a factorization of 250 x 250, a solution of "
        "128 unknowns in 64 steps.",
        _fig6,
        _fig6_cells,
    ),
}
