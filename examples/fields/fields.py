# SPDX-License-Identifier: BSD-3-Clause
"""As fields.c, in Python: a dictionary of NumPy arrays, and a view of each in one message.

lacuna run mpiexec -n 4 python fields.py
"""

import sys

import numpy
from mpi4py import MPI

from lacuna.engine import Type

N, GHOSTS = 500, 40  # own cells, and copies of the left rank's last ones before them
ranks = MPI.COMM_WORLD
right, left = (ranks.rank + 1) % ranks.size, (ranks.rank - 1) % ranks.size


def fields_of(rank: int) -> dict[str, numpy.ndarray]:
    """A rank's own cells."""
    cell = numpy.arange(N)
    return {
        "density": rank + cell * 1e-3,
        "velocity": numpy.stack([rank * 1e3 + 0 * cell, cell, cell + 0.25], 1),
        "temperature": (rank + cell).astype("f4"),
        "material": (rank * N + cell).astype("i4"),
    }


def message_of(views: list[numpy.ndarray]) -> list:
    """All of them, by their addresses."""
    places = [MPI.Get_address(view) for view in views]
    made = Type.struct([1] * len(views), places, [Type.of(view) for view in views])
    return [MPI.BOTTOM, 1, made.mpi()]


fields = {
    name: numpy.concatenate([numpy.zeros_like(own[:GHOSTS]), own])
    for name, own in fields_of(ranks.rank).items()
}
last = message_of([field[-GHOSTS:] for field in fields.values()])
ghosts = message_of([field[:GHOSTS] for field in fields.values()])
ranks.Sendrecv(last, right, 0, ghosts, left)

wrong = sum(
    int((fields[name][:GHOSTS] != other[-GHOSTS:]).sum()) for name, other in fields_of(left).items()
)
wrong = ranks.allreduce(wrong)
if ranks.rank == 0:
    print(f"{ranks.size} ranks, {wrong} wrong cells")
sys.exit(wrong != 0)
