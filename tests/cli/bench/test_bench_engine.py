# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench engine`: the corpus is sound, all rivals agree, and what the command writes.

Nothing here depends on how long anything takes.
"""

import contextlib
import csv
import io
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import BUILD, ROOT, one_line_error
from made_up import rows_of_engine

from lacuna.bench import corpus, random_types
from lacuna.bench.engine import findings, tables
from lacuna.bench.engine import rows as engine_rows
from lacuna.bench.engine.times import Times
from lacuna.engine import Type

MPIS = ("mpich", "openmpi", "intelmpi")


def test_the_corpus_is_well_formed():
    rows = corpus.load()
    assert len({row.id for row in rows}) == len(rows) >= 70
    assert {row.family for row in rows} == set(corpus.FAMILIES)
    files = {path.stem for path in (ROOT / "bench/corpus").glob("*.ini")}
    assert files == set(corpus.FAMILIES)
    for row in rows:
        assert row.count >= 1 and row.bytes > 0 and row.source, row.id
        assert re.fullmatch(r"[a-z]+/[\w.-]+", row.id), row.id
    quick = corpus.select(rows, [], True)
    assert {row.family for row in quick} == set(corpus.FAMILIES)
    names = " ".join(row.id for row in rows)
    for test in (
        *("WRF_x_vec", "WRF_y_vec", "WRF_x_sa", "WRF_y_sa", "MILC_su3_zd", "NAS_MG_x", "NAS_MG_y"),
        *("NAS_MG_z", "NAS_LU_x", "NAS_LU_y", "FFT", "SPECFEM3D_mt", "SPECFEM3D_oc"),
        *("SPECFEM3D_cm", "LAMMPS_full", "LAMMPS_atomic"),
    ):
        assert names.count(f"ddtbench/{test}") >= 2, test


# What is larger takes more than ten times as long.
SMALL_BYTES = 300_000


@pytest.mark.parametrize("is_small", [True, pytest.param(False, marks=pytest.mark.depth)])
def test_every_row_is_packed_rightly_by_all(lacuna, is_small):
    # Sizes as declared, no rival left out, the typemap's bytes, gaps untouched.
    all_of_them = corpus.select(corpus.load(), [], False)
    rows = [row.id for row in all_of_them if (row.bytes <= SMALL_BYTES) == is_small]
    only = [word for row in rows for word in ("--only", row)]
    result = lacuna("bench", "engine", "--check-only", "--mpi", "mpich", *only)
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{len(rows)} rows, every rival's bytes are right on 1 MPI libraries\n"


def test_quick_rows_are_packed_rightly_on_all_mpi_libraries(lacuna):
    result = lacuna("bench", "engine", "--check-only", "--quick", "--isa", "all")
    assert result.returncode == 0, result.stderr
    assert "on 3 MPI libraries" in result.stdout


def test_what_is_written(lacuna, tmp_path):
    result = lacuna(
        *("bench", "engine", "--only", "tiny/*", "--only", "lifecycle/*-4k", "--quick"),
        *("--warm", "--cold", "--samples", 3, "--seconds", 0.02, "--isa", "reference"),
        *("--json", "out/rows.json", "--csv", "rows.csv", "--plots", "figures"),
    )
    assert result.returncode == 0, result.stderr
    for words in ("Warm caches", "Cold caches", "MPICH", "Intel MPI"):
        assert words in result.stdout
    figures = [
        f"figures/engine-{op}-{c}.png" for c in ("warm", "cold") for op in ("pack", "unpack")
    ]
    written = [line.removeprefix("wrote ") for line in result.stderr.splitlines()]
    assert written == ["out/rows.json", "rows.csv", *figures]
    for name in figures:
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")

    found = json.loads((tmp_path / "out/rows.json").read_text())
    assert set(found) == {"provenance", "corpus", "rows"}
    assert set(found["provenance"]["mpi"]) == set(MPIS)
    assert {"compiler", "isa", "by_hand_target", "cpu", "commit"} <= set(found["provenance"])
    chosen = {"tiny/struct", "tiny/vector-16"} | {
        f"lifecycle/{name}-4k" for name in ("vector", "subarray", "struct")
    }
    assert set(found["corpus"]) == chosen
    keys = {
        (row["mpi"], row["row"], row["op"], row["cache"], row["rival"]) for row in found["rows"]
    }
    assert len(keys) == len(found["rows"])
    rivals = {"memcpy", "by-hand", "mpi", "lacuna", "lacuna-again"}
    for name in chosen:
        expected = rivals | (
            {"mpi-lifecycle", "lacuna-lifecycle"} if name.startswith("lifecycle") else set()
        )
        for mpi in MPIS:
            here = {key[4] for key in keys if key[:2] == (mpi, name)}
            assert here == expected | ({"lacuna-reference"} if mpi == "mpich" else set())
    for row in found["rows"]:
        assert len(row["samples_ns"]) == 3
        assert sorted(row["samples_ns"])[1] == row["median_ns"] > 0
        assert row["calls"] >= 1 and (row["cache"] == "warm" or row["calls"] == 1)
        lines = (row["lines_read"], row["lines_written"])
        if row["row"] == "tiny/vector-16":
            assert lines == ((16, 2) if row["op"] == "pack" else (2, 16))
        assert row["working_set_bytes"] == 64 * sum(lines)
        if row["rival"] == "memcpy":
            assert row["over_memcpy"] == 1
        assert ("predicted_ns" in row) == (row["rival"] in ("memcpy", "lacuna"))
        if row["rival"] == "lacuna":
            assert row["predicted_ns"] > 0 and row["is_measured_machine"] is False
    with (tmp_path / "rows.csv").open() as file:
        table = list(csv.DictReader(file))
    assert len(table) == len(found["rows"])
    assert {row["samples"] for row in table} == {"3"}


def test_random_rows_are_those_of_their_seed():
    rows = random_types.rows(200, 7)
    assert random_types.rows(20, 7) == [
        replace(row, source=row.source.replace("200", "20")) for row in rows[:20]
    ]
    assert {row.text for row in rows}.isdisjoint(row.text for row in random_types.rows(200, 8))
    assert [row.id for row in rows] == [f"random/7-{number}" for number in range(1, 201)]
    for row in rows:
        datatype = Type(row.text)
        assert row.bytes == row.count * datatype.size()
        # Bounds that hold all data, so that elements side by side do not overlap.
        (lb, extent), (true_lb, true_extent) = datatype.extent(), datatype.true_extent()
        assert 0 <= lb <= true_lb and true_lb + true_extent <= lb + extent


def test_random_rows_are_packed_rightly_by_all(lacuna):
    result = lacuna("bench", "engine", "--check-only", "--random", 100, "--seed", 3)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "100 rows, every rival's bytes are right on 3 MPI libraries\n"


def test_slow_rows_of_no_file_are_shown_with_their_types(lacuna, tmp_path):
    # A list of lists: no loop by hand is known for it, and the others are timed all the same.
    text = "indexed_block(1, [0, 3, 5, 6], indexed_block(1, [0, 2, 3, 7], int))"
    timed = ("--mpi", "mpich", "--warm", "--samples", 1, "--seconds", 0.001)
    result = lacuna("bench", "engine", "--type", text, *timed, "--json", "rows.json")
    assert result.returncode == 0, result.stderr
    found = json.loads((tmp_path / "rows.json").read_text())
    assert found["corpus"]["given/type"]["type"] == text
    assert {"mpi", "lacuna", "memcpy"} <= {row["rival"] for row in found["rows"]}

    row = random_types.rows(1, 5)[0]
    slow = rows_of_engine({"memcpy": 1, "by-hand": 9, "mpi": 36, "lacuna": 10}, [row.id])
    with io.StringIO() as out, contextlib.redirect_stdout(out):
        tables.show([row], Times(slow))
        shown = " ".join(out.getvalue().split())
    assert f"{row.count} x " in shown and row.id in shown


def test_rows_slower_than_another_build_are_told_from_noise():
    rows = corpus.select(corpus.load(), ["gropp"], False)[:2]
    slower, noisy = (row.id for row in rows)
    found = rows_of_engine({"lacuna": 10, "lacuna-again": 10, "lacuna-other": 9}, [slower])
    found += rows_of_engine({"lacuna": 10, "lacuna-again": 11, "lacuna-other": 9}, [noisy])
    told = findings.slower_than_other(rows, Times(found))
    assert {(row, ratio) for row, _, _, ratio in told} == {(slower, 0.9)}
    assert len(told) == 4


def test_another_build_is_timed_in_the_same_process(lacuna, tmp_path):
    other = tmp_path / "liblacuna.so"
    shutil.copy(BUILD / "lib/liblacuna.so", other)
    words = ("bench", "engine", "--mpi", "mpich", "--only", "tiny", "--warm", "--quick")
    result = lacuna(*words, "--against", other, "--json", tmp_path / "rows.json")
    assert result.returncode == 0, result.stderr
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert any(row["rival"] == "lacuna-other" for row in rows)
    for wrong in (BUILD / "lib/liblacuna.so", "/lib/x86_64-linux-gnu/libm.so.6", "nowhere.so"):
        result = lacuna(*words, "--against", wrong)
        assert result.returncode != 0
        assert Path(wrong).name in result.stderr, result.stderr


def test_rows_of_two_kinds(lacuna):
    one = ("bench", "engine", "--random", 3)
    one_line_error(lacuna(*one, "--only", "tiny"), 2, "--random and --only name different rows")
    one_line_error(lacuna(*one, "--type", "int"), 2, "--type and --random name different rows")


def test_no_such_row(lacuna):
    result = lacuna("bench", "engine", "--only", "nonsense/*")
    one_line_error(result, 2, "no row fits --only nonsense/*", "gropp")


def test_no_such_mpi(lacuna):
    result = lacuna("bench", "engine", "--mpi", "lam", "--only", "tiny")
    one_line_error(result, 2, "unknown MPI in --mpi: lam")


def test_no_mpi_at_all(lacuna):
    result = lacuna("bench", "engine", "--mpi-root", "nowhere", "--only", "tiny")
    one_line_error(result, 3, "no MPI library in nowhere", "make")


def test_no_such_instruction_set(lacuna):
    result = lacuna("bench", "engine", "--mpi", "mpich", "--only", "tiny", "--isa", "mmx")
    assert result.returncode == 1
    assert result.stdout == ""
    assert "no kernels for --isa mmx; this host has" in result.stderr


@pytest.mark.parametrize("name", ["mpich", "ompi", "mpiabi"])
def test_the_programs_are_built(name):
    assert (BUILD / "bin" / f"lacuna-bench-engine-{name}").is_file()


def test_lines_are_touched_out_of_the_caches_only(lacuna, tmp_path):
    result = lacuna(
        *("bench", "engine", "--only", "sweep/8-of-64*", "--mpi", "mpich", "--warm"),
        *("--samples", 1, "--seconds", 0.01, "--json", "rows.json"),
    )
    assert result.returncode == 0, result.stderr
    found = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert {(row["row"], row["op"]) for row in found if row["rival"] == "lines"} == {
        ("sweep/8-of-64-8m", "pack"),
        ("sweep/8-of-64-8m", "unpack"),
    }
    assert len({row["row"] for row in found}) > 1
    assert "touched, measured" in result.stdout


def test_sides_swap_with_the_direction():
    row = next(row for row in corpus.load() if row.id == "tiny/struct")
    about = {
        "kind": "row",
        "row": row.id,
        "bytes": row.bytes,
        "runs": 3,
        "span_bytes": 36,
        "mem_lines": 5,
        "packed_lines": 1,
        "mem_pages": 1,
        "rivals": ["memcpy", "by-hand", "mpi", "lacuna"],
    }
    times = {"kind": "times", "row": row.id, "cache": "warm", "rival": "memcpy", "calls": 1}
    lines = [about] + [times | {"op": op, "samples_ns": [2, 1, 3]} for op in ("pack", "unpack")]
    pack, unpack = engine_rows.rows("mpich", 0, [row], lines)
    assert (pack["lines_read"], pack["lines_written"]) == (5, 1)
    assert (unpack["lines_read"], unpack["lines_written"]) == (1, 5)
    assert (pack["median_ns"], pack["mad_ns"], pack["over_memcpy"]) == (2, 1, 1)


def test_what_is_left_out_is_compared(lacuna, tmp_path):
    place = tmp_path / "without.json"
    words = ["--only", "sweep/8-of-*", "--samples", "3", "--seconds", "0.002", "--json", str(place)]
    done = lacuna("bench", "engine", "--without", "--warm", *words)
    assert done.returncode == 0, done.stderr
    found = json.loads(place.read_text())
    assert found
    for line in found:
        assert line["cache"] == "warm"
        assert {"nothing", "nothing again"} < set(line["ns"])
    assert "nothing again" in done.stdout


def test_two_comparisons_at_once_are_refused(lacuna):
    result = lacuna("bench", "engine", "--strategies", "--without")
    one_line_error(result, 2, "--strategies and --without")


def test_strategies_are_compared(lacuna, tmp_path):
    place = tmp_path / "strategies.json"
    words = ["--only", "gropp/*", "--samples", "3", "--seconds", "0.01", "--json", str(place)]
    done = lacuna("bench", "engine", "--strategies", *words)
    assert done.returncode == 0, done.stderr
    found = json.loads(place.read_text())
    assert f"{len(found)} directions of rows" in done.stdout
    assert found
    for line in found:
        assert line["chosen"] in line["ns"]
        assert len(line["ns"]) > 1
        assert all(time > 0 for time in line["ns"].values())
