# SPDX-License-Identifier: BSD-3-Clause
"""Packing, unpacking and copying on a device for lacuna.engine.Plan: one launch or copy on the
caller's stream.
"""

from __future__ import annotations

import sys
import threading
from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any

from lacuna.base.errors import Exit, LacunaError
from lacuna.engine.device import driver
from lacuna.engine.device.arrays import DeviceBytes, memory_of, stream_handle
from lacuna.engine.device.library import check, library

if TYPE_CHECKING:
    from lacuna.engine import Type


# An array, the byte of it at which offset 0 of the first element lies, and the bytes (first, last)
# from there that hold data.
_Place = tuple[Any, int, int, int]


class DevicePlans:
    """The device plans of a type, by count and device. All are kept as long as this object, since a
    captured graph may read their tables.
    """

    def __init__(self, datatype: Type) -> None:
        self._type = datatype
        self._plans: dict[tuple[int, int], c_void_p] = {}
        self._lock = threading.Lock()

    def __del__(self) -> None:
        if sys.is_finalizing():  # the driver ends with the process
            return
        for (_, device), plan in getattr(self, "_plans", {}).items():
            with driver.on(device):
                library().lacuna_gpu_plan_destroy(plan)

    def plan(self, count: int, device: int) -> c_void_p:
        """The plan for `count` elements on a device, which must be the current one."""
        with self._lock:
            found = self._plans.get((count, device))
            if found is None:
                found = c_void_p()
                status = library().lacuna_gpu_plan_create(self._type.handle, count, byref(found))
                check(status, "the plan")
                self._plans[count, device] = found
            return found

    def pack(self, mem: _Place, count: int, slice_: tuple[int, int], out: Any, stream: Any) -> Any:
        """As Plan.pack."""
        begin, end = slice_
        handle = stream_handle(stream)
        array, *where = mem
        memory = memory_of(array, "mem", False, handle)
        at = memory.around(*where)
        if out is None:
            out = DeviceBytes(end - begin, device_for(memory))
        room = memory_of(out, "out", True, handle)
        to = room.dense(end - begin)
        device = device_for(memory, room)
        with driver.on(device):
            plan = self.plan(count, device)
            check(library().lacuna_gpu_pack(plan, at, begin, end, to, handle), "packing")
        return out

    def unpack(
        self, packed: Any, mem: _Place, count: int, slice_: tuple[int, int], stream: Any
    ) -> None:
        """As Plan.unpack."""
        begin, end = slice_
        handle = stream_handle(stream)
        array, *where = mem
        memory = memory_of(array, "mem", True, handle)
        at = memory.around(*where)
        there = memory_of(packed, "packed", False, handle)
        source = there.dense(end - begin)
        device = device_for(memory, there)
        with driver.on(device):
            plan = self.plan(count, device)
            check(library().lacuna_gpu_unpack(plan, source, begin, end, at, handle), "unpacking")

    def copy(
        self,
        mem: _Place,
        count: int,
        other: DevicePlans,
        other_mem: _Place,
        other_count: int,
        stream: Any,
    ) -> None:
        """As Plan.copy."""
        handle = stream_handle(stream)
        array, *where = mem
        other_array, *other_where = other_mem
        memory = memory_of(array, "mem", False, handle)
        room = memory_of(other_array, "other_mem", True, handle)
        source, to = memory.around(*where), room.around(*other_where)
        device = device_for(memory, room)
        with driver.on(device):
            own, others = self.plan(count, device), other.plan(other_count, device)
            check(library().lacuna_gpu_copy(own, source, others, to, handle), "copying")


def device_for(*memories: Any) -> int:
    """The number of the one device that a call uses; the current one if all memory is the host's.
    Raises LacunaError for several.
    """
    devices = {one.device for one in memories if one.device is not None}
    if len(devices) > 1:
        what = f"the arrays are on devices {' and '.join(map(str, sorted(devices)))}"
        raise LacunaError(Exit.USAGE, what, "copy one of them to the other's device first")
    return devices.pop() if devices else driver.current_device()
