# SPDX-License-Identifier: BSD-3-Clause
"""Rows of `bench engine` drawn at random: types that nobody thought of for the corpus.

Constructors are nested up to three deep, as programs nest them, with few, some or many elements
each. The slow types found so far were short loops inside others, and lists of small types.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from lacuna.bench.corpus import CorpusRow

# What a row packs, so that a thousand rows take a minute; and how far apart it may lie.
_LEAST_BYTES, _MOST_BYTES = 100, 400_000
_MOST_SPAN = 8_000_000
_MOST_TYPE_BYTES, _MOST_TYPE_EXTENT = 200_000, 4_000_000
_MOST_TEXT = 12_000  # what a line for the program holds is no limit; what a person reads is
_COUNTS = (1, 7, 30, 200, 1000, 5000)

# Sixteen bytes are two doubles: Open MPI packs complex ones wrongly (docs/internals/defects.md).
_BASIC = {"double": 8, "int": 4, "float": 4, "char": 1, "short": 2, "contiguous(2, double)": 16}
_BASIC_WEIGHTS = (2, 1, 1, 1, 1, 1)


@dataclass(frozen=True)
class _Drawn:
    """A type's text, with its bytes of data and its bounds. No two data bytes overlap."""

    text: str
    size: int
    lb: int  # never negative
    ub: int

    @property
    def extent(self) -> int:
        return self.ub - self.lb


def _aligned(offset: int) -> int:
    return (offset + 7) // 8 * 8


class _Draw:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._constructors: list[Callable[[_Drawn], _Drawn]] = [
            *(self._vector, self._vector, self._subarray, self._subarray),
            *(self._indexed_block, self._indexed, self._resized),
        ]

    def _basic(self) -> _Drawn:
        (name,) = self._random.choices(list(_BASIC), _BASIC_WEIGHTS)
        return _Drawn(name, _BASIC[name], 0, _BASIC[name])

    def _vector(self, inner: _Drawn) -> _Drawn:
        count = self._random.choice((2, 3, 4, 6, 8, 10, 16, 40, 64, 100, 300))
        blocklength = self._random.choice((1, 1, 1, 2, 3, 4, 8))
        stride = blocklength + self._random.choice((1, 1, 2, 3, 5, 8, 28))
        return _Drawn(
            f"vector({count}, {blocklength}, {stride}, {inner.text})",
            inner.size * blocklength * count,
            inner.lb,
            inner.lb + ((count - 1) * stride + blocklength) * inner.extent,
        )

    def _indexed_block(self, inner: _Drawn) -> _Drawn:
        count = self._random.choice((5, 20, 60, 300, 1000))
        at = sorted(self._random.sample(range(3 * count), count))
        if self._random.random() < 0.3:
            self._random.shuffle(at)
        return _Drawn(
            f"indexed_block(1, {at}, {inner.text})",
            inner.size * count,
            inner.lb + min(at) * inner.extent,
            inner.ub + max(at) * inner.extent,
        )

    def _indexed(self, inner: _Drawn) -> _Drawn:
        lengths = [
            self._random.choice((1, 2, 3, 5)) for _ in range(self._random.choice((4, 10, 50, 200)))
        ]
        at, end = [], 0
        for length in lengths:
            at.append(end + self._random.choice((0, 1, 2, 4)))
            end = at[-1] + length
        return _Drawn(
            f"indexed({lengths}, {at}, {inner.text})",
            inner.size * sum(lengths),
            inner.lb + at[0] * inner.extent,
            inner.lb + end * inner.extent,
        )

    def _subarray(self, inner: _Drawn) -> _Drawn:
        sizes = [
            self._random.choice((3, 4, 6, 10, 20)) for _ in range(self._random.choice((2, 3, 3, 4)))
        ]
        subsizes = [self._random.randint(1, size) for size in sizes]
        starts = [
            self._random.randint(0, size - part) for size, part in zip(sizes, subsizes, strict=True)
        ]
        order = self._random.choice(("c", "fortran"))
        # Its bounds are 0 and the array's size, whatever the element's own lower bound is.
        if inner.lb:
            inner = _Drawn(f"resized(0, {inner.ub}, {inner.text})", inner.size, 0, inner.ub)
        text = f"subarray({sizes}, {subsizes}, {starts}, {order}, {inner.text})"
        return _Drawn(text, inner.size * math.prod(subsizes), 0, inner.extent * math.prod(sizes))

    def _resized(self, inner: _Drawn) -> _Drawn:
        ub = inner.ub + self._random.choice((8, 24, 64, 200))
        return _Drawn(f"resized(0, {ub}, {inner.text})", inner.size, 0, ub)

    def _struct(self, depth: int) -> _Drawn:
        parts = [
            self.type(self._random.randrange(depth))
            for _ in range(self._random.choice((2, 2, 3, 4)))
        ]
        at, end = [], 0
        for part in parts:
            at.append(_aligned(end))
            end = at[-1] + part.ub + self._random.choice((0, 8, 24))
        texts = ", ".join(part.text for part in parts)
        text = f"resized(0, {_aligned(end)}, struct({[1] * len(parts)}, {at}, [{texts}]))"
        return _Drawn(text, sum(part.size for part in parts), 0, _aligned(end))

    def type(self, depth: int) -> _Drawn:
        """A type of `depth` nested constructors; the parts of a struct may have fewer."""
        if depth == 0:
            return self._basic()
        index = self._random.randrange(len(self._constructors) + 1)
        if index == len(self._constructors):
            return self._struct(depth)
        return self._constructors[index](self.type(depth - 1))

    def rows(self) -> list[tuple[_Drawn, int]]:
        """A random type with up to two counts; empty if it is too small or too large."""
        drawn = self.type(self._random.choice((1, 1, 2, 2, 2, 3)))
        if drawn.size > _MOST_TYPE_BYTES or drawn.ub > _MOST_TYPE_EXTENT:
            return []
        if len(drawn.text) > _MOST_TEXT:
            return []
        return [
            (drawn, count)
            for count in self._random.sample(_COUNTS, 2)
            if _LEAST_BYTES <= drawn.size * count <= _MOST_BYTES
            and drawn.extent * count <= _MOST_SPAN
        ]


def rows(number: int, seed: int) -> list[CorpusRow]:
    """`number` rows, named random/SEED-1 and so on. A seed gives the same rows everywhere, and the
    first of them also in a longer run.
    """
    draw = _Draw(seed)
    found: dict[tuple[str, int], CorpusRow] = {}
    while len(found) < number:
        for drawn, count in draw.rows():
            if len(found) < number and (drawn.text, count) not in found:
                found[drawn.text, count] = CorpusRow(
                    f"random/{seed}-{len(found) + 1}",
                    drawn.text,
                    count,
                    count * drawn.size,
                    f"lacuna bench engine --random {number} --seed {seed}",
                    frozenset(),
                )
    return list(found.values())
