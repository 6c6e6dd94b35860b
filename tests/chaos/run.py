# SPDX-License-Identifier: BSD-3-Clause
"""Random MPI programs, natively and under lacuna, whose ranks are stopped at random.

`run.py --mpi mpich --seeds 0:10000` runs the programs of these seeds in blocks: each block has a
number of ranks and options of its own, which follow from its first seed. A program whose digest
differs, that hangs or that dies is reported with its seed, the step, the state of each rank, and a
command that repeats it. `--minutes 60` goes on with new seeds until the time is over.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "python")]

from jobs import BLOCK, Asked, Job, settings_of  # noqa: E402
from judge import Finding, compare, repeat_line, shrink  # noqa: E402

from lacuna.base import paths  # noqa: E402
from lacuna.launch import mpis  # noqa: E402


def numbers_of(text: str) -> range:
    first, _, last = text.partition(":")
    return range(int(first), int(last) if last else int(first) + 1)


def read_arguments() -> tuple[argparse.Namespace, Asked]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mpi", default="mpich", help="mpich, openmpi, intelmpi or mpiabi")
    parser.add_argument("--mpi-root", type=Path, default=paths.default_mpi_root())
    parser.add_argument("--build", type=Path, default=HERE.parents[1] / "build/release")
    parser.add_argument("--seeds", type=numbers_of, default=range(0, BLOCK), help="FIRST:LAST")
    parser.add_argument("--seed", type=int, help="this one alone")
    parser.add_argument("--minutes", type=float, help="new seeds until the time is over")
    parser.add_argument("--block", type=int, default=BLOCK, help="programs of one launch")
    parser.add_argument("--times", type=int, default=1, help="run each block under lacuna so often")
    parser.add_argument("--ranks", type=int, help="2 to 6")
    parser.add_argument("--no-stops", action="store_true", help="ranks are not stopped")
    parser.add_argument("--stops", action="store_true", help="in each block")
    parser.add_argument("--no-refusals", action="store_true", help="no memory is refused")
    parser.add_argument("--refuse", type=int, help="one of so many pieces of memory, in each block")
    parser.add_argument("--no-threads", action="store_true")
    parser.add_argument("--threads", action="store_true", help="two threads in each block")
    parser.add_argument("--devices", action="store_true", help="half of the memory is a device's")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--without", action="append", default=[], help="a step: callback, freed")
    parser.add_argument("--leave-out", default="", help="steps of the program, by number")
    parser.add_argument("--patience", type=float, default=15, help="seconds in which nothing moves")
    parser.add_argument("--most", type=int, default=20, help="findings, then it ends")
    parser.add_argument("--keep", type=Path, help="a folder for what ranks wrote")
    parser.add_argument("--steady", action="store_true", help="the library against itself")
    parser.add_argument("--shrink", action="store_true", help="which steps of --seed are needed")
    parser.add_argument("--verbose", action="store_true", help="each step of --seed")
    parser.add_argument(
        "--plant", default="", help="hang, death or difference: a fault to be found"
    )
    given = parser.parse_args()
    target = mpis.installed(given.mpi, given.mpi_root)
    fixed: dict[str, object] = {}
    if given.ranks:
        fixed["ranks"] = given.ranks
    if given.no_stops or given.stops:
        fixed["stops"] = given.stops
        if given.no_stops:
            fixed["pauses"] = 0
    if given.no_refusals or given.refuse:
        fixed["refuse"] = given.refuse or 0
    if given.no_threads or given.threads:
        fixed["threads"] = given.threads
    options = dict(word.partition("=")[::2] for word in given.set)
    asked = Asked(
        target,
        given.build.resolve(),
        fixed,
        options,
        given.without,
        given.leave_out,
        given.patience,
        given.keep,
        given.steady,
        given.plant,
        given.block,
        given.devices,
    )
    # run.build() looks for the libraries to preload by the environment of this process.
    libraries = asked.fake_device if given.devices else asked.build / "lib"
    os.environ[paths.LIBRARY_DIR] = str(libraries)
    return given, asked


def blocks_of(given: argparse.Namespace, end: float | None):
    """(first, last) of each block, none of which crosses a multiple of --block."""
    if given.seed is not None:
        yield given.seed, given.seed + 1
        return
    at, last = given.seeds.start, given.seeds.stop
    while (end is None and at < last) or (end is not None and time.monotonic() < end):
        upto = min((at // given.block + 1) * given.block, last if end is None else sys.maxsize)
        yield at, upto
        at = upto


def main() -> int:
    given, asked = read_arguments()
    if given.shrink:
        return shrink(asked, given.seed, given.times)
    if given.verbose:
        settings = replace(settings_of(given.seed, asked), verbose=True)
        for native in (True, False):
            print("\nnatively:" if native else "\nunder lacuna:")
            with Job(asked, given.seed, given.seed + 1, settings, native, native) as job:
                job.wait()
                print(job.said())
        return 0
    started = time.monotonic()
    end = started + 60 * given.minutes if given.minutes else None
    programs = 0
    findings: list[Finding] = []
    for first, last in blocks_of(given, end):
        done, found = compare(asked, first, last, given.times, end)
        programs += done
        for finding in found:
            if len(findings) < given.most:
                print(finding.text(), flush=True)
                print(f"  repeat: {repeat_line(asked, finding)}", flush=True)
            findings.append(finding)
        if len([f for f in findings if not f.native]) >= given.most:
            break
    ours = [finding for finding in findings if not finding.native]
    seconds = time.monotonic() - started
    others = len(findings) - len(ours)
    alone = f", {others} of the library alone" if others > 0 else ""
    print(f"{asked.target.name}: {programs} programs in {seconds:.0f} s: {len(ours)} fail{alone}")
    return 1 if ours else 0


if __name__ == "__main__":
    sys.exit(main())
