# SPDX-License-Identifier: BSD-3-Clause
"""lacuna_gpu.h by ctypes, as capi.py has lacuna.h."""

from __future__ import annotations

import functools
import json
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_void_p
from functools import cache
from typing import TYPE_CHECKING, Any

from lacuna.base import paths
from lacuna.base.errors import Exit, LacunaError
from lacuna.engine import capi

if TYPE_CHECKING:
    from lacuna.engine import Type

_FILE = "liblacuna-cuda.so"
_OK, _INVALID, _, _UNSUPPORTED, _OVERFLOW = range(5)

_SIGNATURES: capi.Signatures = {
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
        path = paths.library(_FILE)
    except LacunaError as error:
        remedy = (
            "`make` in a clone of lacuna builds it where CMake finds nvcc; or set "
            f"{paths.LIBRARY_DIR} to the folder that has it"
        )
        raise LacunaError(error.code, error.what, remedy) from error
    return capi.load(path, _SIGNATURES)


def check(status: int, what: str) -> None:
    """Raises LacunaError with the library's own message if `status` is not LACUNA_OK."""
    if status == _OK:
        return
    told = library().lacuna_gpu_last_error().decode(errors="replace") or f"status {status}"
    if status in (_INVALID, _UNSUPPORTED, _OVERFLOW):
        raise LacunaError(Exit.USAGE, f"{what}: {told}", "change the type or the count")
    remedy = "if memory of the device is short, free some; else please report it"
    raise LacunaError(Exit.INTERNAL, f"{what}: {told}", remedy)


def explain(datatype: Type, count: int) -> dict[str, Any]:
    """How a plan would move `count` elements of a type, as the JSON of lacuna_gpu_explain_json; no
    device is needed.
    """
    call = functools.partial(library().lacuna_gpu_explain_json, datatype.handle, count)
    return json.loads(capi.text(call, "the plan", check))
