# SPDX-License-Identifier: BSD-3-Clause
"""Random types: trees with what a program needs to know of them, and the C that makes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

BASICS = {
    "MPI_CHAR": 1,
    "MPI_BYTE": 1,
    "MPI_SHORT": 2,
    "MPI_INT": 4,
    "MPI_UNSIGNED": 4,
    "MPI_FLOAT": 4,
    "MPI_DOUBLE": 8,
    "MPI_INT64_T": 8,
    "MPI_C_BOOL": 1,
    "MPI_AINT": 8,
}
MOST_ENTRIES = 300
MOST_BYTES = 6000  # from the origin, either way


@dataclass(frozen=True)
class Drawn:
    """One node. `entries` are (offset, basic) in the order of the typemap."""

    kind: str  # a basic's handle, or the constructor
    numbers: tuple[int, ...] = ()
    lists: tuple[tuple[int, ...], ...] = ()
    children: tuple[Drawn, ...] = ()
    entries: tuple[tuple[int, str], ...] = ()
    lb: int = 0
    ub: int = 0
    words: tuple[str, ...] = field(default=())

    @property
    def extent(self) -> int:
        return self.ub - self.lb

    @property
    def size(self) -> int:
        return sum(BASICS[basic] for _, basic in self.entries)

    @property
    def uniform(self) -> str | None:
        """The one basic of the signature."""
        names = {basic for _, basic in self.entries}
        return names.pop() if len(names) == 1 else None

    @property
    def can_be_counted(self) -> bool:
        """MPICH 5.0.2 divides by zero in MPI_Get_elements where somewhere in the type basics differ
        in kind but not in size."""
        sizes = {BASICS[name] for _, name in self.entries}
        mine = self.uniform is not None or len(sizes) != 1
        return mine and all(child.can_be_counted for child in self.children)

    @property
    def alignment(self) -> int:
        return max((BASICS[basic] for _, basic in self.entries), default=1)

    def window(self, count: int) -> tuple[int, int]:
        """Where the data of so many elements lie, from the origin."""
        if not self.entries or count <= 0:
            return 0, 0
        low = min(at for at, _ in self.entries)
        high = max(at + BASICS[basic] for at, basic in self.entries)
        last = (count - 1) * self.extent
        return low + min(0, last), high + max(0, last)

    def overlaps(self, count: int) -> bool:
        spans = sorted(
            (at + i * self.extent, at + i * self.extent + BASICS[basic])
            for i in range(count)
            for at, basic in self.entries
        )
        return any(one[1] > other[0] for one, other in pairwise(spans))


def basic(name: str) -> Drawn:
    return Drawn(name, entries=((0, name),), ub=BASICS[name])


def _placed(children: list[tuple[int, int, Drawn]]) -> tuple[tuple[tuple[int, str], ...], int, int]:
    """Entries and bounds of blocks: byte displacement, length, child."""
    entries: list[tuple[int, str]] = []
    lows, highs = [], []
    for at, length, child in children:
        for i in range(length):
            origin = at + i * child.extent
            entries += [(origin + offset, name) for offset, name in child.entries]
            lows.append(origin + child.lb)
            highs.append(origin + child.ub)
    return tuple(entries), min(lows, default=0), max(highs, default=0)


class Draw:
    """Draws types that may be sent and received: nothing in them overlaps."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def type(self, depth: int = 3) -> Drawn:
        for _ in range(50):
            drawn = self._tree(depth)
            if drawn.kind not in BASICS and drawn.entries and not drawn.overlaps(3):
                return drawn
        return self._vector(basic("MPI_DOUBLE"), 4, 1, 3)

    def _tree(self, depth: int) -> Drawn:
        rng = self.rng
        if depth == 0 or rng.random() < 0.35:
            name = rng.choice([*BASICS, "MPI_DOUBLE", "MPI_INT", "MPI_DOUBLE"])
            if depth == 3:
                return self._node(basic(name), 1)
            return basic(name)
        return self._node(self._tree(depth - 1), depth)

    def _node(self, child: Drawn, depth: int) -> Drawn:
        for _ in range(6):
            drawn = self._one(child, depth)
            low, high = drawn.window(3)
            bounds = (low, high, drawn.lb, drawn.ub)
            fits = len(drawn.entries) <= MOST_ENTRIES and max(map(abs, bounds)) <= MOST_BYTES
            if fits and drawn.extent % max(drawn.alignment, 1) == 0:
                return drawn
        return child

    def _one(self, child: Drawn, depth: int) -> Drawn:
        rng = self.rng
        n = rng.choice([1, 2, 3, 4, 5, 8, 16, 31])
        length = rng.choice([1, 1, 1, 2, 3, 4])
        stride = length + rng.choice([0, 1, 1, 2, 5, 21])
        # Not of minus the length: Open MPI 5 moves such blocks in the other direction.
        if rng.random() < 0.12:
            stride = -max(stride, length + 1)
        unit = max(child.alignment, 1)
        match rng.choice(
            "contiguous vector vector vector hvector hvector indexed hindexed indexed_block "
            "hindexed_block struct struct subarray subarray resized resized dup".split()
        ):
            case "contiguous":
                entries, lb, ub = _placed([(0, n, child)])
                return Drawn("contiguous", (n,), (), (child,), entries, lb, ub)
            case "vector":
                return self._vector(child, n, length, stride)
            case "hvector":
                step = stride * child.extent + unit * rng.choice([0, 0, 1, 2])
                step -= unit if step == -length * child.extent else 0
                blocks = [(i * step, length, child) for i in range(n)]
                return Drawn("hvector", (n, length, step), (), (child,), *_placed(blocks))
            case "indexed" | "hindexed" as kind:
                lengths = [rng.choice([0, 1, 1, 2, 3]) for _ in range(rng.randint(1, 6))]
                at = self._displacements(lengths, child, kind == "hindexed")
                return self._listed(kind, lengths, at, child)
            case "indexed_block" | "hindexed_block" as kind:
                lengths = [length] * rng.randint(1, 8)
                at = self._displacements(lengths, child, kind == "hindexed_block")
                return self._listed(kind, lengths, at, child)
            case "struct":
                return self._struct(child, depth)
            case "subarray":
                return self._subarray(child)
            case "dup":
                return Drawn("dup", (), (), (child,), child.entries, child.lb, child.ub)
        low, high = child.window(1)
        lb = rng.choice([child.lb, 0, low, low - unit, -2 * unit])
        extent = (high - low + unit - 1) // unit * unit + unit * rng.choice([0, 1, 3])
        if rng.random() < 0.2:
            extent = unit  # elements run into one another, as the columns of a matrix do
        return Drawn("resized", (lb, extent), (), (child,), child.entries, lb, lb + extent)

    @staticmethod
    def _vector(child: Drawn, n: int, length: int, stride: int) -> Drawn:
        blocks = [(i * stride * child.extent, length, child) for i in range(n)]
        return Drawn("vector", (n, length, stride), (), (child,), *_placed(blocks))

    def _displacements(self, lengths: list[int], child: Drawn, in_bytes: bool) -> list[int]:
        rng = self.rng
        unit = abs(child.extent) if in_bytes else 1
        at, found = rng.choice([0, 0, 1, -2]), []
        for length in lengths:
            found.append(at * unit)
            at += length + rng.choice([0, 1, 2, 7])
        if rng.random() < 0.2:
            rng.shuffle(found)
        return found

    @staticmethod
    def _listed(kind: str, lengths: list[int], at: list[int], child: Drawn) -> Drawn:
        unit = 1 if kind.startswith("h") else child.extent
        blocks = [(d * unit, n, child) for d, n in zip(at, lengths, strict=True)]
        if kind.endswith("block"):
            return Drawn(kind, (lengths[0],), (tuple(at),), (child,), *_placed(blocks))
        return Drawn(kind, (), (tuple(lengths), tuple(at)), (child,), *_placed(blocks))

    def _struct(self, child: Drawn, depth: int) -> Drawn:
        rng = self.rng
        children = [child]
        for _ in range(rng.randint(0, 3)):
            children.append(self._tree(max(depth - 2, 0)))
        rng.shuffle(children)
        at, lengths, displacements = rng.choice([0, 0, 8, -16]), [], []
        for one in children:
            length = rng.choice([1, 1, 1, 2, 3])
            low, high = one.window(length)
            at = (at + 7) // 8 * 8 if rng.random() < 0.5 else at
            unit = max(one.alignment, 1)
            start = (at - low + unit - 1) // unit * unit
            lengths.append(length)
            displacements.append(start)
            at = start + high + rng.choice([0, 0, 4, 16])
        blocks = list(zip(displacements, lengths, children, strict=True))
        entries, lb, ub = _placed(blocks)
        # A C compiler's padding, which MPI libraries add too (epsilon): only types that need none.
        alignment = max((BASICS[name] for _, name in entries), default=1)
        ub = lb + (ub - lb + alignment - 1) // alignment * alignment
        lists = (tuple(lengths), tuple(displacements))
        drawn = Drawn("struct", (), lists, tuple(children), entries, lb, ub)
        return Drawn("resized", (lb, ub - lb), (), (drawn,), entries, lb, ub)

    def _subarray(self, child: Drawn) -> Drawn:
        rng = self.rng
        dims = rng.randint(1, 3)
        sizes = [rng.randint(1, 7) for _ in range(dims)]
        parts = [rng.randint(1, size) for size in sizes]
        starts = [rng.randint(0, size - part) for size, part in zip(sizes, parts, strict=True)]
        order = rng.choice(["MPI_ORDER_C", "MPI_ORDER_FORTRAN"])
        strides = [1] * dims
        fast = range(dims - 2, -1, -1) if order == "MPI_ORDER_C" else range(1, dims)
        for d in fast:
            before = d + 1 if order == "MPI_ORDER_C" else d - 1
            strides[d] = strides[before] * sizes[before]
        outward = range(dims) if order == "MPI_ORDER_C" else range(dims - 1, -1, -1)
        indices = [0]
        for d in outward:
            indices = [i + (starts[d] + k) * strides[d] for i in indices for k in range(parts[d])]
        total = 1
        for size in sizes:
            total *= size
        entries, _, _ = _placed([(i * child.extent, 1, child) for i in indices])
        lists = (tuple(sizes), tuple(parts), tuple(starts))
        ub = total * child.extent
        return Drawn("subarray", (dims,), lists, (child,), entries, 0, ub, (order,))
