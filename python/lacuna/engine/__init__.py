# SPDX-License-Identifier: BSD-3-Clause
"""The engine for Python programs: types, plans, and moving the bytes of arrays.

    from lacuna.engine import Plan, Type, copy, message

    column = Plan(Type.vector(1000, 1, 1000, "double"))
    packed = column.pack(matrix)             # the first column of a NumPy array of 1000 x 1000
    column.unpack(packed, matrix, offset=8)  # into the second one
    view = matrix[::2, 3:5]
    packed = Plan(Type.of(view)).pack(view)  # what a view shows
    copy(matrix[::2], matrix[1::2])          # from one view to another
    comm.Send(message(view), dest=1)         # by mpi4py, which takes no views with gaps

It calls lacuna.h by ctypes, which adds about 5 us to a call; other threads run while bytes are
moved. Errors are raised as LacunaError, before anything is moved.

Arrays in a CUDA device's memory (`__cuda_array_interface__` or DLPack: CuPy, PyTorch, Numba, JAX)
are moved there, by liblacuna-cuda.so: a call enqueues one launch or copy on `stream` (None: the
default stream, a cudaStream_t as a number, or an object with `__cuda_stream__`) and returns, so
that the arrays must stay until the stream is done. The other array may be pinned memory of the
host. The first call for a count makes a plan on the device; later ones can be captured in a graph.
"""

from __future__ import annotations

import json
from typing import Any

from lacuna.engine import capi
from lacuna.engine.plan import Plan
from lacuna.engine.type import Type
from lacuna.engine.views import copy, message

__all__ = ["Plan", "Type", "copy", "machine", "message", "version"]


def version() -> str:
    """The version of the C library, such as "0.2.0"."""
    return capi.library().lacuna_version().decode()


def machine() -> dict[str, Any]:
    """The numbers about this machine from which plans are made (caches, TLB, thresholds), each with
    its unit and origin: the JSON of lacuna_machine_json (lacuna.h).
    """
    return json.loads(capi.text(capi.library().lacuna_machine_json, "the machine"))


def option_complaints() -> list[str]:
    """A sentence for each LACUNA_ variable of this process whose value is not understood, or whose
    name is nearly that of an option. They are read once.
    """
    return machine()["options"]
