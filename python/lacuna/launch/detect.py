# SPDX-License-Identifier: BSD-3-Clause
"""Which family of MPI libraries a program uses: mpich, ompi or mpiabi
(lacuna.base.paths.FAMILY_OF).
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

from lacuna.base import paths
from lacuna.base.errors import Exit, LacunaError
from lacuna.launch import elf

_SONAMES = {
    "mpich": re.compile(r"lib(mpi|mpich|mpichcxx|mpicxx|mpifort|mpichfort|mpichf90)\.so\.12$"),
    "ompi": re.compile(
        r"libmpi(_cxx|_mpifh|_usempi|_usempi_ignore_tkr|_usempif08)?(-\w+)?\.so\.40$"
    ),
    "mpiabi": re.compile(r"libmpi(fort)?_abi\.so\.1$"),
}

# Prints the file of mpi4py's extension module; MPI is loaded but not initialized.
_ASK_MPI4PY = (
    "import mpi4py; mpi4py.rc.initialize = False; mpi4py.rc.finalize = False; "
    "from mpi4py import MPI; print(MPI.__file__)"
)
_ASK_SECONDS = 30


def family_of_soname(soname: str) -> str | None:
    """The family to which a library's soname belongs, or None."""
    for family, pattern in _SONAMES.items():
        if pattern.match(soname):
            return family
    return None


def find_program(word: str) -> Path | None:
    """The file that a word of a command line would start."""
    found = shutil.which(word)
    return Path(found) if found else None


def family_of_file(path: Path) -> tuple[str, str, Path | None] | None:
    """(family, soname, path if found) of the first MPI library that an ELF file needs."""
    for soname, library in elf.needed_libraries(path):
        family = family_of_soname(soname)
        if family:
            return family, soname, library
    return None


def family_linked_to(word: str) -> str | None:
    """The family that the file of a program itself needs; None: none, or it is an interpreter,
    which says little about its scripts.
    """
    path = find_program(word)
    found = family_of_file(path) if path and not is_python(word) else None
    return found[0] if found else None


def misnamed(family: str, word: str) -> tuple[str, str] | None:
    """The MPI library that a program is linked to, and a remedy, if `family`, that of --mpi, is
    another one's.
    """
    linked = family_linked_to(word)
    if linked is None or linked == family:
        return None
    names = paths.NAMES_OF[linked]
    return names, f"leave out --mpi, or give --mpi {names.partition(',')[0]}"


def unreached(path: Path) -> str | None:
    """A sentence why a preload does not reach the calls of a program; None if it does, or need not,
    or if that is unknown.
    """
    if contains_lacuna(path):
        return None
    if contains_mpi(path):
        return "it contains the MPI library statically, so the loader does not see its calls"
    if elf.is_static(path):
        return "it is linked statically, and LD_PRELOAD needs the dynamic loader"
    try:
        status = path.stat()
    except OSError:
        return None
    gains_user = status.st_mode & stat.S_ISUID and status.st_uid != os.getuid()
    gains_group = status.st_mode & stat.S_ISGID and status.st_gid != os.getgid()
    if gains_user or gains_group:
        return "it runs with the rights of another user (setuid), so the loader ignores LD_PRELOAD"
    if os.getuid() and _has_capabilities(path):  # root gains nothing by them
        return "it has file capabilities, so the loader ignores LD_PRELOAD"
    return None


def contains_mpi(path: Path) -> bool:
    """Whether a program contains the MPI library itself (libmpich.a): it calls that by no name that
    the dynamic linker looks for.
    """
    return elf.contains(path, "PMPI_Init") and family_of_file(path) is None


def contains_lacuna(path: Path) -> bool:
    """Whether lacuna is linked into a program (liblacuna-mpich.a)."""
    return elf.contains(path, "lacuna_interposed")


def _has_capabilities(path: Path) -> bool:
    try:
        os.getxattr(path, "security.capability")
    except OSError:
        return False
    return True


def shebang(path: Path) -> list[str] | None:
    """The interpreter's command line if the file is a script."""
    try:
        with path.open("rb") as file:
            first = file.readline(512)
    except OSError:
        return None
    if not first.startswith(b"#!"):
        return None
    words = first[2:].decode(errors="replace").split()
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return words


def is_python(word: str) -> bool:
    """Whether a program is a Python interpreter, by its name."""
    return re.match(r"(python|pypy)[\d.]*$", Path(word).name) is not None


def library_of_python(interpreter: str) -> tuple[str, str, Path | None] | None:
    """As family_of_file(), for the library that mpi4py loads in this interpreter; None without a
    working mpi4py.
    """
    try:
        answer = subprocess.run(
            [interpreter, "-c", _ASK_MPI4PY],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_ASK_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    module = Path(answer.stdout.strip().rpartition("\n")[2])
    if answer.returncode != 0 or not module.is_file():
        return None
    return family_of_file(module)


def family_of_program(words: list[str]) -> str | None:
    """The family of a program with its arguments; None if the files do not show it."""
    found = library_of_program(words)
    return found[0] if found else None


def _why_unseen(word: str) -> str:
    """Why the system finds no such file, unless that is all there is to say."""
    try:
        Path(word).stat()
    except (FileNotFoundError, ValueError):
        return ""
    except OSError as error:
        return f": {error.strerror}"
    return ""


def library_of_program(words: list[str]) -> tuple[str, str, Path | None] | None:
    """As family_of_file(), for a program with its arguments.

    A wrapper (`numactl`, `valgrind`, `env`) is skipped: the first MPI program among its arguments
    counts.
    """
    path = find_program(words[0])
    if path is None and os.path.exists(words[0]):
        raise LacunaError(
            Exit.USAGE,
            f"not a program in the command: {words[0]} is not an executable file",
            "give the program that calls MPI, or make it executable with chmod +x",
        )
    if path is None:
        raise LacunaError(
            Exit.USAGE,
            f"no such program in the command: {words[0]}{_why_unseen(words[0])}",
            "check its path, or name its MPI with --mpi",
        )
    if not os.access(path, os.R_OK):
        raise LacunaError(
            Exit.USAGE,
            f"cannot read the program in the command: {words[0]}: permission denied",
            "name its MPI with --mpi",
        )
    script = shebang(path)
    if script is None and not elf.is_elf(path):
        raise LacunaError(
            Exit.USAGE,
            f"not a program in the command: {words[0]} is neither an ELF file nor a script",
            "give the program that calls MPI, or name its MPI with --mpi",
        )
    if is_python(words[0]):  # before what kind of file it is: it may be a wrapper script
        return library_of_python(words[0])
    if script:
        return library_of_python(script[0]) if is_python(script[0]) else None
    found = family_of_file(path)
    if found:
        return found
    for index, word in enumerate(words[1:], 1):
        candidate = find_program(word) if not word.startswith("-") else None
        if candidate is None:
            continue
        if is_python(word) or family_of_file(candidate):
            return library_of_program(words[index:])
    return None
