# SPDX-License-Identifier: BSD-3-Clause
"""lacuna.h by ctypes: the functions that this package calls, and what their statuses say."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

from lacuna.base import paths
from lacuna.base.errors import Exit, LacunaError

_OK, _INVALID, _PARSE_ERROR, _UNSUPPORTED, _OVERFLOW, _TRUNCATED = range(6)

Signatures = dict[str, tuple[Any, list[Any]]]

_SIGNATURES: Signatures = {
    "lacuna_status_message": (c_char_p, [c_int]),
    "lacuna_last_error": (c_char_p, []),
    "lacuna_version": (c_char_p, []),
    "lacuna_type_parse": (c_int, [c_char_p, POINTER(c_void_p)]),
    "lacuna_type_destroy": (None, [c_void_p]),
    "lacuna_type_size": (c_int, [c_void_p, POINTER(c_int64)]),
    "lacuna_type_extent": (c_int, [c_void_p, POINTER(c_int64), POINTER(c_int64)]),
    "lacuna_type_true_extent": (c_int, [c_void_p, POINTER(c_int64), POINTER(c_int64)]),
    "lacuna_type_text": (c_int, [c_void_p, c_size_t, c_char_p, POINTER(c_size_t)]),
    "lacuna_plan_create": (c_int, [c_void_p, POINTER(c_void_p)]),
    "lacuna_plan_destroy": (None, [c_void_p]),
    "lacuna_packed_size": (c_int, [c_void_p, c_int64, POINTER(c_int64)]),
    "lacuna_pack": (c_int, [c_void_p, c_void_p, c_int64, c_void_p]),
    "lacuna_unpack": (c_int, [c_void_p, c_void_p, c_int64, c_void_p]),
    "lacuna_pack_slice": (c_int, [c_void_p, c_void_p, c_int64, c_int64, c_int64, c_void_p]),
    "lacuna_unpack_slice": (c_int, [c_void_p, c_void_p, c_int64, c_int64, c_int64, c_void_p]),
    "lacuna_copy": (c_int, [c_void_p, c_void_p, c_int64, c_void_p, c_void_p, c_int64]),
    "lacuna_machine_json": (c_int, [c_size_t, c_char_p, POINTER(c_size_t)]),
    "lacuna_plan_cost_json": (c_int, [c_void_p, c_int64, c_size_t, c_char_p, POINTER(c_size_t)]),
    "lacuna_plan_explain": (c_int, [c_void_p, c_int64, c_size_t, c_char_p, POINTER(c_size_t)]),
}


@cache
def library() -> ctypes.CDLL:
    """liblacuna.so.0, loaded once. (liblacuna.so, without a number, is for linking.)"""
    return load(paths.library("liblacuna.so.0"), _SIGNATURES)


def load(path: Path, signatures: Signatures) -> ctypes.CDLL:
    """Loads one of lacuna's libraries and declares the functions that are called. Raises
    LacunaError if that fails.
    """
    try:
        lib = ctypes.CDLL(str(path))
        for name, (result, arguments) in signatures.items():
            function = getattr(lib, name)
            function.restype = result
            function.argtypes = arguments
    except (OSError, AttributeError) as error:
        raise LacunaError(Exit.ENVIRONMENT, f"cannot use {path}: {error}", paths.BRING) from error
    return lib


def check(status: int, what: str) -> None:
    """Raises LacunaError with the library's own message if `status` is not LACUNA_OK. `what`: what
    was done, for the message.
    """
    if status == _OK:
        return
    lib = library()
    told = (
        lib.lacuna_last_error().decode(errors="replace")
        or lib.lacuna_status_message(status).decode()
    )
    first, _, rest = told.partition("\n")
    if status == _PARSE_ERROR:
        what = f"cannot read the type text: {first}"
        raise LacunaError(Exit.USAGE, what, "see lacuna docs types", rest)
    if status in (_INVALID, _UNSUPPORTED, _OVERFLOW):
        raise LacunaError(Exit.USAGE, first, "change the type or the count", rest)
    raise LacunaError(
        Exit.INTERNAL, f"{first} ({what})", "please report it with this command line", rest
    )


def text(
    call: Callable[[int, Any, Any], int], what: str, check: Callable[[int, str], None] = check
) -> str:
    """Calls a function of lacuna.h that writes a text: once for its size, then for the text."""
    needed = c_size_t()
    status = call(0, None, byref(needed))
    if status not in (_OK, _TRUNCATED):
        check(status, what)
    buffer = ctypes.create_string_buffer(max(needed.value, 1))
    check(call(len(buffer), buffer, byref(needed)), what)
    return buffer.value.decode(errors="replace")
