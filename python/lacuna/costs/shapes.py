# SPDX-License-Identifier: BSD-3-Clause
"""The messages of `lacuna costs machine`: message size x stride x block, and the papers'
transpose.
"""

from __future__ import annotations

import math

from lacuna.base.units import KIB, MIB, size_name

_DOUBLE = 8
# (block, stride) in doubles: of the paper's curves stride 16; half a line, a line, many lines.
BLOCKS = [(1, 2), (1, 16), (1, 64), (4, 16), (8, 16), (64, 128)]
SIZES = [256, 4 * KIB, 64 * KIB, MIB]
STRIDE = 16  # of the paper's curves, of single doubles; their sizes:
STRIDE_SIZES = [256, KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB]
QUICK_BLOCKS = [(1, 16), (8, 16)]
QUICK_SIZES = [4 * KIB, 64 * KIB, 512 * KIB]
ORDERS = [32, 128, 512, 1024]  # of the transposed matrices
QUICK_ORDERS = [32, 256]

Row = tuple[str, int, str]  # id, count, type


def rows(quick: bool) -> list[Row]:
    """All messages of a run, as (id, count, type text)."""
    found = []
    for block, stride in QUICK_BLOCKS if quick else BLOCKS:
        for size in _sizes(block, stride, quick):
            blocks = size // (_DOUBLE * block)
            if blocks < 2:
                continue
            text = f"vector({blocks}, {block}, {stride}, double)"
            found.append((f"stride-{stride}-block-{block}/{size_name(size)}", 1, text))
    for n in QUICK_ORDERS if quick else ORDERS:
        column = f"vector({n}, 1, {n}, double)"
        text = f"contiguous({n}, resized(0, {_DOUBLE}, {column}))"
        found.append((f"transpose/{size_name(_DOUBLE * n * n)}", 1, text))
    return found


def _sizes(block: int, stride: int, quick: bool) -> list[int]:
    if quick:
        return QUICK_SIZES
    return STRIDE_SIZES if (block, stride) == (1, STRIDE) else SIZES


def curves(quick: bool) -> list[Row]:
    """The messages of the paper's curves, with stride and without."""
    found = []
    for size in QUICK_SIZES if quick else STRIDE_SIZES:
        n = size // _DOUBLE
        found.append((f"{STRIDE}/{size}", 1, f"vector({n}, 1, {STRIDE}, double)"))
        found.append((f"1/{size}", 1, f"contiguous({n}, double)"))
    return found


def order_of(size: int) -> int:
    """The order of the square matrix of doubles with so many bytes."""
    return math.isqrt(size // _DOUBLE)
