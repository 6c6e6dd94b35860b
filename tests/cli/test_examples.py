# SPDX-License-Identifier: BSD-3-Clause
"""The MPI programs in examples/: compiled and run as their pages say, alone and under lacuna."""

import shutil

import pytest
from conftest import COMMAND, MPI_ROOT, ROOT, run_quietly
from jobs import LAUNCHERS

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


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
@pytest.mark.parametrize("language", COMPILED)
def test_halo(language, mpi, tmp_path):
    wrapper, options = COMPILED[language]
    launcher, own, _ = LAUNCHERS[mpi]
    source = ROOT / "examples/halo" / f"halo.{language}"
    compiler = [launcher.parent / wrapper, *options, "-Wall", "-Werror", source, "-o", "halo"]
    made = run_quietly([*map(str, compiler)], {}, tmp_path)
    assert made.returncode == 0, made.stderr
    job = [launcher, *own, "-n", 4, tmp_path / "halo"]
    for printed in outputs(job, str(MPI_ROOT / mpi / "lib"), tmp_path):
        assert "4 ranks, 0 wrong cells" in printed


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_halo_in_fortran(mpi, tmp_path):
    compiler, launcher = (shutil.which(f"{name}.{mpi}") for name in ("mpif90", "mpiexec"))
    if compiler is None or launcher is None:
        pytest.skip(f"no Fortran of Debian's {mpi} (setup/setup.sh test)")
    source = ROOT / "examples/halo/halo.f90"
    made = run_quietly([compiler, "-Wall", "-Werror", str(source), "-o", "halo"], {}, tmp_path)
    assert made.returncode == 0, made.stderr
    own = ["--oversubscribe", "--bind-to", "none"] if mpi == "openmpi" else []
    for printed in outputs([launcher, *own, "-n", 4, tmp_path / "halo"], "", tmp_path):
        assert "4 ranks, 0 wrong cells" in printed
