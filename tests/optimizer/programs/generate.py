# SPDX-License-Identifier: BSD-3-Clause
"""Writes random MPI programs: `generate.py --seed S --cases 0:50 [--cpp]` on stdout.

A program has many cases, each a function that makes types and uses them, and prints a digest for
each. A case is the same whatever other cases are beside it, so that one can be had alone.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parent))

from draw import Draw
from handles import Keeper
from maker import Names
from uses import User

Without = frozenset[int]

# Functions that have a form for large counts; those with a position change as one in each case.
_MOVES = re.compile(r"\bMPI_(?:Send|Ssend|Recv|Sendrecv|Isend|Irecv|Bcast|Alltoall)(?=\()")
_PACKS = re.compile(r"\bMPI_(?:Pack|Unpack)(?=\()")
# Functions that elsewhere.h has.
_ELSEWHERE = re.compile(r"\bMPI_(?:Send|Recv|Sendrecv|Pack|Unpack|Bcast|Alltoall)(?=\()")


def as_others_call(lines: list[str], names: Names) -> list[str]:
    """Some of the calls in their form for large counts, some made by another file."""
    packs_large = names.is_large()
    changed = []
    for line in lines:
        if packs_large:
            line = _PACKS.sub(r"\g<0>_c", line).replace("int at = ", "Large at = ")
        if names.is_large():
            line = _MOVES.sub(r"\g<0>_c", line)
        if names.is_elsewhere():
            line = _ELSEWHERE.sub(r"elsewhere_\g<0>", line)
        changed.append(line)
    return changed


def case(seed: int, number: int, is_cpp: bool, without: Without) -> list[str]:
    """The functions of one case, without some of its uses, counted from 0 (and without types that
    have none then)."""
    rng = Random(f"{seed} {number}")
    names = Names(number, Random(f"{seed} {number} large"))
    drawer, keeper, user = Draw(rng), Keeper(rng, names, is_cpp), User(rng, names, is_cpp)
    before: list[str] = []
    body: list[str] = []
    ends: list[str] = []
    counted = 0
    for _ in range(rng.choice([1, 1, 2])):
        kept = keeper.keep(drawer.type(), drawer.type())
        uses: list[str] = []
        for _ in range(rng.randint(1, 3)):
            user.before.clear()
            lines = user.use(kept)
            if counted not in without:
                before += user.before
                uses += lines
            counted += 1
        frees_late = rng.random() >= 0.8
        if not uses:
            continue
        before += kept.before
        if is_cpp and rng.random() < 0.2:
            thrown = rng.choice([0, rng.randint(1, 99)])
            body += ["try {", *kept.setup, *uses, *kept.teardown, f"perhaps_throw({thrown});"]
            body.append("} catch (int thrown) { digest_int(thrown); }")
            continue
        body += [*kept.setup, *uses]
        if frees_late:
            ends += kept.teardown
        else:
            body += kept.teardown
    body += ends
    if is_cpp:
        body = ["try {", *body, "} catch (int) { digest_int(-1); }"]
    head = f"static void case_{number}(void) {{"
    lines = [*before, head, *(f"  {line}" for line in body), "}", ""]
    return as_others_call(lines, names)


def program(seed: int, numbers: list[int], is_cpp: bool, without: Without = frozenset()) -> str:
    lines = [f"// Cases of seed {seed}; tests/optimizer/programs/generate.py", '#include "cases.h"']
    if is_cpp:
        lines.insert(1, "#include <vector>")
    lines.append("")
    for number in numbers:
        lines += case(seed, number, is_cpp, without)
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
    parser.add_argument("--without", type=int, action="append", default=[], help="a use")
    given = parser.parse_args()
    sys.stdout.write(program(given.seed, given.cases, given.cpp, frozenset(given.without)))


if __name__ == "__main__":
    main()
