# SPDX-License-Identifier: BSD-3-Clause
"""As particles.c, in Python: a structured array, and a list of indices that NumPy has found.

lacuna run mpiexec -n 4 python particles.py
"""

import sys

import numpy
from mpi4py import MPI

from lacuna.engine import Type, message

COUNT = 1000  # particles of each rank at the beginning
PARTICLE = numpy.dtype([("position", "f8", 3), ("velocity", "f8", 3), ("id", "i4")], align=True)

ranks = MPI.COMM_WORLD
right, left = (ranks.rank + 1) % ranks.size, (ranks.rank - 1) % ranks.size


def moved_particles(rank: int) -> numpy.ndarray:
    """Those of a rank after one step. Every third one is fast enough to leave 0 <= x < 1."""
    made = numpy.zeros(COUNT, PARTICLE)
    number = numpy.arange(COUNT)
    made["id"] = rank * COUNT + number
    made["velocity"][:, 0] = numpy.where(number % 3 == 0, 0.75, 0.25)
    made["position"] = numpy.stack([0.5 + made["velocity"][:, 0], number, 0 * number + rank], 1)
    return made


particles = moved_particles(ranks.rank)
leaving = numpy.flatnonzero(particles["position"][:, 0] >= 1)

# `particles[leaving]` would copy them first.
listed = Type.indexed_block(1, leaving, Type.of(particles[0:1])).mpi()
arrived = numpy.zeros(ranks.sendrecv(len(leaving), right, source=left), PARTICLE)
ranks.Sendrecv([particles, 1, listed], right, 0, message(arrived), left)

others = moved_particles(left)
wanted = others[others["position"][:, 0] >= 1]
wrong = ranks.allreduce(int((arrived != wanted).sum()) if len(arrived) == len(wanted) else 1)
if ranks.rank == 0:
    print(f"{ranks.size} ranks, {wrong} wrong particles")
sys.exit(wrong != 0)
