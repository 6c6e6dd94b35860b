# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of Python programs, as the engine sees them: types of their elements, and addresses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from ctypes import c_void_p
from typing import TYPE_CHECKING, Any

from lacuna.base.errors import Exit, LacunaError

if TYPE_CHECKING:
    import numpy

_BASIC = {
    **{("i", bytes_): f"int{8 * bytes_}_t" for bytes_ in (1, 2, 4, 8)},
    **{("u", bytes_): f"uint{8 * bytes_}_t" for bytes_ in (1, 2, 4, 8)},
    ("b", 1): "c_bool",
    ("f", 4): "float",
    ("f", 8): "double",
    ("f", 16): "long_double",
    ("c", 8): "c_float_complex",
    ("c", 16): "c_double_complex",
    ("c", 32): "c_long_double_complex",
}

# DLPack's names for memory that a CUDA device reaches, and packages whose objects never are there.
CUDA, CUDA_HOST, CUDA_MANAGED = 2, 3, 13
_OF_THE_HOST = ("numpy", "builtins", "array")


def is_on_device(array: Any) -> bool:
    """Whether an object says that its memory is one that a CUDA device reaches."""
    if array is None or type(array).__module__ in _OF_THE_HOST:
        return False
    if hasattr(array, "__dlpack_device__"):
        return array.__dlpack_device__()[0] in (CUDA, CUDA_HOST, CUDA_MANAGED)
    return hasattr(array, "__cuda_array_interface__")


def basic_text(kind: str, itemsize: int) -> str:
    """MPI's basic type for NumPy's letter of a kind and a size, else as many bytes."""
    return _BASIC.get((kind, itemsize), f"contiguous({itemsize}, byte)")


def type_text(dtype: numpy.dtype) -> str:
    """An element of NumPy's: MPI's basic type, else as many bytes; or its fields where they are."""
    if dtype.hasobject:
        what = f"elements of {dtype} are addresses of Python objects"
        raise LacunaError(Exit.USAGE, what, "give an array of numbers")
    if dtype.subdtype is not None:
        inner, shape = dtype.subdtype
        return f"contiguous({math.prod(shape)}, {type_text(inner)})"
    if dtype.fields is None:
        return basic_text(dtype.kind, dtype.itemsize)
    fields = sorted((place, type_text(inner)) for inner, place, _ in fields_of(dtype))
    places = ", ".join(str(place) for place, _ in fields)
    inner = ", ".join(text for _, text in fields)
    ones = ", ".join("1" for _ in fields)
    return f"resized(0, {dtype.itemsize}, struct([{ones}], [{places}], [{inner}]))"


def fields_of(dtype: numpy.dtype) -> list[tuple[numpy.dtype, int, str]]:
    """Type, place and name of each; `dtype.fields` has those with a title twice."""
    return [(*dtype.fields[name][:2], name) for name in dtype.names or ()]


def view_text(element: str, itemsize: int, shape: Sequence[int], strides: Sequence[int]) -> str:
    """The elements of a view in C's order, offset 0 at the first; what lies without gaps in one
    block, and the innermost stride in elements where it is a multiple of them.
    """
    if itemsize == 0 or 0 in shape:
        return f"contiguous(0, {element})"
    loops: list[tuple[int, int]] = []
    for length, stride in zip(shape, strides, strict=True):
        if loops and loops[-1][1] == length * stride:
            loops[-1] = (loops[-1][0] * length, stride)
        elif length != 1:
            loops.append((length, stride))
    block = loops.pop()[0] if loops and loops[-1][1] == itemsize else 1
    text = element if block == 1 else f"contiguous({block}, {element})"
    if loops and loops[-1][1] % itemsize == 0:
        length, stride = loops.pop()
        text = f"vector({length}, {block}, {stride // itemsize}, {element})"
    for length, stride in reversed(loops):
        text = f"hvector({length}, 1, {stride}, {text})"
    return text


class Span:
    """Where an array begins, and the addresses from `low` to `high` around it, which are there to
    be read, or written, as long as this lives. Strides are in bytes; none: C's order.
    """

    def __init__(
        self,
        name: str,
        start: int,
        shape: Sequence[int],
        strides: Sequence[int] | None,
        itemsize: int,
    ) -> None:
        self._name = name
        self.start = self.low = start
        bytes_ = math.prod(shape) * itemsize
        self.high = start + bytes_
        self.is_dense = (
            strides is None
            or bytes_ == 0
            or any(_follow(shape, strides, itemsize, step) for step in (-1, 1))
        )
        if not self.is_dense:
            ways = [(n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
            self.low = start + sum(way for way in ways if way < 0)
            self.high = start + sum(way for way in ways if way > 0) + itemsize

    def dense(self, bytes_: int) -> c_void_p:
        """The address of at least so many bytes, one after the other."""
        if not self.is_dense:
            remedy = "packed bytes lie one after the other: give an array that is contiguous"
            raise LacunaError(Exit.USAGE, f"{self._name} has gaps", remedy)
        if self.high - self.low < bytes_:
            what = f"{self._name} has {self.high - self.low} bytes, {bytes_} are needed"
            raise LacunaError(Exit.USAGE, what, "make it larger, or the count smaller")
        return c_void_p(self.start)

    def around(self, offset: int, first: int, last: int) -> c_void_p:
        """The address at `offset`, where data lie from `first` to `last` of it."""
        at = self.start + offset
        if first < last and not self.low <= at + first <= at + last <= self.high:
            what = (
                f"data are at bytes {offset + first} to {offset + last} of {self._name}, which has "
                f"{self.low - self.start} to {self.high - self.start}"
            )
            raise LacunaError(Exit.USAGE, what, "change the type, the count or the offset")
        return c_void_p(at & (1 << 64) - 1)


def _follow(shape: Sequence[int], strides: Sequence[int], itemsize: int, step: int) -> bool:
    """Whether elements follow each other in C's order (-1) or Fortran's (1)."""
    for length, stride in list(zip(shape, strides, strict=True))[::step]:
        if length != 1 and stride != itemsize:
            return False
        itemsize *= length
    return True


class Memory(Span):
    """Of a buffer of the host, or of what a view of NumPy's shows."""

    def __init__(self, buffer: Any, name: str, writes: bool) -> None:
        import numpy  # takes a tenth of a second to load

        try:
            array = (
                buffer if isinstance(buffer, numpy.ndarray) else numpy.asarray(memoryview(buffer))
            )
        except TypeError as error:
            what = f"{name} is {type(buffer).__name__}, which is no memory"
            remedy = "give a NumPy array, or what else has Python's buffer protocol"
            raise LacunaError(Exit.USAGE, what, remedy) from error
        if array.dtype.hasobject:
            what = f"{name} holds addresses of Python objects"
            raise LacunaError(Exit.USAGE, what, "give an array of numbers")
        self._array = array
        if writes and not array.flags.writeable:
            raise LacunaError(Exit.USAGE, f"{name} cannot be written", "give it a copy")
        start = array.__array_interface__["data"][0]
        strides = None if array.flags.c_contiguous else array.strides
        super().__init__(name, start, array.shape, strides, array.itemsize)
