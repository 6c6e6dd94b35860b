# SPDX-License-Identifier: BSD-3-Clause
"""DLPack tensors in capsules, of versions 0.x and 1.x, read in place."""

from __future__ import annotations

import ctypes
from ctypes import (
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
    py_object,
)
from dataclasses import dataclass
from typing import Any

from lacuna.base.errors import Exit, LacunaError

_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}  # DLDataTypeCode, as NumPy's letters
_READ_ONLY = 1  # DLPACK_FLAG_BITMASK_READ_ONLY


class TensorRecord(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", ctypes.POINTER(c_int64)),
        ("strides", ctypes.POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )


class _Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = (("tensor", TensorRecord), ("context", c_void_p), ("deleter", c_void_p))


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = (
        ("major", c_uint32),
        ("minor", c_uint32),
        ("context", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", TensorRecord),
    )


@dataclass(frozen=True)
class Tensor:
    """A tensor in a capsule. Strides are in bytes; None: C order without gaps."""

    address: int
    device_id: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    kind: str  # NumPy's letter
    itemsize: int
    is_read_only: bool


def opened(capsule: Any, name: str) -> Tensor:
    """The tensor in a capsule of DLPack 0.x or 1.x, which keeps owning it. Raises LacunaError for
    other versions and for other objects.
    """
    api = ctypes.pythonapi
    api.PyCapsule_IsValid.restype = c_int
    api.PyCapsule_IsValid.argtypes = [py_object, c_char_p]
    api.PyCapsule_GetPointer.restype = c_void_p
    api.PyCapsule_GetPointer.argtypes = [py_object, c_char_p]
    if api.PyCapsule_IsValid(capsule, b"dltensor_versioned"):
        made = _Versioned.from_address(api.PyCapsule_GetPointer(capsule, b"dltensor_versioned"))
        if made.major == 1:
            return _tensor_of(made.tensor, made.flags & _READ_ONLY != 0)
        what = f"{name} speaks DLPack {made.major}.{made.minor}, known are 0.x and 1.x"
        raise LacunaError(Exit.USAGE, what, "give an array of a library that speaks one of them")
    if api.PyCapsule_IsValid(capsule, b"dltensor"):
        made = _Managed.from_address(api.PyCapsule_GetPointer(capsule, b"dltensor"))
        return _tensor_of(made.tensor, False)
    raise LacunaError(Exit.USAGE, f"{name} gave no DLPack tensor", "give another array")


def _tensor_of(tensor: TensorRecord, is_read_only: bool) -> Tensor:
    size = (tensor.bits * tensor.lanes + 7) // 8
    axes = range(tensor.ndim)

    def step(i: int) -> int:
        """The stride in bytes, modulo 2^64: CuPy gives negative ones as quotients of unsigned
        numbers.
        """
        return c_int64(tensor.strides[i] * size).value

    return Tensor(
        (tensor.data or 0) + tensor.byte_offset,
        tensor.device_id,
        tuple(tensor.shape[i] for i in axes),
        tuple(step(i) for i in axes) if tensor.strides else None,
        _KINDS.get(tensor.code, "V") if tensor.lanes == 1 else "V",
        size,
        is_read_only,
    )
