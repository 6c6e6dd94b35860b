# SPDX-License-Identifier: BSD-3-Clause
"""Ranks killed while large messages go through shared memory: the job ends, and nothing is left."""

import contextlib
import os
import random
import signal
import subprocess
import time
import uuid
from pathlib import Path

import pytest
from conftest import BUILD, COMMAND, MPI_ROOT

LONG = 60  # seconds, for what takes a few when nothing else runs
MARK = "LACUNA_TEST_MARK"
LAUNCHERS = {
    "mpich": (MPI_ROOT / "mpich/bin/mpiexec", [], "mpich"),
    "openmpi": (
        MPI_ROOT / "openmpi/bin/mpiexec",
        ["--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"],
        "ompi",
    ),
    "intelmpi": (MPI_ROOT / "intelmpi/bin/mpiexec", [], "mpich"),
}


def until(what, holds, seconds=LONG):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"{what} not within {seconds} s"
        time.sleep(0.02)


def read(path):
    """A file of /proc, or nothing where the process has just gone."""
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


class Job:
    """An MPI job whose processes are known by a mark in their environment."""

    def __init__(self, mpi, ranks, topic, folder, wrapper=()):
        launcher, own, family = LAUNCHERS[mpi]
        self.mark = uuid.uuid4().hex
        self.ranks = ranks
        self.program = BUILD / "bin" / f"interpose_soak_{family}"
        self.output = folder / "output"
        words = [launcher, *own, "-n", ranks, *wrapper, self.program, topic]
        name = "openmpi" if family == "ompi" else "mpich"
        library_path = str(launcher.parents[1] / "lib")
        environment = {MARK: self.mark, "LACUNA_ALWAYS": "1", "LACUNA_DIRECT": "1"}
        # A killed launcher of Open MPI 5 leaves a folder by its process's number, and the next one
        # of that number does not start ("The PMIx server's listener thread failed to start").
        environment["TMPDIR"] = str(folder)
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [str(COMMAND), "run", "--mpi", name, *map(str, words)],
                env=os.environ
                | environment
                | {"LD_LIBRARY_PATH": library_path, "I_MPI_PIN": "off"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def processes(self):
        """All of them that live, the launcher's, too."""
        mark = f"{MARK}={self.mark}".encode()
        names = [entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit()]
        return [int(name) for name in names if mark in read(f"/proc/{name}/environ").split(b"\0")]

    def rank_processes(self):
        found = []
        for pid in self.processes():
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/exe").resolve() == self.program.resolve():
                    found.append(pid)
        return found

    def words(self):
        return self.output.read_text(encoding="utf-8", errors="replace")

    def wait_until_under_way(self):
        def under_way():
            assert self.process.poll() is None, self.words()
            return self.words().count("goes on, process") == self.ranks

        until("messages", under_way)

    def shared(self):
        """What the ranks have mapped of shared memory."""
        paths = set()
        for pid in self.rank_processes():
            for line in read(f"/proc/{pid}/maps").decode(errors="replace").splitlines():
                words = line.split(maxsplit=5)
                if len(words) == 6 and words[5].startswith(("/dev/shm/", "/memfd:")):
                    paths.add(words[5])
        return paths

    def end(self):
        """Whatever is still there goes."""
        for pid in self.processes():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(LONG)


@pytest.fixture
def start(tmp_path):
    jobs = []

    def make(*arguments, **options):
        jobs.append(Job(*arguments, tmp_path, **options))
        return jobs[-1]

    yield make
    for job in jobs:
        job.end()


def named(shared):
    """Of what was mapped, what has a name that is still there."""
    return [path for path in shared if Path(path).exists()]


@pytest.mark.parametrize("victims", ["one", "all"])
@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_killed_at_random(start, mpi, victims):
    job = start(mpi, 3, "killed_endless")
    job.wait_until_under_way()
    ranks = job.rank_processes()
    assert len(ranks) == 3
    shared = job.shared()
    arenas = [path for path in shared if "lacuna" in path]
    assert arenas == ["/memfd:lacuna-arena (deleted)"]  # of memory that has no name
    time.sleep(random.uniform(0, 0.3))
    for pid in ranks if victims == "all" else [random.choice(ranks)]:
        os.kill(pid, signal.SIGKILL)
    assert job.process.wait(LONG) != 0
    until("the end of all processes", lambda: not job.processes())
    left = named(shared)  # the library's own may be: a killed rank cannot remove it
    for path in left:
        assert "lacuna" not in path
        with contextlib.suppress(OSError):
            Path(path).unlink()


@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_killed_in_the_middle_of_a_message(start, mpi):
    job = start(mpi, 2, "killed_in_the_middle")
    assert job.process.wait(LONG) != 0
    until("the end of all processes", lambda: not job.processes())
    assert "another answer" not in job.words()


@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_the_receiver_of_half_a_message_has_an_error(start, mpi):
    # Where the launcher does not notice, and nobody asks the system how the sender has ended.
    shell = ["sh", "-c", 'trap "" USR1; "$0" "$@" & exec sleep 120']
    job = start(mpi, 2, "killed_in_the_middle", wrapper=shell)
    until("the error", lambda: "rank 1: has" in job.words())
    assert "rank 1: has the error" in job.words()
