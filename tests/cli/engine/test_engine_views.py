# SPDX-License-Identifier: BSD-3-Clause
"""NumPy views as types, as mpi4py's datatypes and messages, and copied: NumPy is the oracle. Real
MPI libraries have tests/conformance/mpi4py_views.py.
"""

import gc
import random
import sys
import weakref

import numpy as np
import pytest
from fake_mpi4py import fake_mpi4py
from random_views import PARTLY, PLAIN, element_bytes, random_dtype, random_shape, random_view

from lacuna.base.errors import Exit, LacunaError
from lacuna.engine import Plan, Type, copy, message, mpi, views


@pytest.fixture
def fake(monkeypatch):
    package = fake_mpi4py()
    monkeypatch.setitem(sys.modules, "mpi4py", package)
    forget()
    yield package.MPI
    forget()


def forget():
    for kept in (views._layout, mpi._owned, mpi.library):  # of another mpi4py
        kept.cache_clear()
    gc.collect()


def drawn(seed):
    draw = random.Random(seed)
    dtype, shape = random_dtype(draw, PLAIN + PARTLY), random_shape(draw)
    return (draw, dtype, shape, *random_view(draw, dtype, shape))


def bytes_at(memory, places):
    """What a typemap says of memory that begins at offset 0."""
    found = [memory[place : place + size] for place, size in places]
    return b"".join(one.tobytes() for one in found)


@pytest.mark.parametrize("seed", range(150))
def test_the_typemap_of_a_view(fake, seed):
    _, _, _, memory, view = drawn(seed)
    of_view = Type.of(view)
    datatype = of_view.mpi()
    first = view.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    wanted = element_bytes(view).tobytes()
    assert bytes_at(memory, [(first + at, n) for at, n in datatype.places]) == wanted
    assert Plan(of_view).pack(view).tobytes() == wanted
    assert datatype.is_committed
    assert len(fake.alive) == 1  # what was made on the way is freed
    del datatype
    gc.collect()
    assert not fake.alive


@pytest.mark.parametrize("text", [
    "double", "dup(int)", "contiguous(3, dup(double))", "vector(3, 2, -4, float)",
    "vector(5, 1, -1, byte)", "vector(6, 1, -1, byte)", "vector(3, 2, -1, byte)",
    "hvector(3, 2, -1, int)", "indexed([2, 0, 3], [5, 1, -2], int)",
    "hindexed([1, 2], [3, 17], double)", "indexed_block(2, [4, 0, 9], int)",
    "hindexed_block(2, [40, 0], int)", "resized(-3, 77, vector(2, 1, 3, int))",
    "struct([1, 2], [0, 8], [int, vector(2, 1, 2, double)])", "contiguous(0, int)",
    "subarray([4, 5, 6], [2, 3, 1], [1, 0, 4], c, double)",
    "subarray([4, 5, 6], [2, 3, 1], [1, 0, 4], fortran, double)",
])  # fmt: skip
def test_the_typemap_of_a_text(fake, text):
    of_text = Type(text)
    datatype = of_text.mpi()
    assert datatype.Get_extent() == of_text.extent()
    memory = np.random.default_rng(3).integers(0, 256, 2000, np.uint8)
    packed = Plan(of_text).pack(memory, offset=500).tobytes()
    assert bytes_at(memory, [(500 + at, n) for at, n in datatype.places]) == packed
    assert len(fake.alive) == 1
    datatype.Free()
    assert not datatype
    del datatype  # freed once


def test_the_constructor_is_what_a_person_would_write():
    a = np.zeros((6, 8))
    for view, text in (
        (a, "contiguous(48, double)"),
        (a[:, ::2], "vector(24, 1, 2, double)"),
        (a[1:4, 2:5], "vector(3, 3, 8, double)"),
        (a[:, 3], "vector(6, 1, 8, double)"),
        (a[::-1], "vector(6, 8, -8, double)"),
        (a.T, "hvector(8, 1, 8, vector(6, 1, 8, double))"),
        (np.asfortranarray(a)[:, 2], "contiguous(6, double)"),
        (a[2, 3], "double"),
        (a[:0], "contiguous(0, double)"),
        (np.zeros(4, "g"), "contiguous(4, long_double)"),
        (np.zeros(4, "f2"), "contiguous(4, contiguous(2, byte))"),
        (np.broadcast_to(a[0], (2, 8)), "vector(2, 8, 0, double)"),
    ):
        assert Type.of(np.asarray(view)).text() == text


def test_a_title_is_no_second_field():
    dtype = np.dtype({"names": ["a"], "formats": ["i4"], "titles": ["A"]})
    assert Type.of(np.zeros(2, dtype)).size() == 8


def test_a_message_is_the_memory_of_the_view(fake):
    a = np.zeros((4, 6), np.int32)
    a[3, 5] = 23
    view = a[::-1, ::-2]
    buffer, count, datatype = message(view)
    assert (count, buffer[:4].tobytes()) == (1, np.int32(23).tobytes())
    assert np.shares_memory(buffer, a)
    assert not buffer.readonly
    assert message(a[::-1, ::-2])[2] is datatype  # of the same layout
    ended = weakref.ref(a)
    del a, view
    gc.collect()
    assert ended() is not None
    del buffer
    gc.collect()
    assert ended() is None
    assert message(np.zeros((0, 2)))[2].Get_size() == 0


def test_what_cannot_be_received_into_is_read_only(fake):
    frozen = np.zeros(4)
    frozen.flags.writeable = False
    apart = np.lib.stride_tricks.as_strided(np.zeros(6), (2, 2), (24, 16))  # 0, 2, 3, 5
    windows = np.lib.stride_tricks.as_strided(np.zeros(6), (4, 3), (8, 8))
    fields = np.dtype({"names": ["a", "b"], "formats": ["i4", "i4"], "offsets": [0, 2]})
    for view, is_read_only in (
        (np.zeros(4), False),
        (frozen, True),
        (frozen[::2], True),
        (np.broadcast_to(np.zeros(3), (2, 3)), True),
        (np.lib.stride_tricks.as_strided(np.zeros(3), (2, 3), (0, 8)), True),
        (windows, True),
        (apart, False),
        (np.zeros(4, fields), True),
    ):
        assert message(view)[0].readonly is is_read_only


def test_what_mpi_cannot_take_is_said(fake):
    swapped = np.zeros(3, ">f8" if sys.byteorder == "little" else "<f8")
    inside = np.zeros(3, [("a", swapped.dtype)])
    for view in (swapped, inside):
        for call in (lambda v: Type.of(v).mpi(), message):
            with pytest.raises(LacunaError, match=r"other byte order.*newbyteorder"):
                call(view)
    for call in (message, lambda v: copy(v, v)):
        with pytest.raises(LacunaError, match="no NumPy array"):
            call([1, 2])
    with pytest.raises(LacunaError, match="Python objects"):
        message(np.array([None]))
    with pytest.raises(LacunaError, match="2real is no datatype"):
        Type("2real").mpi()
    fake.INT.places = [(0, 8)]
    with pytest.raises(LacunaError, match="4 bytes for lacuna, and 8 for this MPI"):
        Type("dup(int)").mpi()
    gc.collect()
    assert not fake.alive


def test_nothing_is_freed_after_mpi_has_ended(fake):
    datatype = Type("double").mpi()
    fake.Is_finalized = lambda: True
    del datatype
    gc.collect()
    assert list(fake.alive.values()) == ["dup"]


def test_without_mpi4py_the_remedy_is_named(monkeypatch):
    forget()
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(LacunaError, match=r"no mpi4py.*pip install mpi4py") as found:
        message(np.zeros(3))
    assert found.value.code == Exit.ENVIRONMENT


@pytest.mark.parametrize("seed", range(100))
def test_copy(seed):
    draw, dtype, shape, _, source = drawn(seed)
    memory, target = random_view(draw, dtype, draw.choice([shape, (source.size,), shape[::-1]]))
    before, wanted = memory.copy(), element_bytes(source).tobytes()
    copy(target, source)
    assert element_bytes(target).tobytes() == wanted
    Plan(Type.of(target)).unpack(np.zeros(len(wanted), np.uint8), target)
    after = memory.copy()
    memory[:] = before
    Plan(Type.of(target)).unpack(np.zeros(len(wanted), np.uint8), target)
    assert (after == memory).all()  # nothing beside the elements was written


def test_copies_within_one_array():
    for to, by in (
        (np.s_[1:], np.s_[:-1]),
        (np.s_[:-1], np.s_[1:]),
        (np.s_[::-1], np.s_[:]),
        (np.s_[::2], np.s_[1::2]),
        (np.s_[:], np.s_[:]),
    ):
        a = np.arange(1000.0)
        wanted = a.copy()
        wanted[to] = a[by].copy()
        copy(a[to], a[by])
        assert (a == wanted).all()


def test_what_cannot_be_copied_is_said():
    a = np.zeros((3, 4))
    frozen = a.copy()
    frozen.flags.writeable = False
    for to, by, what in (
        (a, np.zeros((3, 4), "f4"), "dst_view has elements of float64, src_view of float32"),
        (a, np.zeros(11), r"dst_view has 12 elements \(3, 4\), src_view 11 \(11,\)"),
        (frozen, a, "dst_view cannot be written"),
        (np.lib.stride_tricks.as_strided(a, (3, 4), (0, 8)), a, "elements of dst_view share"),
    ):
        with pytest.raises(LacunaError, match=what):
            copy(to, by)
    copy(a, np.broadcast_to(np.arange(4.0), (3, 4)))
    assert (a == np.arange(4.0)).all()
