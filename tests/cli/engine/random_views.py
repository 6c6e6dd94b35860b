# SPDX-License-Identifier: BSD-3-Clause
"""Random views of NumPy arrays, and the bytes that they show: for the engine's tests, here and on
MPI (tests/conformance)."""

import math

import numpy as np

PLAIN = "u1 i2 u4 i8 f2 f4 f8 c8 c16 S5 U2 M8[s]".split()
# Not all bytes are values of these, and an MPI library need not move those that are none.
PARTLY = "? g G".split()


def random_dtype(draw, plain, deep=2):
    """Of a number, or of fields: beside each other, aligned, or with gaps and in any order."""
    if deep == 0 or draw.random() < 0.6:
        return np.dtype(draw.choice(plain))
    inner = [random_dtype(draw, plain, deep - 1) for _ in range(draw.randint(1, 3))]
    formats = [(one, draw.choice([(2,), (3,), (2, 2)])) if draw.random() < 0.3 else one
               for one in inner]  # fmt: skip
    names = [f"f{i}" for i in range(len(formats))]
    if draw.random() < 0.6:
        return np.dtype(list(zip(names, formats, strict=True)), align=draw.random() < 0.5)
    order = draw.sample(formats, len(formats))
    offsets, end = [], 0
    for one in order:
        offsets.append(end + draw.randint(0, 5))
        end = offsets[-1] + np.dtype(one).itemsize
    whole = {"names": names, "formats": order, "offsets": offsets}
    return np.dtype(whole | {"itemsize": end + draw.randint(0, 9)})


def random_shape(draw):
    lengths = [draw.choice([0, *range(1, 60)]) if draw.random() < 0.1 else draw.randint(1, 6)
               for _ in range(draw.randint(0, 4))]  # fmt: skip
    return tuple(lengths)


def random_view(draw, dtype, shape):
    """Such a view of an array of random bytes: (all bytes, the view)."""
    axes = draw.sample(range(len(shape)), len(shape))
    steps = [draw.choice([1, 1, 1, 2, 3, -1, -2]) for _ in shape]
    more = [draw.randint(0, 2) for _ in shape]
    whole = [n * abs(step) + extra for n, step, extra in zip(shape, steps, more, strict=True)]
    stored = [whole[axis] for axis in axes]
    memory = np.random.default_rng(draw.getrandbits(32)).integers(
        0, 256, math.prod(stored) * dtype.itemsize, np.uint8
    )
    array = np.ndarray(tuple(stored), dtype, memory, order=draw.choice("CF"))
    view = array.transpose(np.argsort(axes)) if shape else array
    view = view[(*tuple(slice(None, None, step) for step in steps), ...)]
    view = view[(*tuple(slice(0, n) for n in shape), ...)]
    assert view.shape == shape
    return memory, view


def element_bytes(array):
    """What an array shows: a row for each element in C's order, without padding."""
    if array.size == 0:
        return np.zeros((0, 0), np.uint8)
    if array.dtype.names is None:
        return np.frombuffer(array.tobytes(), np.uint8).reshape(array.size, -1)
    fields = array.dtype.fields
    names = sorted(array.dtype.names, key=lambda name: fields[name][1])
    parts = [element_bytes(array[name]).reshape(array.size, -1) for name in names]
    return np.concatenate(parts, axis=1)
