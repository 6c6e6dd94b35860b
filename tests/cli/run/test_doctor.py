# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna doctor` on a job one rank of which is stopped, and what LACUNA_PATIENCE says of it."""

import os
import re
import signal
import struct
import time

import pytest
from conftest import one_line_error
from jobs import LAUNCHERS, LONG, until

from lacuna.launch import doctor

WAITS = re.compile(
    r"rank 0 of 3, process (\d+), [a-z ]+; shared-memory path on: waits for ([0-9.]+) s in "
    r"MPI_Bcast, 3 ranks: until all \w.*, for rank 1 "
    r"\(process (\d+), which is stopped\)"
)


@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_a_rank_that_is_waited_for_is_found(start, lacuna, mpi):
    job = start(mpi, 3, "killed_stopped", options={"LACUNA_PATIENCE": "1"})
    job.wait_until_under_way()
    found = []

    def is_told():
        result = lacuna("doctor", job.process.pid)
        found[:] = WAITS.findall(result.stdout)
        return bool(found)

    until("the wait", is_told)
    waiting, seconds, late = found[0]
    assert set(job.rank_processes()) >= {int(waiting), int(late)}
    # Of the rank that does not come it is said that it is stopped; asked for by any of them.
    told = lacuna("doctor", late).stdout
    assert re.search(rf"rank 1 of 3, process {late}, stopped; .*: does not wait in lacuna", told)
    assert len(told.splitlines()) == 3
    sentence = (
        rf"lacuna.0.: waiting for [0-9]+ s for rank 1 .process {late}. in MPI_Bcast, 3 ranks: "
    )
    until("the sentence", lambda: re.search(sentence, job.words()))
    os.kill(int(late), signal.SIGCONT)
    assert job.process.wait(LONG) == 0, job.words()
    assert float(seconds) < LONG


def test_ranks_in_which_lacuna_is_off_say_so(start, lacuna):
    job = start("mpich", 3, "killed_stopped", options={"LACUNA_DISABLE": "1"})
    job.wait_until_under_way()
    one = job.rank_processes()[0]
    off = r"process (\d+), [a-z ]+; lacuna is off in this rank \(LACUNA_DISABLE is set\)"
    told = lacuna("doctor", job.process.pid).stdout
    assert {int(number) for number in re.findall(off, told)} == set(job.rank_processes()), told
    assert len(told.splitlines()) == 3
    # Such a rank does not know its job.
    assert re.findall(off, lacuna("doctor", one).stdout) == [str(one)]


def test_what_has_no_lacuna_is_refused(lacuna):
    result = lacuna("doctor", os.getpid())
    text = f"lacuna is loaded neither in process {os.getpid()} nor in those that it has started"
    remedy = "give a rank of a job under `lacuna run`, or its launcher"
    one_line_error(result, 2, "lacuna doctor", text, remedy)
    result = lacuna("doctor", 2**22 + 1)
    one_line_error(result, 2, "lacuna doctor", f"no process {2**22 + 1}", "give the id of a rank")


def test_what_a_process_shows_is_understood_or_left():
    row = struct.pack("=Iiiiq104s", 1, 7, 3, 99, 5, b"MPI_Gather\0rest")
    free = struct.pack("=Iiiiq104s", 0, 0, 0, 0, 0, b"old")
    head = struct.pack("=8siiiiQ", b"lacuna 1", 2, 4, 8, 1, 6)
    rank, ranks, is_open, job, waits = doctor.parse(head + free + row)
    assert (rank, ranks, is_open, job) == (4, 8, True, 6)
    assert waits == (doctor.Wait(7, 3, 99, 5, "MPI_Gather"),)
    assert doctor.parse(head + free) is None
    assert doctor.parse(b"lacuna 2" + head[8:] + free + row) is None
    assert doctor.parse(b"") is None
    found = doctor.Found(os.getpid(), -1, 0, False, 6, ())
    said = doctor.lines([found])[0]
    assert said.startswith(f"process {os.getpid()}, ") and "MPI_Init has not ended, or" in said
    gone = doctor.Wait(os.getpid(), 3, 2**22 + 1, time.monotonic_ns(), "MPI_Gather")
    said = doctor.lines([doctor.Found(os.getpid(), 4, 8, True, 6, (gone,))])[0]
    assert said.endswith("s in MPI_Gather, for rank 3 (process 4194305, which has ended)")
