# SPDX-License-Identifier: BSD-3-Clause
"""What lacuna's pass costs when a program is compiled.

`compile_cost.py FOLDER [--mpi NAME] [-- FLAG...]` compiles each C file below FOLDER that names MPI,
by clang and by clang with the pass, in turns, and tells the CPU time (the least of each file's
turns) and the size of the code, of all files with the pass over all without. FOLDER may be what
hpcc.sh left. Folders with headers are searched for them; files that clang does not compile are left
out, and counted.
"""

from __future__ import annotations

import argparse
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from lacuna.compiler import wrapper as compiler
from lacuna.compiler.kept import Request

MOST_TIME, MOST_SIZE = 1.05, 1.10  # what the pass may cost
LEAST_LINES = 5000


def seconds(command: list[str]) -> float | None:
    """The CPU time of a compiler; None: it failed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        return None
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def code_bytes(file: Path) -> int:
    """The text of an object: code and constants."""
    said = subprocess.run(["size", str(file)], capture_output=True, text=True, check=True).stdout
    return int(said.splitlines()[1].split()[0])


def commands(mpi: str) -> tuple[list[str], list[str]]:
    """The compiler's words without and with the pass."""
    clang = shutil.which("clang-19")
    if clang is None:
        sys.exit("compile_cost: no clang-19; remedy: setup/setup.sh optimizer")
    wrapper, environment = compiler.find_wrapper(mpi, compiler.C)
    described = compiler.describe(wrapper, environment, compiler.C, clang)
    family = compiler.family_of(described, clang)
    if family is None:
        sys.exit(f"compile_cost: an MPI that is not known: {wrapper}")
    words, after = compiler.command_line(Request(["-c"]), described, family, clang)
    return [clang, *described.compile], [*words, *after]


def costs(
    file: Path, ways: tuple[list[str], ...], turns: int, target: Path
) -> list[tuple[float, int]] | None:
    """The CPU time and the code of a file, each way; None: it does not compile."""
    took: list[list[float]] = [[] for _ in ways]
    size = [0 for _ in ways]
    for _ in range(turns):
        for way, words in enumerate(ways):
            one = seconds([*words, str(file), "-o", str(target)])
            if one is None:
                return None
            took[way].append(one)
            size[way] = code_bytes(target)
    return [(min(times), its) for times, its in zip(took, size, strict=True)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mpi", default="mpich")
    parser.add_argument("--turns", type=int, default=3)
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    flags = sys.argv[end + 1 :]  # the program's own
    given = parser.parse_args(sys.argv[1:end])
    files = sorted(
        file
        for file in given.folder.rglob("*.c")
        if re.search(r"\bMPI_[A-Z]", file.read_text(errors="replace"))
    )
    headers = sorted({str(file.parent) for file in given.folder.rglob("*.h")})
    common = ["-O2", "-w", *(f"-I{folder}" for folder in headers), *flags, "-c"]
    plain, passing = ([*words, *common] for words in commands(given.mpi))
    found, lines = [], 0
    with tempfile.TemporaryDirectory(prefix="lacuna-") as name:
        for file in files:
            one = costs(file, (plain, passing), given.turns, Path(name) / "object.o")
            if one is not None:
                found.append(one)
                lines += len(file.read_text(errors="replace").splitlines())
    if not found:
        sys.exit(f"compile_cost: no C file below {given.folder} that names MPI and compiles")
    time = [sum(one[way][0] for one in found) for way in (0, 1)]
    size = [sum(one[way][1] for one in found) for way in (0, 1)]
    more_time, more_size = time[1] / time[0], size[1] / size[0]
    print(f"{len(found)} of {len(files)} files, {lines} lines, {time[0]:.1f} s of CPU time")
    print(f"compile time {100 * (more_time - 1):+.1f} %, code size {100 * (more_size - 1):+.1f} %")
    is_right = more_time <= MOST_TIME and more_size <= MOST_SIZE and lines > LEAST_LINES
    print("PASS" if is_right else "FAIL", "(at most 5 % and 10 %, of more than 5000 lines)")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
