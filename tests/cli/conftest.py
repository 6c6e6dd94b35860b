# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the command share: how to call it, and where the built things are."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lacuna.base import paths

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("LACUNA_BUILD_DIR", ROOT / "build" / "release")).resolve()
MPI_ROOT = ROOT / "build" / "mpi"
COMMAND = Path(sys.executable).parent / "lacuna"
# The names that LACUNA_CPU knows.
_CPUS = (ROOT / "engine" / "machine" / "cpus.cpp").read_text(encoding="utf-8")
CPU_ROWS = re.findall(r'^    \{"([a-z0-9-]+)", ', _CPUS, re.MULTILINE)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch):
    """No option of whoever runs the tests reaches them; the libraries are those just built."""
    for name in list(os.environ):
        if name.startswith("LACUNA_") or name in ("LD_PRELOAD", "LD_LIBRARY_PATH"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("LACUNA_LIBRARY_DIR", str(BUILD / "lib"))
    for name in ("LACUNA_PROFILE", "LACUNA_TABLE"):
        monkeypatch.setenv(name, "none")  # not the numbers that somebody measured here
    for tool in ("OMPI", "PRTE"):  # containers and continuous integration are root
        monkeypatch.setenv(f"{tool}_ALLOW_RUN_AS_ROOT", "1")
        monkeypatch.setenv(f"{tool}_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    monkeypatch.setenv("I_MPI_ROOT", str(MPI_ROOT / "intelmpi"))
    monkeypatch.setenv("I_MPI_FABRICS", "shm")


@pytest.fixture
def lacuna(tmp_path):
    """Calls the command in an empty folder, as a script would: no terminal, no input."""

    def call(*words, **environment):
        return run_quietly([str(COMMAND), *map(str, words)], environment, tmp_path)

    return call


@pytest.fixture
def script(tmp_path):
    """Makes an executable script and returns its path."""

    def make(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    return make


def program(family):
    """A program that is linked to the MPI library of a family."""
    return BUILD / "bin" / f"lacuna-bench-transpose-{family}"


def preload(family):
    """The preload library of a family, as LD_PRELOAD can name it."""
    return paths.without_blanks(BUILD / "lib" / f"liblacuna-{family}.so")


def launch_words(mpi, family):
    """The launcher of an MPI library, and what it must be told for more ranks than there are cores;
    and the environment in which its programs find it."""
    root = MPI_ROOT / ("mpich" if mpi == "mpiabi" else mpi)
    words = [str(root / "bin" / "mpiexec")]
    if family == "ompi":
        words += ["--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"]
    return words, {"LD_LIBRARY_PATH": str(root / "lib")}


def run_quietly(words, environment, folder=None):
    """Runs a command to its end, without a terminal or input."""
    return subprocess.run(
        words,
        cwd=folder,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=280,  # only a hang takes so long: usually it is a few seconds
        check=False,
    )


def one_line_error(result, code, *parts):
    """The rule for errors: this exit code, nothing on stdout, one line with all the parts."""
    assert result.returncode == code, (result.stdout, result.stderr)
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    for part in ("lacuna", "; ", *parts):
        assert str(part) in lines[0]


@pytest.fixture
def start(tmp_path):
    """Starts jobs (jobs.Job), which end with the test."""
    from jobs import Job  # which needs what is above

    started = []

    def make(*arguments, **options):
        started.append(Job(*arguments, tmp_path, **options))
        return started[-1]

    yield make
    for job in started:
        job.end()
