# SPDX-License-Identifier: BSD-3-Clause
"""Writes random MPI programs: `generate.py --seed S --cases 0:50 [--cpp]` on stdout.

A program has many cases, each a function that makes types and uses them, and prints a digest for
each. A case is the same whatever other cases are beside it, so that one can be had alone.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parent))

from draw import Draw
from handles import Keeper
from maker import Names
from uses import User


def case(seed: int, number: int, is_cpp: bool) -> list[str]:
    """The functions of one case."""
    rng = Random(f"{seed} {number}")
    names = Names(number)
    drawer, keeper, user = Draw(rng), Keeper(rng, names, is_cpp), User(rng, names)
    before: list[str] = []
    body: list[str] = []
    ends: list[str] = []
    for _ in range(rng.choice([1, 1, 2])):
        kept = keeper.keep(drawer.type(), drawer.type())
        before += kept.before
        body += kept.setup
        for _ in range(rng.randint(1, 3)):
            body += user.use(kept)
        if rng.random() < 0.8:
            body += kept.teardown
        else:
            ends += kept.teardown
    body += ends
    if is_cpp:
        body = ["try {", *body, "} catch (int) { digest_int(-1); }"]
    head = f"static void case_{number}(void) {{"
    return [*before, *user.before, head, *(f"  {line}" for line in body), "}", ""]


def program(seed: int, numbers: list[int], is_cpp: bool) -> str:
    lines = [f"// Cases of seed {seed}; tests/optimizer/programs/generate.py", '#include "cases.h"']
    lines.append("")
    for number in numbers:
        lines += case(seed, number, is_cpp)
    lines += ["int main(int argc, char** argv) {", "  start(argc, argv);"]
    lines += [f"  run_case({number}, case_{number});" for number in numbers]
    return "\n".join([*lines, "  MPI_Finalize();", "  return 0;", "}", ""])


def numbers_of(text: str) -> list[int]:
    """Cases as the command line names them: 7, or 0:50."""
    first, _, end = text.partition(":")
    return list(range(int(first), int(end))) if end else [int(first)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--cases", type=numbers_of, default=list(range(50)), metavar="N or FIRST:END"
    )
    parser.add_argument("--cpp", action="store_true")
    given = parser.parse_args()
    sys.stdout.write(program(given.seed, given.cases, given.cpp))


if __name__ == "__main__":
    main()
