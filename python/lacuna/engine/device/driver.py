# SPDX-License-Identifier: BSD-3-Clause
"""The CUDA driver by ctypes: the device of an address, streams and events, memory."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from functools import cache
from typing import Any, NamedTuple

from lacuna.base.errors import Exit, LacunaError

_FILE = "libcuda.so.1"
_REMEDY = "run where an NVIDIA device and its driver are (nvidia-smi shows them)"
# CU_POINTER_ATTRIBUTE_*
_DEVICE_POINTER, _DEVICE_ORDINAL = 3, 9
_EVENT_WITHOUT_TIMES = 2
_MPS_ENABLED = 133  # CU_DEVICE_ATTRIBUTE_MPS_ENABLED

_SIGNATURES: dict[str, list[Any]] = {
    "cuInit": [c_uint],
    "cuGetErrorString": [c_int, POINTER(c_char_p)],
    "cuDeviceGetCount": [POINTER(c_int)],
    "cuDeviceGet": [POINTER(c_int), c_int],
    "cuDevicePrimaryCtxRetain": [POINTER(c_void_p), c_int],
    "cuCtxGetCurrent": [POINTER(c_void_p)],
    "cuCtxGetDevice": [POINTER(c_int)],
    "cuCtxPushCurrent_v2": [c_void_p],
    "cuCtxPopCurrent_v2": [POINTER(c_void_p)],
    "cuPointerGetAttribute": [c_void_p, c_int, c_uint64],
    "cuMemAlloc_v2": [POINTER(c_uint64), c_size_t],
    "cuMemFree_v2": [c_uint64],
    "cuMemcpy": [c_uint64, c_uint64, c_size_t],
    "cuCtxSynchronize": [],
    "cuStreamSynchronize": [c_void_p],
    "cuStreamWaitEvent": [c_void_p, c_void_p, c_uint],
    "cuEventCreate": [POINTER(c_void_p), c_uint],
    "cuEventRecord": [c_void_p, c_void_p],
    "cuEventDestroy_v2": [c_void_p],
}


@cache
def driver() -> Any:
    """libcuda.so.1, initialized once. Raises LacunaError without a driver or a device."""
    try:
        lib = ctypes.CDLL(_FILE)
        for name, arguments in _SIGNATURES.items():
            function = getattr(lib, name)
            function.restype = c_int
            function.argtypes = arguments
    except (OSError, AttributeError) as error:
        raise LacunaError(Exit.ENVIRONMENT, f"no CUDA driver: {error}", _REMEDY) from error
    devices = c_int()
    status = lib.cuInit(0) or lib.cuDeviceGetCount(byref(devices))
    if status != 0:
        raise LacunaError(Exit.ENVIRONMENT, f"no CUDA device: {_error_text(lib, status)}", _REMEDY)
    if devices.value == 0:
        raise LacunaError(Exit.ENVIRONMENT, "no CUDA device on this machine", _REMEDY)
    return lib


class Installed(NamedTuple):
    """The driver and its devices."""

    version: int  # 12020: CUDA 12.2
    devices: list[str]  # their names
    is_shared: bool  # NVIDIA's MPS: kernels of several processes run on the first at a time


def installed() -> Installed | None:
    """What is there; None: no driver, or no device. Makes no context."""
    try:
        lib = driver()
    except LacunaError:
        return None
    version, count, shared = c_int(), c_int(), c_int()
    lib.cuDriverGetVersion(byref(version))
    lib.cuDeviceGetCount(byref(count))
    names = []
    for number in range(count.value):
        device, name = c_int(), ctypes.create_string_buffer(256)
        lib.cuDeviceGet(byref(device), number)
        lib.cuDeviceGetName(name, len(name), device)
        names.append(name.value.decode(errors="replace"))
        if number == 0 and lib.cuDeviceGetAttribute(byref(shared), _MPS_ENABLED, device) != 0:
            shared = c_int(0)  # an older driver
    return Installed(version.value, names, shared.value != 0)


def _error_text(lib: Any, status: int) -> str:
    text = c_char_p()
    lib.cuGetErrorString(status, byref(text))
    return f"{(text.value or b'unknown error').decode()} (CUDA error {status})"


def check(status: int, what: str) -> None:
    """Raises LacunaError with the driver's own message if `status` is not CUDA_SUCCESS."""
    if status != 0:
        raise LacunaError(
            Exit.ENVIRONMENT,
            f"{what}: {_error_text(driver(), status)}",
            "if it is out of memory, free some; else compute-sanitizer names the first error",
        )


def device_of(address: int) -> int | None:
    """The number of the device whose memory is at an address, or that can access the pinned host
    memory there; None: no device.
    """
    found = c_int(-1)
    status = driver().cuPointerGetAttribute(byref(found), _DEVICE_ORDINAL, address)
    return found.value if status == 0 and found.value >= 0 else None


def seen_by_device(address: int) -> int | None:
    """The address at which a kernel accesses pinned host memory; None: it cannot."""
    found = c_void_p()
    status = driver().cuPointerGetAttribute(byref(found), _DEVICE_POINTER, address)
    return found.value if status == 0 else None


@cache
def _context(device: int) -> c_void_p:
    """The primary context of the device, which the CUDA runtime, CuPy and PyTorch use, too."""
    handle, context = c_int(), c_void_p()
    check(driver().cuDeviceGet(byref(handle), device), f"device {device}")
    check(
        driver().cuDevicePrimaryCtxRetain(byref(context), handle), f"the context of device {device}"
    )
    return context


@contextmanager
def on(device: int) -> Iterator[None]:
    """Makes a device the current one of this thread within a `with` statement."""
    lib = driver()
    current = c_void_p()
    check(lib.cuCtxGetCurrent(byref(current)), "the current context")
    context = _context(device)
    if current.value == context.value:
        yield
        return
    check(lib.cuCtxPushCurrent_v2(context), f"the context of device {device}")
    try:
        yield
    finally:
        lib.cuCtxPopCurrent_v2(byref(current))


def current_device() -> int:
    """The number of this thread's current device; 0 if none was chosen."""
    device = c_int()
    return device.value if driver().cuCtxGetDevice(byref(device)) == 0 else 0


def wait_for(stream: int, other: int) -> None:
    """Lets work that is enqueued on `stream` from now on start after that on `other`."""
    lib = driver()
    event = c_void_p()
    check(lib.cuEventCreate(byref(event), _EVENT_WITHOUT_TIMES), "an event")
    try:
        check(lib.cuEventRecord(event, other), "waiting for the array's stream")
        check(lib.cuStreamWaitEvent(stream, event, 0), "waiting for the array's stream")
    finally:
        lib.cuEventDestroy_v2(event)  # the driver keeps it until it was reached


def synchronize(stream: int) -> None:
    """Waits for all work on a stream."""
    check(driver().cuStreamSynchronize(stream), "what was enqueued")


def finish() -> None:
    """Waits for all work on the current device."""
    check(driver().cuCtxSynchronize(), "what was enqueued")


def allocate(bytes_: int) -> int:
    """Memory of the current device."""
    address = c_uint64()
    check(driver().cuMemAlloc_v2(byref(address), max(bytes_, 1)), f"{bytes_} bytes on the device")
    return address.value


def free(address: int) -> None:
    """Frees memory, after the work that was enqueued."""
    driver().cuMemFree_v2(address)


def copy(to: int, source: int, bytes_: int) -> None:
    """Copies bytes between any two addresses of host or device, and waits."""
    check(driver().cuMemcpy(to, source, bytes_), "a copy")
