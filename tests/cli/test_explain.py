# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna explain`: the numbers, the words and the picture of known types."""

import json

import pytest

from lacuna import VERSION, engine, picture
from lacuna.engine import Plan, Type

COLUMN = "resized(0, 8, vector(8, 1, 8, double))"


def test_the_version_is_the_library_s():
    assert engine.version() == VERSION


def test_json(lacuna):
    result = lacuna("explain", COLUMN, "--count", 8, "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["type"] == COLUMN
    numbers = {k: v for k, v in found.items() if k not in ("type", "explain")}
    assert numbers == {
        "count": 8,
        "size": 64,
        "lb": 0,
        "extent": 8,
        "true_lb": 0,
        "true_extent": 456,
        "packed_bytes": 512,
    }


def test_text(lacuna):
    result = lacuna("explain", "vector(4, 1, 4, double)")
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert "vector(4, 1, 4, double)" in result.stdout
    assert "32 bytes" in result.stdout
    for word in ("layout", "plan", "why"):
        assert word in result.stdout
    assert "\x1b" not in result.stdout  # no colours into a pipe


def test_a_wrong_type_shows_where(lacuna):
    result = lacuna("explain", "vector(4, 1, 4, doubel)")
    assert result.returncode == 2
    assert result.stdout == ""
    message, text, caret = result.stderr.splitlines()
    assert message.startswith("lacuna explain: cannot read the type text: ")
    assert "doubel" in message
    assert text == "vector(4, 1, 4, doubel)"
    assert caret == " " * 16 + "^"


def test_a_constructor_that_refuses_shows_where(lacuna):
    result = lacuna("explain", "dup(subarray([4], [5], [0], c, int))")
    assert result.returncode == 2
    message, text, caret = result.stderr.splitlines()
    assert "subsizes[0] is 5" in message
    assert caret == " " * 4 + "^"


def drawn(text, count=1):
    datatype = Type(text)
    return picture.draw(datatype, Plan(datatype), count)


def cells(text, count=1):
    return [line.cells for line in drawn(text, count).lines]


@pytest.mark.parametrize(
    ("text", "count", "expected"),
    [
        ("vector(3, 1, 4, double)", 1, [[0, -1, -1, -1], [1, -1, -1, -1], [2]]),
        ("resized(0, 8, vector(4, 1, 4, double))", 4, None),
        ("hvector(3, 1, -16, double)", 1, [[2, -1, 1, -1, 0]]),
        ("struct([1, 2], [0, 8], [int, double])", 1, [[0, -1, 1, 2, 3, 4]]),
        ("resized(-8, 24, double)", 1, [[-1, 0, -1]]),
        ("contiguous(100, char)", 1, [[0]]),
    ],
)
def test_small_pictures_are_exact(text, count, expected):
    if expected is None:  # the transpose: packed down the columns
        expected = [[row + 4 * column for column in range(4)] for row in range(4)]
    assert cells(text, count) == expected


def test_a_large_picture_is_sampled():
    lines = drawn("resized(0, 8, vector(1024, 1, 1024, double))", 1024).lines
    assert len(lines) == 16
    assert [line.offset for line in lines] == [8192 * 64 * i for i in range(16)]
    for line in lines:
        assert line.cells[0] == 0 and line.cells[-1] == 35
        assert line.cells == sorted(line.cells)


def test_what_cannot_be_drawn():
    assert "no data" in drawn("contiguous(0, int)")
    assert "left out" in drawn("vector(2, 1, 1000000000, double)")
    assert "left out" in drawn("char", 2**29)


def test_absolute_addresses_are_only_numbers():
    text = "hindexed([1, 1], [140737488355328, 140737488355336], int)"
    assert drawn(text).lines[0].offset == 140737488355328
