# SPDX-License-Identifier: BSD-3-Clause
"""The checks of a machine: each takes what it looks at as arguments."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lacuna.engine.device.driver import Installed
from lacuna.launch.check.finding import Finding, fault, ok, warning

# Docker's default, 64 MiB, is too little for MPI libraries with many ranks.
_LEAST_SHARED = 128 << 20
_MIB = 1 << 20
_NO_SUCH_CALL = (errno.ENOSYS, 255)
_TUNE = "measure with `lacuna tune`"


@dataclass(frozen=True)
class Table:
    """A table of `lacuna tune` in the cache folder; `wrong`: why lacuna will not read it."""

    file: str
    mpi: str = ""
    cpu: str = ""
    wrong: str = ""


def cpu(row: str, why: str, complaint: str | None) -> Finding:
    """By which row of numbers lacuna chooses how to pack."""
    if complaint:
        return warning("CPU", complaint, "unset LACUNA_CPU, or see `lacuna machine` for its rows")
    if row == "generic":
        return warning(
            "CPU",
            f"not one that lacuna knows ({why}): safe defaults",
            "name the most similar row with LACUNA_CPU; `lacuna machine` shows them",
        )
    return ok("CPU", f"{row} ({why})")


def profile(path: str | None, date: str | None, complaint: str | None, wanted: str) -> Finding:
    """The measured numbers of this machine."""
    if complaint:
        return warning(
            "profile", complaint, "measure with `lacuna machine --measure`, or unset LACUNA_PROFILE"
        )
    if path:
        return ok("profile", f"{path}, measured {date or 'at an unknown time'}; it fits this CPU")
    if wanted == "none":
        return ok("profile", "none, as LACUNA_PROFILE=none: what the system reports, and defaults")
    return ok(
        "profile",
        "none: what the system reports, and defaults (`lacuna machine --measure` measures one)",
    )


def tables(wanted: str, named: Table | None, kept: Sequence[Table], this_cpu: str) -> Finding:
    """The tables of `lacuna tune`: the one that LACUNA_TABLE names, and those in the cache."""
    name = "tables"
    if wanted == "none":
        return ok(name, "those shipped, as LACUNA_TABLE=none")
    if named is not None:
        wrong = named.wrong
        if not wrong and named.cpu != this_cpu:
            wrong = f'it was measured on another CPU, "{named.cpu}"; this one is "{this_cpu}"'
        if wrong:
            return warning(
                name, f"{named.file} (LACUNA_TABLE): {wrong}", f"{_TUNE}, or unset LACUNA_TABLE"
            )
        return ok(name, f"{named.file} (LACUNA_TABLE), measured with {named.mpi} on this CPU")
    broken = [table for table in kept if table.wrong]
    if broken:
        return warning(
            name,
            "; ".join(f"{table.file}: {table.wrong}" for table in broken),
            f"{_TUNE} again, or delete the file",
        )
    fits = [table for table in kept if table.cpu == this_cpu]
    if fits:
        return ok(name, f"measured on this CPU: {', '.join(table.mpi for table in fits)}")
    others = f" ({len(kept)} of other CPUs in the cache)" if kept else ""
    return ok(name, f"those shipped{others}: none was measured on this CPU (`lacuna tune` does)")


def preload_libraries(found: Mapping[str, Path | None], remedy: str) -> Finding:
    """The libraries that are preloaded, one for each ABI."""
    name = "preload libraries"
    missing = [family for family, path in found.items() if path is None]
    if missing:
        files = ", ".join(f"liblacuna-{family}.so" for family in missing)
        level = fault if len(missing) == len(found) else warning
        return level(name, f"not found: {files}", remedy)
    folders = sorted({str(path.parent) for path in found.values() if path})
    return ok(name, f"for {', '.join(found)}, in {', '.join(folders)}")


_LEAST_DRIVER = 12000  # CUDA 12.0: for cuCtxGetId


def gpus(found: Installed | None, mover: Path | None) -> Finding:
    """CUDA devices, and whether lacuna can move what is in their memory."""
    name = "GPUs"
    if found is None:
        return ok(name, "no CUDA device here")
    devices = f"{len(found.devices)} ({', '.join(sorted(set(found.devices)))})"
    if mover is None:
        return warning(
            name,
            f"{devices}, and no liblacuna-cuda.so: datatypes in their memory are left to the MPI "
            "library",
            "`make` builds it where CUDA's compiler nvcc is; put it beside the preload libraries",
        )
    version = f"{found.version // 1000}.{found.version % 1000 // 10}"
    if found.version < _LEAST_DRIVER:
        return warning(
            name,
            f"{devices}; the driver is that of CUDA {version}: datatypes in their memory are left "
            "to the MPI library",
            "install the driver of CUDA 12.0 or newer",
        )
    mps = "under NVIDIA's MPS" if found.is_shared else "ranks take turns on a device (no MPS)"
    return ok(name, f"{devices}, CUDA {version}, {mps}")


def options(environment: Mapping[str, str], complaints: Sequence[str] = ()) -> Finding:
    """Options that keep lacuna from its work, and what the library says of others."""
    name = "options"
    given = {key: value for key, value in environment.items() if key.startswith("LACUNA_")}
    on = {key for key, value in given.items() if value.lower() in ("1", "true", "yes", "on")}
    if "LACUNA_DISABLE" in on:
        return fault(name, "LACUNA_DISABLE is set: lacuna does nothing", "unset LACUNA_DISABLE")
    if complaints:
        return warning(name, "; ".join(complaints), "correct or unset them")
    slow = sorted(
        key
        for key in on
        if key.startswith("LACUNA_DISABLE_") or key in ("LACUNA_ALWAYS", "LACUNA_VERIFY")
    )
    if slow:
        return warning(
            name,
            f"{', '.join(slow)} set: for tests and experiments",
            f"unset {' and '.join(slow)} where speed counts",
        )
    return ok(name, ", ".join(f"{key}={given[key]}" for key in sorted(given)) or "none is set")


def huge_pages(setting: str | None) -> Finding:
    """Transparent huge pages, by what the kernel's file `enabled` holds."""
    name = "huge pages"
    if setting is None:
        return warning(
            name,
            "this kernel has no transparent huge pages",
            "none without another kernel; strided packing of large arrays misses the TLB more",
        )
    chosen = setting.partition("[")[2].partition("]")[0]
    if chosen == "never":
        return warning(
            name,
            "transparent huge pages are off: lacuna's buffers have small pages",
            "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        )
    whose = "lacuna's buffers ask for them" if chosen == "madvise" else "all memory may have them"
    return ok(name, f"transparent huge pages: {chosen}; {whose}")


def shared_memory(total: int | None, free: int) -> Finding:
    """/dev/shm, in which MPI libraries keep what ranks of a node share (lacuna uses memfd)."""
    name = "/dev/shm"
    if total is None:
        return fault(
            name,
            "there is none, and MPI libraries need it",
            "mount one: mount -t tmpfs shm /dev/shm",
        )
    said = f"{total // _MIB} MiB, {free // _MIB} MiB of them free"
    larger = "make it larger: mount -o remount,size=1g /dev/shm, or docker run --shm-size=1g"
    if free < _MIB:
        return fault(name, f"{said}: MPI libraries will not start", f"delete files, or {larger}")
    if free < _LEAST_SHARED:
        return warning(name, f"{said}: little for an MPI library with many ranks", larger)
    return ok(name, said)


def memfd(error: int) -> Finding:
    """What the shared-memory path makes its memory with."""
    name = "memfd_create"
    if error:
        return warning(
            name,
            f"{_reason(error)}: the shared-memory path stays off",
            "allow the system call in the container's seccomp profile",
        )
    return ok(name, "works: the shared-memory path can be used")


def peer_reads(error: int, scope: str | None, wanted: bool) -> Finding:
    """Whether ranks can read each other's memory."""
    name = "peer reads"
    if not wanted:
        return warning(name, "off by LACUNA_READ_PEERS=0", "unset LACUNA_READ_PEERS")
    if not error:
        return ok(name, "process_vm_readv is allowed; ranks use it where they find it fast")
    if scope and scope != "0":
        return warning(
            name,
            f"process_vm_readv: {_reason(error)}, as kernel.yama.ptrace_scope is {scope}; long "
            "pieces in collectives are copied twice",
            "as root: sysctl kernel.yama.ptrace_scope=0",
        )
    return warning(
        name,
        f"process_vm_readv: {_reason(error)}; long pieces in collectives are copied twice",
        "allow it in the container: docker run --cap-add=SYS_PTRACE, or a seccomp profile",
    )


def container(kind: str | None, cpus: int, quota: float | None) -> Finding:
    """A container, and its limit on processors: ranks that wait are throttled with those that
    work."""
    name = "container"
    if quota is not None and quota < cpus:
        return warning(
            name,
            f"{kind or 'a control group'} may use {quota:g} processors, and sees {cpus}: ranks "
            "are stopped for parts of the time",
            "start at most so many ranks, or raise the limit (docker run --cpus)",
        )
    if kind:
        return ok(name, f"{kind}; lacuna and the variables must be inside it")
    return ok(name, "none is seen")


def counters(has_unit: bool, paranoid: str | None) -> Finding:
    """Hardware counters, which only `lacuna costs misses` reads."""
    name = "hardware counters"
    if not has_unit:
        return ok(name, "not supported here; only `lacuna costs misses` uses them")
    if paranoid and paranoid.lstrip("-").isdigit() and int(paranoid) > 2:
        return ok(
            name,
            f"forbidden (kernel.perf_event_paranoid is {paranoid}); only `lacuna costs misses` "
            "uses them",
        )
    return ok(name, "there")


def launchers(found: Sequence[tuple[str, str, str]]) -> Finding:
    """(word, path, kind) of the launchers in PATH."""
    said = "; ".join(f"{word}: {path} ({kind})" for word, path, kind in found)
    return ok("launchers in PATH", said or "none: give the launcher's full path")


def _reason(error: int) -> str:
    return "there is no such system call" if error in _NO_SUCH_CALL else os.strerror(error)
