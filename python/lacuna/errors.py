# SPDX-License-Identifier: BSD-3-Clause
"""What can go wrong, as one line for people and an exit code for scripts."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """The command's exit codes."""

    OK = 0
    CHECK_FAILED = 1
    USAGE = 2
    ENVIRONMENT = 3
    INTERNAL = 4


class LacunaError(Exception):
    """`what` went wrong (where, which value), the `remedy`, and `details`: lines to show below."""

    def __init__(self, code: Exit, what: str, remedy: str, details: str = "") -> None:
        super().__init__(what)
        self.code = code
        self.what = what
        self.remedy = remedy
        self.details = details

    def line(self, command: str) -> str:
        """The message as it is printed, after the name of the command."""
        name = f"lacuna {command}".strip()
        text = f"{name}: {self.what}; {self.remedy}"
        return f"{text}\n{self.details}" if self.details else text
