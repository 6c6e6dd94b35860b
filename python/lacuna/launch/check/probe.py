# SPDX-License-Identifier: BSD-3-Clause
"""Runs in each rank instead of the program, and prints what it sees there as lines of JSON.

    python probe.py FAMILY LIBRARY

It opens the MPI library, so that no compiler is needed, and imports nothing of lacuna's package.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import socket
import sys
from typing import Any

MARK = "lacuna-doctor:"
PASSED_ON = "_LACUNA_DOCTOR"  # set for the launcher only: is it in the ranks, too?
_OPTION = "LACUNA_"
_MOST_CHARACTERS = 400


def say(stage: str, **facts: Any) -> None:
    """One line, in one write: lines of several ranks do not mix."""
    line = json.dumps({"stage": stage, "host": socket.gethostname(), "pid": os.getpid(), **facts})
    os.write(1, f"\n{MARK}{line}\n".encode())


def peer_read_error() -> int:
    """0 if a process may read the memory of another that is neither its parent nor its child (as
    ranks read each other's); else errno."""
    try:
        library = ctypes.CDLL(None, use_errno=True)
        read = library.process_vm_readv
    except (OSError, AttributeError):
        return 38  # ENOSYS
    there = ctypes.create_string_buffer(b"lacuna", 8)  # at the same address after fork
    keep, release = os.pipe()
    owner = os.fork()
    if owner == 0:
        os.close(release)
        os.read(keep, 1)
        os._exit(0)
    reader = os.fork()
    if reader == 0:
        here = ctypes.create_string_buffer(8)
        vector = ctypes.c_void_p * 2
        ours, theirs = vector(ctypes.addressof(here), 8), vector(ctypes.addressof(there), 8)
        got = read(owner, ours, ctypes.c_ulong(1), theirs, ctypes.c_ulong(1), ctypes.c_ulong(0))
        os._exit(0 if got == 8 and here.raw == there.raw else ctypes.get_errno() or 255)
    code = os.waitstatus_to_exitcode(os.waitpid(reader, 0)[1])
    os.close(release)
    os.waitpid(owner, 0)
    os.close(keep)
    return code


def memfd_error() -> int:
    """0 if memory can be shared through a descriptor (memfd_create); else errno."""
    try:
        os.close(os.memfd_create("lacuna-doctor"))
    except OSError as error:
        return error.errno or 255
    except AttributeError:
        return 38
    return 0


def _loaded() -> list[str]:
    """lacuna's and MPI's libraries in this process."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        paths = {line.split(maxsplit=5)[5].strip() for line in maps if "/" in line}
    return sorted(path for path in paths if re.search(r"/lib(lacuna-|p?mpi)[^/]*\.so", path))


def _world(family: str, library: ctypes.CDLL) -> Any:
    """MPI_COMM_WORLD, which is something else in each ABI."""
    if family == "mpich":
        return ctypes.c_int(0x44000000)
    if family == "mpiabi":
        return ctypes.c_void_p(0x101)
    return ctypes.byref(ctypes.c_char.in_dll(library, "ompi_mpi_comm_world"))


def main(family: str, path: str) -> None:
    """Says what is loaded, starts MPI, says which rank this is."""
    read_error = peer_read_error()
    facts = {
        "preload": os.environ.get("LD_PRELOAD", ""),
        "options": sorted(name for name in os.environ if name.startswith(_OPTION)),
        "passed_on": PASSED_ON in os.environ,
        "read_error": read_error,
        "memfd_error": memfd_error(),
    }
    try:
        opened = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        say("failed", why=str(error)[:_MOST_CHARACTERS], libraries=_loaded(), **facts)
        sys.exit(1)
    say("loaded", libraries=_loaded(), **facts)
    library = ctypes.CDLL(None)  # what the program would call: lacuna's functions, if it is there
    library.MPI_Init(None, None)
    world = _world(family, opened)
    rank, size, length = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    library.MPI_Comm_rank(world, ctypes.byref(rank))
    library.MPI_Comm_size(world, ctypes.byref(size))
    version = ctypes.create_string_buffer(1 << 14)
    library.MPI_Get_library_version(version, ctypes.byref(length))
    words = version.value.decode(errors="replace").splitlines()[:1]
    say("started", rank=rank.value, size=size.value, version=" ".join(" ".join(words).split()))
    library.MPI_Finalize()


if __name__ == "__main__":
    main(*sys.argv[1:3])
