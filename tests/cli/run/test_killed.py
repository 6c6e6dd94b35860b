# SPDX-License-Identifier: BSD-3-Clause
"""Ranks killed while large messages go through shared memory: the job ends, and nothing is left."""

import contextlib
import os
import random
import signal
import time
from pathlib import Path

import pytest
from jobs import LAUNCHERS, LONG, until


def named(shared):
    """Of what was mapped, what has a name that is still there."""
    return [path for path in shared if Path(path).exists()]


@pytest.mark.parametrize("victims", ["one", "all"])
@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_killed_at_random(start, mpi, victims):
    job = start(mpi, 3, "killed_endless")
    job.wait_until_under_way()
    ranks = job.rank_processes()
    assert len(ranks) == 3
    shared = job.shared()
    arenas = [path for path in shared if "lacuna" in path]
    assert arenas == ["/memfd:lacuna-arena (deleted)"]  # of memory that has no name
    time.sleep(random.uniform(0, 0.3))
    for pid in ranks if victims == "all" else [random.choice(ranks)]:
        os.kill(pid, signal.SIGKILL)
    assert job.process.wait(LONG) != 0
    until("the end of all processes", lambda: not job.processes())
    left = named(shared)  # the library's own may be: a killed rank cannot remove it
    for path in left:
        assert "lacuna" not in path
        with contextlib.suppress(OSError):
            Path(path).unlink()


@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_killed_in_the_middle_of_a_message(start, mpi):
    job = start(mpi, 2, "killed_in_the_middle")
    assert job.process.wait(LONG) != 0
    until("the end of all processes", lambda: not job.processes())
    assert "another answer" not in job.words()


@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_the_receiver_of_half_a_message_has_an_error(start, mpi):
    # Where the launcher does not notice, and nobody asks the system how the sender has ended.
    shell = ["sh", "-c", 'trap "" USR1; "$0" "$@" & exec sleep 120']
    job = start(mpi, 2, "killed_in_the_middle", wrapper=shell)
    until("the error", lambda: "rank 1: has" in job.words())
    assert "rank 1: has the error" in job.words()
