# SPDX-License-Identifier: BSD-3-Clause
"""The messages of `lacuna bench preload` and `lacuna tune`: shapes, from small to large."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from lacuna.base.errors import Exit, LacunaError
from lacuna.base.units import KIB, MIB, size_name

SIZES = [64, 256, KIB, 4 * KIB, 8 * KIB, 16 * KIB, 64 * KIB, 256 * KIB]
SIZES += [MIB, 4 * MIB, 16 * MIB, 64 * MIB]
QUICK_SIZES = [256, 16 * KIB, MIB]

_DOUBLE = 8
_MOST_CUBE = 256  # doubles along an edge: 128 MiB
_MOST_ENTRIES = 2 * MIB  # of an index list


@dataclass(frozen=True)
class Message:
    """A message: `count` elements of a type, with about `bytes` bytes of data."""

    shape: str
    bytes: int  # nominal: the size in the row's name
    text: str
    count: int = 1

    @property
    def id(self) -> str:
        """The name, such as face-k/64KiB."""
        return f"{self.shape}/{size_name(self.bytes)}"

    def line(self) -> str:
        """The row as the program reads it."""
        return f"{self.id}\t{self.count}\t-\t{self.text}\n"


def size_of(row_id: str) -> int:
    """The nominal size in bytes in a row's name."""
    name = row_id.partition("/")[2]
    for unit, factor in (("MiB", MIB), ("KiB", KIB), ("B", 1)):
        if name.endswith(unit):
            return int(name.removesuffix(unit)) * factor
    raise ValueError(row_id)


def _vector(shape: str, block: int, size: int, fill: int = 2) -> Message | None:
    """Blocks of doubles at a stride of `fill` times their length."""
    blocks = round(size / (_DOUBLE * block))
    if blocks < 2:
        return None
    return Message(shape, size, f"vector({blocks}, {block}, {fill * block}, double)")


def _face(shape: str, axis: int, size: int) -> Message | None:
    """A face of a cube of doubles in C order, as halo exchanges send it; several layers for large
    sizes.
    """
    doubles = size // _DOUBLE
    edge = min(math.isqrt(doubles), _MOST_CUBE)
    thick = max(1, doubles // edge**2)
    if edge < 2 or thick > edge // 2:
        return None
    subsizes, starts = [edge] * 3, [0] * 3
    subsizes[axis] = thick
    starts[axis] = edge - thick
    return Message(shape, size, f"subarray({[edge] * 3}, {subsizes}, {starts}, c, double)")


def _structs(shape: str, size: int) -> Message | None:
    """struct { int id; double x[3]; char tag[4]; } with its padding, one after the other."""
    text = "resized(0, 40, struct([1, 3, 4], [0, 8, 32], [int, double, char]))"
    return Message(shape, size, text, size // 32)


def _list(shape: str, kind: str, size: int) -> Message | None:
    """Single doubles, every fourth on average, at listed places."""
    n = size // _DOUBLE
    if n > _MOST_ENTRIES:
        return None
    return Message(shape, size, f"indexed_block(1, {kind}({n}, {4 * n}, 20), double)")


def _transpose(shape: str, size: int) -> Message | None:
    """An n x n matrix of doubles by columns."""
    n = math.isqrt(size // _DOUBLE)
    return Message(shape, size, f"contiguous({n}, resized(0, 8, vector({n}, 1, {n}, double)))")


# In the order in which people read the results.
SHAPES: dict[str, Callable[[str, int], Message | None]] = {
    "vector-1": lambda name, size: _vector(name, 1, size),
    "vector-5": lambda name, size: _vector(name, 5, size),
    "vector-64": lambda name, size: _vector(name, 64, size),
    "vector-512": lambda name, size: _vector(name, 512, size),
    "face-i": lambda name, size: _face(name, 0, size),
    "face-j": lambda name, size: _face(name, 1, size),
    "face-k": lambda name, size: _face(name, 2, size),
    "structs": _structs,
    "sorted": lambda name, size: _list(name, "sorted", size),
    "random": lambda name, size: _list(name, "random", size),
    "transpose": _transpose,
}


def messages(sizes: list[int], shapes: list[str] | None = None) -> list[Message]:
    """The messages of these shapes (None: all) at these sizes; a shape may lack some sizes."""
    for shape in shapes or []:
        if shape not in SHAPES:
            raise LacunaError(
                Exit.USAGE, f"unknown shape in --shape: {shape}", f"known are {', '.join(SHAPES)}"
            )
    made = [SHAPES[shape](shape, size) for shape in shapes or SHAPES for size in sizes]
    return [message for message in made if message]


# ---- what `lacuna tune` measures: each pattern of the plan, by run and size ---------------------

TUNE_SIZES = [64, 256, KIB, 2 * KIB, 4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB]
TUNE_SIZES += [128 * KIB, 256 * KIB, MIB, 2 * MIB, 8 * MIB]
TUNE_QUICK_SIZES = [KIB, 16 * KIB]


def _blocks(shape: str, block: int, size: int) -> Message | None:
    """Blocks of doubles, every fourth on average, at listed places."""
    n = size // (_DOUBLE * block)
    if not 4 <= n <= _MOST_ENTRIES // 4:
        return None
    return Message(
        shape, size, f"indexed_block({block}, sorted({n}, {4 * n}, 20, {block}), double)"
    )


def _fields(shape: str, doubles: int, size: int) -> Message | None:
    """struct { int id; double x[]; char tag[4]; }, with padding, one after the other."""
    extent, data = 8 * doubles + 16, 8 * doubles + 8
    # A little less than the size: MPICH 5.0.2 cannot receive 8168 to 8191 contiguous bytes into a
    # struct (docs/internals/defects.md), which the contiguous ways would meet.
    count = (size - size // 16) // data
    if count < 2:
        return None
    places = f"[0, 8, {8 + 8 * doubles}]"
    text = f"resized(0, {extent}, struct([1, {doubles}, 4], {places}, [int, double, char]))"
    return Message(shape, size, text, count)


def _transposed_blocks(shape: str, block: int, size: int) -> Message | None:
    """An n x n matrix of blocks by columns."""
    n = math.isqrt(size // (_DOUBLE * block))
    if n < 4:
        return None
    extent = _DOUBLE * block
    column = f"vector({n}, {block}, {n * block}, double)"
    return Message(shape, size, f"contiguous({n}, resized(0, {extent}, {column}))")


def _column(shape: str, block: int, size: int) -> Message | None:
    """As _vector, each block in a line of its own."""
    return _vector(shape, block, size, fill=64 // block)


def _pieces(shape: str, doubles: int, size: int) -> Message | None:
    """Blocks of a derived type that is contiguous, of up to 4 KiB each."""
    pieces = max(2, min(4096, size // 2) // (_DOUBLE * doubles))
    blocks = size // (pieces * _DOUBLE * doubles)
    if blocks < 2:
        return None
    text = f"vector({blocks}, {pieces}, {2 * pieces}, contiguous({doubles}, double))"
    return Message(shape, size, text)


def _tuned(make: Callable[[str, int, int], Message | None], block: int) -> Callable:
    return lambda name, size: make(name, block, size)


TUNE_SHAPES: dict[str, Callable[[str, int], Message | None]] = {
    f"{name}-{block}": _tuned(make, block)
    for name, make, blocks in (
        ("vector", _vector, (1, 5, 32, 64, 128, 256, 512, 8192)),
        ("column", _column, (1,)),
        ("list", _blocks, (1, 5, 64)),
        ("fields", _fields, (1, 3, 30)),
        ("transpose", _transposed_blocks, (1, 2)),
        ("pieces", _pieces, (3, 24, 96)),
    )
    for block in blocks
}
