# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench apps --language fortran`: the bytes, on the MPI libraries that have Fortran."""

import json
import os
import subprocess

import pytest
from conftest import BUILD, MPI_ROOT, one_line_error

from lacuna.bench.apps import command as bench_apps
from lacuna.launch import mpis

FORTRAN_TESTS = {
    *("WRF_x_vec", "WRF_y_vec", "WRF_x_sa", "WRF_y_sa", "NAS_MG_x", "NAS_MG_y", "NAS_MG_z"),
    *("NAS_LU_x", "NAS_LU_y", "SPECFEM3D_mt", "SPECFEM3D_oc", "SPECFEM3D_cm"),
}
SAID = "the bytes of every method are right on"


def fortran(lacuna, *words, **environment):
    return lacuna("bench", "apps", "--language", "fortran", *words, **environment)


def test_they_are_the_rows_of_the_applications_in_fortran():
    rows = bench_apps.tests("fortran")
    assert {row["test"] for row in rows} == FORTRAN_TESTS
    assert rows == [row for row in bench_apps.tests() if row["test"] in FORTRAN_TESTS]


# One size of each: below.
@pytest.mark.depth
@pytest.mark.parametrize("mpi", ["debian-mpich", "debian-openmpi"])
def test_all_methods_move_the_right_bytes(lacuna, mpi):
    result = fortran(lacuna, "--mpi", mpi, "--verify-only")
    assert result.returncode == 0, result.stderr
    assert f"{len(bench_apps.tests('fortran'))} tests, {SAID} {mpis.TITLE[mpi]}" in result.stdout


def test_one_size_of_each_on_all_mpi_libraries_that_are_there(lacuna):
    result = fortran(lacuna, "--quick", "--verify-only")
    assert result.returncode == 0, result.stderr
    titles = ", ".join(mpis.TITLE[name] for name in mpis.FORTRAN)
    assert f"{len(FORTRAN_TESTS)} tests, {SAID} {titles}" in result.stdout


@pytest.mark.parametrize("mpi", mpis.FORTRAN)
def test_lacuna_takes_the_calls_of_fortran(lacuna, tmp_path, mpi):
    words = ("--mpi", mpi, "--only", "NAS_MG_x-34", "--verify-only")
    report = tmp_path / "job.json"
    result = fortran(lacuna, *words, LACUNA_REPORT=str(report), LACUNA_ALWAYS="1")
    assert result.returncode == 0, result.stderr
    job = json.loads(report.read_text())
    taken = {row["function"]: row["handled"] for row in job["rows"] if row["handled"]}
    assert set(taken) == {"MPI_Send", "MPI_Recv", "MPI_Pack", "MPI_Unpack"}
    assert "double_precision" in " ".join(one["text"] or "" for one in job["types"])


# A bound that is one less in the loops and constructors than in the type text: which one.
WRONG = {
    "NAS_MG_x-34": 0,
    "NAS_MG_y-34": 0,
    "NAS_LU_y-12": 0,
    "WRF_x_vec-8x8": 3,
    "WRF_x_sa-8x8": 3,
}


def run_row(tmp_path, row, mpi):
    """The program itself on one row, without lacuna."""
    (tmp_path / "rows.json").write_text(json.dumps([row]))
    target = mpis.with_fortran([mpi], MPI_ROOT)[0]
    program = str(BUILD / "bin" / mpis.program_in_fortran(mpi))
    words = [program, "--rows", "rows.json", "--out", "lines", "--verify-only", "1"]
    return subprocess.run(
        target.command(2, words),
        cwd=tmp_path,
        env=os.environ | target.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


# Intel MPI takes 0.4 s longer to start.
@pytest.mark.parametrize(
    ("method", "mpi"),
    [("by_hand", "debian-mpich"), ("native", "intelmpi"), ("mpi_pack", "debian-mpich")],
)
@pytest.mark.parametrize("name", WRONG)
def test_wrong_unpacking_is_caught(tmp_path, name, method, mpi):
    [row] = [row for row in bench_apps.tests("fortran") if row["id"] == name]
    lane = {"name": method, "way": bench_apps.METHODS[method][0], "lacuna": False}
    shape = list(row["shape"])
    shape[WRONG[name]] -= 1
    result = run_row(tmp_path, row | {"lanes": [lane], "shape": shape}, mpi)
    assert result.returncode != 0
    assert f"wrong bytes in {name} from {method}" in result.stderr + result.stdout


def test_a_result_says_its_language(lacuna, tmp_path):
    words = ("--mpi", "debian-openmpi", "--only", "NAS_LU_y-12", "--samples", 3, "--seconds", 0.05)
    result = fortran(lacuna, *words, "--json", "one.json")
    assert result.returncode == 0, result.stderr
    found = json.loads((tmp_path / "one.json").read_text())
    assert found["provenance"]["language"] == "fortran"
    assert "GCC" in found["provenance"]["compiler"]
    unasked = set(bench_apps.METHODS) - set(bench_apps.ASKED)
    assert {row["method"] for row in found["rows"]} == unasked
    assert lacuna("report", "one.json", "--output", "page").returncode == 0
    assert "<td>fortran</td>" in (tmp_path / "page" / "report.html").read_text()


def test_errors(lacuna, tmp_path):
    one_line_error(fortran(lacuna, "--only", "FFT"), 2, "no test fits", "WRF_x_vec")
    one_line_error(fortran(lacuna, "--mpi", "mpich"), 2, "MPICH has no Fortran", "debian-mpich")
    one_line_error(fortran(lacuna, "--mpi", "lam"), 2, "unknown MPI", "debian-openmpi")
    one_line_error(lacuna("bench", "apps", "--mpi", "debian-mpich"), 2, "unknown MPI", "mpich")
    one_line_error(lacuna("bench", "apps", "--language", "ada"), 2, "unknown language", "fortran")
    nowhere = {"LACUNA_LIBRARY_DIR": str(tmp_path)}
    for words in ((), ("--mpi", "debian-mpich")):
        one_line_error(fortran(lacuna, *words, **nowhere), 3, "no program in Fortran", "gfortran")
