# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of Python programs: the datatypes of their elements, and checked addresses."""

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
    """Whether an array says (by DLPack or __cuda_array_interface__) that a CUDA device reaches its
    memory.
    """
    if array is None or type(array).__module__ in _OF_THE_HOST:
        return False
    if hasattr(array, "__dlpack_device__"):
        return array.__dlpack_device__()[0] in (CUDA, CUDA_HOST, CUDA_MANAGED)
    return hasattr(array, "__cuda_array_interface__")


def basic_text(kind: str, itemsize: int) -> str:
    """The basic type of MPI for a kind (NumPy's letter) and a size in bytes; as many MPI_BYTEs
    where there is none.
    """
    return _BASIC.get((kind, itemsize), f"contiguous({itemsize}, byte)")


def type_text(dtype: numpy.dtype) -> str:
    """The text of one element of a NumPy dtype: a basic type, or a struct of its fields at their
    offsets.
    """
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
    """(dtype, offset, name) of each field; `dtype.fields` lists a field with a title twice."""
    return [(*dtype.fields[name][:2], name) for name in dtype.names or ()]


def view_text(element: str, itemsize: int, shape: Sequence[int], strides: Sequence[int]) -> str:
    """The text of the type of all elements of a view, in C order; offset 0 is its first element.

    Dimensions that are contiguous in memory become one block. The innermost stride is in elements
    (vector) where it is a multiple of `itemsize`, else in bytes (hvector), as are `strides`.
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
    """The memory of an array: where it begins (`start`), and the bytes [low, high) that belong to
    it.

    `strides`: in bytes; None: C order without gaps. The memory stays valid as long as this object
    lives.
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
        """The address of the first of at least `bytes_` contiguous bytes. Raises LacunaError if the
        array has gaps or is smaller.
        """
        if not self.is_dense:
            remedy = "packed bytes lie one after the other: give an array that is contiguous"
            raise LacunaError(Exit.USAGE, f"{self._name} has gaps", remedy)
        if self.high - self.low < bytes_:
            what = f"{self._name} has {self.high - self.low} bytes, {bytes_} are needed"
            raise LacunaError(Exit.USAGE, what, "make it larger, or the count smaller")
        return c_void_p(self.start)

    def around(self, offset: int, first: int, last: int) -> c_void_p:
        """The address of byte `offset`, if bytes [offset + first, offset + last) are inside. Raises
        LacunaError if they are not.
        """
        at = self.start + offset
        if first < last and not self.low <= at + first <= at + last <= self.high:
            what = (
                f"data are at bytes {offset + first} to {offset + last} of {self._name}, which has "
                f"{self.low - self.start} to {self.high - self.start}"
            )
            raise LacunaError(Exit.USAGE, what, "change the type, the count or the offset")
        return c_void_p(at & (1 << 64) - 1)


def _follow(shape: Sequence[int], strides: Sequence[int], itemsize: int, step: int) -> bool:
    """Whether elements follow each other without gaps in C order (step -1) or Fortran order (step
    1).
    """
    for length, stride in list(zip(shape, strides, strict=True))[::step]:
        if length != 1 and stride != itemsize:
            return False
        itemsize *= length
    return True


class Memory(Span):
    """The memory of an object with the buffer protocol, or of a NumPy view. Raises LacunaError if
    it has none, holds Python objects, or is read-only though `writes` is set.
    """

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
