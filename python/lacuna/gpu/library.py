# SPDX-License-Identifier: BSD-3-Clause
"""lacuna_gpu.h by ctypes, as capi.py has lacuna.h."""

from __future__ import annotations

import ctypes
import json
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_void_p
from functools import cache
from typing import TYPE_CHECKING, Any

from lacuna import places
from lacuna.errors import Exit, LacunaError

if TYPE_CHECKING:
    from lacuna.engine import Type

_FILE = "liblacuna-cuda.so"
_OK, _INVALID, _, _UNSUPPORTED, _OVERFLOW, _TRUNCATED = range(6)

_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "lacuna_gpu_last_error": (c_char_p, []),
    "lacuna_gpu_plan_create": (c_int, [c_void_p, c_int64, POINTER(c_void_p)]),
    "lacuna_gpu_plan_destroy": (None, [c_void_p]),
    "lacuna_gpu_pack": (c_int, [c_void_p, c_void_p, c_int64, c_int64, c_void_p, c_void_p]),
    "lacuna_gpu_unpack": (c_int, [c_void_p, c_void_p, c_int64, c_int64, c_void_p, c_void_p]),
    "lacuna_gpu_copy": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p]),
    "lacuna_gpu_explain_json": (
        c_int,
        [c_void_p, c_int64, c_size_t, c_char_p, POINTER(c_size_t)],
    ),
}


@cache
def library() -> Any:
    """liblacuna-cuda.so, which is loaded once; a driver is needed only when it moves something."""
    try:
        path = places.library(_FILE)
    except LacunaError as error:
        remedy = (
            f"it is built by `make` where CMake finds nvcc; or set {places.LIBRARY_DIR} to the "
            "folder that has it"
        )
        raise LacunaError(error.code, error.what, remedy) from error
    try:
        lib = ctypes.CDLL(str(path))
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(lib, name)
            function.restype = result
            function.argtypes = arguments
    except (OSError, AttributeError) as error:
        raise LacunaError(
            Exit.ENVIRONMENT, f"cannot use {path}: {error}", "build it again with `make`"
        ) from error
    return lib


def check(status: int, what: str) -> None:
    """Raises what the library says where a status is not LACUNA_OK."""
    if status == _OK:
        return
    told = library().lacuna_gpu_last_error().decode(errors="replace") or f"status {status}"
    if status in (_INVALID, _UNSUPPORTED, _OVERFLOW):
        raise LacunaError(Exit.USAGE, f"{what}: {told}", "change the type or the count")
    remedy = "if memory of the device is short, free some; else please report it"
    raise LacunaError(Exit.INTERNAL, f"{what}: {told}", remedy)


def explain(datatype: Type, count: int) -> dict[str, Any]:
    """What a plan would do with `count` elements of a type; no device is needed."""
    lib, handle = library(), datatype.handle
    needed = c_size_t()
    status = lib.lacuna_gpu_explain_json(handle, count, 0, None, byref(needed))
    if status not in (_OK, _TRUNCATED):
        check(status, "the plan")
    text = ctypes.create_string_buffer(max(needed.value, 1))
    status = lib.lacuna_gpu_explain_json(handle, count, len(text), text, byref(needed))
    check(status, "the plan")
    return json.loads(text.value)
