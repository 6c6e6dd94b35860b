# SPDX-License-Identifier: BSD-3-Clause
"""Reads this machine and the files of a program, for the checks."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lacuna.base import paths
from lacuna.base.errors import LacunaError
from lacuna.engine.device import driver
from lacuna.launch import detect, elf, launchers
from lacuna.launch.check.machine import Table

_TABLE_FORMAT = 3
_CONTAINERS = ("docker", "podman", "kubepods", "lxc", "containerd", "garden")
_MPI_FUNCTION = "MPI_Init"
# The MPI library itself and its parts; not, for example, mpiP's libmpiP.so.
_PART_OF_MPI = re.compile(r"libp?mpi(ch|cxx|_|fort|abi|\d*\.so|-)")
_OURS = re.compile(r"liblacuna")
_OPENS_MPI = ("julia",)  # programs that are known to open the MPI library themselves
_MOST_BYTES = 256 << 20  # of a file that is searched for names


@dataclass(frozen=True)
class Program:
    """What the file of a program tells."""

    word: str
    path: Path | None
    wrong: str = ""  # why it cannot be looked at or started
    remedy: str = ""
    unreached: str | None = None  # why a preload has no effect
    family: str | None = None
    soname: str = ""
    library: Path | None = None
    opens_mpi: bool = False
    is_script: bool = False
    is_linked_to_us: bool = False
    contains_mpi: bool = False  # the library itself, linked statically
    tools: tuple[str, ...] = ()  # libraries linked to it that wrap MPI functions


def text(path: str | Path) -> str | None:
    """A file of the system, or None."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def shared_memory() -> tuple[int | None, int]:
    """(bytes, free bytes) of /dev/shm; None if there is none."""
    try:
        found = os.statvfs("/dev/shm")
    except OSError:
        return None, 0
    free = found.f_bavail * found.f_frsize
    # A size of zero is a tmpfs without a limit.
    return (found.f_blocks * found.f_frsize, free) if found.f_blocks else (1 << 40, 1 << 40)


def container(root: Path = Path("/")) -> str | None:
    """What kind of container this is, by the marks that they leave."""
    if (root / ".dockerenv").exists():
        return "Docker"
    if (root / "run/.containerenv").exists():
        return "Podman"
    for name, kind in (("APPTAINER_CONTAINER", "Apptainer"), ("SINGULARITY_NAME", "Singularity")):
        if os.environ.get(name):
            return kind
    groups = text(root / "proc/1/cgroup") or ""
    return next((name for name in _CONTAINERS if name in groups), None)


def processors(root: Path = Path("/sys/fs/cgroup")) -> float | None:
    """How many processors the control group may use; None: no limit."""
    words = (text(root / "cpu.max") or "").split()  # version 2
    if len(words) != 2:
        quota, period = text(root / "cpu/cpu.cfs_quota_us"), text(root / "cpu/cpu.cfs_period_us")
        words = [quota or "", period or ""]
    try:
        limit, period_us = float(words[0]), float(words[1])
    except ValueError:
        return None
    if not math.isfinite(limit) or limit <= 0 or period_us <= 0:
        return None
    return limit / period_us


def table(file: Path) -> Table:
    """A table of `lacuna tune`."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        return Table(str(file), wrong=f"it cannot be read: {error.strerror}")
    except ValueError:
        return Table(str(file), wrong="it is not JSON")
    if not isinstance(data, dict) or "lacuna_table" not in data:
        return Table(str(file), wrong="it is not a table of `lacuna tune`")
    if data["lacuna_table"] != _TABLE_FORMAT:
        return Table(
            str(file),
            wrong=f"its format is {data['lacuna_table']}, and this version reads {_TABLE_FORMAT}",
        )
    return Table(str(file), str(data.get("mpi")), str(data.get("cpu")))


def kept_tables() -> list[Table]:
    """Those in the cache folder."""
    folder = paths.cache()
    return [table(file) for file in sorted(folder.glob("table-*.json"))] if folder else []


def preload_libraries() -> dict[str, Path | None]:
    """The path of each, or None."""
    found: dict[str, Path | None] = {}
    for family in paths.NAMES_OF:
        try:
            found[family] = paths.preload_library(family)
        except LacunaError:
            found[family] = None
    return found


def gpus() -> tuple[driver.Installed | None, Path | None]:
    """CUDA's driver and devices, and the path of liblacuna-cuda.so."""
    try:
        mover = paths.library("liblacuna-cuda.so")
    except LacunaError:
        mover = None
    return driver.installed(), mover


def launchers_in_path() -> list[tuple[str, str, str]]:
    """(word, path, kind) of those that a user would type."""
    found = []
    for word in ("mpirun", "mpiexec", "srun"):
        path = shutil.which(word)
        if path is None:
            continue
        try:
            launcher = launchers.find(word)
            kind = launcher.kind if launcher else "not a launcher"
        except LacunaError as error:
            kind = error.what
        found.append((word, path, kind))
    return found


def has_counters() -> bool:
    """Whether the kernel offers the CPU's counters."""
    devices = Path("/sys/bus/event_source/devices")
    return any((devices / name).exists() for name in ("cpu", "cpu_core", "armv8_pmuv3_0"))


def _has_word(path: Path, *words: bytes) -> bool:
    try:
        if path.stat().st_size > _MOST_BYTES:
            return False
        data = path.read_bytes()
    except OSError:
        return False
    return all(word in data for word in words)


def wraps_mpi(path: Path) -> bool:
    """Whether a library has MPI functions of its own (and is no part of an MPI library)."""
    if _PART_OF_MPI.match(path.name) or _OURS.match(path.name):
        return False
    return _has_word(path, b"MPI_Init\0") and elf.defines(path, _MPI_FUNCTION)


def program(words: list[str]) -> Program:
    """A program with its arguments."""
    word = words[0]
    path = detect.find_program(word)
    try:
        found = detect.library_of_program(words)
    except LacunaError as error:
        return Program(word, path, error.what, error.remedy)
    if path is None:
        return Program(word, path)
    needed = list(elf.needed_libraries(path))
    is_script = detect.shebang(path) is not None
    return Program(
        word,
        path,
        unreached=detect.unreached(path),
        family=found[0] if found else None,
        soname=found[1] if found else "",
        library=found[2] if found else None,
        opens_mpi=not found and (path.name in _OPENS_MPI or _has_word(path, b"libmpi", b"dlopen")),
        is_script=is_script and not found,
        is_linked_to_us=any(_OURS.match(soname) for soname, _ in needed)
        or detect.contains_lacuna(path),
        contains_mpi=detect.contains_mpi(path),
        tools=tuple(soname for soname, library in needed if library and wraps_mpi(library)),
    )


def preloaded_tools(value: str) -> tuple[list[str], list[str]]:
    """Tools that wrap MPI functions in an LD_PRELOAD: those before lacuna, those behind it."""
    before: list[str] = []
    behind: list[str] = []
    side = before
    for part in re.split("[: ]", value):
        if _OURS.match(Path(part).name):
            side = behind
        elif part and wraps_mpi(Path(part)):
            side.append(part)
    return before, behind


def is_set(environment: Mapping[str, str], name: str, default: bool) -> bool:
    """A flag of lacuna's."""
    value = environment.get(name)
    return default if value is None else value.lower() in ("1", "true", "yes", "on")
