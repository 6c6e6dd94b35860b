# SPDX-License-Identifier: BSD-3-Clause
"""Arrays in a device's memory, by the two protocols that CuPy, PyTorch, Numba and JAX speak:
`__cuda_array_interface__` (version 3) and DLPack (0.8 and 1).
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from typing import Any

from lacuna.base.errors import Exit, LacunaError
from lacuna.engine.arrays import (
    CUDA,
    CUDA_MANAGED,
    Memory,
    Span,
    basic_text,
    is_on_device,
    view_text,
)
from lacuna.engine.device import dlpack, driver


class DeviceMemory(Span):
    """The memory of an array on a device, and the text of its element type.

    Work that is enqueued on `stream` afterwards waits for work on the stream that the array's owner
    names. Raises LacunaError if the memory is on no device, or read-only though `writes` is set.
    """

    def __init__(self, array: Any, name: str, writes: bool, stream: int) -> None:
        self._kept = array
        if hasattr(array, "__dlpack__"):
            self._by_dlpack(array, name, stream)
        else:
            self._by_interface(array.__cuda_array_interface__, name, stream)
        if writes and self.is_read_only:
            raise LacunaError(Exit.USAGE, f"{name} cannot be written", "give it a copy")

    def _by_interface(self, interface: dict[str, Any], name: str, stream: int) -> None:
        address, self.is_read_only = interface["data"]
        kind, size = interface["typestr"][1], int(interface["typestr"][2:])
        strides = interface.get("strides")
        super().__init__(name, address or 0, interface["shape"], strides, size)
        self.shape: Sequence[int] = interface["shape"]
        self.strides = strides or _dense_strides(self.shape, size)
        self.itemsize = size
        self.element = _structured(interface) or basic_text(kind, size)
        self.device = driver.device_of(address) if address else None
        if address and self.device is None:
            what = f"{name} is at {address:#x}, which is memory of no CUDA device"
            raise LacunaError(Exit.USAGE, what, "give an array that lives on a device")
        producer = interface.get("stream")
        if producer is not None and _other_stream(producer, stream) and self.device is not None:
            with driver.on(self.device):
                driver.wait_for(stream, producer)

    def _by_dlpack(self, array: Any, name: str, stream: int) -> None:
        # The owner makes our stream wait for its work. In DLPack 1 is the default stream, and 0 is
        # not allowed. Memory of the host has no stream.
        on_device = array.__dlpack_device__()[0] in (CUDA, CUDA_MANAGED)
        words = {"stream": stream or 1} if on_device else {}
        try:
            capsule = array.__dlpack__(max_version=(1, 0), **words)
        except TypeError:  # an owner from before version 1
            capsule = array.__dlpack__(**words)
        self._capsule = capsule  # its destructor releases the tensor
        tensor = dlpack.opened(capsule, name)
        self.is_read_only = tensor.is_read_only
        super().__init__(name, tensor.address, tensor.shape, tensor.strides, tensor.itemsize)
        self.shape = tensor.shape
        self.strides = tensor.strides or _dense_strides(tensor.shape, tensor.itemsize)
        self.itemsize = tensor.itemsize
        self.element = basic_text(tensor.kind, tensor.itemsize)
        self.device = tensor.device_id if on_device else driver.device_of(self.start)


class PinnedMemory(Memory):
    """Memory of the host that a device can access. Raises LacunaError for other host memory."""

    def __init__(self, array: Any, name: str, writes: bool) -> None:
        super().__init__(array, name, writes)
        address = driver.seen_by_device(self.start) if self.high > self.low else self.start
        if address is None:
            what = f"{name} is {type(array).__name__}, memory of the host that no device can access"
            remedy = "pin it, copy it to the device first, or leave it out to get new memory there"
            raise LacunaError(Exit.USAGE, what, remedy)
        shift = address - self.start
        self.start, self.low, self.high = address, self.low + shift, self.high + shift
        self.device: int | None = None


def memory_of(array: Any, name: str, writes: bool, stream: int) -> DeviceMemory | PinnedMemory:
    """The memory of an array on a device, or of pinned host memory."""
    if is_on_device(array):
        return DeviceMemory(array, name, writes, stream)
    return PinnedMemory(array, name, writes)


class DeviceBytes:
    """New bytes on a device, with `__cuda_array_interface__`: the result of packing without `out`.
    Freed with this object.
    """

    def __init__(self, bytes_: int, device: int) -> None:
        self._bytes = bytes_
        self._device = device
        with driver.on(device):
            self._address = driver.allocate(bytes_)

    def __del__(self) -> None:
        address, self._address = getattr(self, "_address", 0), 0
        if address and not sys.is_finalizing():
            with driver.on(self._device):
                driver.free(address)

    def __len__(self) -> int:
        return self._bytes

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": (self._bytes,),
            "typestr": "|u1",
            "data": (self._address, False),
            "strides": None,
            "stream": None,
            "version": 3,
        }

    def tobytes(self) -> bytes:
        """A copy on the host, after all work that was enqueued on the device."""
        copied = ctypes.create_string_buffer(max(self._bytes, 1))
        with driver.on(self._device):
            driver.finish()
            driver.copy(ctypes.addressof(copied), self._address, self._bytes)
        return copied.raw[: self._bytes]


def type_text_of(array: Any) -> str:
    """The text of the type of all elements of an array on a device (Type.of)."""
    memory = DeviceMemory(array, "the array", False, 0)
    return view_text(memory.element, memory.itemsize, memory.shape, memory.strides)


def stream_handle(stream: Any) -> int:
    """The cudaStream_t of None (the default stream), of a number, or of an object with
    `__cuda_stream__`.
    """
    if stream is None:
        return 0
    if isinstance(stream, int) and not isinstance(stream, bool):
        if 0 <= stream < 1 << 64:
            return stream
        raise LacunaError(Exit.USAGE, f"bad stream: {stream}", "give the cudaStream_t's address")
    told = getattr(stream, "__cuda_stream__", None)
    if told is None:
        what = f"stream is {type(stream).__name__}, which is no CUDA stream"
        remedy = "give None, the cudaStream_t as a number, or an object with __cuda_stream__"
        raise LacunaError(Exit.USAGE, what, remedy)
    version, handle = told() if callable(told) else told
    if version != 0:
        what = f"stream speaks version {version} of __cuda_stream__, known is 0"
        raise LacunaError(Exit.USAGE, what, "give its cudaStream_t as a number")
    return int(handle)


def _structured(interface: dict[str, Any]) -> str | None:
    """The text of a structured element, which `descr` of the interface describes; None for a plain
    number.
    """
    fields = interface.get("descr") or []
    if interface["typestr"][1] != "V" or len(fields) < 2:
        return None
    import numpy

    from lacuna.engine.arrays import type_text

    named = [one for one in fields if one[0]]  # those without a name are padding
    whole = numpy.dtype([(one[0] or f"gap{i}", *one[1:]) for i, one in enumerate(fields)])
    offsets = [whole.fields[one[0]][1] for one in named]
    formats = [whole.fields[one[0]][0] for one in named]
    names = [one[0] for one in named]
    described = {"names": names, "formats": formats, "offsets": offsets, "itemsize": whole.itemsize}
    return type_text(numpy.dtype(described))


def _dense_strides(shape: Sequence[int], size: int) -> tuple[int, ...]:
    strides: list[int] = []
    for length in reversed(shape):
        strides.append(size)
        size *= length
    return tuple(reversed(strides))


def _other_stream(producer: int, stream: int) -> bool:
    """Whether two streams differ; 0 and 1 both name the default stream."""
    return (producer or 1) != (stream or 1)
