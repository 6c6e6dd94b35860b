# SPDX-License-Identifier: BSD-3-Clause
"""Where a program keeps a datatype, and how it gets there: the ways an optimizer must see through,
or leave alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from random import Random

from draw import Drawn
from maker import Maker, Names

_CALL = re.compile(r"\bMPI_Type_(?=\w+\()")


def unseen(lines: list[str]) -> list[str]:
    """As a library does it: no compiler sees that these are MPI's functions."""
    return [_CALL.sub("unseen_MPI_Type_", line) for line in lines]


@dataclass
class Kept:
    """A handle in a program: `expression` is valid between `setup` and `teardown`. `again` makes it
    anew, where it was freed meanwhile; it may be empty."""

    drawn: Drawn
    expression: str
    before: list[str] = field(default_factory=list)  # at file scope
    setup: list[str] = field(default_factory=list)
    teardown: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)


class Keeper:
    """Draws a way to make and keep a type."""

    def __init__(self, rng: Random, names: Names, is_cpp: bool) -> None:
        self.rng = rng
        self.names = names
        self.is_cpp = is_cpp

    def keep(self, drawn: Drawn, other: Drawn) -> Kept:
        """`other` is a type that is not meant, where one is needed."""
        ways = [
            *(self._local, self._local, self._helper, self._helper, self._global, self._member),
            *(self._array, self._heap, self._escaped, self._branch, self._reused, self._loop),
            *(
                self._static,
                self._static,
                self._recycled,
                self._recycled,
                self._copy,
                self._foreign,
            ),
        ]
        if self.is_cpp:
            ways += [self._raii, self._raii]
        return self.rng.choice(ways)(drawn, other)

    def _made(self, drawn: Drawn, target: str) -> list[str]:
        maker = Maker(self.rng, self.names, parameters=True)
        maker.make(drawn, target)
        given = [f"const int {name} = {self._given(value)};" for name, value in maker.parameters]
        return [*given, *maker.lines]

    def _given(self, value: int) -> str:
        return f"opaque({value})" if self.rng.random() < 0.5 else str(value)

    def _perhaps_unseen(self, lines: list[str]) -> list[str]:
        return unseen(lines) if self.rng.random() < 0.5 else lines

    def _kept(self, drawn: Drawn, name: str, setup: list[str]) -> Kept:
        return Kept(drawn, name, [], setup, [f"MPI_Type_free(&{name});"])

    def _local(self, drawn: Drawn, _: Drawn) -> Kept:
        name = self.names.fresh("type")
        lines = [f"MPI_Datatype {name};", *self._made(drawn, f"&{name}")]
        return self._kept(drawn, name, [*lines, f"MPI_Type_commit(&{name});"])

    def _helper(self, drawn: Drawn, _: Drawn) -> Kept:
        """A function that is given the numbers, and returns the type or writes it."""
        name, function = self.names.fresh("type"), self.names.fresh("make")
        maker = Maker(self.rng, self.names, parameters=True)
        maker.make(drawn, "result" if self.rng.random() < 0.5 else "&made")
        returns = "&made" in maker.lines[-1] or any("&made)" in line for line in maker.lines)
        parameters = [f"int {one}" for one, _ in maker.parameters]
        given = [self._given(value) for _, value in maker.parameters]
        attribute = self.rng.choice(["", "", "NOINLINE "])
        if returns:
            head = (
                f"static {attribute}MPI_Datatype {function}({', '.join(parameters) or 'void'}) {{"
            )
            body = ["MPI_Datatype made;", *maker.lines, "return made;"]
            call = f"{name} = {function}({', '.join(given)});"
        else:
            all_parameters = ", ".join(["MPI_Datatype* result", *parameters])
            head = f"static {attribute}void {function}({all_parameters}) {{"
            body = maker.lines
            call = f"{function}({', '.join([f'&{name}', *given])});"
        before = [head, *(f"  {line}" for line in body), "}"]
        kept = self._kept(
            drawn, name, [f"MPI_Datatype {name};", call, f"MPI_Type_commit(&{name});"]
        )
        kept.before = before
        return kept

    def _global(self, drawn: Drawn, _: Drawn) -> Kept:
        """A variable of the file, static or not, set in a function of its own."""
        name, function = self.names.fresh("g_type"), self.names.fresh("init")
        linkage = self.rng.choice(["static ", "static ", ""])
        attribute = self.rng.choice(["", "NOINLINE "])
        lines = [*self._made(drawn, f"&{name}"), f"MPI_Type_commit(&{name});"]
        before = [
            f"{linkage}MPI_Datatype {name};" if linkage else f"MPI_Datatype {name};",
            f"static {attribute}void {function}(void) {{",
            *(f"  {line}" for line in lines),
            "}",
        ]
        kept = self._kept(drawn, name, [f"{function}();"])
        kept.before = before
        return kept

    def _member(self, drawn: Drawn, _: Drawn) -> Kept:
        struct, name = self.names.fresh("Grid"), self.names.fresh("grid")
        function = self.names.fresh("commit")
        before = [
            f"struct {struct} {{ int n; MPI_Datatype column; double width; }};",
            f"static {self.rng.choice(['', 'NOINLINE '])}void {function}(struct {struct}* grid) {{",
            "  MPI_Type_commit(&grid->column);",
            "  grid->n += 1;",
            "}",
        ]
        lines = [
            f"struct {struct} {name} = {{3, MPI_DATATYPE_NULL, 0.5}};",
            *self._made(drawn, f"&{name}.column"),
            f"{function}(&{name});",
        ]
        kept = self._kept(drawn, f"{name}.column", lines)
        kept.before = before
        return kept

    def _array(self, drawn: Drawn, other: Drawn) -> Kept:
        name = self.names.fresh("types")
        mine = self.rng.randint(0, 1)
        lines = [f"MPI_Datatype {name}[2];"]
        for at in range(2):
            lines += self._made(drawn if at == mine else other, f"&{name}[{at}]")
        lines.append(f"for (int i = 0; i < 2; ++i) MPI_Type_commit(&{name}[i]);")
        index = self.rng.choice([str(mine), f"opaque({mine})"])
        end = f"for (int i = 0; i < 2; ++i) MPI_Type_free(&{name}[i]);"
        return Kept(drawn, f"{name}[{index}]", [], lines, [end])

    def _heap(self, drawn: Drawn, _: Drawn) -> Kept:
        name = self.names.fresh("heap")
        lines = [
            f"MPI_Datatype* {name} = (MPI_Datatype*)malloc(sizeof(MPI_Datatype));",
            *self._made(drawn, name),
            f"MPI_Type_commit({name});",
        ]
        return Kept(drawn, f"*{name}", [], lines, [f"MPI_Type_free({name});", f"free({name});"])

    def _escaped(self, drawn: Drawn, other: Drawn) -> Kept:
        """Somebody has the address, and at times changes what is there."""
        name = self.names.fresh("type")
        lines = [f"MPI_Datatype {name};", *self._made(drawn, f"&{name}")]
        lines += [f"MPI_Type_commit(&{name});", f"touch(&{name});"]
        if self.rng.random() < 0.5:
            return self._kept(drawn, name, lines)
        function = self.names.fresh("replace")
        made = [*self._made(drawn, "type"), "MPI_Type_commit(type);"]
        before = [f"static NOINLINE void {function}(MPI_Datatype* type) {{"]
        before += ["  MPI_Type_free(type);", *(f"  {line}" for line in made), "}"]
        lines = [f"MPI_Datatype {name};", *self._made(other, f"&{name}"), f"{function}(&{name});"]
        kept = self._kept(drawn, name, lines)
        kept.before = before
        return kept

    def _static(self, drawn: Drawn, other: Drawn) -> Kept:
        """In a struct of the file, which a function fills that is given its address."""
        struct, name = self.names.fresh("Halo"), self.names.fresh("halo")
        function = self.names.fresh("fill")
        mine = self.rng.randint(0, 1)
        lines = []
        for at in range(2):
            lines += self._made(drawn if at == mine else other, f"&halo->sides[{at}]")
            lines.append(f"MPI_Type_commit(&halo->sides[{at}]);")
        before = [
            f"struct {struct} {{ int n; MPI_Datatype sides[2]; }};",
            f"static struct {struct} {name};",
            f"static NOINLINE void {function}(struct {struct}* halo) {{",
            *(f"  {line}" for line in lines),
            "}",
        ]
        index = self.rng.choice([str(mine), f"opaque({mine})"])
        end = [f"MPI_Type_free(&{name}.sides[{at}]);" for at in range(2)]
        where = f"{name}.sides[{index}]"
        again = [*self._made(drawn, f"&{where}"), f"MPI_Type_commit(&{where});"]
        return Kept(drawn, where, before, [f"{function}(&{name});"], end, again)

    def _recycled(self, drawn: Drawn, other: Drawn) -> Kept:
        """Another type that was looked up is freed, by whomever, and its handle given again."""
        name = self.names.fresh("types")
        mine = self.rng.randint(0, 1)
        where = f"{name}[{mine}]"
        lines = [f"MPI_Datatype {name}[2];"]
        for at in range(2):
            lines += [*self._made(other, f"&{name}[{at}]"), f"MPI_Type_commit(&{name}[{at}]);"]
        lines += [
            f"touch({name});",
            "{ int at = 0;",
            f"  MPI_Pack(IN, 1, {where}, g_packed, kPacked, &at, MPI_COMM_SELF);",
            "  digest_int(at); digest_bytes(g_packed, (size_t)at); }",
        ]
        for _ in range(self.rng.choice([1, 1, 3])):
            made = [*self._made(drawn, f"&{where}"), f"MPI_Type_commit(&{where});"]
            free = [f"MPI_Type_free(&{where});"]
            lines += ["{", *self._perhaps_unseen(free), *self._perhaps_unseen(made), "}"]
        lines.append(f"touch({name});")
        again = [*self._made(drawn, f"&{where}"), f"MPI_Type_commit(&{where});"]
        end = self._perhaps_unseen([f"MPI_Type_free(&{name}[{at}]);" for at in range(2)])
        return Kept(drawn, where, [], lines, end, again)

    def _copy(self, drawn: Drawn, other: Drawn) -> Kept:
        """A copy outlives its type, whose handle is given to another."""
        name, copy = self.names.fresh("type"), self.names.fresh("copy")
        lines = [f"MPI_Datatype {name}, {copy};", *self._made(drawn, f"&{name}")]
        lines += [f"MPI_Type_commit(&{name});", f"touch(&{name});"]
        lines += self._perhaps_unseen([f"MPI_Type_dup({name}, &{copy});"])
        lines += self._perhaps_unseen([f"MPI_Type_free(&{name});"])
        lines += [*self._made(other, f"&{name}"), f"MPI_Type_commit(&{name});"]
        lines += self.rng.choice([[], [f"touch(&{name});", f"touch(&{copy});"]])
        return Kept(
            drawn, copy, [], lines, [f"MPI_Type_free(&{copy});", f"MPI_Type_free(&{name});"]
        )

    def _foreign(self, drawn: Drawn, _: Drawn) -> Kept:
        """A library's."""
        name = self.names.fresh("type")
        lines = [f"MPI_Datatype {name};", *unseen(self._made(drawn, f"&{name}"))]
        lines.append(f"unseen_MPI_Type_commit(&{name});")
        return Kept(drawn, name, [], lines, [f"unseen_MPI_Type_free(&{name});"])

    def _branch(self, drawn: Drawn, other: Drawn) -> Kept:
        """Made the same way on both sides, or not; `drawn` is what is meant."""
        name = self.names.fresh("type")
        taken = self.rng.randint(0, 1)
        sides = [drawn, drawn]
        if self.rng.random() < 0.6:
            sides[1 - taken] = other
        lines = [f"MPI_Datatype {name};", f"if (opaque({taken})) {{"]
        lines += [f"  {line}" for line in self._made(sides[1], f"&{name}")]
        lines += ["} else {"]
        lines += [f"  {line}" for line in self._made(sides[0], f"&{name}")]
        return self._kept(drawn, name, [*lines, "}", f"MPI_Type_commit(&{name});"])

    def _reused(self, drawn: Drawn, other: Drawn) -> Kept:
        """The variable had another type before, which was used and freed."""
        name = self.names.fresh("type")
        lines = [f"MPI_Datatype {name};", "{", *self._made(other, f"&{name}"), "}"]
        lines += [
            f"MPI_Type_commit(&{name});",
            "{ int at = 0;",
            f"  MPI_Pack(IN, 1, {name}, g_packed, kPacked, &at, MPI_COMM_SELF);",
            "  digest_int(at); digest_bytes(g_packed, (size_t)at); }",
            f"MPI_Type_free(&{name});",
            *self._made(drawn, f"&{name}"),
            f"MPI_Type_commit(&{name});",
        ]
        return self._kept(drawn, name, lines)

    def _loop(self, drawn: Drawn, _: Drawn) -> Kept:
        """Made anew in each turn of a loop; the last one stays."""
        name = self.names.fresh("type")
        turns = self.rng.choice(["2", "3", "opaque(3)"])
        lines = [
            f"MPI_Datatype {name} = MPI_DATATYPE_NULL;",
            f"for (int turn = 0; turn < {turns}; ++turn) {{",
            f"  if ({name} != MPI_DATATYPE_NULL) MPI_Type_free(&{name});",
            *(f"  {line}" for line in self._made(drawn, f"&{name}")),
            f"  MPI_Type_commit(&{name});",
            "}",
        ]
        return self._kept(drawn, name, lines)

    def _raii(self, drawn: Drawn, _: Drawn) -> Kept:
        struct, name = self.names.fresh("Holder"), self.names.fresh("holder")
        maker = Maker(self.rng, self.names, parameters=True)
        maker.make(drawn, "&type")
        parameters = ", ".join(f"int {one}" for one, _ in maker.parameters)
        given = ", ".join(self._given(value) for _, value in maker.parameters)
        before = [
            f"struct {struct} {{",
            "  MPI_Datatype type = MPI_DATATYPE_NULL;",
            f"  explicit {struct}({parameters}) {{",
            *(f"    {line}" for line in maker.lines),
            "    MPI_Type_commit(&type);",
            "  }",
            f"  ~{struct}() {{ MPI_Type_free(&type); }}",
            f"  {struct}(const {struct}&) = delete;",
            "};",
        ]
        setup = [f"const {struct} {name}{{{given}}};", "if (opaque(0)) throw 1;"]
        return Kept(drawn, f"{name}.type", before, setup, [])
