# SPDX-License-Identifier: BSD-3-Clause
"""NumPy views as MPI messages, and copied from one to another."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lacuna.base.errors import Exit, LacunaError
from lacuna.engine.arrays import Memory, fields_of, type_text, view_text
from lacuna.engine.plan import Plan
from lacuna.engine.type import Type

if TYPE_CHECKING:
    import numpy
    from mpi4py import MPI

_KEPT = 256  # layouts


def message(view: numpy.ndarray) -> list[Any]:
    """A NumPy view as mpi4py takes it: `comm.Send(message(a[:, ::2]), dest=1)`.

    `view`: a NumPy array or view of any shape and strides. Returns [buffer, 1, datatype]: the
    buffer begins at the view's first element and keeps the view alive. The list can be kept and
    used again for the same memory.

    Messages of the same dtype, shape and strides share one datatype: do not free it. The buffer is
    read-only where the view is, or where elements share memory (a stride of 0): it can be sent, and
    mpi4py refuses to receive into it. Raises LacunaError if `view` is no NumPy array, if its
    elements are in the other byte order, and without mpi4py. Cost: some microseconds; the datatypes
    of the last 256 layouts are kept.
    """
    view = _numpy_array(view, "the view")
    datatype, is_shared = _layout(view.dtype, view.shape, view.strides)
    import numpy  # takes a tenth of a second to load

    return [memoryview(numpy.asarray(_Bytes(view, is_shared))), 1, datatype]


def copy(dst_view: numpy.ndarray, src_view: numpy.ndarray) -> None:
    """Copies the elements of `src_view` to `dst_view`, each in C order.

    Both are NumPy arrays or views with the same dtype and number of elements; the shapes may
    differ. Padding between fields is not written. If the two may share memory, the result is as if
    all elements were read before the first is written (through a buffer). Raises LacunaError,
    before anything is written, if dtype or number of elements differ, if `dst_view` is read-only,
    or if its elements share memory. Cost: one pass over the data and some microseconds; the plans
    of the last 256 layouts are kept.
    """
    dst = _numpy_array(dst_view, "dst_view")
    src = _numpy_array(src_view, "src_view")
    if dst.dtype != src.dtype:
        what = f"dst_view has elements of {dst.dtype}, src_view of {src.dtype}"
        raise LacunaError(Exit.USAGE, what, "give views of the same dtype, or use NumPy's astype")
    if dst.size != src.size:
        what = f"dst_view has {dst.size} elements {dst.shape}, src_view {src.size} {src.shape}"
        raise LacunaError(Exit.USAGE, what, "give views of as many elements")
    to, is_shared = _plan(dst.dtype, dst.shape, dst.strides)
    if is_shared:
        what = f"elements of dst_view share memory: shape {dst.shape}, strides {dst.strides}"
        raise LacunaError(Exit.USAGE, what, "give a view whose elements lie apart")
    if not dst.flags.writeable:
        raise LacunaError(Exit.USAGE, "dst_view cannot be written", "give it a copy")
    by, _ = _plan(src.dtype, src.shape, src.strides)
    import numpy

    if numpy.may_share_memory(dst, src, 1):
        to.unpack(by.pack(src), dst)
    else:
        by.copy(src, to, dst)


class _Bytes:
    """The bytes from a view's first element up, as an object from which NumPy makes an array; it
    keeps the view alive.
    """

    def __init__(self, view: numpy.ndarray, is_shared: bool) -> None:
        memory = Memory(view, "the view", writes=False)
        self.view = view
        self.__array_interface__ = {
            "data": (memory.start, is_shared or not view.flags.writeable),
            "shape": (memory.high - memory.start,),
            "typestr": "|u1",
            "version": 3,
        }


def _numpy_array(view: Any, name: str) -> numpy.ndarray:
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(view, numpy.ndarray):
        what = f"{name} is {type(view).__name__}, which is no NumPy array"
        remedy = "give a NumPy array or a view of one; Plan.copy also takes arrays on a device"
        raise LacunaError(Exit.USAGE, what, remedy)
    return view


def _type(dtype: numpy.dtype, shape: tuple[int, ...], strides: tuple[int, ...]) -> Type:
    return Type(view_text(type_text(dtype), dtype.itemsize, shape, strides))


@lru_cache(maxsize=_KEPT)
def _layout(
    dtype: numpy.dtype, shape: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[MPI.Datatype, bool]:
    from lacuna.engine import mpi

    if not dtype.isnative:
        raise mpi.no_swapped(str(dtype))
    return _type(dtype, shape, strides).mpi(), _share_memory(dtype, shape, strides)


@lru_cache(maxsize=_KEPT)
def _plan(
    dtype: numpy.dtype, shape: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[Plan, bool]:
    return Plan(_type(dtype, shape, strides)), _share_memory(dtype, shape, strides)


def _share_memory(dtype: numpy.dtype, shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether a byte belongs to two elements, or to two fields of one element."""
    if _fields_share_memory(dtype):
        return True
    if 0 in shape or dtype.itemsize == 0:
        return False
    loops = sorted((abs(s), n) for n, s in zip(shape, strides, strict=True) if n > 1)
    reach = dtype.itemsize
    for stride, length in loops:
        if stride < reach:
            break
        reach += (length - 1) * stride
    else:
        return False
    if any(stride < dtype.itemsize for stride, _ in loops):
        return True
    import numpy  # elements of two dimensions interleave: compare the offsets of all

    places = numpy.zeros(1, numpy.int64)
    for stride, length in loops:
        places = (places[:, None] + numpy.arange(length) * stride).ravel()
    places.sort()
    return bool((numpy.diff(places) < dtype.itemsize).any())


def _fields_share_memory(dtype: numpy.dtype) -> bool:
    if dtype.subdtype is not None:
        return _fields_share_memory(dtype.subdtype[0])
    end = 0
    for inner, place, _ in sorted(fields_of(dtype), key=lambda field: field[1]):
        if place < end or _fields_share_memory(inner):
            return True
        end = place + inner.itemsize
    return False
