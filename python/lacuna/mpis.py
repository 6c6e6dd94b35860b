# SPDX-License-Identifier: BSD-3-Clause
"""The MPI libraries that `make` fetched: how to start two ranks of a program of ours on each."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from lacuna.errors import Exit, LacunaError

ALL = ["mpich", "openmpi", "intelmpi"]  # what `--mpi all` means
_FOLDER = {"mpich": "mpich", "mpiabi": "mpich", "openmpi": "openmpi", "intelmpi": "intelmpi"}
TITLE = {
    "mpich": "MPICH",
    "mpiabi": "MPICH, standard ABI",
    "openmpi": "Open MPI",
    "intelmpi": "Intel MPI",
}


@dataclass(frozen=True)
class Installed:
    """One MPI library on this machine."""

    name: str
    prefix: Path
    hosts: tuple[str, ...] = ()  # one rank on each in turn; none: all on this machine
    agent: str | None = None  # instead of ssh

    def command(self, ranks: int, program: list[str]) -> list[str]:
        """The launcher's command line."""
        options: list[str] = []
        if self.name == "openmpi" and len(os.sched_getaffinity(0)) < ranks:
            options = ["--map-by", ":OVERSUBSCRIBE"]
        if self.hosts:
            options = self._host_options()
        return [str(self.prefix / "bin" / "mpiexec"), *options, "-n", str(ranks), *program]

    def _host_options(self) -> list[str]:
        if self.name == "openmpi":
            options = ["--host", ",".join(self.hosts), "--map-by", "node", "-x", "LD_LIBRARY_PATH"]
            return options + (["--prtemca", "plm_ssh_agent", self.agent] if self.agent else [])
        options = ["-hosts", ",".join(self.hosts), "-ppn", "1"]
        return options + (["-launcher", "ssh", "-launcher-exec", self.agent] if self.agent else [])

    def environment(self) -> dict[str, str]:
        """What the launcher and the ranks need to find this library and no other."""
        before = os.environ.get("LD_LIBRARY_PATH")
        own = str(self.prefix / "lib")
        found = {"LD_LIBRARY_PATH": f"{own}:{before}" if before else own}
        if self.name == "openmpi":
            # Root is usual in containers; both spellings, for Open MPI 4 and 5.
            for tool in ("OMPI", "PRTE"):
                found[f"{tool}_ALLOW_RUN_AS_ROOT"] = "1"
                found[f"{tool}_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
        if self.name == "intelmpi":
            found["I_MPI_ROOT"] = str(self.prefix)
            found["I_MPI_FABRICS"] = "shm:ofi" if self.hosts else "shm"
        return found


def spelled_out(given: list[str]) -> list[str]:
    """Each name once, with `all` spelled out."""
    names: list[str] = []
    for name in given:
        names += ALL if name == "all" else [name]
    return list(dict.fromkeys(names))


def installed(
    name: str, root: Path, hosts: tuple[str, ...] = (), agent: str | None = None
) -> Installed:
    """The library of that name below `root`."""
    if name not in _FOLDER:
        raise LacunaError(
            Exit.USAGE, f"unknown MPI in --mpi: {name}", f"known are {', '.join(_FOLDER)} and all"
        )
    prefix = root / _FOLDER[name]
    if not (prefix / "bin" / "mpiexec").is_file():
        raise LacunaError(
            Exit.ENVIRONMENT,
            f"no MPI library {name} in {prefix}",
            "fetch it with `make`, or name the folder that holds it with --mpi-root",
        )
    return Installed(name, prefix, hosts, agent)


def chosen(names: list[str], root: Path) -> list[Installed]:
    """Those named; where none is, all that are there."""
    if names:
        return [installed(name, root) for name in names]
    found = []
    for name in ALL:
        try:
            found.append(installed(name, root))
        except LacunaError:
            continue
    if not found:
        raise LacunaError(
            Exit.ENVIRONMENT,
            f"no MPI library in {root}",
            "fetch them with `make`, or name the folder that holds them with --mpi-root",
        )
    return found
