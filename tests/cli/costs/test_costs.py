# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna costs machine`, small: its pieces, its tables and files, and what it says is a cause."""

import json

import pytest
from conftest import BUILD, MPI_ROOT, one_line_error

from lacuna.base.errors import LacunaError
from lacuna.base.progress import Progress
from lacuna.costs import knobs as costs_knobs
from lacuna.costs import machine as costs_machine
from lacuna.costs import pieces as costs_pieces
from lacuna.costs import shapes as costs_shapes
from lacuna.costs import tables as costs_tables
from lacuna.costs.transport import COPY, MESSAGE, STREAM, Transport
from lacuna.launch import mpis

ROUNDS = 5


def line(copy, message, pack, derived, **more):
    """A row of the program: a message without gaps takes `message` beside its copy."""

    def lane(seconds, inside=0.0):
        return {"iterations": 1, "seconds": [seconds] * ROUNDS, "inside": [inside] * ROUNDS}

    lanes = {
        "contiguous": lane(message),
        "copied": lane(copy + message, copy),
        "packed": lane(pack + message + more.get("miss", 0.0), pack),
        "repacked": lane(pack + message, pack),
        "derived": lane(derived),
    }
    return {"kind": "row", "id": "x/1KiB", "bytes": 1024, "lanes": lanes}


def test_pieces_are_what_was_put_together():
    # 2 us for a copy, 10 for the message, 5 for packing; the library takes 4 more than all of it.
    (split,) = costs_pieces.splits("mpich", line(2e-6, 10e-6, 5e-6, 17e-6))
    assert [split.o, split.l_p, split.L] == pytest.approx([2e-6, 3e-6, 8e-6])
    assert split.l_m == pytest.approx(17e-6 - 15e-6 + 2e-6)
    assert split.o + split.l_p + split.l_m + split.L == pytest.approx(17e-6)
    assert split.adds_up and split.rest == pytest.approx(0)


def test_what_the_pieces_miss_is_said():
    (split,) = costs_pieces.splits("mpich", line(2e-6, 10e-6, 5e-6, 17e-6, miss=2e-6))
    assert split.rest == pytest.approx(2e-6)
    assert not split.adds_up
    whole = split.o + split.l_p + split.l_m + split.L + split.rest
    assert whole == pytest.approx(split.seconds)


def test_a_setting_explains_a_threshold_near_it():
    values = {"btl_sm_eager_limit": 4096, "btl_sm_fbox_size": 4096}

    def names(low, high):
        return [knob.control for knob in costs_knobs.explaining("openmpi", low, high, values)]

    assert names(4016, 4020) == ["btl_sm_eager_limit"]
    assert names(962, 964) == ["btl_sm_fbox_size"]  # a quarter of it
    assert names(3000, 3010) == []
    # One that the library does not tell explains nothing.
    assert costs_knobs.explaining("intelmpi", 1, 1 << 30, {}) == []


def test_the_messages_are_those_that_their_names_say():
    rows = {name: text for name, _, text in costs_shapes.rows(quick=False)}
    assert rows["stride-16-block-1/4KiB"] == "vector(512, 1, 16, double)"
    assert rows["transpose/8KiB"] == "contiguous(32, resized(0, 8, vector(32, 1, 32, double)))"
    assert all(costs_shapes.order_of(8 * n * n) == n for n in costs_shapes.ORDERS)


@pytest.mark.parametrize("name", ["mpich", "openmpi", "intelmpi", "mpiabi"])
def test_the_program_answers_for_the_sizes_it_is_asked(name):
    target = mpis.installed(name, MPI_ROOT)
    rows = [("v/256B", 1, "vector(32, 1, 2, double)")]
    with Transport(target, rows, 0.01, Progress()) as transport:
        header = transport.header()
        (row,) = transport.measured_rows()
        one = transport.sweep([64, 5000], MESSAGE + COPY + STREAM, 2)
        other = transport.sweep([100_000], MESSAGE, 3)
    assert header["lacuna_loaded"] and header["knobs"]
    assert set(row["lanes"]) >= {"copied", "packed", "repacked", "derived", "derived-lacuna"}
    assert len(costs_pieces.splits(name, row)) == 2
    assert set(one) == {MESSAGE, COPY, STREAM} and set(one[COPY]) == {64, 5000}
    assert [len(values) for values in other[MESSAGE].values()] == [3]
    assert min(one[MESSAGE][5000]) > 0


def test_open_mpi_says_what_its_limits_are():
    with Transport(mpis.installed("openmpi", MPI_ROOT), [], 0, Progress()) as transport:
        values = transport.header()["knobs"]
    assert values["btl_sm_eager_limit"] == 4096
    moved = {"OMPI_MCA_btl_sm_eager_limit": "16384"}
    with Transport(mpis.installed("openmpi", MPI_ROOT), [], 0, Progress(), moved) as transport:
        assert transport.header()["knobs"]["btl_sm_eager_limit"] == 16384


def test_a_program_that_fails_is_said_to():
    rows = [("bad", 1, "vector(")]
    transport = Transport(mpis.installed("mpich", MPI_ROOT), rows, 0.01, Progress())
    with pytest.raises(LacunaError, match="the program failed"), transport:
        transport.measured_rows()


def test_the_share_of_packing_is_calculated():
    row = {"mpi": "mpich", "id": "x", "method": "native", "bytes": 125_000}
    row |= {"o_s": 4e-6, "l_p_s": 5e-6}
    start = {"mpi": "mpich", "name": "L", "low": 64, "start_s": 1e-6}
    result = {"rows": [row], "parameters": [start | {"low": 65536, "start_s": 1e-3}, start]}
    # 9 us are packing, 1 us is the start: of 9 + 1 + 10 us, 9 + 1 + 5, 9 + 1 + 2.5.
    columns, (cells,) = costs_tables.calculated(result, "mpich")
    assert columns[3:] == ["100", "200", "400"]
    assert cells == ["x", "native", "9.00", "45%", "60%", "72%"]


def test_a_cache_is_named_where_the_line_bends():
    numbers = {
        f"l{n}_bytes": {"value": size} for n, size in ((1, 32768), (2, 1 << 20), (3, 1 << 25))
    }
    cache = costs_machine.cache_near
    assert cache(15_000, 16_000, numbers) == "about half of the L1 cache of 32768 bytes"
    assert cache(1_000_000, 1_000_100, numbers) == "about the L2 cache of 1048576 bytes"
    assert cache(100_000, 100_100, numbers) == ""


def test_tables_files_and_page(lacuna, tmp_path):
    file = tmp_path / "costs.json"
    words = ["costs", "machine", "--quick", "--mpi", "mpich", "--only", "pieces", "--mpi-root"]
    done = lacuna(*words, MPI_ROOT, "--json", file, "--output", tmp_path / "page")
    assert done.returncode == 0, done.stderr
    result = json.loads(file.read_text())
    assert result["provenance"]["kind"] == "costs"
    names = {row["id"] for row in result["rows"]}
    assert names == {name for name, *_ in costs_shapes.rows(quick=True)}
    for row in result["rows"]:
        assert {f"{name}_s" for name in (*costs_pieces.PIECES, "rest", "median")} <= set(row)
        assert row["median_s"] > 0 and row["method"] in costs_pieces.MODES
    assert {one["name"] for one in result["parameters"]} <= {"l", "o", "g", "L"}
    assert "MPICH: microseconds of a message with gaps, by piece" in done.stdout
    assert "the pieces add up to the time" in done.stdout
    assert "MPICH: packing's share of a message, calculated for so many" in done.stdout
    page = (tmp_path / "page" / "report.html").read_text()
    assert "costs-pieces" in page and "stride-16-block-1" in page
    again = lacuna("report", file, "--output", tmp_path / "again")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again" / "report.html").exists()


def test_what_is_not_known_is_said_in_a_line(lacuna):
    result = lacuna("costs", "machine", "--only", "x")
    one_line_error(result, 2, "lacuna costs machine: unknown part in --only: x")
    result = lacuna("costs", "machine", "--launch-agent", "x")
    one_line_error(result, 2, "--launch-agent starts ranks on hosts", "add --hosts")
    result = lacuna("costs", "machine", "--mpi", "none")
    one_line_error(result, 2, "unknown MPI in --mpi: none")


def test_the_programs_are_there():
    for family in ("mpich", "ompi", "mpiabi"):
        assert (BUILD / "bin" / f"lacuna-costs-{family}").is_file()
