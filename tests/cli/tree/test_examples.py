# SPDX-License-Identifier: BSD-3-Clause
"""The MPI programs in examples/: compiled and run as their pages say, alone and under lacuna."""

import shutil

import pytest
from conftest import COMMAND, MPI_ROOT, ROOT, run_quietly
from jobs import LAUNCHERS

PROGRAMS = {
    "halo": "4 ranks, 0 wrong cells",
    "transpose": "4 ranks, 0 wrong cells",
    "particles": "4 ranks, 0 wrong particles",
    "fields": "4 ranks, 0 wrong cells",
}
COMPILED = {
    "c": ("mpicc", []),
    "cpp": ("mpicxx", ["-std=c++17"]),
}


def outputs(words, library_path, folder):
    """What it prints alone, and under lacuna."""
    environment = {"LD_LIBRARY_PATH": library_path, "LACUNA_ALWAYS": "1", "LACUNA_LOG": "1"}
    for before in ([], [COMMAND, "run"]):
        result = run_quietly([*map(str, before), *map(str, words)], environment, folder)
        assert result.returncode == 0, (words, result.stdout, result.stderr)
        assert ("lacuna[" in result.stderr) == bool(before), result.stderr
        yield result.stdout


@pytest.mark.parametrize(
    ("language", "mpi"),
    [("c", "mpich"), ("c", "openmpi"), ("c", "intelmpi"), ("cpp", "mpich"), ("cpp", "openmpi")],
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, language, mpi, tmp_path):
    wrapper, options = COMPILED[language]
    launcher, own, _ = LAUNCHERS[mpi]
    # Intel MPI has MPICH's ABI, and its packages no compiler wrapper that runs as it is.
    wrapper = MPI_ROOT / ("mpich" if mpi == "intelmpi" else mpi) / "bin" / wrapper
    source = ROOT / "examples" / name / f"{name}.{language}"
    compiler = [wrapper, *options, "-Wall", "-Wextra", "-Werror", source, "-o", name]
    made = run_quietly([*map(str, compiler)], {}, tmp_path)
    assert made.returncode == 0, made.stderr
    job = [launcher, *own, "-n", 4, tmp_path / name]
    for printed in outputs(job, str(MPI_ROOT / mpi / "lib"), tmp_path):
        assert PROGRAMS[name] in printed


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_in_fortran(name, mpi, tmp_path):
    compiler, launcher = (shutil.which(f"{one}.{mpi}") for one in ("mpif90", "mpiexec"))
    if compiler is None or launcher is None:
        pytest.skip(f"no Fortran of Debian's {mpi} (setup/setup.sh test)")
    source = ROOT / "examples" / name / f"{name}.f90"
    made = run_quietly([compiler, "-Wall", "-Werror", str(source), "-o", name], {}, tmp_path)
    assert made.returncode == 0, made.stderr
    own = ["--oversubscribe", "--bind-to", "none"] if mpi == "openmpi" else []
    for printed in outputs([launcher, *own, "-n", 4, tmp_path / name], "", tmp_path):
        assert PROGRAMS[name] in printed


def test_every_example_is_run():
    """Here, and those in Python by tests/conformance/mpi4py_views.py."""
    folders = {path.parent.name for path in (ROOT / "examples").glob("*/*.py")}
    assert folders == PROGRAMS.keys()
    for name in folders:
        files = {path.suffix for path in (ROOT / "examples" / name).glob(f"{name}.*")}
        assert files == {".c", ".cpp", ".f90", ".py"}
