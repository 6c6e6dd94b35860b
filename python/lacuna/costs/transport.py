# SPDX-License-Identifier: BSD-3-Clause
"""The running program of `lacuna costs machine`: Python requests sizes, the program answers with
times.

One job for all sizes, since two launches of one program differ by more than a threshold does.
"""

from __future__ import annotations

import os
import queue
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

from lacuna.base import paths
from lacuna.base.errors import Exit, LacunaError
from lacuna.base.progress import Progress
from lacuna.costs.curve import Samples
from lacuna.launch import mpis, run, watch

Line = dict[str, Any]

MESSAGE, COPY, STREAM = "m", "c", "s"
_STEP_SECONDS = 0.5  # between checks that the program still runs


class Transport:
    """Two ranks on an MPI library; `rows` (id, count, text) are measured first, if there are any.

    To be used in a `with` statement, which ends the program.
    """

    def __init__(
        self,
        target: mpis.Installed,
        rows: list[tuple[str, int, str]],
        seconds: float,
        progress: Progress,
        options: dict[str, str] | None = None,
    ) -> None:
        self.target = target
        self.rows = rows
        self.seconds = seconds
        self.lines: list[Line] = []
        self._options = options or {}
        self._progress = progress
        self._asked = 0
        self._arrived: queue.Queue[Line | BaseException] = queue.Queue()
        self._folder = tempfile.TemporaryDirectory(prefix="lacuna-")
        self._requests = Path(self._folder.name) / "requests"
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Transport:
        self._requests.mkdir()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ask("end")
        if error is None:
            self._take_until("end")
        self._thread.join(timeout=60)
        self._folder.cleanup()

    def header(self) -> Line:
        """The header line of the program: library, compiler, settings."""
        while not self.lines:
            self._take()
        return self.lines[0]

    def measured_rows(self) -> list[Line]:
        """The lines of all rows, when they are measured."""
        while sum(line["kind"] == "row" for line in self.lines) < len(self.rows):
            self._take()
        return [line for line in self.lines if line["kind"] == "row"]

    def sweep(self, sizes: list[int], lanes: str, rounds: int) -> dict[str, Samples]:
        """Seconds by lane and size, a sample for each round: messages (m), copies (c), messages in
        a stream (s).
        """
        self.measured_rows()
        self._progress.say(f"{mpis.TITLE[self.target.name]}, looking for thresholds")
        self._asked += 1
        self._ask(f"{lanes} {rounds} {' '.join(map(str, sizes))}")
        self._take_until("answer")
        answers = [line for line in self.lines if line.get("request") == self._asked]
        return {
            lane: {line["bytes"]: line[lane] for line in answers if line["kind"] == "size"}
            for lane in lanes
        }

    def _ask(self, text: str) -> None:
        number = self._asked if text != "end" else self._asked + 1
        path = self._requests / f".{number}"
        path.write_text(text + "\n", encoding="ascii")
        path.rename(self._requests / str(number))  # whole or not there

    def _take(self) -> Line:
        while True:
            try:
                line = self._arrived.get(timeout=_STEP_SECONDS)
            except queue.Empty:
                if self._thread.is_alive():
                    continue
                raise LacunaError(
                    Exit.CHECK_FAILED, "the program has ended too early", "please report it"
                ) from None
            if isinstance(line, BaseException):
                raise line
            self.lines.append(line)
            return line

    def _take_until(self, kind: str) -> None:
        while self._take()["kind"] != kind:
            pass

    def _run(self) -> None:
        try:
            watch.run(self.target.name, self._command, "row", self._progress, self._arrived.put)
        except BaseException as error:  # for the thread that asks
            self._arrived.put(error)

    def _command(self, out: Path) -> tuple[list[str], dict[str, str]]:
        program = paths.program(f"lacuna-costs-{paths.family_of(self.target.name)}")
        words = [str(program), "--out", str(out), "--requests", str(self._requests)]
        if self.rows:
            file = Path(self._folder.name) / "rows"
            lines = [f"{name}\t{count}\t-\t{text}\n" for name, count, text in self.rows]
            file.write_text("".join(lines), encoding="utf-8")
            words += ["--rows", str(file), "--seconds", str(self.seconds)]
        environment = dict(os.environ) | self.target.environment() | self._options
        return run.build(self.target.command(2, words), self.target.kind, environment)
