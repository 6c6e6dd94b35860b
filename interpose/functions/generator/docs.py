# SPDX-License-Identifier: BSD-3-Clause
"""The table of functions in docs/user/functions.md, between two marks."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from generator.table import GROUPS, Function

# The words of the page for the policies of functions.ini.
WORDS = {"handled": "handled", "watched": "watched", "passed": "passed"}
BEGIN, END = "<!-- functions: begin -->", "<!-- functions: end -->"


def docs_table(functions: list[Function]) -> str:
    lines = []
    for group, heading in GROUPS.items():
        lines += [f"## {heading}", "", "| function | what happens | why |", "|---|---|---|"]
        for f in functions:
            if f.entry.get("group") == group and not f.large:
                name = f"`{f.name}`" + (", `_c`" if f.entry.get("large") == "yes" else "")
                lines.append(f"| {name} | {WORDS[f.entry['policy']]} | {f.entry['why']} |")
        lines.append("")
    return "\n".join(lines)


def documented(path: Path, functions: list[Function]) -> str:
    text = path.read_text(encoding="ascii")
    pattern = re.compile(re.escape(BEGIN) + ".*" + re.escape(END), re.DOTALL)
    if len(pattern.findall(text)) != 1:
        sys.exit(f"{path}: the marks {BEGIN} and {END} must be there once")
    return pattern.sub(lambda _: f"{BEGIN}\n{docs_table(functions)}{END}", text)
