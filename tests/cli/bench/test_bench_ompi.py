# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench papers ompi-fig5 ompi-fig6`: programs that are compiled when they are run."""

import json
import sys
from pathlib import Path

import pytest
from conftest import MPI_ROOT, launch_words, one_line_error, preload, run_quietly

from lacuna.base import paths
from lacuna.launch import mpis
from lacuna.messages import ompi_programs

FIG6 = ("bench", "papers", "ompi-fig6", "--quick")


@pytest.fixture
def tools(script, tmp_path, monkeypatch):
    """What is called clang-19 and lacuna-cc; the latter compiles as MPICH's wrapper does."""

    def make(*names):
        compiler = paths.without_blanks(MPI_ROOT / "mpich" / "bin") / "mpicc"
        texts = {
            "clang-19": '#!/bin/sh\nexec cc "$@"\n',
            "lacuna-cc": f'#!/bin/sh\nshift 2\nexec {compiler} "$@"\n',
        }
        for name in names:
            script(f"tools/{name}", texts[name])
        return str(tmp_path / "tools")

    return make


@pytest.mark.parametrize(
    "mpi",
    ["mpich", *(pytest.param(name, marks=pytest.mark.depth) for name in ("openmpi", "intelmpi"))],
)
def test_the_cores_by_cache_beside_those_of_1996(lacuna, tmp_path, mpi):
    result = lacuna(*FIG6, "--mpi", mpi, "--json", "cores.json")
    assert result.returncode == 0, result.stderr
    assert "1996" in result.stdout
    rows = json.loads((tmp_path / "cores.json").read_text())["rows"]
    for lane in ("generic", "cache"):
        assert {row["id"] for row in rows if row["method"] == lane} == {"MM", "LU", "CG"}
    assert all(row["mpi_s"] > 0 and row["median_s"] > 0 for row in rows)
    assert lacuna("report", "cores.json", "--output", "page").returncode == 0


@pytest.mark.parametrize(
    ("mpi", "below", "derived"),
    [
        ("mpich", None, 0),
        ("openmpi", None, 0),
        ("intelmpi", None, 0),
        ("mpich", "mpich", 10),  # the packed messages that lacuna makes
    ],
)
def test_the_cache_changes_no_message(tmp_path, mpi, below, derived):
    target = mpis.installed(mpi, MPI_ROOT)
    libraries = [preload(below)] if below else []
    libraries.append(paths.without_blanks(ompi_programs.compile_cache(target, tmp_path)))
    binary = tmp_path / "kept_requests"
    source = Path(__file__).with_name("kept_requests.c")
    ompi_programs.compile_program(
        [
            *(*ompi_programs.plain_compiler(target), str(source), "-o", str(binary)),
            *ompi_programs.linked_library(target),
        ]
    )
    launcher, environment = launch_words(mpi, paths.family_of(mpi))
    loaded = "LD_PRELOAD=" + ":".join(map(str, libraries))
    options = {"LACUNA_ALWAYS": "1", "LACUNA_DIRECT": "0"}
    words = [*launcher, "-n", "2", "env", loaded, str(binary)]
    result = run_quietly(words, environment | options, tmp_path)
    assert result.returncode == 0, (result.stdout, result.stderr)
    # The arguments are noted at the first call, and get a request at the second.
    assert f"plain: 10 calls, 2 requests; derived: {derived} calls" in result.stdout


def test_what_the_optimizer_compiles_is_a_lane(lacuna, tmp_path):
    if isinstance(reason := ompi_programs.specializer("mpich"), str):
        pytest.skip(reason)
    result = lacuna(*FIG6, "--mpi", "mpich", "--json", "cores.json")
    assert result.returncode == 0, result.stderr
    assert "skipped" not in result.stderr
    rows = json.loads((tmp_path / "cores.json").read_text())["rows"]
    assert {row["id"] for row in rows if row["method"] == "specialised"} == {"MM", "LU", "CG"}


def test_where_there_is_no_optimizer_the_reason_is_said(tools, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(ompi_programs.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ompi_programs.specializer("mpich") == "no clang-19"
    folder = tools("clang-19")
    monkeypatch.setenv("PATH", folder)
    assert ompi_programs.specializer("mpich") == "no lacuna-cc"
    tools("lacuna-cc")
    assert ompi_programs.specializer("mpich") == [f"{folder}/lacuna-cc", "--mpi", "mpich"]


def test_a_library_that_programs_are_not_compiled_for(lacuna):
    one_line_error(lacuna(*FIG6, "--mpi", "mpiabi"), 2, "not compiled for", "openmpi")
