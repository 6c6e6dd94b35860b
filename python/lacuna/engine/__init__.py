# SPDX-License-Identifier: BSD-3-Clause
"""The engine for Python programs: types, plans, and moving the bytes of arrays.

    from lacuna.engine import Plan, Type

    column = Plan(Type.vector(1000, 1, 1000, "double"))
    packed = column.pack(matrix)             # the first column of a NumPy array of 1000 x 1000
    column.unpack(packed, matrix, offset=8)  # into the second one
    view = matrix[::2, 3:5]
    packed = Plan(Type.of(view)).pack(view)  # what a view shows

It is lacuna.h by ctypes: its rules and its costs, and about 5 us for the call; other threads run
while bytes are moved. What is wrong is raised as LacunaError, before anything is moved.

Arrays in a CUDA device's memory (`__cuda_array_interface__` or DLPack: CuPy, PyTorch, Numba, JAX)
are moved there, by liblacuna-cuda.so: a call enqueues one launch or copy on `stream` (None: the
default stream, a cudaStream_t as a number, or an object with `__cuda_stream__`) and returns, so
that the arrays must stay until the stream is done. The other array may be pinned memory of the
host. The first call for a count makes a plan on the device; later ones can be captured in a graph.
"""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Sequence
from ctypes import byref, c_int64, c_void_p
from typing import TYPE_CHECKING, Any, SupportsIndex

from lacuna.base.errors import Exit, LacunaError
from lacuna.engine import capi
from lacuna.engine.arrays import Memory, is_on_device, type_text

if TYPE_CHECKING:
    from typing import Self  # of Python 3.11

    import numpy

    from lacuna.gpu.plans import DevicePlans


def version() -> str:
    """The version of the C library."""
    return capi.library().lacuna_version().decode()


def machine() -> dict[str, Any]:
    """The numbers about this machine that plans are made with, and where they come from."""
    return json.loads(capi.text(capi.library().lacuna_machine_json, "the machine"))


def _counted(count: SupportsIndex, name: str = "count") -> int:
    """A number as the C library has them; ctypes would cut it off."""
    number = operator.index(count)
    if not -(1 << 63) <= number < 1 << 63:
        raise LacunaError(Exit.USAGE, f"bad {name}: {number}", "give one that fits into 64 bits")
    return number


def _words(argument: SupportsIndex | Sequence[SupportsIndex]) -> str:
    """An argument of a constructor as it stands in a text."""
    if hasattr(argument, "__len__"):
        return f"[{', '.join(str(operator.index(one)) for one in argument)}]"
    return str(operator.index(argument))


def _need_no(stream: Any) -> None:
    if stream is not None:
        what = "a stream is given, but all memory is the host's"
        raise LacunaError(Exit.USAGE, what, "leave it out, or give arrays on a device")


class _Handle:
    """What never changes: a copy is the same one, as two of one handle would each give it back."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: dict[int, Any]) -> Self:
        return self


class Type(_Handle):
    """A datatype: its text form (docs/user/types.md), or one of MPI's constructors, with MPI's
    order of arguments; a list's length is the count. An oldtype may be a text. Displacements are in
    elements of the oldtype, in constructors with an h and in `struct` in bytes.
    """

    def __init__(self, text: str) -> None:
        self._handle = c_void_p()
        if "\0" in text:
            what = f"cannot read the type text: it has a NUL: {text!r}"
            raise LacunaError(Exit.USAGE, what, "docs/user/types.md has the grammar")
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
        """By texts: one way into the library, whose complaints name constructor and argument."""
        inner = oldtype if isinstance(oldtype, str) else oldtype.text()
        return cls(f"{constructor}({', '.join([*map(_words, arguments), inner])})")

    @classmethod
    def contiguous(cls, count: int, oldtype: Type | str) -> Type:
        """MPI_Type_contiguous."""
        return cls._by("contiguous", oldtype, count)

    @classmethod
    def vector(cls, count: int, blocklength: int, stride: int, oldtype: Type | str) -> Type:
        """MPI_Type_vector."""
        return cls._by("vector", oldtype, count, blocklength, stride)

    @classmethod
    def hvector(cls, count: int, blocklength: int, stride: int, oldtype: Type | str) -> Type:
        """MPI_Type_create_hvector; the stride in bytes."""
        return cls._by("hvector", oldtype, count, blocklength, stride)

    @classmethod
    def indexed(
        cls, blocklengths: Sequence[int], displacements: Sequence[int], oldtype: Type | str
    ) -> Type:
        """MPI_Type_indexed."""
        return cls._by("indexed", oldtype, blocklengths, displacements)

    @classmethod
    def hindexed(
        cls, blocklengths: Sequence[int], displacements: Sequence[int], oldtype: Type | str
    ) -> Type:
        """MPI_Type_create_hindexed."""
        return cls._by("hindexed", oldtype, blocklengths, displacements)

    @classmethod
    def indexed_block(
        cls, blocklength: int, displacements: Sequence[int], oldtype: Type | str
    ) -> Type:
        """MPI_Type_create_indexed_block."""
        return cls._by("indexed_block", oldtype, blocklength, displacements)

    @classmethod
    def hindexed_block(
        cls, blocklength: int, displacements: Sequence[int], oldtype: Type | str
    ) -> Type:
        """MPI_Type_create_hindexed_block."""
        return cls._by("hindexed_block", oldtype, blocklength, displacements)

    @classmethod
    def struct(
        cls,
        blocklengths: Sequence[int],
        displacements: Sequence[int],
        oldtypes: Sequence[Type | str],
    ) -> Type:
        """MPI_Type_create_struct."""
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
        """MPI_Type_create_subarray; `order` is "c" or "fortran"."""
        inner = oldtype if isinstance(oldtype, str) else oldtype.text()
        return cls._by("subarray", f"{order}, {inner}", sizes, subsizes, starts)

    @classmethod
    def resized(cls, lb: int, extent: int, oldtype: Type | str) -> Type:
        """MPI_Type_create_resized, in bytes."""
        return cls._by("resized", oldtype, lb, extent)

    @classmethod
    def of(cls, view: numpy.ndarray) -> Type:
        """Of what an array or a view of one shows, NumPy's or a device's, in the order of its
        elements: offset 0 is where it begins. Structured elements are packed field by field.
        """
        if is_on_device(view):
            from lacuna.gpu.arrays import type_text_of

            return cls(type_text_of(view))
        text = type_text(view.dtype)
        for length, stride in zip(reversed(view.shape), reversed(view.strides), strict=True):
            text = f"hvector({length}, 1, {stride}, {text})"
        return cls(text)

    @property
    def handle(self) -> c_void_p:
        """The C library's handle."""
        return self._handle

    def text(self) -> str:
        """The text form, as the library prints it."""
        lib = capi.library()
        return capi.text(
            lambda n, at, need: lib.lacuna_type_text(self._handle, n, at, need), "the type"
        )

    def size(self) -> int:
        """Bytes of data in one element."""
        size = c_int64()
        capi.check(capi.library().lacuna_type_size(self._handle, byref(size)), "the type")
        return size.value

    def extent(self) -> tuple[int, int]:
        """(lower bound, extent) in bytes."""
        lb, extent = c_int64(), c_int64()
        capi.check(
            capi.library().lacuna_type_extent(self._handle, byref(lb), byref(extent)), "the type"
        )
        return lb.value, extent.value

    def true_extent(self) -> tuple[int, int]:
        """(true lower bound, true extent) in bytes."""
        lb, extent = c_int64(), c_int64()
        capi.check(
            capi.library().lacuna_type_true_extent(self._handle, byref(lb), byref(extent)),
            "the type",
        )
        return lb.value, extent.value


class Plan(_Handle):
    """How the bytes of a type are moved on this machine."""

    def __init__(self, datatype: Type | str) -> None:
        self._handle = c_void_p()
        self._on_device: DevicePlans | None = None
        self._type = Type(datatype) if isinstance(datatype, str) else datatype
        # Kept, since a call of the library takes as long as to move a kilobyte.
        self._size = self._type.size()
        self._lb, true_extent = self._type.true_extent()
        self._ub = self._lb + true_extent
        self._extent = self._type.extent()[1]
        capi.check(
            capi.library().lacuna_plan_create(self._type.handle, byref(self._handle)), "the plan"
        )

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            capi.library().lacuna_plan_destroy(self._handle)

    @property
    def type(self) -> Type:
        """What it moves."""
        return self._type

    def packed_size(self, count: int = 1) -> int:
        """Bytes that `count` elements take when packed."""
        size = c_int64()
        count = _counted(count)
        capi.check(capi.library().lacuna_packed_size(self._handle, count, byref(size)), "the count")
        return size.value

    def pack(
        self,
        mem: Any,
        count: int = 1,
        out: Any = None,
        offset: int = 0,
        slice_: tuple[int, int] | None = None,
        stream: Any = None,
    ) -> Any:
        """The data of `count` elements, the first of which has its offset 0 at byte `offset` of
        `mem`: a NumPy array, a view of one, or any buffer; no data may lie outside. Into `out`,
        which is returned, or into a new NumPy array of bytes. `slice_`: bytes [begin, end) of the
        packed form alone. Where `mem` or `out` is on a device: enqueued on `stream`; new bytes are
        a DeviceBytes (lacuna.gpu.arrays).
        """
        begin, end = self._slice(slice_, count)
        if is_on_device(mem) or is_on_device(out):
            place = (mem, offset, *self._around(count))
            return self._device().pack(place, count, (begin, end), out, stream)
        _need_no(stream)
        memory, at = self._inside(mem, count, offset, "mem", writes=False)
        if out is None:
            import numpy  # takes a tenth of a second to load

            out = numpy.empty(end - begin, numpy.uint8)
        room = Memory(out, "out", writes=True)
        to = room.dense(end - begin)
        lib = capi.library()
        if slice_ is None:
            capi.check(lib.lacuna_pack(self._handle, at, count, to), "packing")
        else:
            capi.check(lib.lacuna_pack_slice(self._handle, at, count, begin, end, to), "packing")
        del memory, room  # which have kept it from being resized meanwhile
        return out

    def unpack(
        self,
        packed: Any,
        mem: Any,
        count: int = 1,
        offset: int = 0,
        slice_: tuple[int, int] | None = None,
        stream: Any = None,
    ) -> None:
        """The reverse: `packed` has the bytes; of `mem` nothing but data is written."""
        begin, end = self._slice(slice_, count)
        if is_on_device(mem) or is_on_device(packed):
            place = (mem, offset, *self._around(count))
            return self._device().unpack(packed, place, count, (begin, end), stream)
        _need_no(stream)
        memory, at = self._inside(mem, count, offset, "mem", writes=True)
        there = Memory(packed, "packed", writes=False)
        source = there.dense(end - begin)
        lib = capi.library()
        if slice_ is None:
            capi.check(lib.lacuna_unpack(self._handle, source, count, at), "unpacking")
        else:
            status = lib.lacuna_unpack_slice(self._handle, source, count, begin, end, at)
            capi.check(status, "unpacking")
        del memory, there

    def copy(
        self,
        mem: Any,
        other: Plan,
        other_mem: Any,
        count: int = 1,
        other_count: int = 1,
        offset: int = 0,
        other_offset: int = 0,
        stream: Any = None,
    ) -> None:
        """From this layout to another of as many bytes, without the packed form between."""
        count, other_count = _counted(count), _counted(other_count, "other_count")
        if is_on_device(mem) or is_on_device(other_mem):
            place = (mem, offset, *self._around(count))
            to = (other_mem, other_offset, *other._around(other_count))
            return self._device().copy(place, count, other._device(), to, other_count, stream)
        _need_no(stream)
        memory, source = self._inside(mem, count, offset, "mem", writes=False)
        room, to = other._inside(other_mem, other_count, other_offset, "other_mem", writes=True)
        capi.check(
            capi.library().lacuna_copy(self._handle, source, count, other._handle, to, other_count),
            "copying",
        )
        del memory, room

    def _slice(self, wanted: tuple[int, int] | None, count: int) -> tuple[int, int]:
        size = self.packed_size(count)
        begin, end = (0, size) if wanted is None else wanted
        if not 0 <= begin <= end <= size:
            what = f"bytes {begin} to {end} of {size} are no slice"
            raise LacunaError(Exit.USAGE, what, "give 0 <= begin <= end <= packed_size(count)")
        return begin, end

    def _inside(
        self, mem: Any, count: int, offset: int, name: str, writes: bool
    ) -> tuple[Memory, c_void_p]:
        """What keeps `mem`, and where offset 0 of the first element is, if all data lie inside."""
        memory = Memory(mem, name, writes)
        return memory, memory.around(offset, *self._around(count))

    def _around(self, count: int) -> tuple[int, int]:
        """From where to where data lie, from offset 0 of the first element."""
        if count <= 0 or self._size == 0:
            return 0, 0
        over = (count - 1) * self._extent
        return self._lb + min(0, over), self._ub + max(0, over)

    def _device(self) -> DevicePlans:
        if self._on_device is None:
            from lacuna.gpu.plans import DevicePlans

            self._on_device = DevicePlans(self._type)
        return self._on_device

    def explain(self, count: int) -> str:
        """What the plan does with `count` elements and why, in words."""
        lib = capi.library()
        count = _counted(count)
        return capi.text(
            lambda n, at, need: lib.lacuna_plan_explain(self._handle, count, n, at, need),
            "the plan",
        )

    def cost(self, count: int) -> dict[str, Any]:
        """How long packing and unpacking `count` elements will take here, as lacuna.h says."""
        lib = capi.library()
        count = _counted(count)
        return json.loads(
            capi.text(
                lambda n, at, need: lib.lacuna_plan_cost_json(self._handle, count, n, at, need),
                "the cost",
            )
        )
