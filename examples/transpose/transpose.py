# SPDX-License-Identifier: BSD-3-Clause
"""As transpose.c, in Python: what goes to a rank is a view of the matrix, transposed by NumPy.

lacuna run mpiexec -n 4 python transpose.py
"""

import sys

import numpy
from mpi4py import MPI

from lacuna.engine import Type

N = 100
ranks = MPI.COMM_WORLD


def rows_of(rank: int) -> slice:
    """What a rank has."""
    return slice(N * rank // ranks.size, N * (rank + 1) // ranks.size)


own = rows_of(ranks.rank)
row, column = numpy.ogrid[own, 0:N]
matrix = row + column * 1j
transposed = numpy.zeros_like(matrix)

parts = [rows_of(rank) for rank in range(ranks.size)]
counts = [1] * ranks.size
places = [part.start * matrix.itemsize for part in parts]
columns = [Type.of(matrix[:, part].T).mpi() for part in parts]
pieces = [Type.of(transposed[:, part]).mpi() for part in parts]
ranks.Alltoallw([matrix, counts, places, columns], [transposed, counts, places, pieces])

wrong = ranks.allreduce(int((transposed != column + row * 1j).sum()))
if ranks.rank == 0:
    print(f"{ranks.size} ranks, {wrong} wrong cells")
sys.exit(wrong != 0)
