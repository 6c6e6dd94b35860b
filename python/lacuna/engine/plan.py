# SPDX-License-Identifier: BSD-3-Clause
"""A plan: how the bytes of a type are moved. Packing, unpacking and copying from Python."""

from __future__ import annotations

import json
import operator
from ctypes import byref, c_int64, c_void_p
from typing import TYPE_CHECKING, Any, SupportsIndex

from lacuna.base.errors import Exit, LacunaError
from lacuna.engine import capi
from lacuna.engine.arrays import Memory, is_on_device
from lacuna.engine.type import Handle, Type

if TYPE_CHECKING:
    from lacuna.engine.device.plans import DevicePlans


def _counted(count: SupportsIndex, name: str = "count") -> int:
    """The number as an int of 64 bits; ctypes would cut a larger one off silently."""
    number = operator.index(count)
    if not -(1 << 63) <= number < 1 << 63:
        raise LacunaError(Exit.USAGE, f"bad {name}: {number}", "give one that fits into 64 bits")
    return number


def _need_no(stream: Any) -> None:
    if stream is not None:
        what = "a stream is given, but all memory is the host's"
        raise LacunaError(Exit.USAGE, what, "leave it out, or give arrays on a device")


class Plan(Handle):
    """Packs, unpacks and copies elements of one datatype on this machine.

    `datatype`: a Type, or its text (docs/user/types.md). Making a plan takes microseconds to
    milliseconds, by the size of the type; a plan can be used any number of times, by several
    threads at once. Raises LacunaError if the type cannot be planned.
    """

    def __init__(self, datatype: Type | str) -> None:
        self._handle = c_void_p()
        self._on_device: DevicePlans | None = None
        self._type = Type(datatype) if isinstance(datatype, str) else datatype
        if not isinstance(self._type, Type):
            what = f"a plan is made of a type, and this is {type(datatype).__name__}"
            remedy = "give a Type or its text; Type.of(array) is that of an array"
            raise LacunaError(Exit.USAGE, what, remedy)
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
        """The datatype that the plan moves."""
        return self._type

    def packed_size(self, count: int = 1) -> int:
        """Bytes of `count` elements when packed: `count` times the size of the type."""
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
        """Packs `count` elements of `mem` and returns the packed bytes.

        - `mem`: a NumPy array, a view of one, any object with the buffer protocol, or an array on a
          CUDA device. Its dtype and shape do not matter: the plan's type says where the data are.
        - `offset`: the byte of `mem` (from its first element) at which offset 0 of the first
          element of the type lies. All data must lie inside `mem`.
        - `out`: a writable contiguous array of at least as many bytes as are packed, which is
          returned. None: a new array of uint8 (NumPy's; a DeviceBytes of
          lacuna.engine.device.arrays for device memory).
        - `slice_`: (begin, end): only these bytes of the packed form.
        - `stream`: for device memory, where the copy is enqueued; the call returns before it is
          done.

        Raises LacunaError, before a byte is moved, if data lie outside `mem`, `out` is too small,
        has gaps or is read-only, or `slice_` is not within the packed form. Cost: one pass over the
        data and about 5 us; other threads run meanwhile.
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
        del memory, room  # until here they kept the buffers from being resized
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
        """Unpacks `packed` into `count` elements of `mem`: the reverse of pack().

        `packed`: a contiguous array of at least packed_size(count) bytes, or of `end - begin` bytes
        with `slice_`; it is not changed. Of `mem` only the bytes of data are written, no gaps. The
        other arguments, errors and costs are those of pack().
        """
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
        """Copies `count` elements of `mem` to `other_count` elements of `other_mem`, which have the
        layout of the plan `other` and as many bytes, without a packed form in between.

        `offset`, `other_offset`: as in pack(). The two must not overlap in memory. Raises
        LacunaError, before a byte is moved, if the numbers of bytes differ or data lie outside an
        array. Cost: one pass over the data and about 5 us.
        """
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
        """An object that keeps `mem` alive, and the address of offset 0 of the first element.
        Raises LacunaError if data lie outside.
        """
        memory = Memory(mem, name, writes)
        return memory, memory.around(offset, *self._around(count))

    def _around(self, count: int) -> tuple[int, int]:
        """(first, last): the bytes that hold data, counted from offset 0 of the first element."""
        if count <= 0 or self._size == 0:
            return 0, 0
        over = (count - 1) * self._extent
        return self._lb + min(0, over), self._ub + max(0, over)

    def _device(self) -> DevicePlans:
        if self._on_device is None:
            from lacuna.engine.device.plans import DevicePlans  # few programs have a device

            self._on_device = DevicePlans(self._type)
        return self._on_device

    def explain(self, count: int) -> str:
        """The steps by which `count` elements are moved and why, as text for people (several
        lines).
        """
        lib = capi.library()
        count = _counted(count)
        return capi.text(
            lambda n, at, need: lib.lacuna_plan_explain(self._handle, count, n, at, need),
            "the plan",
        )

    def cost(self, count: int) -> dict[str, Any]:
        """The predicted time of packing and unpacking `count` elements on this machine.

        The dictionary is the JSON of lacuna_plan_cost_json (lacuna.h): times in ns with the same
        buffers used again and again ("warm"), and with data in no cache ("cold"). Without a profile
        (`lacuna machine --measure`) it is computed from default numbers.
        """
        lib = capi.library()
        count = _counted(count)
        return json.loads(
            capi.text(
                lambda n, at, need: lib.lacuna_plan_cost_json(self._handle, count, n, at, need),
                "the cost",
            )
        )
