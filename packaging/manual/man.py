# SPDX-License-Identifier: BSD-3-Clause
"""Commands as man pages: roff with the macros that every `man` has."""

from __future__ import annotations

import re

from tree import Command

EXITS = """0: done. 1: a check failed. 2: wrong usage. 3: the environment lacks something.
4: a defect in lacuna. `lacuna run` ends with the exit code of the command that it starts."""


def text(words: str) -> str:
    """Escapes roff's own characters; `code` becomes bold."""
    escaped = words.replace("\\", "\\e").replace("-", "\\-")
    escaped = re.sub(r"`([^`]+)`", r"\\fB\1\\fP", " ".join(escaped.split()))
    return re.sub(r"^([.'])", r"\\&\1", escaped)


def _records(records: list[tuple[str, str]]) -> list[str]:
    lines = []
    for names, told in records:
        lines += [".TP", f"\\fB{text(names)}\\fP", text(told)]
    return lines


def _usage(command: Command) -> list[str]:
    return [f"\\fB{text(command.name)}\\fP {text(command.usage)}"]


def _body(command: Command) -> list[str]:
    lines = []
    for paragraph in command.paragraphs:
        lines += [".PP", text(paragraph)]
    return [*lines, *_records(command.arguments), *_records(command.options)]


def page_name(command: Command) -> str:
    return "-".join(command.words)


def page(command: Command, top: Command) -> str:
    """The page of one command. Commands in it stand there too, but in the page of `lacuna`."""
    is_top = command is top
    name = page_name(command)
    lines = [
        '.\\" Made by packaging/manual/generate.py: do not edit.',
        f'.TH {text(name.upper())} 1 "" "lacuna" "lacuna"',
        ".SH NAME",
        f"{text(name)} \\- {text(command.short.rstrip('.'))}",
        ".SH SYNOPSIS",
        *_usage(command),
        ".SH DESCRIPTION",
    ]
    body = _body(command)
    lines += body[1:] if body[0] == ".PP" else body
    if command.inner:
        lines += [".SH COMMANDS"]
    for one in command.inner:
        if is_top:
            lines += [".TP", f"\\fB{text(page_name(one))}\\fP(1)", text(one.short)]
        else:
            lines += [f".SS {text(' '.join(one.words[1:]))}", *_usage(one), *_body(one)]
    if is_top:
        lines += [".SH ENVIRONMENT", "Options of the ranks are environment variables, "]
        lines[-1] += "\\fBLACUNA_*\\fP: the page Options of the manual has all."
        lines += [".SH EXIT STATUS", text(EXITS)]
    others = [one for one in [top, *top.inner] if one is not command]
    others = others if is_top else [top]
    lines += [".SH SEE ALSO"]
    lines += [", ".join(f"\\fB{text(page_name(one))}\\fP(1)" for one in others)]
    return "\n".join(lines) + "\n"
