#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the repetitive part of the preload libraries out of functions.ini.

    generate.py --output DIR       writes the sources *.gen.hpp and *.gen.cpp, and exports*.map
    generate.py --docs FILE        rewrites the function table between the two marks in FILE
    generate.py --check-docs FILE  fails if that would change anything

Needs nothing but Python 3.10 (docs/decisions/0006-functions-in-an-ini-file.md).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from generator import docs, next_functions, table, wrappers

HERE = Path(__file__).resolve().parent


def write_if_changed(path: Path, text: str) -> None:
    """Leaves an unchanged file alone, so that nothing is compiled again."""
    if not path.exists() or path.read_text(encoding="ascii") != text:
        path.write_text(text, encoding="ascii")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--output", type=Path, metavar="DIR", help="write the sources there")
    action.add_argument("--docs", type=Path, metavar="FILE", help="rewrite the table in it")
    action.add_argument(
        "--check-docs", type=Path, metavar="FILE", help="is the table as it must be?"
    )
    options = parser.parse_args()
    functions = table.read_table(HERE.parent / "functions.ini")
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        for name, text in {
            "next.gen.hpp": next_functions.next_header(functions),
            "next.gen.cpp": next_functions.next_source(functions),
            "telling.gen.hpp": next_functions.telling_header(functions),
            "function_facts.gen.hpp": next_functions.facts_header(functions),
            **wrappers.wrappers_sources(functions),
            "profiling.gen.cpp": wrappers.profiling_source(functions),
            "exports.map": wrappers.exports(functions, []),
            "exports-ompi.map": wrappers.exports(
                [f for f in functions if f.in_open_mpi], wrappers.INSIDE_OPEN_MPI
            ),
        }.items():
            write_if_changed(options.output / name, text)
        return 0
    path = options.docs or options.check_docs
    text = docs.documented(path, functions)
    if options.docs:
        write_if_changed(path, text)
    elif text != path.read_text(encoding="ascii"):
        print(
            f"{path} differs from functions.ini; "
            f"remedy: interpose/functions/generate.py --docs {path}"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
