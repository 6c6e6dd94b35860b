# SPDX-License-Identifier: BSD-3-Clause
"""A small picture of a type's memory: which bytes hold data, and in which order they are packed.

It comes from the engine itself: the numbers 1, 2, 3 ... are unpacked into zeroed memory, and what
is not zero afterwards is data, with its place in the packed order.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from lacuna.engine import Plan, Type

MOST_BYTES = 256 * 2**20  # larger memory is not drawn
_EXACT_BYTES = 2**20  # up to here, the packed position of every byte is computed
_COLUMNS = 64
_LINES = 16
_STEPS = "0123456789abcdefghijklmnopqrstuvwxyz"
# From first to last packed, on dark and on light terminals alike.
_COLORS = ["blue", "cyan", "green", "yellow", "red", "magenta"]


@dataclass(frozen=True)
class Line:
    """`cells[i]` is the step in packed order (0 first) of the data in cell i, or -1 for a gap."""

    offset: int  # of its first byte, from the address given to MPI
    cells: list[int]


@dataclass(frozen=True)
class Picture:
    """The lines of a picture, and the sentence that explains them."""

    lines: list[Line]
    legend: str


class _Memory:
    """Zeroed memory [begin, end) of the type, as offsets from the address given to MPI."""

    def __init__(self, plan: Plan, count: int, begin: int, end: int) -> None:
        self.plan, self.count, self.begin, self.bytes = plan, count, begin, end - begin

    def after_unpacking(self, packed: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The memory's bytes after `packed` was unpacked into zeros."""
        # An anonymous mapping costs only the pages that are written.
        memory = np.frombuffer(mmap.mmap(-1, self.bytes), dtype=np.uint8)
        self.plan.unpack(packed, memory, self.count, offset=-self.begin)
        return memory


def draw(datatype: Type, plan: Plan, count: int) -> Picture | str:
    """The picture of `count` elements, or a sentence that says why there is none."""
    size = plan.packed_size(count)
    if size == 0:
        return "picture: no data, nothing to draw"
    lb, extent = datatype.extent()
    true_lb, true_extent = datatype.true_extent()
    last = (count - 1) * extent
    begin = min(lb, true_lb) + min(0, last)
    end = max(lb + extent, true_lb + true_extent) + max(0, last)
    if end - begin > MOST_BYTES or size > MOST_BYTES:
        return f"picture: left out, {end - begin} bytes of memory are more than {MOST_BYTES}"
    memory = _Memory(plan, count, begin, end)
    exact = _draw_exact(memory, size) if memory.bytes <= _EXACT_BYTES else None
    return exact or _draw_scaled(memory, size)


def _draw_exact(memory: _Memory, size: int) -> Picture | None:
    """A cell for each piece that is moved as a whole; None if there are too many to show."""
    places = np.zeros(memory.bytes, dtype=np.int64)  # 0 for a gap, else 1 + the packed position
    numbers = 1 + np.arange(size, dtype=np.int64)
    for shift in range(0, int(size).bit_length(), 8):
        plane = (numbers >> shift).astype(np.uint8)
        places |= memory.after_unpacking(plane).astype(np.int64) << shift
    is_data = places > 0
    goes_on = np.where(is_data[1:], places[1:] == places[:-1] + 1, ~is_data[:-1])
    edges = np.flatnonzero(~goes_on | (is_data[1:] & ~is_data[:-1])) + 1
    cell = int(np.gcd.reduce(edges, initial=memory.bytes))
    firsts = places[::cell]
    if len(firsts) > _COLUMNS * _LINES:
        return None
    pieces = -(-size // cell)
    cells = [-1 if at == 0 else _step((int(at) - 1) // cell, pieces) for at in firsts]
    columns = _columns(firsts)
    lines = [
        Line(memory.begin + at * cell, cells[at : at + columns])
        for at in range(0, len(cells), columns)
    ]
    return Picture(lines, f"one cell is {_bytes(cell)}")


def _bytes(number: int) -> str:
    return "1 byte" if number == 1 else f"{number} bytes"


def _draw_scaled(memory: _Memory, size: int) -> Picture:
    """Some lines of the memory, cut into equal cells; a cell shows the first data byte in it."""
    ramp = np.empty(size, dtype=np.uint8)
    for step in range(len(_STEPS)):
        ramp[size * step // len(_STEPS) :] = 1 + step
    order = memory.after_unpacking(ramp)
    row = _row_length(order[:_EXACT_BYTES]) or -(-memory.bytes // _LINES)
    row *= max(1, _COLUMNS // row)
    cell = -(-row // _COLUMNS)
    whole = memory.bytes // row
    with_data = np.flatnonzero(order[: whole * row].reshape(whole, row).any(axis=1))
    if order[whole * row :].any():
        with_data = np.append(with_data, whole)
    shown = with_data[:: -(-len(with_data) // _LINES)]
    lines = []
    for at in (int(line) * row for line in shown):
        part = order[at : at + row]
        pieces = [part[i : i + cell] for i in range(0, len(part), cell)]
        cells = [int(piece[np.argmax(piece != 0)]) - 1 for piece in pieces]
        lines.append(Line(memory.begin + at, cells))
    total = -(-memory.bytes // row)
    legend = (
        f"one line is {row} bytes, {len(shown)} of {total} are shown; one cell is {_bytes(cell)}"
    )
    return Picture(lines, f"{legend} and may hold gaps beside data" if cell > 1 else legend)


def _row_length(places: NDArray[np.integer]) -> int | None:
    """The distance between the first two places where data begins, or where the packed order jumps
    back.
    """
    here, before = places[1:], places[:-1]
    starts = np.flatnonzero((here != 0) & ((before == 0) | (here < before))) + 1
    if places[0]:
        starts = np.insert(starts[:1], 0, 0)
    return int(starts[1] - starts[0]) if len(starts) > 1 else None


def _step(piece: int, pieces: int) -> int:
    return piece if pieces <= len(_STEPS) else piece * len(_STEPS) // pieces


def _columns(places: NDArray[np.integer]) -> int:
    """The number of cells in a line: a row of the matrix, if the memory looks like one."""
    row = _row_length(places)
    return row if row and 4 <= row <= _COLUMNS else min(_COLUMNS, len(places))


def render(picture: Picture) -> Text:
    """The picture as text with colours, for the terminal."""
    text = Text()
    for line in picture.lines:
        text.append(f"{line.offset:>12}  ", style="dim")
        for step in line.cells:
            if step < 0:
                text.append(".", style="dim")
            else:
                text.append(_STEPS[step], style=_COLORS[step * len(_COLORS) // len(_STEPS)])
        text.append("\n")
    text.append(f"{picture.legend}; . is a gap, 0 is packed first, z last", style="dim")
    return text
