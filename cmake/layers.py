#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Keeps the arrows of docs/internals/design.md one-way: names each line that breaks a rule.

Rules: a folder includes only what is below it; mpi.h only where MPI is spoken; the engine prints
nothing and never ends the process; the maker of the CPU is asked in engine/machine alone; sources
are ASCII. Run as `layers.py [ROOT]`; exit code 1 if a rule is broken.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path, PurePosixPath

# A folder of the engine, and the folders it may include. "public" is include/lacuna.
_BELOW_PLAN = {"base", "type", "layout", "machine", "kernels"}
ENGINE = {
    "base": {"base", "public"},
    "type": {"base", "type", "public"},
    "layout": {"base", "type", "layout", "public"},
    "machine": {"base", "type", "layout", "machine", "public"},
    "kernels": {"base", "type", "layout", "kernels", "public"},
    "gpu": {"base", "type", "layout", "gpu", "public"},
    "plan": _BELOW_PLAN | {"plan", "public"},
    "exec": _BELOW_PLAN | {"plan", "exec", "public"},
    "api": _BELOW_PLAN | {"plan", "exec", "api", "public"},
}
# The folders of interpose/: each may include those before it.
INTERPOSE = (
    "policy",
    "memory",
    "library",
    "functions",
    "direct/arena",
    "direct/node",
    "direct/pipeline",
    "report",
    "observe",
    "device",
    "inside",
    "types",
    "direct/rooms",
    "direct/between_nodes",
    "direct/messages",
    "requests",
    "direct/agreement",
    "messages",
    "rma",
    "collectives",
    "files",
    "start",
)
# The other folders; tests/ may use everything and is not listed.
OUTER = {
    "include": {"public"},
    "mpi": {"mpi", "base", "type", "api", "public"},
    "interpose": {"interpose", "mpi", "base", "type", "machine", "plan", "exec", "public"},
    # The C++ below api is for rivals with a forced instruction set, and for the oracle.
    "bench": {"bench", "mpi", "base", "type", "machine", "kernels", "plan", "exec", "public"},
    # The messages and the harness of bench; the C++ below api is for following plans.
    "costs": (_BELOW_PLAN - {"layout"}) | {"costs", "bench", "mpi", "plan", "exec", "public"},
    "optimizer": {"optimizer", "base", "type", "public"},
    "examples": {"public"},
}
# The packages of python/lacuna/: each may import those before it.
PYTHON = (
    "base",
    "engine",
    "gpu",
    "launch",
    "messages",
    "machine",
    "explain",
    "compiler",
    "costs",
    "bench",
    "tune",
    "report",
    "cli",
)
# The folders of the optimizer: each may include those before it ("." is the folder itself). The
# pass and the templates share interface.hpp alone.
PASS = ("base", "handles", "types", "calls", "remarks", ".")
TEMPLATES = (".", "values", "calls")
# And those of the bench.
APPS = ("applications", "fortran", "ways", ".")
BENCH_GPU = ("kernels", ".")
# The folders of a folder of the engine, likewise. Its unit tests may include all of them: they make
# types from text, and at random.
TYPE = (".", "text", "random")
MACHINE = (".", "probe/loops", "probe")
GPU = ("bodies", ".")
KERNELS = ("record", "strided", "list", "transpose", "small", ".")
EXEC = ("buffers", ".", "stream", "copy")
ORDERED = {
    "bench/apps": APPS,
    "bench/gpu": BENCH_GPU,
    "engine/exec": EXEC,
    "engine/gpu": GPU,
    "engine/kernels": KERNELS,
    "engine/machine": MACHINE,
    "engine/type": TYPE,
    "interpose": INTERPOSE,
    "optimizer/pass": PASS,
    "optimizer/templates": TEMPLATES,
}
SPEAKS_MPI = (
    "mpi/",
    "interpose/",
    "bench/",
    "costs/",
    "examples/fields/",
    "examples/halo/",
    "examples/particles/",
    "examples/transpose/",
    "optimizer/templates/",
    "tests/",
)
PROGRAMS = ("engine/machine/probe/main.cpp",)  # these print, as programs do
PUBLIC_WITH_MPI = "include/lacuna/lacuna_mpi.h"

CODE = {".c", ".h", ".cpp", ".hpp", ".cu"}
TEXT = CODE | {".py", ".cmake", ".sh", ".toml", ".ini", ".txt", ".json", ".in", ".types"}
ROOTS = [*OUTER, "engine", "tests", "python", "cmake", "setup"]

INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')
IMPORT = re.compile(r"^\s*from lacuna(?:\.(\w+)[\w.]* import| import (\w+))")
ENDS_OR_PRINTS = re.compile(
    r"\b(printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|perror|abort|exit|_exit|_Exit|quick_exit|terminate)"
    r"\s*\(|\bstd::(cerr|cout|clog)\b"
)
# Only the rows of engine/machine/cpus.cpp may depend on who made the CPU.
ASKS_FOR_THE_MAKER = re.compile(
    r"\b(\w*cpuid\w*|__builtin_cpu_is|is_amd\w*|is_intel|AuthenticAMD|GenuineIntel|vendor_id)\b"
)
MAY_ASK_FOR_THE_MAKER = (
    "engine/machine/",
    "cmake/layers.py",
    "tests/layers/",
)
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL)


def without_comments_and_strings(text: str) -> str:
    """The code alone, on the same lines."""
    return NOT_CODE.sub(lambda match: "\n" * match.group().count("\n"), text)


def folder_of_include(path: str) -> str | None:
    """The folder of ours that an #include names, or None for a foreign header."""
    first = path.split("/", 1)[0]
    if first == "lacuna":
        return "public"
    return first if "/" in path and (first in ENGINE or first in OUTER) else None


def check_order(top: str, name: str, included: str) -> list[str]:
    """What is broken by one #include, in a file of a folder whose subfolders have an order."""
    order = ORDERED[top]
    folders = [PurePosixPath(path).relative_to(top).parent.as_posix() for path in (name, included)]
    for folder in folders:
        if folder not in order:
            return [f"{top}/{folder} has no place in cmake/layers.py"]
    is_test = top.startswith("engine/") and PurePosixPath(name).stem.endswith("_test")
    if order.index(folders[1]) > order.index(folders[0]) and not is_test:
        return [f"{(PurePosixPath(top) / folders[0]).as_posix()} must not include {included}"]
    return []


def check_optimizer(name: str, included: str) -> list[str]:
    """What is broken by one #include between the pass and the templates."""
    for here, there in (("pass", "templates"), ("templates", "pass")):
        is_from = name.startswith(f"optimizer/{here}/")
        if is_from and included.startswith(f"optimizer/{there}/"):
            return [f"optimizer/{here} must not include {included}"]
    return []


def check_python(name: str, text: str) -> list[tuple[int, str]]:
    """(line, what) for every import that goes up in one file of python/lacuna."""
    here = PurePosixPath(name).relative_to("python/lacuna")
    if len(here.parts) < 2:
        return []
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = IMPORT.match(line)
        there = match and (match.group(1) or match.group(2))
        if not there or there not in PYTHON or here.parts[0] not in PYTHON:
            continue
        if PYTHON.index(there) > PYTHON.index(here.parts[0]):
            found.append((number, f"python/lacuna/{here.parts[0]} must not import lacuna.{there}"))
    return found


def check_code(name: str, text: str) -> list[tuple[int, str]]:
    """(line, what) for every broken rule in one C or C++ file; `name` is below the root."""
    parts = name.split("/")
    in_engine = parts[0] == "engine"
    here = parts[1] if in_engine else parts[0]
    allowed = ENGINE.get(here) if in_engine and len(parts) > 2 else OUTER.get(here)
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = folder_of_include(match.group(1))
        if allowed is not None and target is not None and target not in allowed:
            found.append((number, f"{here} must not include {match.group(1)}"))
        included = match.group(1)
        if included.split("/", 1)[0] in ENGINE:
            included = f"engine/{included}"  # whose files are named from there
        for top in ORDERED:
            if name.startswith(f"{top}/") and included.startswith(f"{top}/"):
                found += [(number, what) for what in check_order(top, name, included)]
        found += [(number, what) for what in check_optimizer(name, match.group(1))]
        is_mpi = match.group(1) in ("mpi.h", "mpi_abi.h", "lacuna/lacuna_mpi.h")
        if is_mpi and not name.startswith(SPEAKS_MPI) and name != PUBLIC_WITH_MPI:
            found.append((number, f"{match.group(1)} may not be included in {here}"))
    if in_engine and not name.endswith("_test.cpp") and name not in PROGRAMS:
        for number, line in enumerate(without_comments_and_strings(text).splitlines(), 1):
            match = ENDS_OR_PRINTS.search(line)
            if match:
                found.append((number, f"the engine must not call {match.group().rstrip('( ')}"))
    return found


def check(root: Path) -> tuple[int, list[str]]:
    """How many files were read, and one line for each broken rule."""
    count, found = 0, []
    for top in ROOTS:
        for path in sorted((root / top).rglob("*")):
            known = path.suffix in TEXT or path.name == "CMakeLists.txt"
            if not path.is_file() or not known or "__pycache__" in path.parts:
                continue
            if any(part.endswith(".egg-info") for part in path.parts):
                continue
            count += 1
            name = path.relative_to(root).as_posix()
            data = path.read_bytes()
            for number, line in enumerate(data.splitlines(), 1):
                if not line.isascii():
                    found.append(f"{name}:{number}: not ASCII")
            if not name.startswith(MAY_ASK_FOR_THE_MAKER):
                for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
                    match = ASKS_FOR_THE_MAKER.search(line)
                    if match:
                        what = f"{match.group()}: the maker is asked in engine/machine alone"
                        found.append(f"{name}:{number}: {what}")
            if name.startswith("python/lacuna/") and path.suffix == ".py":
                text = data.decode("utf-8", "replace")
                found += [f"{name}:{number}: {what}" for number, what in check_python(name, text)]
            if path.suffix in CODE:
                text = data.decode("utf-8", "replace")
                found += [f"{name}:{number}: {what}" for number, what in check_code(name, text)]
    return count, found


def main(argv: list[str]) -> int:
    """Prints what is broken; the exit code says whether anything is."""
    root = Path(argv[1]) if len(argv) > 1 else Path(__file__).resolve().parent.parent
    count, found = check(root)
    for line in found:
        print(line)
    print(f"layers: {count} files read, {len(found)} broken rules")
    return 1 if found or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
