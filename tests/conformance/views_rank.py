# SPDX-License-Identifier: BSD-3-Clause
"""Two ranks that send random NumPy views to each other by lacuna.engine.message: NumPy is the
oracle.

views_rank.py CASES    prints a line for each case, and at last whether lacuna is preloaded
"""

from __future__ import annotations

import gc
import hashlib
import random
import sys
import traceback

import numpy as np
from mpi4py import MPI
from mpi4py_rank import has_lacuna
from random_views import PARTLY, PLAIN, element_bytes, random_dtype, random_shape, random_view

from lacuna.engine import Type, message


def exchange(comm: MPI.Comm, case: int, source: np.ndarray, target: np.ndarray) -> None:
    """In one of mpi4py's ways, from rank 0 to rank 1."""
    is_sender = comm.Get_rank() == 0
    way = case % 5
    if way == 0 and is_sender:
        comm.Send(message(source), 1)
    elif way == 0:
        comm.Recv(message(target), 0)
    elif way == 1 and is_sender:
        comm.Isend(message(source), 1).Wait()
    elif way == 1:
        comm.Irecv(message(target), 0).Wait()
    elif way == 2:
        comm.Bcast(message(source if is_sender else target), 0)
    elif way == 3 and is_sender:
        comm.Ssend(message(source), 1)
    elif way == 3:
        comm.Sendrecv(b"", MPI.PROC_NULL, 0, message(target), 0)
    else:
        view = source if is_sender else target
        datatype = Type.of(view).mpi()
        spec = [message(view)[0], 1, datatype]
        if is_sender:
            comm.Send(spec, 1)
        else:
            comm.Recv(spec, 0)
        datatype.Free()


def one_case(comm: MPI.Comm, case: int) -> str:
    draw = random.Random(case)
    dtype, shape = random_dtype(draw, PLAIN), random_shape(draw)
    _, source = random_view(draw, dtype, shape)
    memory, target = random_view(draw, dtype, draw.choice([shape, (source.size,)]))
    if draw.random() < 0.1:  # one element for all: may be sent
        source = np.broadcast_to(source[(0,) * source.ndim] if source.size else source, shape)
    wanted = memory.copy()
    if target.size:
        places = np.ndarray(target.shape, dtype, wanted, offset_of(memory, target), target.strides)
        set_elements(places, source.reshape(target.shape))
    exchange(comm, case, source, target)
    if comm.Get_rank() == 1:
        assert element_bytes(target).tobytes() == element_bytes(source).tobytes(), (case, dtype)
        assert (memory == wanted).all(), (case, dtype, "a byte beside the elements has changed")
    return hashlib.sha256(memory.tobytes()).hexdigest()[:16]


def offset_of(memory: np.ndarray, view: np.ndarray) -> int:
    return view.__array_interface__["data"][0] - memory.__array_interface__["data"][0]


def set_elements(target: np.ndarray, source: np.ndarray) -> None:
    """Without padding, which NumPy copies."""
    if target.dtype.names is None:
        target[...] = source
        return
    for name in target.dtype.names:
        set_elements(target[name], source[name])


def main() -> int:
    comm = MPI.COMM_WORLD
    lines = [f"{case} {one_case(comm, case)}" for case in range(int(sys.argv[1]))]
    for dtype in PARTLY:
        values = np.linspace(0, 9, 24).astype(dtype).reshape(4, 6)[::-1, ::2]
        got = np.zeros((3, 8), dtype)[:, ::-2].T
        exchange(comm, 0, values, got)
        assert comm.Get_rank() == 0 or (got == values).all(), dtype
    shared = np.broadcast_to(np.zeros(3), (2, 3))
    try:
        comm.Recv(message(shared), 0)
        lines.append("elements that share memory were received into")
    except (BufferError, ValueError) as error:
        lines.append(f"refused: {type(error).__name__}")
    gc.collect()
    found = comm.gather("\n".join(lines), 0)
    if comm.Get_rank() == 0:
        print("\n".join(found))
        print("lacuna" if has_lacuna() else "alone", flush=True)
    return 0


if __name__ == "__main__":
    try:
        code = main()
    except BaseException:
        traceback.print_exc()
        MPI.COMM_WORLD.Abort(1)  # else the other rank waits for ever
        code = 1
    sys.exit(code)
