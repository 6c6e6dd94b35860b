#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""NumPy views sent by lacuna.engine.message between two ranks of an MPI library, alone and under
`lacuna run`: each must be as NumPy says, and both the same. And the programs of docs/user/engine.md
and in examples.

    mpi4py_views.py --python PYTHON --lacuna LACUNA --mpi-root DIR --mpi NAME [--cases N]
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from mpi4py_suite import LAUNCHER_OPTIONS, MPIS, environment_of

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SECONDS = 120


def run(options, before: list[str], program: Path, *arguments: str) -> list[str]:
    """The lines of one job."""
    launcher = str(options.mpi_root / options.mpi / "bin" / "mpiexec")
    words = [*before, launcher, *LAUNCHER_OPTIONS.get(options.mpi, []), "-n", "2"]
    words += [str(options.python), str(program), *arguments]
    environment = environment_of(options.mpi, options.mpi_root)
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(ROOT / "python"), str(ROOT / "tests/cli/engine")]
    )
    result = subprocess.run(
        words, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if result.returncode != 0:
        sys.exit(f"{' '.join(words)}: exit code {result.returncode}\n{result.stderr[-4000:]}")
    return result.stdout.splitlines()


def check_the_page(options) -> None:
    """The program that users are shown prints what they are shown."""
    page = (ROOT / "docs/user/engine.md").read_text(encoding="utf-8")
    found = re.search(
        r"^```python send_view.py\n(.*?)^```.*?^```text\n(.*?)^```$", page, re.M | re.S
    )
    assert found, "docs/user/engine.md has no send_view.py"
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "send_view.py"
        program.write_text(found[1], encoding="utf-8")
        printed = run(options, [], program)
    assert printed == found[2].splitlines(), printed


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--python", type=Path, required=True)
    parser.add_argument("--lacuna", type=Path, required=True)
    parser.add_argument("--mpi-root", type=Path, required=True)
    parser.add_argument("--mpi", choices=MPIS, required=True)
    parser.add_argument("--cases", type=int, default=300)
    options = parser.parse_args()
    check_the_page(options)
    examples = sorted((ROOT / "examples").glob("*/*.py"))
    assert examples
    for program in examples:
        for before in ([], [str(options.lacuna), "run"]):
            (printed,) = run(options, before, program)
            assert printed.startswith("2 ranks, 0 wrong "), (program, printed)
    rank, cases = HERE / "views_rank.py", str(options.cases)
    *alone, first = run(options, [], rank, cases)
    *ours, second = run(options, [str(options.lacuna), "run"], rank, cases)
    assert (first, second) == ("alone", "lacuna"), (first, second)
    assert alone.count("refused: BufferError") == 2, alone[-3:]
    assert len(alone) == 2 * options.cases + 2, len(alone)
    for one, other in zip(alone, ours, strict=True):
        assert one == other, f"alone {one}, with lacuna {other}"
    print(f"{options.mpi}: {options.cases} views, the same alone and with lacuna")
    return 0


if __name__ == "__main__":
    sys.exit(main())
