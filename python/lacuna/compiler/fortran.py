# SPDX-License-Identifier: BSD-3-Clause
"""What `lacuna-fc` needs besides what the other wrappers do (docs/internals/optimizer.md).

flang cannot read the module files of an MPI's own Fortran compiler. So a module `mpi` is compiled
once from that MPI's mpif.h and cached. At the same time mpif.h is checked for the values that the
pass takes as known.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zlib
from dataclasses import dataclass
from pathlib import Path

from lacuna.base import paths

COMPILERS = ("flang-new-19", "flang-19")
# What mpif.h must say, for each binary interface: the pass (optimizer/templates/values/fortran.cpp)
# takes these values, and the places of the sentinels in the common blocks, as known.
_FACTS = {
    "mpich": "MPI_STATUS_SIZE == 5 .and. MPI_ADDRESS_KIND == 8 .and. MPI_INTEGER == 1275069467"
    " .and. MPI_REAL == 1275069468 .and. MPI_DOUBLE_PRECISION == 1275070495"
    " .and. MPI_DATATYPE_NULL == 201326592 .and. MPI_ORDER_C == 56 .and. MPI_ORDER_FORTRAN == 57"
    " .and. MPI_PROC_NULL == -1 .and. MPI_ANY_SOURCE == -2 .and. MPI_ANY_TAG == -1",
    "ompi": "MPI_STATUS_SIZE == 6 .and. MPI_ADDRESS_KIND == 8 .and. MPI_INTEGER == 7"
    " .and. MPI_REAL == 13 .and. MPI_DOUBLE_PRECISION == 17 .and. MPI_DATATYPE_NULL == 0"
    " .and. MPI_INTEGER_KIND == 4 .and. MPI_ORDER_C == 0 .and. MPI_ORDER_FORTRAN == 1"
    " .and. MPI_PROC_NULL == -2 .and. MPI_ANY_SOURCE == -1 .and. MPI_ANY_TAG == -1",
}
_BLOCKS = {
    "mpich": ("COMMON/MPIPRIV1/MPI_BOTTOM,MPI_IN_PLACE,MPI_STATUS_IGNORE",
              "COMMON/MPIPRIV2/MPI_STATUSES_IGNORE"),
    "ompi": ("COMMON/MPI_FORTRAN_BOTTOM/MPI_BOTTOM", "COMMON/MPI_FORTRAN_IN_PLACE/MPI_IN_PLACE",
             "COMMON/MPI_FORTRAN_STATUS_IGNORE/MPI_STATUS_IGNORE",
             "COMMON/MPI_FORTRAN_STATUSES_IGNORE/MPI_STATUSES_IGNORE"),
}  # fmt: skip
# Options that only gfortran has; leaving them out changes no program.
_OF_GFORTRAN = re.compile(
    r"-f(allow-argument-mismatch|allow-invalid-boz|backtrace|free-line-length-.*|no-range-check"
    r"|no-second-underscore)$|-W(all|extra|no-.*)$|-Q.*$"
)
_F08 = re.compile(r"(?:^|;)\s*use\s*(?:,\s*non_intrinsic\s*)?(?:::)?\s*mpi_f08\b", re.I | re.M)
_SOURCES = (".f90", ".f95", ".f03", ".f08", ".f18", ".f", ".for", ".ftn")


def find_compiler() -> str | None:
    """flang, of the version for which the pass was built."""
    return next((found for name in COMPILERS if (found := shutil.which(name))), None)


def include_folders(words: list[str]) -> list[str]:
    """The folders of -I among the words of an MPI's wrapper."""
    return [word[2:] for word in words if word.startswith("-I") and len(word) > 2]


def for_flang(words: list[str]) -> list[str]:
    """The words of an MPI's wrapper that any compiler understands."""
    return [word for word in words if word.startswith(("-I", "-D", "-m", "-J")) or word == "-fPIC"]


def for_linking(words: list[str]) -> list[str]:
    """The same for linking; flang has no -Xlinker."""
    rest = iter(words)
    return [f"-Wl,{next(rest, '')}" if word == "-Xlinker" else word for word in rest]


def without_gfortran(words: list[str]) -> list[str]:
    """The user's words without options of gfortran that do not change a program."""
    return [word for word in words if not _OF_GFORTRAN.match(word)]


def why_not(words: list[str]) -> str | None:
    """A sentence why flang or the pass cannot compile this command line; None if they can."""
    if any(word.startswith("-fdefault-integer-8") or word == "-i8" for word in words):
        return "INTEGERs of 8 bytes are not this MPI's"
    for word in words:
        path = Path(word)
        if path.suffix.lower() not in _SOURCES or not path.is_file():
            continue
        if _F08.search(path.read_text(errors="replace")):
            return f"{path.name} uses mpi_f08, of which flang has no module"
    return None


@dataclass(frozen=True)
class Header:
    """An MPI's mpif.h, with what it includes."""

    path: Path
    text: str

    @property
    def family(self) -> str | None:
        """The binary interface, which the names of the common blocks show."""
        words = re.sub(r"\s", "", self.text).upper()
        return next(
            (family for family, blocks in _BLOCKS.items() if all(b in words for b in blocks)), None
        )


def find_header(folders: list[str]) -> Header | None:
    """The first mpif.h in the folders."""
    for folder in folders:
        path = Path(folder) / "mpif.h"
        if path.is_file():
            names = re.findall(r"^\s*include\s+'([^']+)'", path.read_text(errors="replace"), re.M)
            parts = [path, *(path.parent / name for name in names)]
            text = "\n".join(p.read_text(errors="replace") for p in parts if p.is_file())
            return Header(path, text)
    return None


# The constants, and MPI_SIZEOF, which must be generic and which not every mpif.h has. Interfaces of
# other functions would gain nothing: flang 19 copies a constant list for `intent(in)`, too.
_MODULE = "module mpi\n  implicit none\n  include 'mpif.h'\n{generic}end module\n"
_SIZES = {
    "integer": (1, 2, 4, 8, 16),
    "real": (4, 8, 10, 16),
    "complex": (4, 8, 10, 16),
    "logical": (1, 2, 4, 8),
    "character": (1,),  # as in MPICH; 1 is the length
}
_SIZEOF = """  subroutine {name}(x, size, ierror)
    {type}({kind}), intent(in) :: x
    !dir$ ignore_tkr(r) x
    integer, intent(out) :: size, ierror
    size = storage_size(x) / 8
    ierror = MPI_SUCCESS
  end subroutine
"""
_OBJECTS = "libmpi_sizeof.a"


def _module(header: Header) -> str:
    if re.search(r"^\s*interface\s+mpi_sizeof", header.text, re.I | re.M):  # Open MPI's has it
        return _MODULE.format(generic="")
    kinds = [(type_, kind) for type_, all_ in _SIZES.items() for kind in all_]
    names = [f"lacuna_sizeof_{type_}{kind}" for type_, kind in kinds]
    lines = ["  interface mpi_sizeof\n", *(f"    module procedure {name}\n" for name in names)]
    lines += [f"  private :: {name}\n" for name in names]
    lines.insert(1 + len(names), "  end interface\n")
    lines.append("contains\n")
    for name, (type_, kind) in zip(names, kinds, strict=True):
        lines.append(_SIZEOF.format(name=name, type=type_, kind=kind))
    return _MODULE.format(generic="".join(lines))


def _probe(family: str) -> str:
    # If the facts are wrong, the kind is -1, which does not compile.
    facts = _FACTS[family].replace(" .and.", " &\n    .and.")
    return (
        "subroutine probe\n  implicit none\n  include 'mpif.h'\n"
        f"  logical, parameter :: is_known = {facts}\n"
        "  integer(kind=merge(4, -1, is_known)) :: known\n  known = 1\nend subroutine\n"
    )


def ensure_module(flang: str, header: Header, words: list[str]) -> tuple[Path | None, bool]:
    """The folder with the module `mpi` (None if it cannot be made), and whether mpif.h has the
    values that the pass takes as known.

    Made once for each compiler and mpif.h, in the user's cache: three runs of flang, about a
    second.
    """
    family, text = header.family, _module(header)
    key = f"{flang} {os.stat(flang).st_mtime_ns} {header.path} {header.text} {text} {_FACTS}"
    cache = paths.cache() or Path.home() / ".cache" / "lacuna"
    folder = cache / "fortran" / f"{zlib.crc32(key.encode()):08x}"
    stamp = folder / "known"
    if not stamp.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        has_module = _compiles([flang, "-c", "-fPIC", *words], folder, "mpi", text)
        probing = [flang, "-fsyntax-only", *words]
        is_known = family is not None and _compiles(probing, folder, "probe", _probe(family))
        if has_module and "contains" in text:
            made = [str(folder / name) for name in (_OBJECTS, "mpi.o")]
            subprocess.run(["ar", "rcs", *made], capture_output=True, check=False)
        part = stamp.with_suffix(f".{os.getpid()}")
        part.write_text(f"{int(has_module)} {int(is_known)}")
        part.replace(stamp)
    has_module, is_known = (word == "1" for word in stamp.read_text().split())
    return folder if has_module else None, is_known


def objects(folder: Path) -> list[str]:
    """The archive with the procedures of that module, which programs are linked to."""
    return [str(folder / _OBJECTS)] if (folder / _OBJECTS).is_file() else []


def _compiles(words: list[str], folder: Path, name: str, text: str) -> bool:
    source = folder / f"{name}.{os.getpid()}.f90"
    source.write_text(text)
    made = folder / f"part.{os.getpid()}"
    made.mkdir(exist_ok=True)
    command = [*words, "-module-dir", str(made), str(source)]
    if "-c" in words:
        command += ["-o", str(made / f"{name}.o")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    for module in made.iterdir():
        module.replace(folder / module.name)
    made.rmdir()
    source.unlink()
    return done.returncode == 0
