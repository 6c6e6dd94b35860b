# SPDX-License-Identifier: BSD-3-Clause
"""A clone in a folder of the project's name, below one with blanks and a letter that is not ASCII:
does it configure, build and run? Nothing is fetched, and little compiled: MPI libraries, Python's
packages and most objects are those of this build."""

import json
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
import venv
from pathlib import Path

import pytest
from conftest import BUILD, MPI_ROOT, ROOT
from pip._vendor.distlib.scripts import ScriptMaker

# What is compiled all the same: headers that are read once, and some files of each kind.
COMPILED = r"\.gch$|lacuna_base_test\.dir/|lacuna_base\.dir/|/direct_limits_test\.cpp|/init\.cpp"
TARGETS = ["lacuna", "lacuna-mpich", "lacuna_base_test", "interpose_test_mpich"]
TARGETS += ["lacuna_bench_transpose_mpich"]
# The first two once failed where the folder has the project's name.
TESTS = r"^interpose\.direct\.(limits|refused)\.mpich\.2$|^base\."
NOT_SOURCES = (".git", "build", ".venv", "__pycache__", "*_cache", ".cache", "*.egg-info")


def linked(source, target):
    """A file that is only read, under another name."""
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


def make_venv(root):
    """As setup.sh would, but with the packages of the environment that runs this."""
    folder = root / ".venv"
    venv.create(folder, with_pip=False, symlinks=True)
    where = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", "venv", where))
    others = {sysconfig.get_path(kind) for kind in ("purelib", "platlib")}
    paths = [str(root / "python"), *sorted(others)]
    # Not in the .pth itself, which Python 3.11 reads as ASCII where LC_ALL is C.
    (packages / "clone_paths.py").write_text(f"import sys\n\nsys.path += {paths!a}\n")
    (packages / "clone.pth").write_text("import clone_paths\n")
    maker = ScriptMaker(None, str(folder / "bin"))  # pip's
    maker.executable = f'"{folder / "bin" / "python"}"'
    maker.variants = {""}
    maker.set_mode = True
    maker.make("lacuna = lacuna.cli.main:main")
    files = "pyproject.toml setup/requirements.txt"
    wanted = subprocess.check_output(["sh", "-c", f"cat {files} | cksum"], cwd=root, text=True)
    (folder / ".lacuna-stamp").write_text(f"{root} {wanted}", encoding="utf-8")


@pytest.fixture(scope="module")
def clone():
    with tempfile.TemporaryDirectory(prefix="clone-", dir=BUILD) as base:
        root = Path(base) / "ein Ort f\u00fcr lacuna" / "lacuna"
        ignored = shutil.ignore_patterns(*NOT_SOURCES, BUILD.name)
        shutil.copytree(ROOT, root, symlinks=True, ignore=ignored)
        mpi = root / "build" / "mpi"
        shutil.copytree(MPI_ROOT.resolve(), mpi, symlinks=True, copy_function=linked)
        make_venv(root)
        yield root


def do(clone, *words, **environment):
    """What a command says, which must succeed; as in a shell that knows nothing of this build."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LACUNA_", "PYTHON", "MAKE")) and name != "MFLAGS"
    }
    kept |= {"LC_ALL": "C", "PIP_NO_INDEX": "1", "XDG_CACHE_HOME": str(clone.parents[1] / "cache")}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=clone,
        env=kept | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=500,
        check=False,
    )
    said = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, said
    return said


def test_a_clone_configures_builds_and_runs(clone):
    said = do(clone, "make", "setup")
    assert "making .venv" not in said
    assert "installing" not in said
    assert "cmake --build" in do(clone, "make", "-n", "test", "demo", "clean")
    launcher = clone / "tests" / "cli" / "tree" / "reused_object.sh"
    options = ["LACUNA_TESTS=ON", "LACUNA_CUDA=OFF", f"CMAKE_CXX_COMPILER_LAUNCHER={launcher}"]
    do(clone, "cmake", "--preset", "release", *(f"-D{option}" for option in options))
    reused = {"LACUNA_REUSED": str(BUILD), "LACUNA_COMPILED": COMPILED}
    do(clone, "cmake", "--build", "--preset", "release", "-j2", "-t", *TARGETS, **reused)
    said = do(clone, "ctest", "--preset", "release", "-R", TESTS)
    passed = re.search(r"100% tests passed, 0 tests failed out of (\d+)", said)
    assert passed, said
    assert int(passed.group(1)) >= 5, said

    lacuna = clone / ".venv" / "bin" / "lacuna"
    assert do(clone, lacuna, "--version").startswith("lacuna ")
    assert "vector" in do(clone, lacuna, "explain", "vector(3, 1, 2, double)")
    program = clone / "build" / "release" / "bin" / "lacuna-bench-transpose-mpich"
    mpi = clone / "build" / "mpi" / "mpich"
    out = clone / "messages.jsonl"
    words = [lacuna, "run", mpi / "bin" / "mpiexec", "-n", 2, program]
    words += ["--out", out, "--n", 16, "--repetitions", 1]
    said = do(clone, *words, LD_LIBRARY_PATH=str(mpi / "lib"))
    first = out.read_text(encoding="utf-8").splitlines()[0]
    assert json.loads(first)["lacuna_loaded"] is True, said
    assert "cannot be preloaded" not in said
