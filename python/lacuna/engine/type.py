# SPDX-License-Identifier: BSD-3-Clause
"""A datatype: a handle of the C library, made from a text or by MPI's constructors."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from ctypes import byref, c_int64, c_void_p
from typing import TYPE_CHECKING, Any, SupportsIndex

from lacuna.base.errors import Exit, LacunaError
from lacuna.engine import capi
from lacuna.engine.arrays import is_on_device, type_text, view_text

if TYPE_CHECKING:
    from typing import Self  # of Python 3.11

    import numpy
    from mpi4py import MPI


def _words(argument: SupportsIndex | Sequence[SupportsIndex]) -> str:
    """An argument of a constructor as the text form writes it: 7, or [1, 2, 3]."""
    if hasattr(argument, "__len__"):
        return f"[{', '.join(str(operator.index(one)) for one in argument)}]"
    return str(operator.index(argument))


class Handle:
    """An immutable object with a handle: copies are the object itself, since two owners of one
    handle would each free it.
    """

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: dict[int, Any]) -> Self:
        return self


class Type(Handle):
    """A datatype, made from its text form (docs/user/types.md) or by a class method.

    The class methods are MPI's constructors with MPI's order of arguments, but the length of a list
    is the count. An `oldtype` is a Type or a text such as "double". Displacements and strides are
    in elements of the oldtype; in constructors whose name begins with h, in `struct` and in
    `resized` they are in bytes. All raise LacunaError if the text or an argument is invalid. A Type
    is immutable and is freed with its last reference.
    """

    _swapped: str | None = None  # the dtype, where of() was given elements in the other byte order

    def __init__(self, text: str) -> None:
        self._handle = c_void_p()
        if "\0" in text:
            what = f"cannot read the type text: it has a NUL: {text!r}"
            raise LacunaError(Exit.USAGE, what, "see lacuna docs types")
        capi.check(
            capi.library().lacuna_type_parse(os.fsencode(text), byref(self._handle)), "the type"
        )

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            capi.library().lacuna_type_destroy(self._handle)

    def __repr__(self) -> str:
        return f"Type({self.text()!r})"

    @classmethod
    def _by(cls, constructor: str, oldtype: Type | str, *arguments: Any) -> Type:
        """Makes the type by its text: one way into the library, whose errors name the constructor
        and the argument.
        """
        inner = oldtype if isinstance(oldtype, str) else oldtype.text()
        return cls(f"{constructor}({', '.join([*map(_words, arguments), inner])})")

    @classmethod
    def contiguous(cls, count: int, oldtype: Type | str) -> Type:
        """MPI_Type_contiguous: `count` elements one after the other."""
        return cls._by("contiguous", oldtype, count)

    @classmethod
    def vector(cls, count: int, blocklength: int, stride: int, oldtype: Type | str) -> Type:
        """MPI_Type_vector: `count` blocks of `blocklength` elements, every `stride` elements."""
        return cls._by("vector", oldtype, count, blocklength, stride)

    @classmethod
    def hvector(cls, count: int, blocklength: int, stride: int, oldtype: Type | str) -> Type:
        """MPI_Type_create_hvector: as vector(), with the stride in bytes."""
        return cls._by("hvector", oldtype, count, blocklength, stride)

    @classmethod
    def indexed(
        cls, blocklengths: Sequence[int], displacements: Sequence[int], oldtype: Type | str
    ) -> Type:
        """MPI_Type_indexed: block i has blocklengths[i] elements, from displacements[i] elements
        on.
        """
        return cls._by("indexed", oldtype, blocklengths, displacements)

    @classmethod
    def hindexed(
        cls, blocklengths: Sequence[int], displacements: Sequence[int], oldtype: Type | str
    ) -> Type:
        """MPI_Type_create_hindexed: as indexed(), with displacements in bytes."""
        return cls._by("hindexed", oldtype, blocklengths, displacements)

    @classmethod
    def indexed_block(
        cls, blocklength: int, displacements: Sequence[int], oldtype: Type | str
    ) -> Type:
        """MPI_Type_create_indexed_block: as indexed(), with blocks of one length."""
        return cls._by("indexed_block", oldtype, blocklength, displacements)

    @classmethod
    def hindexed_block(
        cls, blocklength: int, displacements: Sequence[int], oldtype: Type | str
    ) -> Type:
        """MPI_Type_create_hindexed_block: as indexed_block(), with displacements in bytes."""
        return cls._by("hindexed_block", oldtype, blocklength, displacements)

    @classmethod
    def struct(
        cls,
        blocklengths: Sequence[int],
        displacements: Sequence[int],
        oldtypes: Sequence[Type | str],
    ) -> Type:
        """MPI_Type_create_struct: block i has blocklengths[i] elements of oldtypes[i], from byte
        displacements[i] on.
        """
        inner = ", ".join(one if isinstance(one, str) else one.text() for one in oldtypes)
        return cls._by("struct", f"[{inner}]", blocklengths, displacements)

    @classmethod
    def subarray(
        cls,
        sizes: Sequence[int],
        subsizes: Sequence[int],
        starts: Sequence[int],
        oldtype: Type | str,
        order: str = "c",
    ) -> Type:
        """MPI_Type_create_subarray: the part of an array of shape `sizes` that has shape `subsizes`
        and begins at index `starts`. `order`: "c" (the last index varies fastest) or "fortran".
        """
        inner = oldtype if isinstance(oldtype, str) else oldtype.text()
        return cls._by("subarray", f"{order}, {inner}", sizes, subsizes, starts)

    @classmethod
    def resized(cls, lb: int, extent: int, oldtype: Type | str) -> Type:
        """MPI_Type_create_resized: the same data with another lower bound and extent, in bytes."""
        return cls._by("resized", oldtype, lb, extent)

    @classmethod
    def of(cls, view: numpy.ndarray) -> Type:
        """The type of the elements that an array or a view of one shows, in C order; offset 0 is
        its first element.

        `view`: an array or view of NumPy or on a CUDA device. Fields of structured elements are
        packed one by one, without padding. Raises LacunaError for anything else, and for arrays of
        Python objects.
        """
        if is_on_device(view):
            from lacuna.engine.device import arrays  # few programs have a device

            return cls(arrays.type_text_of(view))
        if not hasattr(view, "strides"):
            what = f"{type(view).__name__} is no array"
            remedy = "give a NumPy array, a view of one, or an array on a device"
            raise LacunaError(Exit.USAGE, what, remedy)
        made = cls(view_text(type_text(view.dtype), view.itemsize, view.shape, view.strides))
        if not view.dtype.isnative:
            made._swapped = str(view.dtype)
        return made

    def mpi(self) -> MPI.Datatype:
        """The same type as mpi4py's `MPI.Datatype`, made by MPI's constructors and committed.

        A new one for each call. It is freed with its last reference, or at once by `Free()`; MPI
        itself keeps it until messages that use it are complete. For arrays, `lacuna.engine.message`
        is simpler. Raises LacunaError without mpi4py, and for elements in the other byte order.
        """
        from lacuna.engine import mpi

        if self._swapped is not None:
            raise mpi.no_swapped(self._swapped)
        return mpi.datatype(self.text(), self.size())

    @property
    def handle(self) -> c_void_p:
        """The C library's handle, which the Type owns."""
        return self._handle

    def text(self) -> str:
        """The text form, as the library prints it; Type(text) makes an equal type."""
        lib = capi.library()
        return capi.text(
            lambda n, at, need: lib.lacuna_type_text(self._handle, n, at, need), "the type"
        )

    def size(self) -> int:
        """Bytes of data in one element (MPI_Type_size)."""
        size = c_int64()
        capi.check(capi.library().lacuna_type_size(self._handle, byref(size)), "the type")
        return size.value

    def extent(self) -> tuple[int, int]:
        """(lower bound, extent) in bytes (MPI_Type_get_extent)."""
        lb, extent = c_int64(), c_int64()
        capi.check(
            capi.library().lacuna_type_extent(self._handle, byref(lb), byref(extent)), "the type"
        )
        return lb.value, extent.value

    def true_extent(self) -> tuple[int, int]:
        """(true lower bound, true extent) in bytes (MPI_Type_get_true_extent)."""
        lb, extent = c_int64(), c_int64()
        capi.check(
            capi.library().lacuna_type_true_extent(self._handle, byref(lb), byref(extent)),
            "the type",
        )
        return lb.value, extent.value
