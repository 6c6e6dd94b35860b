# SPDX-License-Identifier: BSD-3-Clause
"""lacuna.engine, the engine for Python programs: NumPy is the oracle."""

import copy
import random

import numpy as np
import pytest

from lacuna.base.errors import LacunaError
from lacuna.engine import Plan, Type, capi


def noise(bytes_, seed=1):
    return np.random.default_rng(seed).integers(0, 256, bytes_, np.uint8)


def test_constructors_are_texts():
    struct = Type.struct([1, 2], [0, 8], ["int", Type("double")])
    for made, text in (
        (Type.contiguous(3, "double"), "contiguous(3, double)"),
        (Type.vector(4, 1, 5, "double"), "vector(4, 1, 5, double)"),
        (Type.hvector(4, 2, -24, "int"), "hvector(4, 2, -24, int)"),
        (Type.indexed([1, 2], (0, 4), "int"), "indexed([1, 2], [0, 4], int)"),
        (Type.hindexed(np.array([1, 2]), [0, 16], "int"), "hindexed([1, 2], [0, 16], int)"),
        (Type.indexed_block(2, [0, 5], "float"), "indexed_block(2, [0, 5], float)"),
        (Type.hindexed_block(2, [0, 20], "float"), "hindexed_block(2, [0, 20], float)"),
        (struct, "struct([1, 2], [0, 8], [int, double])"),
        (Type.subarray([9, 8], [1, 8], [4, 0], "int"), "subarray([9, 8], [1, 8], [4, 0], c, int)"),
        (
            Type.subarray([9, 8], [1, 8], [4, 0], "int", order="fortran"),
            "subarray([9, 8], [1, 8], [4, 0], fortran, int)",
        ),
        (Type.resized(0, 64, struct), f"resized(0, 64, {struct.text()})"),
    ):
        assert made.text() == text
        assert repr(made) == f"Type({text!r})"


@pytest.mark.parametrize("seed", range(60))
def test_what_a_view_shows(seed):
    draw = random.Random(seed)
    dtypes = ["u1", "i2", "f4", "f8", "c16", "f2", "M8[s]", "S5", "?", "3i4"]
    dtype = np.dtype(draw.choice(dtypes))
    if draw.random() < 0.4:
        fields = [(f"f{i}", draw.choice(dtypes)) for i in range(draw.randint(1, 4))]
        dtype = np.dtype(fields, align=draw.random() < 0.5)
    shape = [draw.randint(1, 9) for _ in range(draw.randint(1, 4))]
    array = noise(dtype.itemsize * int(np.prod(shape))).view(dtype.base).reshape(-1)
    array = array[: int(np.prod(shape))].reshape(shape)
    view = array.transpose(draw.sample(range(array.ndim), array.ndim))
    steps = [draw.choice([1, 1, 2, 3, -1, -2]) for _ in shape]
    view = view[tuple(slice(None, None, step) for step in steps)]
    plan = Plan(Type.of(view))
    packed = plan.pack(view)
    wanted = noise(packed.size, 2)
    # Padding between fields is no data here.
    if view.dtype.fields is None:
        assert packed.tobytes() == view.tobytes()
    else:
        fields = view.dtype.fields
        names = sorted(view.dtype.names, key=lambda name: fields[name][1])
        each = [np.ascontiguousarray(view[name]) for name in names]
        parts = [one.reshape(view.size, -1).view(np.uint8).reshape(view.size, -1) for one in each]
        assert packed.tobytes() == np.concatenate(parts, axis=1).tobytes()
    before = array.tobytes()  # a copy would have other padding
    plan.unpack(wanted, view)
    assert plan.pack(view).tobytes() == wanted.tobytes()
    plan.unpack(packed, view)
    assert array.tobytes() == before


def test_counts_offsets_and_slices():
    matrix = np.arange(60.0).reshape(6, 10)
    column = Plan(Type.resized(0, 8, Type.vector(6, 1, 10, "double")))
    assert column.packed_size() == 48
    assert column.type.size() == 48
    packed = column.pack(matrix, 4, offset=16)
    assert (packed.view(float).reshape(4, 6) == matrix[:, 2:6].T).all()
    out = bytearray(50)
    assert column.pack(matrix, 4, out, 16, slice_=(7, 57)) is out
    assert out == packed.tobytes()[7:57]
    other = np.zeros((6, 10))
    for begin, end in ((50, 192), (0, 50)):
        column.unpack(packed[begin:end], other, 4, 16, slice_=(begin, end))
    wanted = np.zeros((6, 10))
    wanted[:, 2:6] = matrix[:, 2:6]
    assert (other == wanted).all()
    assert column.pack(matrix, 0).size == 0


def test_from_one_layout_to_another():
    matrix = np.arange(200, dtype=np.int32).reshape(10, 20)
    turned = np.zeros((20, 10), np.int32, order="C")
    Plan(Type.of(matrix)).copy(matrix, Plan(Type.of(turned.T)), turned.T)
    assert (turned == matrix.T).all()


def test_what_is_no_type_and_no_array_is_said():
    for make, words in (
        (lambda: Plan(3), "this is int; give a Type or its text"),
        (lambda: Type.of([1, 2]), "list is no array; give a NumPy array"),
    ):
        with pytest.raises(LacunaError, match=words):
            make()


def test_what_is_wrong_is_said_and_nothing_is_moved():
    matrix = np.arange(12.0).reshape(3, 4)
    plan = Plan("vector(3, 1, 4, double)")
    frozen = matrix.copy()
    frozen.flags.writeable = False
    zeros = np.zeros(3)
    for what, call in (
        ("data are at bytes 32 to 104 of mem", lambda: plan.pack(matrix, offset=32)),
        ("data are at bytes -8 to 64 of mem", lambda: plan.pack(matrix, offset=-8)),
        ("of mem", lambda: plan.pack(matrix, 2)),
        ("out has 16 bytes, 24 are needed", lambda: plan.pack(matrix, out=bytearray(16))),
        ("out has gaps", lambda: plan.pack(matrix, out=np.zeros(6)[::2])),
        ("out cannot be written", lambda: plan.pack(matrix, out=bytes(24))),
        ("mem cannot be written", lambda: plan.unpack(zeros, frozen)),
        ("packed has 16 bytes", lambda: plan.unpack(zeros[:2], matrix)),
        ("mem is list, which is no memory", lambda: plan.pack([1, 2, 3])),
        ("bytes 5 to 25 of 24 are no slice", lambda: plan.pack(matrix, slice_=(5, 25))),
        ("bytes 5 to 4 of 24 are no slice", lambda: plan.pack(matrix, slice_=(5, 4))),
        ("count", lambda: plan.pack(matrix, -1)),
        ("cannot read the type text", lambda: Plan("vector(3, 1)")),
        ("addresses of Python objects", lambda: Type.of(np.array([None, "a"]))),
    ):
        before = matrix.copy()
        with pytest.raises(LacunaError, match=what):
            call()
        assert (matrix == before).all()
    assert (zeros == 0).all()


def test_numbers_that_ctypes_would_cut_and_texts_that_it_would_end():
    plan = Plan(Type.vector(4, 1, 2, "double"))
    for call in (plan.packed_size, plan.explain, plan.cost):
        with pytest.raises(LacunaError, match="bad count"):
            call(2**64 + 1)
    mem, room = np.zeros(8), np.zeros(8)
    with pytest.raises(LacunaError, match="bad other_count"):
        plan.copy(mem, plan, room, other_count=2**64 + 1)
    with pytest.raises(LacunaError, match="NUL"):
        Type("double\0 and more")


def test_addresses_of_objects_are_not_moved():
    plan = Plan("contiguous(2, double)")
    objects = np.array([object(), object()], dtype=object)
    for call in (lambda: plan.pack(objects), lambda: plan.unpack(bytes(16), objects)):
        with pytest.raises(LacunaError, match="Python objects"):
            call()


def test_a_copy_gives_nothing_back_twice():
    for one in (Type("vector(3, 1, 2, int)"), Plan("vector(3, 1, 2, int)")):
        for other in (copy.copy(one), copy.deepcopy(one)):
            assert other is one


def test_memory_stays_while_it_is_moved():
    plan = Plan("contiguous(64, byte)")
    mem = bytearray(range(64))
    tried = []

    class Library:
        """The C library, with a look at the memory meanwhile."""

        def __getattr__(self, name):
            return getattr(real, name)

        def lacuna_pack(self, *arguments):
            with pytest.raises(BufferError):
                mem.extend(bytes(1 << 20))
            tried.append(1)
            return real.lacuna_pack(*arguments)

    real = capi.library()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capi, "library", Library)
        assert bytes(plan.pack(mem)) == bytes(range(64))
    assert tried == [1]
    mem.extend(b"x")
