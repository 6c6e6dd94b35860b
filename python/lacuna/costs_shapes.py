# SPDX-License-Identifier: BSD-3-Clause
"""What `lacuna costs machine` sends: message size x stride x block, and the papers' transpose."""

from __future__ import annotations

import math

from lacuna.preload_rows import KIB, MIB, size_name

_DOUBLE = 8
# (block, stride) in doubles: of the paper's curves stride 16; half a line, a line, many lines.
BLOCKS = [(1, 2), (1, 16), (1, 64), (4, 16), (8, 16), (64, 128)]
SIZES = [256, 4 * KIB, 64 * KIB, MIB]
QUICK_BLOCKS = [(1, 16), (8, 16)]
QUICK_SIZES = [4 * KIB, 64 * KIB, 512 * KIB]
ORDERS = [32, 128, 512, 1024]  # of the transposed matrices
QUICK_ORDERS = [32, 256]

Row = tuple[str, int, str]  # id, count, type


def rows(quick: bool) -> list[Row]:
    """The messages of a run."""
    found = []
    for block, stride in QUICK_BLOCKS if quick else BLOCKS:
        for size in QUICK_SIZES if quick else SIZES:
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


def order_of(size: int) -> int:
    """Of the matrix with so many bytes."""
    return math.isqrt(size // _DOUBLE)
