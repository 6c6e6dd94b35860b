# SPDX-License-Identifier: BSD-3-Clause
"""The C that makes a drawn type: with constants, tables and numbers known only at run time."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from draw import BASICS, Drawn


class Names:
    """Fresh names in one case; which of its calls are those of large counts, or another file's."""

    def __init__(self, case: int, large: Random) -> None:
        self.case = case
        self._next = 0
        self._large = large  # of its own: what else is drawn does not depend on it
        self._share = large.choice([0.0, 0.0, 0.4, 1.0])
        self._elsewhere = large.choice([0.0, 0.0, 0.4])

    def fresh(self, stem: str) -> str:
        self._next += 1
        return f"{stem}{self._next}_{self.case}"

    def is_large(self) -> bool:
        return self._large.random() < self._share

    def is_elsewhere(self) -> bool:
        return self._large.random() < self._elsewhere


class Maker:
    """The statements that make one type. Numbers that are parameters are collected on the way."""

    def __init__(self, rng: Random, names: Names, parameters: bool) -> None:
        self.rng = rng
        self.names = names
        self.lines: list[str] = []
        self.parameters: list[tuple[str, int]] = []
        self._share = rng.choice([0.0, 0.0, 0.3, 0.6]) if parameters else 0.0
        self._opaque = rng.choice([0.0, 0.0, 0.25])

    def number(self, value: int) -> str:
        if self.rng.random() < self._share:
            name = self.names.fresh("p")
            self.parameters.append((name, value))
            return name
        if self.rng.random() < self._opaque:
            return f"opaque({value})"
        return str(value)

    def make(self, drawn: Drawn, target: str) -> None:
        """Into `*target`, an expression of the type MPI_Datatype*; not committed."""
        parts = []
        freed = []
        for child in drawn.children:
            if child.kind in BASICS:
                parts.append(child.kind)
                continue
            name = self.names.fresh("part")
            self.lines.append(f"MPI_Datatype {name};")
            self.make(child, f"&{name}")
            parts.append(name)
            freed.append(name)
        self.lines.append(self._call(drawn, parts, target))
        for name in freed:
            if self.rng.random() < 0.97:  # some programs forget
                self.lines.append(f"MPI_Type_free(&{name});")

    def _call(self, drawn: Drawn, parts: list[str], target: str) -> str:
        numbers = [self.number(value) for value in drawn.numbers]
        part = parts[0]
        large = self.names.is_large()
        end, int_, at_ = ("_c", "Large", "LargeAt") if large else ("", "int", "MPI_Aint")
        match drawn.kind:
            case "contiguous" | "vector":
                return f"MPI_Type_{drawn.kind}{end}({', '.join(numbers)}, {part}, {target});"
            case "hvector":
                return f"MPI_Type_create_hvector{end}({', '.join(numbers)}, {part}, {target});"
            case "resized":
                return f"MPI_Type_create_resized{end}({part}, {', '.join(numbers)}, {target});"
            case "dup":
                return f"MPI_Type_dup({part}, {target});"
            case "indexed" | "hindexed":
                prefix = "MPI_Type_" if drawn.kind == "indexed" else "MPI_Type_create_"
                lengths = self._list(drawn.lists[0], int_)
                at = self._list(drawn.lists[1], int_ if drawn.kind == "indexed" else at_)
                n = self.number(len(drawn.lists[0]))
                return f"{prefix}{drawn.kind}{end}({n}, {lengths}, {at}, {part}, {target});"
            case "indexed_block" | "hindexed_block":
                unit = int_ if drawn.kind == "indexed_block" else at_
                at = self._list(drawn.lists[0], unit)
                n = self.number(len(drawn.lists[0]))
                given = f"{n}, {numbers[0]}, {at}, {part}, {target}"
                return f"MPI_Type_create_{drawn.kind}{end}({given});"
            case "struct":
                lengths = self._list(drawn.lists[0], int_)
                at = self._list(drawn.lists[1], at_)
                types = self.names.fresh("parts")
                self.lines.append(f"MPI_Datatype {types}[] = {{{', '.join(parts)}}};")
                n = len(parts)
                return f"MPI_Type_create_struct{end}({n}, {lengths}, {at}, {types}, {target});"
        assert drawn.kind == "subarray"
        lists = [self._list(values, int_) for values in drawn.lists]
        order = drawn.words[0]
        given = ", ".join([numbers[0], *lists, order, part, target])
        return f"MPI_Type_create_subarray{end}({given});"

    def _list(self, values: tuple[int, ...], unit: str) -> str:
        """An array with these values: a table of constants, one on the stack, or filled."""
        name = self.names.fresh("list")
        way = self.rng.random()
        steps = {b - a for a, b in pairwise(values)}
        if way < 0.25 and len(values) > 1 and len(steps) == 1:
            self.lines.append(f"{unit} {name}[{len(values)}];")
            first, step = self.number(values[0]), self.number(steps.pop())
            self.lines.append(
                f"for (int i = 0; i < {len(values)}; ++i) {name}[i] = {first} + i * ({step});"
            )
        elif way < 0.5:
            self.lines.append(f"static const {unit} {name}[] = {{{', '.join(map(str, values))}}};")
        else:
            written = ", ".join(self.number(value) for value in values)
            self.lines.append(f"const {unit} {name}[] = {{{written}}};")
        return name
