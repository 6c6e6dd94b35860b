# SPDX-License-Identifier: BSD-3-Clause
"""Checks the model of the direct path's hand-over with spin, and that spin finds mistakes in it.

    run.py [--cc CC]

Exit codes: 0 it holds, 1 it does not, or a mistake is not found, 77 spin is not here.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MODEL = Path(__file__).parent / "handover.pml"
# Threads, messages of each, regions: one region is starved, three are more than are out at once.
SIZES = [(2, 2, 1), (2, 2, 2), (2, 2, 3), (1, 4, 2)]
MISTAKES = {
    "BREAK_FREE_FIRST": "assertion violated",  # freed before it is read
    "BREAK_PUBLISH_FIRST": "assertion violated",  # published before it is written
    "BREAK_NO_WAIT": "assertion violated",  # read before it is published
    "BREAK_NO_LOCK": "assertion violated",  # two threads reserve at once
    "BREAK_NEVER_FREE": "assertion violated",  # a region is lost
    "BREAK_WAIT_FOR_ROOM": "invalid end state",  # a sender waits for a region
}


def check(cc, folder, size, mistake=None):
    """What the checker says; None: nothing is wrong."""
    names = zip(("SENDERS", "MESSAGES", "REGIONS"), size, strict=True)
    defines = [f"-D{name}={value}" for name, value in names] + [f"-D{mistake}"] * bool(mistake)
    commands = [
        ["spin", *defines, "-a", str(MODEL)],
        [cc, "-O2", "-w", "-DSAFETY", "-o", "pan", "pan.c"],
        ["./pan", "-m1000000"],
    ]
    for command in commands:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0 and command[0] != "./pan":
            sys.exit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    errors = re.search(r"errors: (\d+)", done.stdout)
    if errors is None or "max search depth too small" in done.stdout:
        sys.exit(f"spin did not end its search: {done.stdout}{done.stderr}")
    states = re.search(r"(\d+) states, stored", done.stdout)
    print(f"{' '.join(defines)}: {states[1]} states, {errors[1]} errors")
    return None if errors[1] == "0" else done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cc", default="cc")
    arguments = parser.parse_args()
    missing = [tool for tool in ("spin", arguments.cc) if shutil.which(tool) is None]
    if missing:
        print(f"skipped: no {missing[0]}; remedy: apt-get install -y spin gcc")
        return 77
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            if wrong := check(arguments.cc, folder, size):
                print(wrong)
                good = False
        for mistake, words in MISTAKES.items():
            found = check(arguments.cc, folder, (2, 2, 2), mistake)
            if found is None or words not in found:
                print(f"{mistake} is not found")
                good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
