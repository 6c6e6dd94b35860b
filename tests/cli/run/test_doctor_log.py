# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna doctor`: what it reads from the log of a launch."""

import pytest
from made_up import FAR, OFF, ON, OTHER, RANK, SHIPPED, is_like

from lacuna.launch.check import launch
from lacuna.launch.check.finding import FAULT, OK, WARNING


def test_at_work():
    is_like(launch.at_work([ON.format(SHIPPED, "shared-memory path on")]), OK, "on: lacuna 0.2.0")
    is_like(launch.at_work(["off: LACUNA_DISABLE is set"]), FAULT, "unset it")
    is_like(launch.at_work(["a.so is preloaded; remedy: use b.so"]), FAULT, "use b.so")
    is_like(launch.at_work([]), FAULT, "no line that it is on")


PIECES = "messages between nodes pipelined"


@pytest.mark.parametrize(
    ("log", "ranks", "level", "word"),
    [
        ([ON.format(SHIPPED, "shared-memory path on")], (RANK, OTHER), OK, "on"),
        ([OFF], (RANK, FAR), OK, "each node has one rank"),
        (
            [f"{ON.format(SHIPPED, 'shared-memory path on')}; {PIECES}"],
            (RANK, OTHER, FAR),
            OK,
            "on",
        ),
        ([f"{OFF} (LACUNA_DIRECT=0)"], (RANK, OTHER), WARNING, "unset LACUNA_DIRECT"),
        ([f"{OFF} (LACUNA_DIRECT is not set)"], (RANK, OTHER), WARNING, "set LACUNA_DIRECT=1"),
        ([f"{OFF}: no other rank is on this node"], (RANK, OTHER, FAR), OK, "of rank 0"),
        ([f"{OFF}: this job was spawned"], (RANK, OTHER), WARNING, "spawned"),
        (
            [OFF, "shared-memory path off: the launcher does not give the job's id"],
            (RANK, OTHER),
            WARNING,
            "own launcher",
        ),
        (
            [OFF, "shared-memory path off: of 3 ranks only 2 answered in MPI_Init within 30 s"],
            (RANK, OTHER),
            WARNING,
            "all of them with lacuna",
        ),
    ],
)
def test_shared_path(log, ranks, level, word):
    is_like(launch.shared_path(log, ranks), level, word)


@pytest.mark.parametrize(
    ("log", "ranks", "level", "word"),
    [
        ([], (RANK, OTHER), OK, "there are none"),
        (
            [f"{ON.format(SHIPPED, 'shared-memory path on')}; {PIECES}"],
            (RANK, FAR),
            OK,
            "pipelined",
        ),
        (["pipelined messages off: why; remedy: this"], (RANK, FAR), WARNING, "this"),
        (["pipelined messages off: why"], (RANK, FAR), WARNING, "not pipelined: why"),
        ([OFF], (RANK, FAR), WARNING, "set LACUNA_DIRECT=1"),
    ],
)
def test_between_nodes(log, ranks, level, word):
    is_like(launch.between_nodes(log, ranks), level, word)


def test_table():
    on = "shared-memory path on"
    is_like(launch.table([ON.format(SHIPPED, on)], RANK.version), OK, "the one shipped for MPICH")
    is_like(launch.table([ON.format("/c/t.json", on)], RANK.version), OK, "/c/t.json")
    intel = ON.format("shipped for Intel MPI", on)
    is_like(launch.table([intel], "Intel(R) MPI Library 2021.19.0"), OK)
    is_like(launch.table([ON.format("shipped for Open MPI", on)], "New MPI"), WARNING, "New MPI")
    complaint = "the table /t is not used: it is not JSON; remedy: measure"
    is_like(launch.table([complaint], RANK.version), WARNING, "not JSON", "measure")
    is_like(launch.table([], ""), WARNING, "lacuna is not on")
