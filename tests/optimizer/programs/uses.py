# SPDX-License-Identifier: BSD-3-Clause
"""What a program does with a datatype: each use ends with a digest of all it may have changed."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from draw import Drawn
from handles import Kept
from maker import Names

MOST_WINDOW = 100_000


class User:
    """Draws uses of a type that is kept."""

    def __init__(self, rng: Random, names: Names, is_cpp: bool) -> None:
        self.rng = rng
        self.is_cpp = is_cpp
        self.names = names
        self.before: list[str] = []  # functions that uses call

    def use(self, kept: Kept) -> list[str]:
        ways: list[Callable[[Kept, str, int], list[str]]] = [
            *(self._pack, self._pack, self._self, self._self, self._pair, self._pair, self._pair),
            *(self._exchange, self._exchange, self._bcast, self._null, self._short),
            *(self._bcast, self._alltoall, self._alltoallw),
        ]
        way = self.rng.choice(ways)
        handle = kept.expression
        count = self._count(kept.drawn)
        inside = self.rng.random()
        if inside < 0.2:  # in a function that is given the handle
            function, parameter = self.names.fresh("use"), self.names.fresh("given")
            lines = self._among_exceptions(way(kept, parameter, count))
            attribute = self.rng.choice(["", "NOINLINE "])
            head = f"static {attribute}void {function}(MPI_Datatype {parameter}) {{"
            self.before += [head, *(f"  {line}" for line in lines), "}"]
            return [f"{function}({handle});"]
        lines = self._among_exceptions(way(kept, handle, count))
        if inside < 0.4:
            turns = self.rng.choice(["2", "opaque(2)", "3"])
            lines = [f"for (int again = 0; again < {turns}; ++again) {{", *lines, "}"]
        elif inside < 0.5:
            lines = ["if (opaque(1)) {", *lines, "}"]
        return ["{", *(f"  {line}" for line in lines), "}"]

    def _among_exceptions(self, lines: list[str]) -> list[str]:
        """In C++: beside objects with destructors, within try, before what throws."""
        if not self.is_cpp:
            return lines
        rng = self.rng
        number = rng.randint(1, 99)
        way = rng.random()
        if way < 0.25:
            return [f"Witness {self.names.fresh('witness')}({number});", *lines]
        if way < 0.4:
            listed = self.names.fresh("listed")
            first = f"const std::vector<int> {listed}(size_t(opaque(3)), {number});"
            return [first, *lines, f"for (int each : {listed}) digest_int(each);"]
        if way < 0.65:
            last = f"perhaps_throw({rng.choice([0, number])});"
            if rng.random() < 0.5:
                lines = [f"Witness {self.names.fresh('witness')}({number});", *lines]
            again = rng.choice(["", "", " perhaps_throw(0);"])
            return [
                *("try {", *lines, last),
                f"}} catch (int thrown) {{ digest_int(thrown);{again} }}",
            ]
        return lines

    def _between(self) -> list[str]:
        """Work between two calls that belong together."""
        if not self.is_cpp:
            return ["digest_int(opaque(4) * 17);"]
        number = self.rng.choice([0, 5])
        return self.rng.choice(
            [
                ["digest_int(opaque(4) * 17);"],
                [f"Witness {self.names.fresh('between')}({number});"],
                ["perhaps_throw(0);"],
                [
                    f"try {{ perhaps_throw({number}); }}",
                    "catch (int thrown) { digest_int(thrown); }",
                ],
            ]
        )

    def _count(self, drawn: Drawn) -> int:
        most = 1
        for count in (1, 1, 1, 2, 3, 7, 40):
            low, high = drawn.window(count)
            if max(-low, high) < MOST_WINDOW and not drawn.overlaps(count):
                most = count
            if self.rng.random() < 0.4:
                break
        return most

    def _number(self, value: int) -> str:
        return f"opaque({value})" if self.rng.random() < 0.3 else str(value)

    def _renew(self, drawn: Drawn, count: int) -> tuple[str, str]:
        low, high = drawn.window(count)
        return f"renew({low}, {high}, {self.rng.randint(1, 9)} + g_rank);", f"look({low}, {high});"

    def _comm(self) -> str:
        return self.rng.choice(["MPI_COMM_WORLD", "MPI_COMM_WORLD", "MPI_COMM_SELF"])

    def _flat(self, drawn: Drawn, handle: str, count: int) -> tuple[str, str]:
        """The other side: the same type, or the same signature without gaps."""
        name = drawn.uniform
        if name is not None and self.rng.random() < 0.4:
            return self._number(count * len(drawn.entries)), name
        return self._number(count), handle

    def _pack(self, kept: Kept, handle: str, count: int) -> list[str]:
        renew, look = self._renew(kept.drawn, count)
        begin = self.rng.choice([0, 0, 3, 16])
        comm = self._comm()
        n = self._number(count)
        lines = [
            renew,
            f"int at = {begin};",
            f"MPI_Pack(IN, {n}, {handle}, g_packed, kPacked, &at, {comm});",
            "digest_int(at);",
            "digest_bytes(g_packed, (size_t)at + 16);",
        ]
        if self.rng.random() < 0.3:  # two in a row
            lines += [
                f"MPI_Pack(IN, {n}, {handle}, g_packed, kPacked, &at, {comm});",
                "digest_int(at);",
                "digest_bytes(g_packed, (size_t)at + 16);",
            ]
        if self.rng.random() < 0.7:
            lines += [
                f"at = {begin};",
                f"MPI_Unpack(g_packed, kPacked, &at, OUT, {n}, {handle}, {comm});",
                "digest_int(at);",
                look,
            ]
        return lines

    def _self(self, kept: Kept, handle: str, count: int) -> list[str]:
        renew, look = self._renew(kept.drawn, count)
        comm, tag = self._comm(), self.rng.choice([0, 5])
        me = "0" if comm == "MPI_COMM_SELF" else "g_rank"
        received, to = self._flat(kept.drawn, handle, count)
        # Among all ranks, the other's next message could come first.
        source = me if me == "g_rank" else self.rng.choice([me, "MPI_ANY_SOURCE"])
        receive_tag = self.rng.choice([str(tag), "MPI_ANY_TAG"])
        sent = f"IN, {self._number(count)}, {handle}, {me}, {tag}"
        lines = [renew]
        look_flat = look if to == handle else self._look_flat(kept.drawn, count)
        if self.rng.random() < 0.3:
            call = f"MPI_Sendrecv({sent}, OUT, {received}, {to}, {source}, {receive_tag}, {comm}"
            return [*lines, f"{call}, MPI_STATUS_IGNORE);", look_flat]
        call = f"MPI_Sendrecv({sent}, OUT, {received}, {to}, {source}, {receive_tag}, {comm}"
        return [
            *lines,
            "MPI_Status status = blank_status();",
            f"{call}, &status);",
            *self._status(kept.drawn, "status", to),
            look_flat,
        ]

    @staticmethod
    def _status(drawn: Drawn, status: str, handle: str) -> list[str]:
        lines = [f"digest_status(&{status}, {handle});"]
        if drawn.can_be_counted:
            lines.append(f"digest_elements(&{status}, {handle});")
        return lines

    @staticmethod
    def _look_flat(drawn: Drawn, count: int) -> str:
        return f"digest_bytes(OUT, {drawn.size * count} + kMargin);"

    def _pair(self, kept: Kept, handle: str, count: int) -> list[str]:
        """One way or both, blocking."""
        renew, look = self._renew(kept.drawn, count)
        n, kind = self._flat(kept.drawn, handle, count)
        from_type = (n, kind)
        to_type = (self._number(count), handle)
        look_to = look
        if self.rng.random() < 0.5:
            from_type, to_type = to_type, from_type
            look_to = look if kind == handle else self._look_flat(kept.drawn, count)
        sender = self.rng.randint(0, 1)
        tag = self.rng.randint(0, 9)
        peer = [str(1 - sender), str(sender)]
        if self.rng.random() < 0.3:
            peer = ["1 - g_rank", "1 - g_rank"]
        if self.rng.random() < 0.2:
            peer[1] = "MPI_ANY_SOURCE"
        mode = self.rng.choice(["Send", "Send", "Send", "Ssend"])
        ignores = self.rng.random() < 0.4
        status = "MPI_STATUS_IGNORE" if ignores else "&status"
        receive = f"MPI_Recv(OUT, {to_type[0]}, {to_type[1]}, {peer[1]}, {tag}, MPI_COMM_WORLD"
        lines = [renew, f"if (g_rank == {sender}) {{"]
        sends = (
            f"  MPI_{mode}(IN, {from_type[0]}, {from_type[1]}, {peer[0]}, {tag}, MPI_COMM_WORLD);"
        )
        lines += [sends, "} else {"]
        lines += [] if ignores else ["  MPI_Status status = blank_status();"]
        lines += [f"  {receive}, {status});"]
        if not ignores:
            lines += [*self._status(kept.drawn, "status", to_type[1]), "digest_error(&status);"]
        return [*lines, f"  {look_to}", "}"]

    def _exchange(self, kept: Kept, handle: str, count: int) -> list[str]:
        """Both at once; completed in one of several ways, with work in between."""
        renew, look = self._renew(kept.drawn, count)
        received, to = self._flat(kept.drawn, handle, count)
        look = look if to == handle else self._look_flat(kept.drawn, count)
        requests = self.names.fresh("requests")
        sent = f"IN, {self._number(count)}, {handle}, 1 - g_rank, 1, MPI_COMM_WORLD"
        lines = [
            renew,
            f"MPI_Request {requests}[2];",
            f"MPI_Irecv(OUT, {received}, {to}, 1 - g_rank, 1, MPI_COMM_WORLD, &{requests}[0]);",
            f"MPI_Isend({sent}, &{requests}[1]);",
        ]
        if self.rng.random() < 0.3:
            lines += self._between()
        gone = []  # the type is freed while they are under way, and its handle given to another
        if kept.again and handle == kept.expression and self.rng.random() < 0.3:
            other = self.names.fresh("other")
            free = self.rng.choice(["MPI_Type_free", "unseen_MPI_Type_free"])
            lines += [
                f"{free}(&{handle});",
                f"MPI_Datatype {other};",
                f"MPI_Type_vector(opaque(3), 1, 5, MPI_SHORT, &{other});",
                f"MPI_Type_commit(&{other});",
                f"touch(&{other});",
            ]
            gone = [f"MPI_Type_free(&{other});", "{", *kept.again, "}"]
        ends = len(lines)
        match self.rng.randint(0, 4):
            case 0:
                lines.append(f"MPI_Waitall(2, {requests}, MPI_STATUSES_IGNORE);")
            case 1:
                lines += [
                    "MPI_Status statuses[2] = {blank_status(), blank_status()};",
                    f"MPI_Waitall(2, {requests}, statuses);",
                    *self._status(kept.drawn, "statuses[0]", to),
                ]
            case 2:
                lines += [
                    "MPI_Status status = blank_status();",
                    f"MPI_Wait(&{requests}[0], &status);",
                    f"MPI_Wait(&{requests}[1], MPI_STATUS_IGNORE);",
                    *self._status(kept.drawn, "status", to),
                    "digest_error(&status);",
                ]
            case 3:
                lines += [
                    f"MPI_Wait(&{requests}[1], MPI_STATUS_IGNORE);",
                    "int done = 0;",
                    f"while (!done) MPI_Test(&{requests}[0], &done, MPI_STATUS_IGNORE);",
                ]
            case _:
                lines += [
                    f"touch({requests});",
                    f"MPI_Waitall(2, {requests}, MPI_STATUSES_IGNORE);",
                ]
        lines.append(f"digest_int({requests}[0] == MPI_REQUEST_NULL);")
        told = next(i for i in range(ends, len(lines)) if lines[i].startswith("digest_"))
        lines[told:told] = gone
        return [*lines, look]

    def _bcast(self, kept: Kept, handle: str, count: int) -> list[str]:
        low, high = kept.drawn.window(count)
        renew, _ = self._renew(kept.drawn, count)
        root = self.rng.choice(["0", "1", "opaque(1)"])
        n = self._number(count)
        return [
            renew,
            f"MPI_Bcast(IN, {n}, {handle}, {root}, MPI_COMM_WORLD);",
            f"look_in({low}, {high});",
        ]

    def _alltoall(self, kept: Kept, handle: str, count: int) -> list[str]:
        comm, ranks = self.rng.choice([("MPI_COMM_WORLD", 2), ("MPI_COMM_SELF", 1)])
        drawn = kept.drawn
        low, high = drawn.window(ranks * count)
        if drawn.overlaps(ranks * count) or max(-low, high) >= MOST_WINDOW:
            return self._bcast(kept, handle, count)
        renew, look = self._renew(drawn, ranks * count)
        mine = (self._number(count), handle)
        other = self._flat(drawn, handle, count)
        if self.rng.random() < 0.5:
            mine, other = other, mine
        if other[1] != handle:
            look = self._look_flat(drawn, ranks * count)
        if self.rng.random() < 0.15:
            low, high = drawn.window(ranks * count)
            sent = "MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, IN"
            lines = [f"MPI_Alltoall({sent}, {self._number(count)}, {handle}, {comm});"]
            return [renew, *lines, f"look_in({low}, {high});"]
        sent, received = f"IN, {mine[0]}, {mine[1]}", f"OUT, {other[0]}, {other[1]}"
        return [renew, f"MPI_Alltoall({sent}, {received}, {comm});", look]

    def _alltoallw(self, kept: Kept, handle: str, count: int) -> list[str]:
        """Blocks that do not touch, of one type or of two with one signature."""
        comm, ranks = self.rng.choice([("MPI_COMM_WORLD", 2), ("MPI_COMM_SELF", 1)])
        drawn = kept.drawn
        low, high = drawn.window(count)
        low, high = min(low, 0), max(high, drawn.size * count)  # with the blocks without gaps
        apart = (high - low) // 16 * 16 + 16
        last = high + apart * (ranks - 1)
        if max(-low, last) >= MOST_WINDOW:
            return self._bcast(kept, handle, count)
        renew = f"renew({low}, {last}, {self.rng.randint(1, 9)} + g_rank);"
        name = self.names.fresh("blocks")
        at = ", ".join(str(apart * i) for i in range(ranks))
        lines = [renew, f"const int {name}_at[] = {{{at}}};"]
        in_place = self.rng.random() < 0.15
        for side in ("in",) if in_place else ("out", "in"):
            sides = [self._flat(drawn, handle, count) for _ in range(ranks)]
            if in_place or self.rng.random() < 0.6:  # all of the one type
                sides = [(self._number(count), handle)] * ranks
            counts, kinds = (", ".join(each) for each in zip(*sides, strict=True))
            lines += [
                f"const int {name}_{side}_counts[] = {{{counts}}};",
                f"const MPI_Datatype {name}_{side}_types[] = {{{kinds}}};",
            ]
        received = f"{name}_in_counts, {name}_at, {name}_in_types, {comm}"
        if in_place:
            lines.append(f"MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, IN, {received});")
            return [*lines, f"look_in({low}, {last});"]
        sent = f"IN, {name}_out_counts, {name}_at, {name}_out_types"
        return [*lines, f"MPI_Alltoallw({sent}, OUT, {received});", f"look({low}, {last});"]

    def _null(self, kept: Kept, handle: str, count: int) -> list[str]:
        """Nobody, or nothing."""
        renew, look = self._renew(kept.drawn, count)
        lines = [renew, "MPI_Status status = blank_status();"]
        if self.rng.random() < 0.5:
            lines += [
                f"MPI_Send(IN, {count}, {handle}, MPI_PROC_NULL, 3, MPI_COMM_WORLD);",
                f"MPI_Recv(OUT, {count}, {handle}, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);",
            ]
        else:
            zero = self._number(0)
            lines += [
                f"MPI_Sendrecv(IN, {zero}, {handle}, 1 - g_rank, 2, OUT, {zero}, {handle}, "
                "1 - g_rank, 2, MPI_COMM_WORLD, &status);",
            ]
        return [*lines, *self._status(kept.drawn, "status", handle), look]

    def _short(self, kept: Kept, handle: str, count: int) -> list[str]:
        """Fewer elements than there is room for, or a part of one."""
        drawn = kept.drawn
        room = count + self.rng.choice([1, 2])
        low, high = drawn.window(room)
        if drawn.overlaps(room) or max(-low, high) >= MOST_WINDOW:
            return self._null(kept, handle, count)
        renew, look = self._renew(drawn, room)
        sent = f"{self._number(count)}, {handle}"
        if drawn.uniform is not None and self.rng.random() < 0.6:
            most = len(drawn.entries) * room
            sent = f"{self._number(self.rng.randint(0, most))}, {drawn.uniform}"
        return [
            renew,
            "if (g_rank == 1) {",
            f"  MPI_Send(IN, {sent}, 0, 4, MPI_COMM_WORLD);",
            "} else {",
            "  MPI_Status status = blank_status();",
            f"  MPI_Recv(OUT, {self._number(room)}, {handle}, 1, 4, MPI_COMM_WORLD, &status);",
            *self._status(drawn, "status", handle),
            f"  {look}",
            "}",
        ]
