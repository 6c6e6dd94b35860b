# SPDX-License-Identifier: BSD-3-Clause
"""Runs one of our programs that need no MPI on rows of types, and returns its lines."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lacuna.base import paths
from lacuna.base.errors import Exit, LacunaError

Row = tuple[str, int, str]  # id, count, type text


def lines(
    name: str, rows: Iterable[Row], words: list[str], before: list[str] | None = None
) -> list[dict[str, Any]]:
    """The lines that the program writes for `rows`. `before`: words before the program (valgrind
    and its options).
    """
    program = str(paths.program(name))
    with tempfile.TemporaryDirectory(prefix="lacuna-") as folder:
        file, out = Path(folder) / "rows", Path(folder) / "lines"
        text = "".join(f"{one}\t{count}\t-\t{text}\n" for one, count, text in rows)
        file.write_text(text, encoding="utf-8")
        command = [*(before or []), program, "--rows", str(file), "--out", str(out), *words]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
            )
        except OSError as error:
            raise LacunaError(
                Exit.ENVIRONMENT,
                f"cannot run {command[0]}: {error.strerror}",
                paths.BRING if not before else f"install {command[0]}",
            ) from error
        if done.returncode != 0:
            raise LacunaError(
                Exit.CHECK_FAILED,
                f"{name} failed: exit code {done.returncode}",
                "its last words are below",
                done.stderr.strip(),
            )
        return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
