#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the dynamic symbols of a preload library.

No symbol of MPI may be undefined: the library must load into programs that load MPI late, or never.
It exports the functions of the table, under both names of each, and the names in OWN, nothing else.
What it calls by names that a program may have for functions of its own is in c_library_names.txt.
"""

from __future__ import annotations

import argparse
import importlib
import re
import subprocess
import sys
from pathlib import Path

OWN = {
    "lacuna_interposed",
    "lacuna_interposed_calls",
    "lacuna_interposed_device_memory",
    "lacuna_interposed_fragments",
    "lacuna_interposed_library",
    "lacuna_interposed_moves",
    "lacuna_interposed_pipelined",
    "lacuna_interposed_register",
    "lacuna_interposed_switch",
    "lacuna_interposed_table",
    "lacuna_interposed_table_place",
    "lacuna_interposed_waits",
}
# Reserved by the C standard, or by the system's headers with a prefix; and what other interposers
# must see (the last line).
RESERVED = re.compile(
    r"_|(str|mem|wcs|pthread_|dl)[a-z_]|(abort|aligned_alloc|exp2|floor|fputc|fputs|free|fwrite"
    r"|getenv|ldexp|llround|localeconv|log2|malloc|pow|realloc|rename|snprintf|sprintf|sqrt|stderr"
    r"|time|vsnprintf|environ"
    r"|mmap|mprotect|process_vm_readv|sched_yield)$"
)
FOREIGN = re.compile(r"^(P?MPI|MPIX|ompi|opal|orte|mca|MPICH|MPIR)_", re.IGNORECASE)


def dynamic_symbols(nm: str, library: str, which: str) -> set[str]:
    command = [nm, "-D", which, library]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in text.splitlines() if line.strip()}


def table_of(generator: Path):
    """The functions of functions.ini, as the generator reads them."""
    sys.path.insert(0, str(generator.parent))
    module = importlib.import_module("generator.table")
    return module.read_table(generator.parents[1] / "functions.ini")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--generator", type=Path, required=True)
    parser.add_argument("--family", choices=["mpich", "ompi", "mpiabi"], required=True)
    parser.add_argument("library")
    options = parser.parse_args()
    undefined = dynamic_symbols(options.nm, options.library, "--undefined-only")
    shown = dynamic_symbols(options.nm, options.library, "--defined-only")
    foreign = {name for name in undefined if FOREIGN.match(name)}
    listed = options.generator.parents[1] / "library" / "c_library_names.txt"
    names_of_programs = {name for name in undefined if not RESERVED.match(name)}
    unlisted = names_of_programs - foreign - set(listed.read_text().split())
    wrapped = [f for f in table_of(options.generator) if f.wrapped]
    names = {f.symbol for f in wrapped if options.family != "ompi" or f.in_open_mpi}
    expected = names | {f"P{name}" for name in names} | OWN
    if options.family == "ompi":
        expected |= set(importlib.import_module("generator.wrappers").INSIDE_OPEN_MPI)
    for what, symbols in {
        "undefined symbols of MPI": foreign,
        f"undefined, and not in {listed}": unlisted,
        "shown, but not in the table": shown - expected,
        "in the table, but not shown": expected - shown,
    }.items():
        if symbols:
            print(f"{options.library}: {what}: {' '.join(sorted(symbols))}")
    return 1 if foreign or unlisted or shown != expected or not undefined else 0


if __name__ == "__main__":
    sys.exit(main())
