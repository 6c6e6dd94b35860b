# SPDX-License-Identifier: BSD-3-Clause
"""The C interface of the engine (lacuna.h) by ctypes: only what the command needs."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_void_p
from functools import cache
from typing import Any

from lacuna import places
from lacuna.errors import Exit, LacunaError

_OK, _INVALID, _PARSE_ERROR, _UNSUPPORTED, _OVERFLOW, _TRUNCATED = range(6)

_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
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
    "lacuna_unpack": (c_int, [c_void_p, c_void_p, c_int64, c_void_p]),
    "lacuna_machine_json": (c_int, [c_size_t, c_char_p, POINTER(c_size_t)]),
    "lacuna_plan_cost_json": (c_int, [c_void_p, c_int64, c_size_t, c_char_p, POINTER(c_size_t)]),
    "lacuna_plan_explain": (c_int, [c_void_p, c_int64, c_size_t, c_char_p, POINTER(c_size_t)]),
}


@cache
def _library() -> ctypes.CDLL:
    path = places.library("liblacuna.so")
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


def version() -> str:
    """The version of the C library."""
    return _library().lacuna_version().decode()


def _check(status: int, what: str) -> None:
    if status == _OK:
        return
    lib = _library()
    told = (
        lib.lacuna_last_error().decode(errors="replace")
        or lib.lacuna_status_message(status).decode()
    )
    first, _, rest = told.partition("\n")
    if status == _PARSE_ERROR:
        what = f"cannot read the type text: {first}"
        raise LacunaError(Exit.USAGE, what, "docs/types.md has the grammar", rest)
    if status in (_INVALID, _UNSUPPORTED, _OVERFLOW):
        raise LacunaError(Exit.USAGE, first, "change the type or the count", rest)
    raise LacunaError(
        Exit.INTERNAL, f"{first} ({what})", "please report it with this command line", rest
    )


def _text(call: Callable[[int, Any, Any], int], what: str) -> str:
    """Asks for the size of a text first, then for the text."""
    needed = c_size_t()
    status = call(0, None, byref(needed))
    if status not in (_OK, _TRUNCATED):
        _check(status, what)
    buffer = ctypes.create_string_buffer(max(needed.value, 1))
    _check(call(len(buffer), buffer, byref(needed)), what)
    return buffer.value.decode(errors="replace")


def machine() -> dict[str, Any]:
    """The numbers about this machine that plans are made with, and where they come from."""
    return json.loads(_text(_library().lacuna_machine_json, "the machine"))


class Type:
    """A datatype read from its text form."""

    def __init__(self, text: str) -> None:
        self._handle = c_void_p()
        _check(_library().lacuna_type_parse(os.fsencode(text), byref(self._handle)), "the type")

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            _library().lacuna_type_destroy(self._handle)

    @property
    def handle(self) -> c_void_p:
        """The C library's handle."""
        return self._handle

    def text(self) -> str:
        """The text form, as the library prints it."""
        lib = _library()
        return _text(
            lambda n, at, need: lib.lacuna_type_text(self._handle, n, at, need), "the type"
        )

    def size(self) -> int:
        """Bytes of data in one element."""
        size = c_int64()
        _check(_library().lacuna_type_size(self._handle, byref(size)), "the type")
        return size.value

    def extent(self) -> tuple[int, int]:
        """(lower bound, extent) in bytes."""
        lb, extent = c_int64(), c_int64()
        _check(_library().lacuna_type_extent(self._handle, byref(lb), byref(extent)), "the type")
        return lb.value, extent.value

    def true_extent(self) -> tuple[int, int]:
        """(true lower bound, true extent) in bytes."""
        lb, extent = c_int64(), c_int64()
        _check(
            _library().lacuna_type_true_extent(self._handle, byref(lb), byref(extent)), "the type"
        )
        return lb.value, extent.value


class Plan:
    """How the bytes of a type are moved on this machine."""

    def __init__(self, datatype: Type) -> None:
        self._handle = c_void_p()
        _check(_library().lacuna_plan_create(datatype.handle, byref(self._handle)), "the plan")

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            _library().lacuna_plan_destroy(self._handle)

    def packed_size(self, count: int) -> int:
        """Bytes that `count` elements take when packed."""
        size = c_int64()
        _check(_library().lacuna_packed_size(self._handle, count, byref(size)), "the count")
        return size.value

    def unpack(self, packed: int, count: int, mem: int) -> None:
        """Unpacks from the address `packed` to the address `mem`, which is offset 0 of the type."""
        address = c_void_p(mem % 2**64)
        _check(_library().lacuna_unpack(self._handle, packed, count, address), "unpacking")

    def explain(self, count: int) -> str:
        """What the plan does with `count` elements and why, in words."""
        lib = _library()
        return _text(
            lambda n, at, need: lib.lacuna_plan_explain(self._handle, count, n, at, need),
            "the plan",
        )

    def cost(self, count: int) -> dict[str, Any]:
        """How long packing and unpacking `count` elements will take here, as lacuna.h says."""
        lib = _library()
        return json.loads(
            _text(
                lambda n, at, need: lib.lacuna_plan_cost_json(self._handle, count, n, at, need),
                "the cost",
            )
        )
