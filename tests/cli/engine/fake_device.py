# SPDX-License-Identifier: BSD-3-Clause
"""A CUDA device of the host's memory: a driver that keeps a record, and a liblacuna-cuda.so that
moves bytes by the engine of the CPU. For tests where there is no device.
"""

import ctypes
from contextlib import contextmanager
from ctypes import byref, c_int64, c_void_p

from lacuna.engine import capi
from lacuna.engine.device import dlpack


class FakeDriver:
    """In place of lacuna.engine.device.driver: arrays in `pinned` may be reached, `devices` tells
    where others are."""

    def __init__(self):
        self.devices = {}  # address -> device, where it is not 0
        self.of_host = set()
        self.pinned = set()
        self.waits = []
        self.now = []
        self.memory = {}

    def device_of(self, address):
        return None if address in self.of_host else self.devices.get(address, 0)

    def seen_by_device(self, address):
        return address if address in self.pinned else None

    @contextmanager
    def on(self, device):
        self.now.append(device)
        yield
        self.now.pop()

    def current_device(self):
        return 0

    def wait_for(self, stream, other):
        self.waits.append((stream, other))

    def finish(self):
        pass

    def allocate(self, bytes_):
        room = ctypes.create_string_buffer(max(bytes_, 1))
        address = ctypes.addressof(room)
        self.memory[address] = room
        return address

    def free(self, address):
        del self.memory[address]

    def copy(self, to, source, bytes_):
        ctypes.memmove(to, source, bytes_)


class FakeLibrary:
    """In place of liblacuna-cuda.so; `calls` has what was asked, with the stream and the device."""

    def __init__(self, driver):
        self.driver = driver
        self.calls = []
        self.plans = {}
        self.destroyed = 0

    def lacuna_gpu_last_error(self):
        return b"the fake says no"

    def lacuna_gpu_plan_create(self, handle, count, plan):
        own = c_void_p()
        if capi.library().lacuna_plan_create(handle, byref(own)) != 0:
            return 1
        size = c_int64()
        assert capi.library().lacuna_packed_size(own, count, byref(size)) == 0
        number = len(self.plans) + 1
        self.plans[number] = (own, count, size.value)
        plan._obj.value = number
        return 0

    def lacuna_gpu_plan_destroy(self, plan):
        self.destroyed += 1
        capi.library().lacuna_plan_destroy(self.plans[plan.value][0])

    def _note(self, name, stream):
        self.calls.append((name, stream, self.driver.now[-1]))

    def lacuna_gpu_pack(self, plan, mem, begin, end, packed, stream):
        self._note("pack", stream)
        own, count, _ = self.plans[plan.value]
        return capi.library().lacuna_pack_slice(own, mem, count, begin, end, packed)

    def lacuna_gpu_unpack(self, plan, packed, begin, end, mem, stream):
        self._note("unpack", stream)
        own, count, _ = self.plans[plan.value]
        return capi.library().lacuna_unpack_slice(own, packed, count, begin, end, mem)

    def lacuna_gpu_copy(self, plan, mem, other, other_mem, stream):
        self._note("copy", stream)
        own, count, size = self.plans[plan.value]
        others, other_count, other_size = self.plans[other.value]
        if size != other_size:
            return 1
        return capi.library().lacuna_copy(own, mem, count, others, other_mem, other_count)


class Interface:
    """A NumPy array that shows itself by `__cuda_array_interface__` alone."""

    def __init__(self, array, stream=None, read_only=False):
        self.array = array
        self.stream = stream
        self.read_only = read_only

    @property
    def __cuda_array_interface__(self):
        told = self.array.__array_interface__
        return {
            "shape": told["shape"],
            "typestr": told["typestr"],
            "descr": told["descr"],
            "data": (told["data"][0], self.read_only),
            "strides": told["strides"],
            "stream": self.stream,
            "version": 3,
        }


class DlPack:
    """The same by DLPack alone, of the version before capsules had one or of 1.x; as CuPy, which
    divides strides as unsigned numbers."""

    def __init__(self, array, version=(1, 0), device=(2, 0), flags=0, is_cupy=False):
        self.array = array
        self.is_cupy = is_cupy
        self.version = version
        self.device = device
        self.flags = flags
        self.streams = []
        self._kept = []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, **more):
        if more and self.version is None:
            raise TypeError("unexpected keyword argument 'max_version'")
        self.streams.append(stream)
        if self.version is None:
            made, name = dlpack._Managed(), b"dltensor"
        else:
            made, name = dlpack._Versioned(), b"dltensor_versioned"
            made.major, made.minor = self.version
            made.flags = self.flags
        array, tensor = self.array, made.tensor
        shape = (c_int64 * array.ndim)(*array.shape)
        steps = [step % (1 << 64) if self.is_cupy else step for step in array.strides]
        strides = (c_int64 * array.ndim)(*(step // array.itemsize for step in steps))
        tensor.data = array.__array_interface__["data"][0] - 16
        tensor.byte_offset = 16
        tensor.device_type, tensor.device_id = self.device
        tensor.ndim = array.ndim
        tensor.code = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}[array.dtype.kind]
        tensor.bits, tensor.lanes = 8 * array.itemsize, 1
        tensor.shape = ctypes.cast(shape, ctypes.POINTER(c_int64))
        tensor.strides = ctypes.cast(strides, ctypes.POINTER(c_int64))
        self._kept.append((made, shape, strides, name))
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [c_void_p, ctypes.c_char_p, c_void_p]
        return new(ctypes.addressof(made), name, None)
