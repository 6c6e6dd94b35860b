# SPDX-License-Identifier: BSD-3-Clause
"""Errors: one line for people, an exit code for scripts."""

from __future__ import annotations

import errno
import sys
from enum import IntEnum


class Exit(IntEnum):
    """The command's exit codes."""

    OK = 0
    CHECK_FAILED = 1
    USAGE = 2
    ENVIRONMENT = 3
    INTERNAL = 4


class LacunaError(Exception):
    """An error that a user can act on: `what` went wrong (where, which value), the `remedy`, and
    `details`: further lines, printed below.
    """

    def __init__(self, code: Exit, what: str, remedy: str, details: str = "") -> None:
        super().__init__(f"{what}; {remedy}")
        self.code = code
        self.what = what
        self.remedy = remedy
        self.details = details

    def line(self, command: str) -> str:
        """The message as it is printed, after the name of the command."""
        name = f"lacuna {command}".strip()
        text = f"{name}: {self.what}; {self.remedy}"
        return f"{text}\n{self.details}" if self.details else text


def no_figures() -> LacunaError:
    """The error for a command that draws figures without matplotlib."""
    what = "no matplotlib, which draws the figures"
    return LacunaError(Exit.ENVIRONMENT, what, "install it with pip install matplotlib")


# What the system says of a path that the user has given, and of no defect of lacuna's.
_OF_THE_PLACE = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENAMETOOLONG,
    errno.ELOOP,
    errno.ENOTDIR,
)


def unexpected(error: Exception, name: str) -> int:
    """Prints one line on stderr for an exception that is not a LacunaError (a usage error of the
    option parser, a full disk, a defect) and returns the exit code.
    """
    if hasattr(error, "format_message") and hasattr(error, "exit_code"):
        what = " ".join(error.format_message().split()).rstrip(".")
        is_known = not what.startswith("No such command")
        help_command = " ".join(["lacuna", *name.split()[: None if is_known else -1], "--help"])
        print(LacunaError(Exit.USAGE, what, f"see {help_command}").line(name), file=sys.stderr)
        return Exit.USAGE
    if type(error).__name__ == "Abort":
        return 130
    if isinstance(error, ModuleNotFoundError) and str(error.name).startswith("matplotlib"):
        print(no_figures().line(name), file=sys.stderr)
        return Exit.ENVIRONMENT
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        place = error.filename or "standard output, or a file"
        what = f"cannot write {place}: {error.strerror}"
        print(
            LacunaError(Exit.ENVIRONMENT, what, "free some space there").line(name), file=sys.stderr
        )
        return Exit.ENVIRONMENT
    if isinstance(error, OSError) and error.filename and error.errno in _OF_THE_PLACE:
        what = f"cannot use {error.filename}: {error.strerror}"
        remedy = "check the path, and who may use it"
        print(LacunaError(Exit.ENVIRONMENT, what, remedy).line(name), file=sys.stderr)
        return Exit.ENVIRONMENT
    what = f"internal error: {type(error).__name__}: {' '.join(str(error).split())}"
    remedy = "please report it with this command line"
    print(LacunaError(Exit.INTERNAL, what, remedy).line(name), file=sys.stderr)
    return Exit.INTERNAL
