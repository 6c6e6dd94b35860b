# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench engine`: the corpus is sound, all rivals agree, and what the command writes.

Nothing here depends on how long anything takes.
"""

import contextlib
import csv
import io
import json
import re
from dataclasses import replace

import pytest
from conftest import BUILD, ROOT, one_line_error

from lacuna.bench import corpus, random_types
from lacuna.bench.engine import criteria as engine_criteria
from lacuna.bench.engine import rows as engine_rows
from lacuna.bench.engine import tables as engine_report
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
    for words in ("Warm caches", "Cold caches", "What was promised", "MPICH", "Intel MPI"):
        assert words in result.stdout
    figures = [
        f"figures/engine-{op}-{c}.png" for c in ("warm", "cold") for op in ("pack", "unpack")
    ]
    written = [line.removeprefix("wrote ") for line in result.stderr.splitlines()]
    assert written == ["out/rows.json", "rows.csv", *figures]
    for name in figures:
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")

    found = json.loads((tmp_path / "out/rows.json").read_text())
    assert set(found) == {"provenance", "corpus", "criteria", "rows"}
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
    # Without a profile, predictions are of another machine: they are kept and not judged.
    for words in ("predictions within 2x", "of the bound of their lines"):
        judged = next(one for one in found["criteria"] if words in one["what"])
        assert (judged["is_met"], judged["found"]) == (None, "needs lacuna machine --measure")
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
    slow = made_up({"memcpy": 1, "by-hand": 9, "mpi": 36, "lacuna": 10}, [row.id])
    with io.StringIO() as out, contextlib.redirect_stdout(out):
        engine_report.show([row], Times(slow), [])
        shown = " ".join(out.getvalue().split())
    assert f"{row.count} x " in shown and row.id in shown


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


def made_up(rivals_ns, names=("gropp/face-200",), mpi="mpich", start=0):
    """Rows as if measured: the same time for each name, direction and state of the caches."""
    run = {"mpi": mpi, "start": start}
    return [
        run | {"row": name, "op": op, "cache": cache, "rival": rival, "median_ns": ns}
        for name in names
        for op in ("pack", "unpack")
        for cache in ("warm", "cold")
        for rival, ns in rivals_ns.items()
    ]


def verdict(found, what):
    rows = [row for row in corpus.load() if row.id in {one["row"] for one in found}]
    matching = [v for v in engine_criteria.judge(rows, Times(found)) if what in v.what]
    assert len(matching) == 1
    return matching[0]


def test_means_and_slow_rows_are_judged():
    names = ("gropp/face-200", "gropp/vector-1000-24")
    found = made_up({"memcpy": 1, "by-hand": 12, "mpi": 49, "lacuna": 10}, names[:1])
    found += made_up({"memcpy": 1, "by-hand": 12, "mpi": 25, "lacuna": 10}, names[1:])
    assert verdict(found, "of MPICH over lacuna, mean").found.startswith("3.5x")
    assert verdict(found, "of MPICH over lacuna, mean").is_met
    assert verdict(found, "of Open MPI over lacuna, mean").is_met is None
    assert verdict(found, "loops by hand").is_met is False
    assert verdict(found, "every row").found == "8 of 8"
    slow = made_up({"memcpy": 1, "by-hand": 9, "mpi": 36, "lacuna": 10})
    assert verdict(slow, "every row").is_met is False
    assert engine_criteria.slow_rows(
        [row for row in corpus.load() if row.id == names[0]], Times(slow)
    )[0] == (names[0], "pack", "warm", 0.9, "by hand")


def test_of_several_starts_the_median_counts():
    def starts(*by_hand):
        found = []
        for start, ns in enumerate(by_hand):
            found += made_up({"memcpy": 1, "by-hand": ns, "mpi": 36, "lacuna": 10}, start=start)
        return verdict(found, "every row")

    assert starts(8, 11, 12).is_met
    assert starts(8, 9, 12).is_met is False


def test_what_chance_makes_is_told():
    def found(*again):
        rows = []
        for start, ns in enumerate(again):
            rows += made_up({"lacuna": 10, "lacuna-again": ns}, start=start)
        return verdict(rows, "the others were lacuna").found

    assert found(9, 10) == "4 of 4"
    assert found(9, 10, 9) == "0 of 4"


def test_the_other_criteria_are_judged():
    ns = {"memcpy": 10, "by-hand": 90, "mpi": 90, "lacuna": 12}
    found = made_up(ns, ["transpose/w8-1024", "transpose/w8-512"])
    assert verdict(found, "transposes of 8-byte").is_met
    assert verdict(found, "transposes of 4-byte").is_met is None
    found = made_up(ns | {"lacuna": 13}, ["transpose/w8-1024"])
    assert verdict(found, "transposes of 8-byte").is_met is False
    assert verdict(made_up(ns, ["tiny/struct"]), "one call, tiny/struct").is_met
    assert verdict(made_up(ns, ["tiny/vector-16"]), "one call, tiny/vector-16").is_met is False
    sliced = made_up(ns | {"lacuna-slices": 13, "lacuna-slices-random": 24}, ["index/random-1m"])
    assert verdict(sliced, "slices of 8 KiB, copied, in order").is_met
    assert verdict(sliced, "slices of 8 KiB, copied, in random order").is_met is False
    assert verdict(sliced, "slices of 8 KiB, lent, in order").is_met is None
    touched = {"lacuna-touched-whole": 20, "lacuna-touched-lent": 22, "lacuna-lent": 13}
    lent = made_up(ns | touched | {"lacuna-touched-lent-random": 29}, ["index/random-1m"])
    assert verdict(lent, "slices of 8 KiB, lent, in order").is_met
    assert verdict(lent, "lent, each byte touched, in order").is_met
    assert verdict(lent, "lent, each byte touched, in random order").is_met is False
    alone = made_up(ns | {"lacuna-slices-alone": 120}, ["index/random-1m"])
    assert verdict(alone, "each alone").found.startswith("10 (")
    whole = made_up(ns | {"mpi-lifecycle": 9, "lacuna-lifecycle": 10}, ["lifecycle/vector-4k"])
    assert verdict(whole, "create, commit, pack, free").is_met is False


def predicted(name, ns, traffic_ns, measured_ns):
    prediction = {"predicted_ns": ns, "traffic_ns": traffic_ns, "predicted_bound": "memory"}
    rows = made_up({"memcpy": 1, "by-hand": 20, "mpi": 20, "lacuna": measured_ns}, [name])
    return [row | prediction | {"is_measured_machine": True} for row in rows]


def test_predictions_are_judged():
    near = predicted("gropp/face-200", 10, 9, 19)
    far = predicted("gropp/vector-1000-24", 10, 9, 21)
    assert verdict(near, "predictions within 2x").is_met
    assert verdict(near, "predictions within 2x").found == "4 of 4 (100%)"
    assert verdict(near + far, "predictions within 2x").is_met is False
    assert verdict(near + far, "predictions within 2x").found == "4 of 8 (50%)"
    assert verdict(near, "of the bound of their lines").is_met is None  # in the caches
    large = predicted("sweep/8-of-64-8m", 10, 9, 10)
    assert verdict(large, "of the bound of their lines").is_met
    slow = predicted("index/random-1m", 10, 7, 10)
    assert verdict(large + slow, "of the bound of their lines").found == "4 of 8 (50%)"
    rows = [row for row in corpus.load() if row.id in ("index/random-1m", "sweep/8-of-64-8m")]
    worst = engine_criteria.under_bound(rows, Times(large + slow))[0]
    assert (worst.row, worst.of_profile, worst.of_lines) == ("index/random-1m", 0.7, None)


def test_lines_touched_in_the_same_job_are_a_bound():
    ns = {"memcpy": 1, "by-hand": 20, "mpi": 20, "lacuna": 10}
    near = made_up(ns | {"lines": 8}, ["sweep/8-of-64-8m"])
    far = made_up(ns | {"lines": 7}, ["index/random-1m"])
    assert verdict(near, "of their lines touched alone").is_met
    assert verdict(near + far, "of their lines touched alone").is_met is False
    assert verdict(near + far, "of their lines touched alone").found == "4 of 8 (50%)"
    # With a profile, it is the profile that is held against.
    profiled = predicted("index/random-1m", 10, 9, 10) + near
    assert verdict(profiled, "of the bound of their lines").is_met
    assert verdict(profiled, "of their lines touched alone").is_met is None
    rows = [row for row in corpus.load() if row.id in ("index/random-1m", "sweep/8-of-64-8m")]
    worst = engine_criteria.under_bound(rows, Times(near + far))[0]
    assert (worst.row, worst.of_profile, worst.of_lines) == ("index/random-1m", None, 0.7)


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
    assert "touched alone" in result.stdout


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
