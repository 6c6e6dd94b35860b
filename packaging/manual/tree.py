# SPDX-License-Identifier: BSD-3-Clause
"""The command line as data, read from the command itself, for man pages and the site."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import typer.main

from lacuna.cli.main import app


class Command(NamedTuple):
    words: tuple[str, ...]  # ("lacuna", "costs", "machine")
    short: str
    usage: str  # what follows the words
    paragraphs: list[str]
    arguments: list[tuple[str, str]]
    options: list[tuple[str, str]]
    inner: list[Command]

    @property
    def name(self) -> str:
        return " ".join(self.words)


def _read(command, words: tuple[str, ...], parent=None) -> Command:
    context = command.context_class(command, info_name=words[-1], parent=parent)
    arguments, options = [], []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            (arguments if parameter.param_type_name == "argument" else options).append(record)
    inner = [
        _read(command.get_command(context, name), (*words, name), context)
        for name in (command.list_commands(context) if hasattr(command, "list_commands") else ())
        if not command.get_command(context, name).hidden
    ]
    text = command.help or ""
    return Command(
        words,
        command.get_short_help_str(limit=200),
        " ".join(command.collect_usage_pieces(context)),
        [" ".join(paragraph.split()) for paragraph in text.split("\n\n")],
        arguments,
        options,
        inner,
    )


def command_line() -> Command:
    """`lacuna`, with all commands that its help shows."""
    return _read(typer.main.get_command(app), ("lacuna",))


def commands() -> Iterator[Command]:
    """All of them, in the order of the help."""
    waiting = [command_line()]
    while waiting:
        first = waiting.pop(0)
        yield first
        waiting = [*first.inner, *waiting]
