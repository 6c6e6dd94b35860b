# SPDX-License-Identifier: BSD-3-Clause
"""The shared libraries a program needs, also through others, found as the dynamic linker would."""

from __future__ import annotations

import mmap
import os
import subprocess
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

_MOST_FILES = 500
_DEFAULT_DIRS = ["/lib64", "/usr/lib64", "/lib", "/usr/lib"]


@dataclass(frozen=True)
class Dynamic:
    """The dynamic section of one file: what it needs and where it says to look."""

    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]


def is_elf(path: Path) -> bool:
    """Whether a file begins like an ELF file."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def is_static(path: Path) -> bool:
    """Whether a file is a program without a dynamic linker."""
    try:
        with path.open("rb") as file:
            found = ELFFile(file)
            kinds = {segment.header.p_type for segment in found.iter_segments()}
    except (OSError, ELFError, ValueError, KeyError, AttributeError):
        return False
    return "PT_LOAD" in kinds and "PT_INTERP" not in kinds


def read(path: Path) -> Dynamic | None:
    """The dynamic section, or None where there is none or the file is damaged."""
    needed: list[str] = []
    paths: dict[str, list[str]] = {"DT_RPATH": [], "DT_RUNPATH": []}
    try:
        with path.open("rb") as file:
            for section in ELFFile(file).iter_segments("PT_DYNAMIC"):
                for tag in section.iter_tags():
                    if tag.entry.d_tag == "DT_NEEDED":
                        needed.append(tag.needed)
                    elif tag.entry.d_tag in paths:
                        value = tag.rpath if tag.entry.d_tag == "DT_RPATH" else tag.runpath
                        origin = str(path.resolve().parent)
                        value = value.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)
                        paths[tag.entry.d_tag] += [part for part in value.split(":") if part]
    except (OSError, ELFError, ValueError, KeyError, AttributeError):
        return None
    return Dynamic(tuple(needed), tuple(paths["DT_RPATH"]), tuple(paths["DT_RUNPATH"]))


@cache
def _system_libraries() -> dict[str, str]:
    """What the dynamic linker's cache holds: soname to path."""
    for tool in ("ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig"):
        try:
            listing = subprocess.run([tool, "-p"], capture_output=True, text=True, check=False)
        except OSError:
            continue
        found: dict[str, str] = {}
        for line in listing.stdout.splitlines():
            name, arrow, path = line.strip().partition(" => ")
            if arrow:
                found.setdefault(name.split(" ")[0], path)
        return found
    return {}


def _resolve(soname: str, dynamic: Dynamic, inherited: tuple[str, ...]) -> Path | None:
    if "/" in soname:
        return Path(soname) if Path(soname).is_file() else None
    before = () if dynamic.runpath else dynamic.rpath + inherited
    environment = [part for part in os.environ.get("LD_LIBRARY_PATH", "").split(":") if part]
    for folder in (*before, *environment, *dynamic.runpath):
        if (Path(folder) / soname).is_file():
            return Path(folder) / soname
    known = _system_libraries().get(soname)
    if known:
        return Path(known)
    for folder in _DEFAULT_DIRS:
        if (Path(folder) / soname).is_file():
            return Path(folder) / soname
    return None


def find(soname: str) -> Path | None:
    """The path of a library in the dynamic linker's default folders and cache; None: it is not
    there.
    """
    return _resolve(soname, Dynamic((), (), ()), ())


def needed_libraries(program: Path) -> Iterator[tuple[str, Path | None]]:
    """(soname, path or None if not found) of all libraries a program needs, nearest first."""
    start = read(program)
    if start is None:
        return
    seen: set[str] = set()
    queue: deque[tuple[Dynamic, tuple[str, ...]]] = deque([(start, ())])
    while queue and len(seen) < _MOST_FILES:
        dynamic, inherited = queue.popleft()
        for soname in dynamic.needed:
            if soname in seen:
                continue
            seen.add(soname)
            path = _resolve(soname, dynamic, inherited)
            yield soname, path
            below = read(path) if path else None
            if below is not None:
                queue.append((below, inherited + dynamic.rpath))


def defines(path: Path, symbol: str) -> bool:
    """Whether a shared library has a function of that name."""
    try:
        with path.open("rb") as file:
            table = ELFFile(file).get_section_by_name(".dynsym")
            if not isinstance(table, SymbolTableSection):
                return False
            found = table.get_symbol_by_name(symbol) or []
            return any(one.entry.st_shndx != "SHN_UNDEF" for one in found)
    except (OSError, ELFError, ValueError, KeyError, AttributeError):
        return False


def contains(program: Path, symbol: str) -> bool:
    """Whether a program has a function of that name in itself, by its symbols, if it has any."""
    try:
        with program.open("rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return False
            # The table may be long: first, whether the name is in the file at all.
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                if data.find(f"\0{symbol}\0".encode()) < 0:
                    return False
            for section in ELFFile(file).iter_sections():
                if not isinstance(section, SymbolTableSection):
                    continue
                for one in section.get_symbol_by_name(symbol) or []:
                    if one.entry.st_shndx != "SHN_UNDEF":
                        return True
    except (OSError, ELFError, ValueError, KeyError, AttributeError):
        pass
    return False
