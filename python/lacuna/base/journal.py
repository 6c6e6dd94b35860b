# SPDX-License-Identifier: BSD-3-Clause
"""The measurements of a long run so far, on disk: an interrupted run continues from there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lacuna.base import results
from lacuna.base.errors import Exit, LacunaError

Line = dict[str, Any]


def _text(lines: list[Line]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


class Journal:
    """The lines of finished rows, in FILE.partial beside the result file that will be made of them.

    `settings`: what all lines must have been measured with; an existing file with other settings is
    an error. Without a path nothing is kept.
    """

    def __init__(self, result: Path | None, settings: Line) -> None:
        self.path = result.with_name(result.name + ".partial") if result else None
        self.lines: list[Line] = []
        self._row: list[Line] = []
        if self.path is None:
            return
        if self.path.exists():
            self._read(settings)
        else:
            self._append([settings])

    def _read(self, settings: Line) -> None:
        assert self.path
        try:
            # An interrupted run leaves an incomplete last line or row: it is measured again.
            whole = self.path.read_text(encoding="utf-8").split("\n")[:-1]
            first, *lines = [json.loads(line) for line in whole]
        except (OSError, ValueError) as error:
            raise LacunaError(
                Exit.ENVIRONMENT, f"cannot continue {self.path}: {error}", "remove it"
            ) from error
        if first != settings:
            raise LacunaError(
                Exit.USAGE,
                f"{self.path} was written with other options",
                "repeat that command to continue it, or remove the file to start again",
            )
        rows = {(line["mpi"], line["id"]) for line in lines if line["kind"] == "row"}
        self.lines = [
            line for line in lines if line["kind"] == "header" or (line["mpi"], line["id"]) in rows
        ]
        results.write_text(self.path, _text([settings, *self.lines]))

    def _append(self, lines: list[Line]) -> None:
        assert self.path
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(_text(lines))
        except OSError as error:
            raise LacunaError(
                Exit.ENVIRONMENT,
                f"cannot write {self.path}: {error.strerror}",
                "give another place for it",
            ) from error

    def header(self, mpi: str) -> Line | None:
        """The header line that the program wrote on an MPI library, or None."""
        return next(
            (line for line in self.lines if line["kind"] == "header" and line["mpi"] == mpi), None
        )

    def done(self, mpi: str) -> set[str]:
        """The ids of the rows that have been measured on an MPI library."""
        return {line["id"] for line in self.lines if line["kind"] == "row" and line["mpi"] == mpi}

    def take(self, mpi: str, line: Line) -> None:
        """Takes the next line of a program; the lines of a row are appended to the file when the
        row is complete.
        """
        if line["kind"] == "header":
            self._row = []
        if line["kind"] == "end" or (line["kind"] == "header" and self.header(mpi)):
            return
        self._row.append(line | {"mpi": mpi})
        if line["kind"] not in ("row", "header"):
            return
        self.lines += self._row
        if self.path:
            self._append(self._row)
        self._row = []

    def close(self) -> None:
        """Deletes the file: the result has been written."""
        if self.path:
            self.path.unlink(missing_ok=True)
