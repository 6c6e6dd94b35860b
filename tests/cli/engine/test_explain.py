# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna explain`: the numbers, the words and the picture of known types."""

import json

import pytest
from conftest import BUILD, one_line_error

from lacuna import VERSION, engine
from lacuna.engine import Plan, Type
from lacuna.explain import picture
from lacuna.explain.cost import CACHES, OPS

COLUMN = "resized(0, 8, vector(8, 1, 8, double))"


def test_the_version_is_the_library_s():
    assert engine.version() == VERSION


def test_json(lacuna):
    result = lacuna("explain", COLUMN, "--count", 8, "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["type"] == COLUMN
    numbers = {k: v for k, v in found.items() if k not in ("type", "explain", "predicted")}
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


BOUNDS = {"instructions", "L1", "L2", "L3", "memory", "TLB"}


def test_the_prediction(lacuna):
    found = json.loads(lacuna("explain", COLUMN, "--count", 8, "--json").stdout)["predicted"]
    assert (found["bytes"], found["is_measured_machine"]) == (512, False)
    for what in (*OPS, "memcpy"):
        for cache in CACHES:
            cost = found[what][cache]
            assert cost["ns"] > 0 and cost["bound"] in BOUNDS
            levels = sum(cost[f"{name}_ns"] for name in ("l1", "l2", "l3", "memory", "tlb"))
            assert cost["traffic_ns"] == pytest.approx(levels, rel=1e-4)
            most = max(cost["instructions_ns"], cost["traffic_ns"])
            assert cost["ns"] == pytest.approx(most + cost["start_ns"], rel=1e-4)
    assert found["pack"]["warm"]["lines_mem"] == 8
    text = lacuna("explain", COLUMN, "--count", 8).stdout
    assert "predicted with default numbers (LACUNA_PROFILE=none)" in text
    for op in OPS:
        for cache in CACHES:
            line = next(line for line in text.splitlines() if f"{op}, {cache}" in line)
            assert BOUNDS & set(line.split())


def test_nothing_takes_no_time(lacuna):
    result = lacuna("explain", "contiguous(0, double)", "--json")
    assert json.loads(result.stdout)["predicted"]["pack"]["warm"]["bound"] == "nothing"
    assert "predicted" not in lacuna("explain", "contiguous(0, double)").stdout


@pytest.mark.parametrize("text", [COLUMN, "hvector(3, 1, -16, double)", "contiguous(9, char)"])
def test_measured_beside_predicted(lacuna, text):
    result = lacuna("explain", text, "--count", 8, "--measure", "--json")
    assert result.returncode == 0, result.stderr
    measured = json.loads(result.stdout)["measured"]
    for rival in ("lacuna", "memcpy"):
        for op in OPS:
            assert measured[rival][op]["warm"] > 0
            assert set(measured[rival][op]) == set(CACHES)


def test_the_table_of_what_was_measured(lacuna):
    result = lacuna("explain", COLUMN, "--measure")
    assert result.returncode == 0, result.stderr
    for words in ("predicted", "measured", "/ memcpy", "pack, warm", "unpack, cold"):
        assert words in result.stdout


def test_what_cannot_be_measured(lacuna):
    result = lacuna("explain", "contiguous(0, double)", "--measure")
    one_line_error(result, 2, "nothing to measure")
    result = lacuna("explain", "double", "--count", 2**40, "--measure")
    one_line_error(result, 2, "too large to measure", "--count")


def test_measuring_needs_its_program(lacuna, tmp_path):
    (tmp_path / "lib").mkdir()
    for name in (BUILD / "lib").glob("liblacuna.so*"):
        (tmp_path / "lib" / name.name).symlink_to(name)
    environment = {"LACUNA_LIBRARY_DIR": str(tmp_path / "lib")}
    assert lacuna("explain", COLUMN, **environment).returncode == 0
    result = lacuna("explain", COLUMN, "--measure", **environment)
    one_line_error(result, 3, "no lacuna-measure in", "make")


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


REMARKS = """--- !Passed
Pass:            lacuna
Name:            Specialized
DebugLoc:        { File: 'a.c', Line: 7, Column: 3 }
Function:        main
Args:
  - Function:        MPI_Neighbor_alltoallw
  - What:            packed by code of its own, which copies runs of eight bytes
...
"""


REGISTERED = """--- !Passed
Pass:            lacuna
Name:            Registered
DebugLoc:        { File: 'a.c', Line: 9, Column: 3 }
Function:        main
Args:
  - String:          'MPI_Type_commit registers kernels, for calls that are not seen here: '
  - What:            dup(int)
...
"""


def test_a_commit_that_registers_is_not_left_as_it_is(lacuna, tmp_path):
    (tmp_path / "a.opt.yaml").write_text(REGISTERED)
    told = lacuna("explain", "a.opt.yaml").stdout
    assert "MPI_Type_commit" in told and "registers kernels" in told and "left" not in told


def test_remarks_name_whole_functions_and_no_empty_column(lacuna, tmp_path):
    (tmp_path / "a.opt.yaml").write_text(REMARKS)
    result = lacuna("explain", "a.opt.yaml", COLUMNS="40")
    assert result.returncode == 0, result.stderr
    heads, first = (line.split() for line in result.stdout.splitlines()[:2])
    assert heads == ["place", "call", "became", "what", "or", "why"]  # nothing would help
    assert first[:2] == ["a.c:7", "MPI_Neighbor_alltoallw"]
