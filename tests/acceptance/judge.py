#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Holds result files against what is promised: PASS, FAIL, or - where nothing was to be judged.

    judge.py FILE...      of `lacuna bench engine --json` and `lacuna bench preload --json`

Exit code 1 if a promise is not kept.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import engine_criteria
import preload_criteria
from verdict import Verdict

from lacuna.bench.corpus import CorpusRow
from lacuna.bench.engine.times import Times
from lacuna.bench.preload.calls import Calls
from lacuna.bench.preload.row import Row
from lacuna.messages import ratios


def of_engine(result: dict[str, Any]) -> list[Verdict]:
    rows = [
        CorpusRow(
            name, row["type"], row["count"], row["bytes"], row["source"], frozenset(row["tags"])
        )
        for name, row in result["corpus"].items()
    ]
    return engine_criteria.judge(rows, Times(result["rows"]))


def of_preload(result: dict[str, Any]) -> list[Verdict]:
    calls = [
        Calls(
            one["mpi"],
            {name: (two["native"], two["lacuna"]) for name, two in one["instructions"].items()},
            one["problem"] or "",
        )
        for one in result["calls"]
    ]
    return preload_criteria.judge(calls, [_row(row) for row in result["rows"]])


def _row(row: dict[str, Any]) -> Row:
    again = ratios.Times(row, row["again"]) if "again" in row else None
    return Row(row["mpi"], ratios.Times(row, row["ways"]), again, row["what"])


def judge(result: dict[str, Any]) -> list[Verdict]:
    """All verdicts on one file."""
    return of_preload(result) if "calls" in result else of_engine(result)


def main() -> int:
    if not sys.argv[1:]:
        print(__doc__, file=sys.stderr)
        return 2
    words = {True: "PASS", False: "FAIL", None: "-   "}
    verdicts = []
    for name in sys.argv[1:]:
        found = judge(json.loads(Path(name).read_text(encoding="utf-8")))
        for one in found:
            print(f"{words[one.is_met]}  {one.what}, {one.limit}: {one.found}")
        verdicts += found
    return int(any(one.is_met is False for one in verdicts))


if __name__ == "__main__":
    sys.exit(main())
