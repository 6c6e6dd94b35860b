# SPDX-License-Identifier: BSD-3-Clause
"""Where lacuna's own files are: libraries, programs, and the MPI libraries that `make` fetched."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from lacuna.base.errors import Exit, LacunaError

LIBRARY_DIR = "LACUNA_LIBRARY_DIR"  # the environment variable with our libraries' folder
_PACKAGE = Path(__file__).resolve().parent.parent
_CHECKOUT = _PACKAGE.parent.parent
IS_CHECKOUT = (_CHECKOUT / "CMakePresets.json").is_file()  # else pip has copied the package
# Our own libraries and programs, in lib and bin: what `make` builds, or what is in a wheel.
_OWN = _CHECKOUT / "build" / "release" if IS_CHECKOUT else _PACKAGE / "prefix"

# The remedy where one of them is missing or broken.
BRING = "build it with `make`" if IS_CHECKOUT else "install lacuna again (see lacuna docs install)"
BRING_LIBRARY = f"{BRING}, or set {LIBRARY_DIR} to the folder that has it"

# The names people give, and the preload library of that family.
FAMILY_OF = {
    "mpich": "mpich",
    "intelmpi": "mpich",
    "mvapich": "mpich",
    "openmpi": "ompi",
    "mpiabi": "mpiabi",
}
# The names of a family in messages.
NAMES_OF = {"mpich": "mpich, intelmpi or mvapich", "ompi": "openmpi", "mpiabi": "mpiabi"}


def family_of(name: str) -> str:
    """The family for a name on the command line."""
    if name not in FAMILY_OF:
        raise LacunaError(
            Exit.USAGE, f"unknown MPI in --mpi: {name}", f"known are {', '.join(FAMILY_OF)}"
        )
    return FAMILY_OF[name]


def cache() -> Path | None:
    """The folder for files that can be made again; None: neither XDG_CACHE_HOME nor HOME is set.
    (compiler/kept.py, which must start fast, has its own copy of this rule.)
    """
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    home = os.environ.get("HOME", "")
    if chosen.startswith("/"):
        return Path(chosen) / "lacuna"
    return Path(home) / ".cache" / "lacuna" if home else None


def library_dirs() -> list[Path]:
    """The folders in which lacuna's libraries are searched: LACUNA_LIBRARY_DIR alone if it is set,
    else the build or wheel, and the prefix of this Python environment (docs/user/install.md).
    """
    chosen = os.environ.get(LIBRARY_DIR)
    if chosen:
        return [Path(chosen).absolute()]
    return [_OWN / "lib", Path(sys.prefix) / "lib"]


def library(name: str) -> Path:
    """The path of one of lacuna's own shared libraries."""
    dirs = library_dirs()
    for folder in dirs:
        if (folder / name).is_file():
            return folder / name
    raise LacunaError(
        Exit.ENVIRONMENT,
        f"no {name} in {' or '.join(map(str, dirs))}",
        BRING_LIBRARY,
    )


def preload_library(family: str) -> Path:
    """The library to preload into programs of a family of MPI libraries."""
    return without_blanks(library(f"liblacuna-{family}.so"))


def without_blanks(path: Path) -> Path:
    """The same file under a path without blanks and colons, which separate names in LD_PRELOAD and
    words for the MPI's compilers.

    Makes a symbolic link to its folder where needed. The link stays, since programs that were
    linked by it keep the path.
    """
    if _is_plain(path):
        return path
    import hashlib
    import tempfile

    name = hashlib.sha256(os.fsencode(path.parent)).hexdigest()[:16]
    of_user = Path(tempfile.gettempdir()) / f"lacuna-{os.getuid()}"
    for place in (cache(), of_user):
        if place is None or not _is_plain(place):
            continue
        link = place / "links" / name
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            if place is of_user and not _is_ours_alone(place):
                continue
            link.parent.mkdir(exist_ok=True)
            if not link.is_symlink() or os.readlink(link) != str(path.parent):
                made = link.with_name(f"{name}.{os.getpid()}")
                made.symlink_to(path.parent)
                made.replace(link)
        except OSError:
            continue
        return link / path.name
    raise LacunaError(
        Exit.ENVIRONMENT,
        f"blank or colon in a path that LD_PRELOAD or an MPI compiler is to hold: {path}",
        f"copy the libraries elsewhere and set {LIBRARY_DIR}",
    )


def _is_plain(path: Path) -> bool:
    return not any(letter in str(path) for letter in " :")


def _is_ours_alone(folder: Path) -> bool:
    """Whether nobody else can put a library into the folder."""
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def program(name: str) -> Path:
    """The path of one of lacuna's own programs, which are in bin beside the libraries' lib."""
    dirs = _program_dirs()
    for folder in dirs:
        if (folder / name).is_file():
            return folder / name
    raise LacunaError(Exit.ENVIRONMENT, f"no {name} in {' or '.join(map(str, dirs))}", BRING)


def has_program(name: str) -> bool:
    """Whether that program was built."""
    return any((folder / name).is_file() for folder in _program_dirs())


def _program_dirs() -> list[Path]:
    return [folder.parent / "bin" for folder in library_dirs()]


def default_mpi_root() -> Path:
    """The folder with the MPI libraries that `make` fetched, one prefix for each; for an installed
    package, the prefix into which pip puts MPI libraries.
    """
    return _CHECKOUT / "build" / "mpi" if IS_CHECKOUT else _PACKAGE.parents[3]


def checkout() -> Path:
    """The root of the source tree."""
    return _CHECKOUT


def _shipped(*parts: str) -> Path:
    """A folder of data: in the source tree, or installed beside the libraries."""
    folders = [_CHECKOUT, *(folder.parent / "share" / "lacuna" for folder in library_dirs())]
    found = [folder.joinpath(*parts) for folder in folders]
    return next((folder for folder in found if folder.is_dir()), found[0])


def user_pages() -> Path:
    """The documents for users."""
    return _shipped("docs", "user")


def compiled_tables() -> Path:
    """The folder with the shipped tables of `lacuna tune --compiled`."""
    return _shipped("optimizer", "tables")


def corpus() -> Path:
    """The folder with the datatypes that benchmarks pack."""
    return _shipped("bench", "corpus")


def hosts_script() -> Path:
    """The script that makes network namespaces, which serve as hosts."""
    return _shipped("bench", "hosts") / "hosts.sh"


def bench_sources(name: str) -> Path:
    """The folder with the C programs of a benchmark that compiles them itself."""
    return _shipped("bench", name)
