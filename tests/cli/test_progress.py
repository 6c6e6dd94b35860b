# SPDX-License-Identifier: BSD-3-Clause
"""Long work says how far it is and how long it will take: a bar on a terminal, else lines."""

import os
import pty
import subprocess
import sys

import pytest

from lacuna.base.progress import Progress, duration


class Clock:
    """Time as the test wants it."""

    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        return self.seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "1 s"), (7.4, "7 s"), (59.4, "59 s"), (59.6, "1 min"), (3599, "1 h 0 min")],
)
def test_durations_are_rounded(seconds, text):
    assert duration(seconds) == text


def told(capfd):
    out, err = capfd.readouterr()
    assert out == ""
    return err.splitlines()


def test_a_line_a_minute(capfd):
    clock = Clock()
    with Progress(now=clock) as progress:
        progress.begin("MPICH")
        for done in range(300):
            clock.seconds += 1
            progress.at(done + 1, 600)
    lines = told(capfd)
    assert lines[0] == "lacuna: MPICH: 60 of 600, about 9 min left"
    assert lines[1] == "lacuna: MPICH: 120 of 600, about 8 min left"
    assert len(lines) == 5


def test_other_parts_take_as_long(capfd):
    clock = Clock()
    with Progress(3, now=clock) as progress:
        progress.begin("MPICH")
        clock.seconds = 60
        progress.at(30, 60)
        progress.begin("Open MPI")
        clock.seconds = 120
        progress.at(30, 60)
    assert told(capfd) == [
        "lacuna: MPICH: 30 of 60 in part 1 of 3, about 5 min left",
        "lacuna: Open MPI: 30 of 60 in part 2 of 3, about 3 min left",
    ]


def test_work_of_unknown_length(capfd):
    """Before the first step, after the last one, and where nobody knows how many there are."""
    clock = Clock()
    with Progress(now=clock) as progress:
        progress.begin("MPICH")
        clock.seconds = 60
        progress.at(0, 10)
        clock.seconds = 120
        progress.at(10, 10)
        progress.say("MPICH, looking for thresholds")
        clock.seconds = 180
        progress.at(10, 10)
        clock.seconds = 240
        progress.at(3, None)
    assert told(capfd) == [
        "lacuna: MPICH: 0 of 10",
        "lacuna: MPICH: 2 min so far",
        "lacuna: MPICH, looking for thresholds: 3 min so far",
        "lacuna: MPICH, looking for thresholds: 4 min so far",
    ]


def test_a_bar_on_a_terminal():
    """It moves, shows the time left, and is gone at the end."""
    program = """
from lacuna.base.progress import Progress
seconds = [0.0]
with Progress(now=lambda: seconds[0]) as progress:
    progress.begin("MPICH")
    seconds[0] = 30
    progress.at(10, 40)
    progress._bar.refresh()
"""
    master, slave = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=slave,
        check=False,
        timeout=100,
    )
    os.close(slave)
    shown = b""
    try:
        while piece := os.read(master, 4096):
            shown += piece
    except OSError:  # how a terminal ends
        pass
    os.close(master)
    assert (done.returncode, done.stdout) == (0, b"")
    assert "MPICH" in shown.decode() and "10 of 40, about 2 min left" in shown.decode()
    assert shown.decode().rstrip().endswith("\x1b[2K")  # the line is cleared
