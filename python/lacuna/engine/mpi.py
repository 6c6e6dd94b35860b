# SPDX-License-Identifier: BSD-3-Clause
"""Types as mpi4py's `MPI.Datatype`, by MPI's own constructors, so that any MPI library has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from lacuna.base.errors import Exit, LacunaError

if TYPE_CHECKING:
    from mpi4py import MPI

# mpi4py's names of basic types, where they are not lacuna's in capitals.
_NAMES = {
    "2int": "TWOINT",
    "long_long_int": "LONG_LONG",
    "c_complex": "C_FLOAT_COMPLEX",
}
_WORDS = {
    "c": "ORDER_C",
    "fortran": "ORDER_FORTRAN",
    "block": "DISTRIBUTE_BLOCK",
    "cyclic": "DISTRIBUTE_CYCLIC",
    "none": "DISTRIBUTE_NONE",
    "default": "DISTRIBUTE_DFLT_DARG",
    "undefined": "UNDEFINED",
}


def no_swapped(name: str) -> LacunaError:
    """The error for elements whose bytes are not in this machine's order. `name`: their dtype."""
    what = f"elements of {name} are in the other byte order, which no MPI datatype has"
    return LacunaError(Exit.USAGE, what, 'give view.astype(view.dtype.newbyteorder("="))')


@cache
def library() -> Any:
    """The module mpi4py.MPI, whose import initializes MPI. Raises LacunaError if it cannot be
    imported.
    """
    try:
        from mpi4py import MPI
    except ModuleNotFoundError as error:
        what = "no mpi4py, which MPI datatypes are made with"
        remedy = "install it with pip install mpi4py"
        raise LacunaError(Exit.ENVIRONMENT, what, remedy) from error
    except (ImportError, RuntimeError) as error:
        what = f"mpi4py does not load: {' '.join(str(error).split())}"
        remedy = "put the MPI library that it was built for on LD_LIBRARY_PATH"
        raise LacunaError(Exit.ENVIRONMENT, what, remedy) from error
    return MPI


@cache
def _owned() -> type[MPI.Datatype]:
    """The subclass of MPI.Datatype that datatype() returns."""
    MPI = library()

    class Owned(MPI.Datatype):
        """A datatype that is freed with its last reference, if MPI is still initialized and may be
        called from this thread; else MPI_Finalize frees it.
        """

        def __del__(self) -> None:
            if not self or not MPI.Is_initialized() or MPI.Is_finalized():
                return
            if MPI.Query_thread() == MPI.THREAD_MULTIPLE or MPI.Is_thread_main():
                self.Free()

    return Owned


def datatype(text: str, size: int) -> MPI.Datatype:
    """The committed MPI datatype of a type's text. `size`: its bytes of data; raises LacunaError if
    the MPI library gives another size, as for types whose size depends on the platform.
    """
    builder = _Builder(library(), text)
    try:
        made = _owned()(builder.whole())
    finally:
        builder.free_parts()
    if made.Get_size() != size:
        told = made.Get_size()
        what = f"{text} has {size} bytes for lacuna, and {told} for this MPI library"
        raise LacunaError(Exit.USAGE, what, "use types of a fixed size, such as int64_t")
    return made.Commit()


class _Builder:
    """Parses a text as Type.text() prints it and calls MPI's constructors."""

    def __init__(self, MPI: Any, text: str) -> None:
        self._mpi = MPI
        self._made: list[MPI.Datatype] = []
        self._tokens: Iterator[str] = iter([*re.findall(r"-?\w+|[\[\](),]", text), ""])
        self._token = next(self._tokens)

    def whole(self) -> MPI.Datatype:
        """The type, which the caller frees; a duplicate if it is predefined."""
        found = self._argument()
        return self._made.pop() if self._made else found.Dup()

    def free_parts(self) -> None:
        """Frees the types that were made on the way."""
        for one in self._made:
            one.Free()

    def _next(self) -> str:
        token, self._token = self._token, next(self._tokens, "")
        return token

    def _argument(self) -> Any:
        token = self._next()
        if token == "[":
            return self._until("]")
        if self._token == "(":
            self._next()
            return self._constructed(token, self._until(")"))
        if token.lstrip("-").isdigit():
            return int(token)
        if token in _WORDS:
            return getattr(self._mpi, _WORDS[token])
        return self._basic(token)

    def _until(self, end: str) -> list[Any]:
        found = []
        while self._token != end:
            found.append(self._argument())
            if self._token == ",":
                self._next()
        self._next()
        return found

    def _basic(self, name: str) -> MPI.Datatype:
        MPI = self._mpi
        found = getattr(MPI, _NAMES.get(name, name.upper()), None)
        if found is None or found == MPI.DATATYPE_NULL:
            what = f"{name} is no datatype of mpi4py and this MPI library"
            raise LacunaError(Exit.USAGE, what, "use another type of the same size, or bytes")
        return found

    def _constructed(self, constructor: str, arguments: list[Any]) -> MPI.Datatype:
        MPI = self._mpi
        if constructor.startswith("f90_"):  # predefined; a third argument says how it is stored
            return getattr(MPI.Datatype, f"Create_{constructor}")(*arguments[:2])
        if constructor == "value_index":
            return MPI.Datatype.Get_value_index(*arguments)
        if constructor == "struct":
            made = MPI.Datatype.Create_struct(*arguments)
        elif constructor == "dup":
            made = arguments[0].Dup()
        elif constructor in ("vector", "hvector") and self._falls_by_one(constructor, arguments):
            made = self._falling(arguments[0], arguments[1], arguments[3])
        else:
            *numbers, oldtype = arguments
            made = getattr(oldtype, f"Create_{constructor}")(*numbers)
        self._made.append(made)
        return made

    def _falls_by_one(self, constructor: str, arguments: list[Any]) -> bool:
        """Whether the stride is -1 byte: Open MPI 5.0.11 takes it for the oldtype's length."""
        count, _, stride, oldtype = arguments
        if abs(stride) != 1 or count < 2:
            return False
        return stride * (oldtype.Get_extent()[1] if constructor == "vector" else 1) == -1

    def _falling(self, count: int, block: int, oldtype: MPI.Datatype) -> MPI.Datatype:
        """The same type without a stride of -1: pairs of blocks, a stride of -2 between them."""
        pair = oldtype.Create_hindexed([block, block], [0, -1])
        pairs = pair.Create_hvector(count // 2, 1, -2)
        self._made += [pair, pairs]
        last = [block] if count % 2 else []
        return self._mpi.Datatype.Create_struct(
            [1, *last], [0, 1 - count][: 1 + len(last)], [pairs, oldtype][: 1 + len(last)]
        )
