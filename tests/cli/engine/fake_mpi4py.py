# SPDX-License-Identifier: BSD-3-Clause
"""A stand-in for mpi4py.MPI: datatypes that know their typemap, and whether they were freed."""

import types

NAMED = {"BYTE": 1, "INT": 4, "DOUBLE": 8, "FLOAT": 4, "C_FLOAT_COMPLEX": 8, "LONG_DOUBLE": 16}
NAMED |= {"C_DOUBLE_COMPLEX": 16, "C_LONG_DOUBLE_COMPLEX": 32, "C_BOOL": 1}
NAMED |= {f"{sign}INT{8 * n}_T": n for sign in ("", "U") for n in (1, 2, 4, 8)}


def fake_mpi4py():
    """The module `mpi4py`, with `MPI` in it; `MPI.alive` are the types not yet freed, by number."""
    MPI = types.ModuleType("mpi4py.MPI")
    MPI.alive = {}

    class Datatype:
        def __new__(cls, other=None):
            self = super().__new__(cls)
            if other is not None:
                self.__dict__.update(other.__dict__)
            return self

        def __bool__(self):
            return self.number is not None

        def __eq__(self, other):
            return self.number == other.number

        __hash__ = None

        def Free(self):
            assert MPI.alive.pop(self.number) is not None
            self.number = None

        def Commit(self):
            self.is_committed = True
            return self

        def Get_size(self):
            return sum(size for _, size in self.places)

        def Get_extent(self):
            return self.lb, self.ub - self.lb

        def Dup(self):
            return made("dup", self.places, self.lb, self.ub)

        def _blocks(self, name, blocks, unit):
            """Of (places, in units; length) each."""
            return placed(name, [(length, at * unit, self) for at, length in blocks])

        def Create_contiguous(self, count):
            return self._blocks("contiguous", [(0, count)], 1)

        def Create_vector(self, count, block, stride):
            extent = self.ub - self.lb
            return self._blocks("vector", [(i * stride, block) for i in range(count)], extent)

        def Create_hvector(self, count, block, stride):
            return self._blocks("hvector", [(i * stride, block) for i in range(count)], 1)

        def Create_indexed(self, lengths, places):
            blocks = zip(places, lengths, strict=True)
            return self._blocks("indexed", blocks, self.ub - self.lb)

        def Create_hindexed(self, lengths, places):
            return self._blocks("hindexed", zip(places, lengths, strict=True), 1)

        def Create_indexed_block(self, block, places):
            return self._blocks("indexed_block", [(at, block) for at in places], self.ub - self.lb)

        def Create_hindexed_block(self, block, places):
            return self._blocks("hindexed_block", [(at, block) for at in places], 1)

        def Create_resized(self, lb, extent):
            return made("resized", self.places, lb, lb + extent)

        def Create_subarray(self, sizes, subsizes, starts, order):
            axes = range(len(sizes)) if order == MPI.ORDER_FORTRAN else reversed(range(len(sizes)))
            inner, unit = self, self.ub - self.lb
            for axis in axes:
                here = [(starts[axis] + i, 1) for i in range(subsizes[axis])]
                inner = inner._blocks("subarray", here, unit)
                del MPI.alive[inner.number]
                unit *= sizes[axis]
            return made("subarray", inner.places, 0, unit)

        @staticmethod
        def Create_struct(lengths, places, oldtypes):
            return placed("struct", list(zip(lengths, places, oldtypes, strict=True)))

    def made(name, places, lb, ub):
        self = Datatype()
        self.name, self.places, self.lb, self.ub = name, places, lb, ub
        self.number, self.is_committed = object(), False
        if name != "named":
            MPI.alive[self.number] = name
        return self

    def placed(name, blocks):
        places, lbs, ubs = [], [], []
        for length, at, inner in blocks:
            assert inner, "a part is used after it was freed"
            extent = inner.ub - inner.lb
            for i in range(length):
                places += [(at + i * extent + place, size) for place, size in inner.places]
                lbs.append(at + i * extent + inner.lb)
                ubs.append(at + i * extent + inner.ub)
        return made(name, places, min(lbs, default=0), max(ubs, default=0))

    MPI.Datatype = Datatype
    for name, size in NAMED.items():
        setattr(MPI, name, made("named", [(0, size)], 0, size))
    MPI.DATATYPE_NULL = made("named", [], 0, 0)
    MPI.ORDER_C, MPI.ORDER_FORTRAN, MPI.THREAD_MULTIPLE = 56, 57, 3
    MPI.Is_initialized = lambda: True
    MPI.Is_finalized = lambda: False
    MPI.Is_thread_main = lambda: True
    MPI.Query_thread = lambda: MPI.THREAD_MULTIPLE
    package = types.ModuleType("mpi4py")
    package.MPI = MPI
    return package
