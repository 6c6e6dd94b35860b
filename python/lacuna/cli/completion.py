# SPDX-License-Identifier: BSD-3-Clause
"""What a shell asks when somebody presses TAB: typer answers, by the scripts that are installed
(packaging/manual)."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import typer

VARIABLE = "_LACUNA_COMPLETE"
# Commands whose options are followed by the words of another command.
STARTING = ("run", "tune", "doctor")


def _typed() -> list[str]:
    """The words of the line up to the cursor, without `lacuna`; the last one may be incomplete."""
    if "COMP_WORDS" in os.environ:  # bash
        words = os.environ["COMP_WORDS"].split("\n")
        return words[1 : int(os.environ.get("COMP_CWORD", "0")) + 1]
    line = os.environ.get("_TYPER_COMPLETE_ARGS", "")
    return line.split()[1:] + ([""] if line.endswith(" ") else [])


def _is_of_another_command(words: list[str], app: typer.Typer) -> bool:
    """Whether the last word belongs to the command that `lacuna run` starts, whose options are not
    ours.
    """
    if not words or words[0] not in STARTING:
        return False
    command = typer.main.get_command(app).commands[words[0]]
    valued = {
        name for one in command.params if not getattr(one, "is_flag", False) for name in one.opts
    }
    before = ""
    for word in words[1:-1]:
        is_value = before in valued and (
            before not in ("--report", "--costs") or word.endswith(".json")
        )
        if word == "--" or (not word.startswith("-") and not is_value):
            return True
        before = word
    return False


def answer(app: typer.Typer) -> NoReturn:
    """Prints the possible continuations of the last word. Exit code 1 and no output: the shell
    offers file names.
    """
    words = _typed()
    if words and words[-1].startswith("-") and _is_of_another_command(words, app):
        sys.exit(1)
    from typer.completion import completion_init

    completion_init()
    app(prog_name="lacuna", complete_var=VARIABLE)
    sys.exit(1)  # not reached: typer ends where it has answered
