#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py's own test suite on each MPI library, alone and under `lacuna run`: test by test, every
rank must say the same.

    mpi4py_suite.py --suite DIR --python PYTHON --lacuna LACUNA --mpi-root DIR
                    [--mpi NAME ...] [--ranks N ...] [--seconds S] [PATTERN ...]

DIR is the suite's folder, PYTHON one that has mpi4py, PATTERN the names of test files between
"test_" and ".py" (without one: all). Files run one after the other, each in a job of its own, so
that one that crashes or waits for ever spoils no other; S is the limit of a job. Exit code 1:
something differs.

With bench/hosts/hosts.sh before it, one rank runs on each of its hosts.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lacuna.launch import mpis

RANK = Path(__file__).resolve().parent / "mpi4py_rank.py"
# These start processes of their own, which need more slots than a launcher gives, or test nothing
# that goes through MPI.
LEFT_OUT = ("spawn", "dynproc", "doc", "package", "toplevel", "mpiapi", "mpiabi", "exceptions")
LAUNCHER_OPTIONS = {"openmpi": ["--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"]}
MOST_PRINTED = 10
MPIS = ("mpich", "openmpi", "intelmpi")


# The addresses of the hosts that hosts.sh has made: one rank on each.
HOSTS = tuple(os.environ["LACUNA_HOST_LIST"].split(",")) if "LACUNA_HOST_LIST" in os.environ else ()


def start(mpi: str, root: Path, ranks: int, program: list[str]) -> list[str]:
    """The command line that starts so many ranks here, or on the hosts."""
    if HOSTS:
        agent = os.environ["LACUNA_HOST_SHELL"]
        return mpis.installed(mpi, root, HOSTS, agent).command(ranks, program)
    launcher = str(root / mpi / "bin" / "mpiexec")
    return [launcher, *LAUNCHER_OPTIONS.get(mpi, []), "-n", str(ranks), *program]


def environment_of(mpi: str, root: Path) -> dict[str, str]:
    values = os.environ | {
        "LD_LIBRARY_PATH": str(root / mpi / "lib"),
        "LACUNA_PROFILE": "none",
        "LACUNA_ALWAYS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "I_MPI_ROOT": str(root / "intelmpi"),
        "I_MPI_PIN": "off",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_pml": "ob1",
    }
    if not HOSTS:
        values["I_MPI_FABRICS"] = "shm"
        # What is chosen without it, but a second later (cmake/mpi.cmake).
        values["OMPI_MCA_btl"] = "^ofi"
    for prefix in ("OMPI", "PRTE"):
        values[f"{prefix}_ALLOW_RUN_AS_ROOT"] = "1"
        values[f"{prefix}_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    return values


def run_file(options, mpi: str, ranks: int, name: str, before: list[str]) -> list[dict[str, str]]:
    """How each test of a file ended in each rank; "end" is there if the rank came to its end."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results"
        program = [str(options.python), str(RANK), str(options.suite), str(results), name]
        words = [*before, *start(mpi, options.mpi_root, ranks, program)]
        with open(Path(folder) / "output", "w+", encoding="utf-8", errors="replace") as output:
            job = subprocess.Popen(
                words,
                env=environment_of(mpi, options.mpi_root),
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
            )
            try:
                job.wait(options.seconds)
            except subprocess.TimeoutExpired:
                job.terminate()
                job.wait()
            output.seek(0)
            text = output.read()
        ends = [read_results(Path(f"{results}.{rank}")) for rank in range(ranks)]
        for end in ends:
            end["(output)"] = text
        return ends


def read_results(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    return {name: end for name, _, end in (line.partition(" ") for line in lines)}


def compare(options, mpi: str, ranks: int, name: str) -> tuple[int, list[str], str]:
    """How many tests there were, what differs, and what was printed with lacuna."""
    alone = run_file(options, mpi, ranks, name, [])
    ours = run_file(options, mpi, ranks, name, [str(options.lacuna), "run"])
    differences = []
    for rank in range(ranks):
        for test in sorted(alone[rank].keys() | ours[rank].keys()):
            if test in ("(output)", "end"):
                continue
            ends = [
                results[rank].get(test, "not run") or "did not end" for results in (alone, ours)
            ]
            if ends[0] != ends[1]:
                differences.append(f"rank {rank}: {test}: alone {ends[0]}, with lacuna {ends[1]}")
    if ("end" in alone[0]) != ("end" in ours[0]):
        differences.append("one of the two did not come to its end")
    if "end" in ours[0] and "lacuna" not in ours[0]["end"]:
        differences.append("lacuna was not there")
    return sum(len(results) - 1 for results in alone), differences, ours[0]["(output)"][-2000:]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--suite", type=Path, required=True)
    parser.add_argument("--python", type=Path, required=True)
    parser.add_argument("--lacuna", type=Path, required=True)
    parser.add_argument("--mpi-root", type=Path, required=True)
    parser.add_argument("--mpi", nargs="+", choices=MPIS, default=MPIS)
    parser.add_argument("--ranks", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    options = parser.parse_args()
    names = [path.stem.removeprefix("test_") for path in sorted(options.suite.glob("test_*.py"))]
    patterns = options.patterns or ["*"]
    chosen = [n for n in names if any(fnmatch.fnmatch(n, p) for p in patterns)]
    if not options.patterns:
        chosen = [name for name in chosen if name not in LEFT_OUT]
    if not chosen:
        sys.exit(f"mpi4py_suite: no test_*.py in {options.suite} matches {' '.join(patterns)}")
    bad = False
    for mpi in options.mpi:
        for ranks in options.ranks:
            tests, different, start = 0, 0, time.monotonic()
            for name in chosen:
                count, differences, output = compare(options, mpi, ranks, name)
                tests += count
                different += bool(differences)
                for line in differences[:MOST_PRINTED]:
                    print(f"{mpi}, {ranks} ranks, test_{name}: {line}", flush=True)
                if differences:
                    print(f"{len(differences)} differences; with lacuna it printed:\n{output}")
            seconds = time.monotonic() - start
            print(
                f"{mpi}, {ranks} ranks: {tests} tests in {len(chosen)} files, "
                f"{different} files differ, {seconds:.0f} s",
                flush=True,
            )
            bad = bad or different > 0 or tests == 0
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
