# SPDX-License-Identifier: BSD-3-Clause
"""The exchanges that the papers left to future work."""

from __future__ import annotations

from lacuna.base.results import Row
from lacuna.bench.apps import command as bench_apps
from lacuna.bench.papers.experiment import LACUNA, Cells, Experiment, Found, lane_rows
from lacuna.launch import mpis

# ---- what the papers left to future work ---------------------------------------------------------
_FIVE = [
    ("native", "derived", {}),
    ("lacuna", "derived", LACUNA),
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
    lanes = lane_rows(
        ("work", "work", {}),
        ("native", "nonblocking", {}),
        ("native_work", "nonblocking_work", {}),
        ("lacuna", "nonblocking", LACUNA),
        ("lacuna_work", "nonblocking_work", LACUNA),
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
    lanes = lane_rows(
        ("nothing", "evict_nothing", {}),
        ("native", "evict_mpi_pack", {}),
        ("lacuna", "evict_mpi_pack", LACUNA),
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
    lanes = lane_rows(
        *_FIVE[:2],
        ("put", "put", {}),
        ("put_lacuna", "put", LACUNA),
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
    return ["exchange", "MPI", *(f"{lane.replace('_', ' ')}, us" for lane in lanes)], rows


def _gathered(name: str, lists: dict[str, str]) -> list[Row]:
    return [
        {
            "id": f"{name}: {what}",
            "test": "gather",
            "type": f"indexed_block(1, {text}, double)",
            "bytes": 0,
            "lanes": lane_rows(*_FIVE),
        }
        for what, text in lists.items()
    ]


def _graph() -> list[Row]:
    # A power law has a few long lists and many short ones.
    return _gathered(
        "graph",
        {f"{n} of {8 * n} vertices": f"random({n}, {8 * n}, {n})" for n in (16, 256, 4096, 65536)},
    )


def _graph_of_8() -> list[Row]:
    lanes = lane_rows(
        *_FIVE[:3],
        ("alltoallw", "neighbor_derived", {}),
        ("alltoallw_lacuna", "neighbor_derived", LACUNA),
        ("alltoallv_by_hand", "neighbor_by_hand", {}),
        _FIVE[-1],
    )
    return [
        {
            "id": f"graph of 8 ranks, {n} vertices each",
            "test": "GRAPH",
            "shape": [n],
            "ranks": 8,
            "bytes": 0,
            "lanes": lanes,
        }
        for n in (64, 1024, 16384)
    ]


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
        {"id": f"{test} {n}^3", "test": test, "shape": [n], "bytes": 0, "lanes": lane_rows(*_FIVE)}
        for n in orders
    ]


def _halo() -> list[Row]:
    return _grids("HALO", (8, 32, 128))


def _slabs() -> list[Row]:
    return _grids("SLABS", (32, 64, 128))


_DARRAY = "darray({ranks}, 0, [{n}, {n}], {distribs}, {dargs}, {dims}, c, double)"


def _darray() -> list[Row]:
    lanes = lane_rows(*(one for one in _FIVE if one[0] != "by_hand"))
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


FUTURE = {
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
        "One transfer; lacuna takes one-sided calls where packing first was measured to win.",
        _one_sided,
        _methods_cells,
    ),
    "schneider-graph": Experiment(
        "Schneider 2012, future work: irregular exchange of graphs",
        "Vertices in random order.",
        _graph,
        _methods_cells,
    ),
    "schneider-graph-8": Experiment(
        "Schneider 2012, future work: irregular exchange of a graph among 8 ranks",
        "One exchange with all neighbors: MPI_Isend and MPI_Irecv, or MPI_Neighbor_alltoallw.",
        _graph_of_8,
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
