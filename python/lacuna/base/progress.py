# SPDX-License-Identifier: BSD-3-Clause
"""Progress of long work, and the time that is left, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

_EVERY_SECONDS = 60.0  # a line, where stderr is no terminal
_LEAST_SECONDS = 2.0  # of work, before the time left is estimated


def duration(seconds: float) -> str:
    """Seconds for people, rounded: 5 s, 12 min, 3 h 20 min."""
    if seconds < 59.5:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class Progress:
    """A bar on a terminal, which disappears at the end; elsewhere a line a minute.

    The work has `parts` of about the same length, such as one for each MPI library; a part has a
    number of equal steps.
    """

    def __init__(self, parts: int = 1, now: Callable[[], float] = time.monotonic) -> None:
        console = Console(stderr=True)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[state]}"),
        )
        self._bar = Bar(*columns, console=console, transient=True) if console.is_terminal else None
        self._task = self._bar.add_task("", total=None, state="") if self._bar else None
        self._parts = parts
        self._now = now
        self._part = 0
        self._title = ""
        self._began = now()
        self._printed_at = now()

    def __enter__(self) -> Progress:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar:
            self._bar.stop()

    def begin(self, title: str) -> None:
        """The next part begins."""
        self._part += 1
        self._began = self._now()
        self.at(0, None, title)

    def say(self, title: str) -> None:
        """Changes the text that is shown for the part."""
        self._title = title

    def at(self, done: int, total: int | None, title: str | None = None) -> None:
        """`done` of `total` steps of the part are done; `total` is None where it is not known."""
        self._title = self._title if title is None else title
        state = self._state(done, total)
        if self._bar:
            self._bar.update(
                self._task, description=self._title, completed=done, total=total, state=state
            )
        elif self._now() - self._printed_at >= _EVERY_SECONDS:
            self._printed_at = self._now()
            print(f"lacuna: {self._title}: {state}", file=sys.stderr, flush=True)

    def _state(self, done: int, total: int | None) -> str:
        passed = self._now() - self._began
        if not total or done >= total:  # work after the last step takes an unknown time
            return f"{duration(passed)} so far"
        counted = f"{done} of {total}"
        if self._parts > 1 and self._part <= self._parts:
            counted += f" in part {self._part} of {self._parts}"
        if done == 0 or passed < _LEAST_SECONDS:
            return counted
        whole = passed / done * total
        left = whole - passed + max(0, self._parts - self._part) * whole
        return f"{counted}, about {duration(left)} left"
