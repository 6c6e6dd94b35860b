# SPDX-License-Identifier: BSD-3-Clause
"""A plan: how the bytes of a type are moved, and moving them from Python."""

from __future__ import annotations

import json
import operator
from ctypes import byref, c_int64, c_void_p
from typing import TYPE_CHECKING, Any, SupportsIndex

from lacuna.base.errors import Exit, LacunaError
from lacuna.engine import capi, devices
from lacuna.engine.arrays import Memory, is_on_device
from lacuna.engine.type import Handle, Type

if TYPE_CHECKING:
    from lacuna.engine.devices import DevicePlans


def _counted(count: SupportsIndex, name: str = "count") -> int:
    """A number as the C library has them; ctypes would cut it off."""
    number = operator.index(count)
    if not -(1 << 63) <= number < 1 << 63:
        raise LacunaError(Exit.USAGE, f"bad {name}: {number}", "give one that fits into 64 bits")
    return number


def _need_no(stream: Any) -> None:
    if stream is not None:
        what = "a stream is given, but all memory is the host's"
        raise LacunaError(Exit.USAGE, what, "leave it out, or give arrays on a device")


class Plan(Handle):
    """How the bytes of a type are moved on this machine."""

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
            self._on_device = devices.plans_of(self._type)
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
