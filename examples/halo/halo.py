# SPDX-License-Identifier: BSD-3-Clause
"""As halo.c, in Python: the edges are views of a NumPy array.

lacuna run mpiexec -n 4 python halo.py
"""

import sys

import numpy
from mpi4py import MPI

from lacuna.engine import message

N = 64


def cells(rank: int) -> numpy.ndarray:
    """A rank's own cells, each another number."""
    row, column = numpy.ogrid[1 : N + 1, 1 : N + 1]
    return rank * 1e6 + row * 1e3 + column


ranks = MPI.COMM_WORLD.Create_cart(MPI.Compute_dims(MPI.COMM_WORLD.size, 2), [True, True])
up, down = ranks.Shift(0, 1)
left, right = ranks.Shift(1, 1)
grid = numpy.zeros((N + 2, N + 2))  # with the neighbours' edges around
grid[1:-1, 1:-1] = cells(ranks.rank)

for edge, to, into, by in (
    (grid[1, 1:-1], up, grid[-1, 1:-1], down),
    (grid[-2, 1:-1], down, grid[0, 1:-1], up),
    (grid[1:-1, 1], left, grid[1:-1, -1], right),
    (grid[1:-1, -2], right, grid[1:-1, 0], left),
):
    ranks.Sendrecv(message(edge), to, 0, message(into), by)

wrong = sum(
    int((edge != wanted).sum())
    for edge, wanted in (
        (grid[-1, 1:-1], cells(down)[0]),
        (grid[0, 1:-1], cells(up)[-1]),
        (grid[1:-1, -1], cells(right)[:, 0]),
        (grid[1:-1, 0], cells(left)[:, -1]),
    )
)
wrong = ranks.allreduce(wrong)
if ranks.rank == 0:
    print(f"{ranks.size} ranks, {wrong} wrong cells")
sys.exit(wrong != 0)
