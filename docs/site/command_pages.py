# SPDX-License-Identifier: BSD-3-Clause
"""The directive `command-line`: all commands, arguments and options, as `--help` has them."""

from __future__ import annotations

import sys
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from header_pages import prose
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import nested_parse_with_titles

sys.path.append(str(Path(__file__).resolve().parents[2] / "packaging" / "manual"))


def _records(records: list[tuple[str, str]]) -> list[str]:
    lines = []
    for names, told in records:
        lines += [f"``{names}``"]
        lines += [f"   {line}".rstrip() for line in prose(told, set(), "c")]
    return lines


def page() -> list[str]:
    from tree import commands

    lines: list[str] = []
    for command in commands():
        if len(command.words) > 1:
            mark = "-" if len(command.words) == 2 else "~"
            lines += ["", command.name, mark * len(command.name), ""]
        lines += [".. code-block:: none", "", f"   {command.name} {command.usage}", ""]
        for paragraph in command.paragraphs:
            lines += prose(paragraph, set(), "c")
        options = [record for record in command.options if record[0] != "--help"]
        lines += [*_records(command.arguments), *_records(options)]
    return lines


class CommandLine(SphinxDirective):
    """``.. command-line::``"""

    def run(self) -> list[nodes.Node]:
        node = nodes.Element()
        node.document = self.state.document
        nested_parse_with_titles(self.state, StringList(page(), source="--help"), node)
        return node.children


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True}
