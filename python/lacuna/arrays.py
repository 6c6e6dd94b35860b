# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of Python programs, as the engine sees them: types of their elements, and addresses."""

from __future__ import annotations

import math
from ctypes import c_void_p
from typing import TYPE_CHECKING, Any

from lacuna.errors import Exit, LacunaError

if TYPE_CHECKING:
    import numpy

_BASIC = {
    **{("i", bytes_): f"int{8 * bytes_}_t" for bytes_ in (1, 2, 4, 8)},
    **{("u", bytes_): f"uint{8 * bytes_}_t" for bytes_ in (1, 2, 4, 8)},
    ("b", 1): "c_bool",
    ("f", 4): "float",
    ("f", 8): "double",
    ("c", 8): "c_float_complex",
    ("c", 16): "c_double_complex",
}


def type_text(dtype: numpy.dtype) -> str:
    """An element of NumPy's: MPI's basic type, else as many bytes; or its fields where they are."""
    if dtype.hasobject:
        what = f"elements of {dtype} are addresses of Python objects"
        raise LacunaError(Exit.USAGE, what, "give an array of numbers")
    if dtype.subdtype is not None:
        inner, shape = dtype.subdtype
        return f"contiguous({math.prod(shape)}, {type_text(inner)})"
    if dtype.fields is None:
        return _BASIC.get((dtype.kind, dtype.itemsize), f"contiguous({dtype.itemsize}, byte)")
    fields = sorted((place, type_text(inner)) for inner, place, *_ in dtype.fields.values())
    places = ", ".join(str(place) for place, _ in fields)
    inner = ", ".join(text for _, text in fields)
    ones = ", ".join("1" for _ in fields)
    return f"resized(0, {dtype.itemsize}, struct([{ones}], [{places}], [{inner}]))"


class Memory:
    """Of a buffer, or of what a view of NumPy's shows: where it begins, and the addresses from
    `low` to `high` around it, which are there to be read, or written, as long as this lives.
    """

    def __init__(self, buffer: Any, name: str, writes: bool) -> None:
        import numpy  # takes a tenth of a second to load

        self._name = name
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
        flags = array.flags
        if writes and not flags.writeable:
            raise LacunaError(Exit.USAGE, f"{name} cannot be written", "give it a copy")
        self.start = self.low = array.__array_interface__["data"][0]
        self.high = self.low + array.nbytes
        self.is_dense = flags.forc
        if not self.is_dense:
            ways = [(n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True)]
            self.low = self.start + sum(way for way in ways if way < 0)
            self.high = self.start + sum(way for way in ways if way > 0) + array.itemsize

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
