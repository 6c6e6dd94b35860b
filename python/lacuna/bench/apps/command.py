# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench apps`: the micro-applications of Schneider et al. (2012) between pairs of ranks."""

from __future__ import annotations

from fnmatch import fnmatchcase

from rich.box import SIMPLE_HEAD
from rich.table import Table

from lacuna.base import terminal
from lacuna.base.errors import Exit, LacunaError
from lacuna.base.results import Row
from lacuna.bench import corpus
from lacuna.bench.apps import summary as apps_summary
from lacuna.bench.apps.summary import Apps
from lacuna.launch import mpis
from lacuna.messages import exchange

# The methods: the way of sending (bench/apps/ways/way.cpp), and whether under lacuna.
METHODS = {
    "native": ("derived", False),
    "lacuna": ("derived", True),
    "lacuna_costs": ("derived", True),
    "by_hand": ("by_hand", False),
    "mpi_pack": ("mpi_pack", False),
    "mpi_pack_lacuna": ("mpi_pack", True),
    "each": ("each", False),
    "specialised": ("specialised", False),
    "specialised_each": ("specialised_each", False),
    "contiguous": ("contiguous", False),  # the scale of the others, always measured
}
# Methods with LACUNA_COSTS set, too.
COSTED = ("lacuna_costs",)
# The applications compiled by lacuna-c++, and their rival: one call for each partner. The alltoall
# has no calls between partners.
_PAIRS = ("each", "specialised", "specialised_each")
# Measured only if they are named.
ASKED = (*COSTED, *_PAIRS)
# The languages, and the beginnings of the names of the tests that exist in each.
LANGUAGES = {"c++": ("",), "fortran": ("WRF_", "NAS_", "SPECFEM3D_")}
_QUICK = (5, 0.3)  # samples, and seconds for one row


def tests(language: str = "c++") -> list[Row]:
    """The exchanges that exist in a language, at all sizes, as rows for the program."""
    if language not in LANGUAGES:
        raise LacunaError(
            Exit.USAGE, f"unknown language: {language}", f"known are {', '.join(LANGUAGES)}"
        )
    found = []
    for row in corpus.load():
        if not row.shape:
            continue
        name = row.id.partition("/")[2]
        # The corpus has the two sides of the alltoall as two types; the test is both.
        name = name.replace("FFT_scatter", "FFT")
        if not name.startswith(LANGUAGES[language]):
            continue
        found.append(
            {
                "id": name,
                "test": name.partition("-")[0],
                "shape": list(row.shape),
                "type": row.text,
                "count": row.count,
                "bytes": row.bytes,
                "quick": "quick" in row.tags,
            }
        )
    return found


def choose(found: list[Row], globs: list[str], methods: list[str], quick: bool) -> list[Row]:
    """The rows that fit the patterns, with the methods that are wanted."""
    for method in methods:
        if method not in METHODS:
            raise LacunaError(
                Exit.USAGE, f"unknown method: {method}", f"known are {', '.join(METHODS)}"
            )
    known = dict.fromkeys(row["test"] for row in found)
    for glob in globs:
        if not any(_fits(row, glob) for row in found):
            raise LacunaError(
                Exit.USAGE,
                f"no test fits --only {glob}",
                f"tests are {', '.join(known)}; as in --only 'WRF*' or --only NAS_MG_x-130",
            )
    chosen = [row for row in found if not globs or any(_fits(row, glob) for glob in globs)]
    if quick:
        chosen = _one_size_each(chosen)
    wanted = [*methods, "contiguous"] if methods else [m for m in METHODS if m not in ASKED]
    made = lanes([name for name in METHODS if name in wanted])
    return [{k: v for k, v in row.items() if k != "quick"} | _lanes(row, made) for row in chosen]


def lanes(methods: list[str]) -> list[Row]:
    """The lanes of an exchange: name, way and whether under lacuna, for each method."""
    made: list[Row] = []
    for name in methods:
        made.append({"name": name, "way": METHODS[name][0], "lacuna": METHODS[name][1]})
        if name in COSTED:
            made[-1]["costs"] = True
    return made


def _lanes(row: Row, all_lanes: list[Row]) -> Row:
    """The lanes of a test."""
    is_pair = row["test"] != "FFT"
    return {"lanes": [lane for lane in all_lanes if is_pair or lane["name"] not in _PAIRS]}


def _fits(row: Row, glob: str) -> bool:
    return fnmatchcase(row["id"], glob) or fnmatchcase(row["test"], glob)


def _one_size_each(rows: list[Row]) -> list[Row]:
    """For each test the size that the corpus marks as quick, else its first."""
    by_test: dict[str, Row] = {}
    for row in rows:
        if row["test"] not in by_test or row["quick"]:
            by_test[row["test"]] = row
    return list(by_test.values())


def apps(options: exchange.Options, globs: list[str], methods: list[str], quick: bool) -> None:
    """Measures, writes the files, prints the tables."""
    rows = choose(tests(options.language), globs, methods, quick)
    if quick:
        options.samples, options.seconds = _QUICK
    measured = exchange.measure("apps", rows, options)
    if options.verify_only:
        names = ", ".join(mpis.TITLE[name] for name in measured.header["mpi"])
        print(f"{len(rows)} tests, the bytes of every method are right on {names}")
        return
    found = Apps(measured.lanes)
    exchange.write(measured, options, summary=apps_summary.summary(found))
    show(found)


def show(found: Apps) -> None:
    """Prints a table for each MPI library, and the geometric means."""
    console = terminal.console(140)
    for mpi in found.mpis:
        console.print(_table(found, mpi))
    console.print(_means(found))


def _table(found: Apps, mpi: str) -> Table:
    methods = [name for name in METHODS if name != "contiguous" and name in found.methods]
    table = Table(
        title=f"{mpis.TITLE[mpi]}: one transfer; methods over contiguous", box=SIMPLE_HEAD
    )
    table.add_column("test")
    for name in ["KiB", "contiguous us", *methods, "native/lacuna"]:
        table.add_column(name, justify="right")
    for name in found.ids(mpi):
        base = found.row(mpi, name, "contiguous")
        cells = [name, f"{base['bytes'] / 1024:.1f}", f"{base['median_s'] * 1e6:.2f}"]
        for method in methods:
            cells.append(_ratio(found.ratio(mpi, name, method, "contiguous")))
        table.add_row(*cells, _ratio(found.ratio(mpi, name, "native", "lacuna")))
    return table


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _means(found: Apps) -> Table:
    table = Table(title="Geometric means (worst)", box=SIMPLE_HEAD)
    table.add_column("")
    for mpi in found.mpis:
        table.add_column(mpis.TITLE[mpi], justify="right")
    for line in apps_summary.summary(found):
        cells = []
        for mpi in found.mpis:
            told = line["mpi"].get(mpi)
            cells.append(
                f"{told['mean']:.2f} ({told['worst']:.2f} {told['worst_id']})" if told else ""
            )
        table.add_row(line["what"], *cells)
    return table
