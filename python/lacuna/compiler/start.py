# SPDX-License-Identifier: BSD-3-Clause
"""The commands lacuna-cc and lacuna-c++. Fast where the command line is cached (kept.py)."""

from __future__ import annotations

import os
import sys

from lacuna.compiler.kept import Request, recall


def _start(command: str) -> None:
    words = recall(command, Request(sys.argv[1:]))
    if words is not None:
        os.execv(words[0], words)
    from lacuna.compiler import wrapper as compiler

    compiler.COMMANDS[command]()


def cc() -> None:
    """The command lacuna-cc."""
    _start("lacuna-cc")


def cxx() -> None:
    """The command lacuna-c++."""
    _start("lacuna-c++")


if __name__ == "__main__":
    cc()
