# SPDX-License-Identifier: BSD-3-Clause
"""The acceptance criteria, on times that are made up."""

import json
import subprocess
import sys
from pathlib import Path

import engine_criteria
import preload_criteria
from made_up import message_times, rows_of_engine

from lacuna.bench import corpus
from lacuna.bench.engine import findings
from lacuna.bench.engine.rows import described
from lacuna.bench.engine.times import Times
from lacuna.bench.preload.calls import CONTIGUOUS, NEW_TYPES, Calls
from lacuna.bench.preload.row import Row


def verdict(found, what):
    rows = [row for row in corpus.load() if row.id in {one["row"] for one in found}]
    matching = [v for v in engine_criteria.judge(rows, Times(found)) if what in v.what]
    assert len(matching) == 1
    return matching[0]


def test_means_and_slow_rows_are_judged():
    names = ("gropp/face-200", "gropp/vector-1000-24")
    found = rows_of_engine({"memcpy": 1, "by-hand": 12, "mpi": 49, "lacuna": 10}, names[:1])
    found += rows_of_engine({"memcpy": 1, "by-hand": 12, "mpi": 25, "lacuna": 10}, names[1:])
    assert verdict(found, "of MPICH over lacuna, mean").found.startswith("3.5x")
    assert verdict(found, "of MPICH over lacuna, mean").is_met
    assert verdict(found, "of Open MPI over lacuna, mean").is_met is None
    assert verdict(found, "loops by hand").is_met is False
    assert verdict(found, "every row").found == "8 of 8"
    slow = rows_of_engine({"memcpy": 1, "by-hand": 9, "mpi": 36, "lacuna": 10})
    assert verdict(slow, "every row").is_met is False
    assert findings.slow_rows([row for row in corpus.load() if row.id == names[0]], Times(slow))[
        0
    ] == (names[0], "pack", "warm", 0.9, "by hand")


def test_of_several_starts_the_median_counts():
    def starts(*by_hand):
        found = []
        for start, ns in enumerate(by_hand):
            found += rows_of_engine(
                {"memcpy": 1, "by-hand": ns, "mpi": 36, "lacuna": 10}, start=start
            )
        return verdict(found, "every row")

    assert starts(8, 11, 12).is_met
    assert starts(8, 9, 12).is_met is False


def test_what_chance_makes_is_told():
    def found(*again):
        rows = []
        for start, ns in enumerate(again):
            rows += rows_of_engine({"lacuna": 10, "lacuna-again": ns}, start=start)
        return verdict(rows, "the others were lacuna").found

    assert found(9, 10) == "4 of 4"
    assert found(9, 10, 9) == "0 of 4"


def test_the_other_criteria_are_judged():
    ns = {"memcpy": 10, "by-hand": 90, "mpi": 90, "lacuna": 12}
    found = rows_of_engine(ns, ["transpose/w8-1024", "transpose/w8-512"])
    assert verdict(found, "transposes of 8-byte").is_met
    assert verdict(found, "transposes of 4-byte").is_met is None
    found = rows_of_engine(ns | {"lacuna": 13}, ["transpose/w8-1024"])
    assert verdict(found, "transposes of 8-byte").is_met is False
    assert verdict(rows_of_engine(ns, ["tiny/struct"]), "one call, tiny/struct").is_met
    assert (
        verdict(rows_of_engine(ns, ["tiny/vector-16"]), "one call, tiny/vector-16").is_met is False
    )
    sliced = rows_of_engine(
        ns | {"lacuna-slices": 13, "lacuna-slices-random": 24}, ["index/random-1m"]
    )
    assert verdict(sliced, "slices of 8 KiB, copied, in order").is_met
    assert verdict(sliced, "slices of 8 KiB, copied, in random order").is_met is False
    assert verdict(sliced, "slices of 8 KiB, lent, in order").is_met is None
    touched = {"lacuna-touched-whole": 20, "lacuna-touched-lent": 22, "lacuna-lent": 13}
    lent = rows_of_engine(ns | touched | {"lacuna-touched-lent-random": 29}, ["index/random-1m"])
    assert verdict(lent, "slices of 8 KiB, lent, in order").is_met
    assert verdict(lent, "lent, each byte touched, in order").is_met
    assert verdict(lent, "lent, each byte touched, in random order").is_met is False
    alone = rows_of_engine(ns | {"lacuna-slices-alone": 120}, ["index/random-1m"])
    assert verdict(alone, "each alone").found.startswith("10 (")
    whole = rows_of_engine(
        ns | {"mpi-lifecycle": 9, "lacuna-lifecycle": 10}, ["lifecycle/vector-4k"]
    )
    assert verdict(whole, "create, commit, pack, free").is_met is False


def predicted(name, ns, traffic_ns, measured_ns):
    prediction = {"predicted_ns": ns, "traffic_ns": traffic_ns, "predicted_bound": "memory"}
    rows = rows_of_engine({"memcpy": 1, "by-hand": 20, "mpi": 20, "lacuna": measured_ns}, [name])
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
    worst = findings.under_bound(rows, Times(large + slow))[0]
    assert (worst.row, worst.of_profile, worst.of_lines) == ("index/random-1m", 0.7, None)


def test_lines_touched_in_the_same_job_are_a_bound():
    ns = {"memcpy": 1, "by-hand": 20, "mpi": 20, "lacuna": 10}
    near = rows_of_engine(ns | {"lines": 8}, ["sweep/8-of-64-8m"])
    far = rows_of_engine(ns | {"lines": 7}, ["index/random-1m"])
    assert verdict(near, "of their lines touched alone").is_met
    assert verdict(near + far, "of their lines touched alone").is_met is False
    assert verdict(near + far, "of their lines touched alone").found == "4 of 8 (50%)"
    # With a profile, it is the profile that is held against.
    profiled = predicted("index/random-1m", 10, 9, 10) + near
    assert verdict(profiled, "of the bound of their lines").is_met
    assert verdict(profiled, "of their lines touched alone").is_met is None
    rows = [row for row in corpus.load() if row.id in ("index/random-1m", "sweep/8-of-64-8m")]
    worst = findings.under_bound(rows, Times(near + far))[0]
    assert (worst.row, worst.of_profile, worst.of_lines) == ("index/random-1m", None, 0.7)


def test_means_of_all_sizes_and_of_long_messages():
    rows = [
        Row("openmpi", message_times(ll=1.0)),
        Row("openmpi", message_times(size="16KiB", ll=0.5)),
        Row("openmpi", message_times(size="1MiB", ll=0.25)),
        Row("openmpi", message_times(size="1MiB", contiguous=True, ll=1.0)),
        Row("openmpi", message_times(ll=1.2), what="collective"),
    ]
    message, mean, long, collective = preload_criteria.judge([], rows)
    assert message.is_met and message.found.startswith("0 of 4 are")
    assert mean.is_met and mean.found == "2.00"
    assert long.is_met and long.found == "2.83" and "from 16 KiB on" in long.what
    assert not collective.is_met and "collectives" in collective.what
    assert not preload_criteria.judge([], [Row("mpich", message_times(size="16KiB", ll=0.5))])[
        2
    ].is_met


def test_calls_are_judged():
    counts = dict.fromkeys(CONTIGUOUS, (100.0, 150.0)) | dict.fromkeys(NEW_TYPES, (1000.0, 1060.0))
    sends, receives, types = preload_criteria.judge([Calls("mpich", counts)], [])
    assert sends.is_met and receives.is_met and not types.is_met
    absent = preload_criteria.judge([Calls("mpich", problem="there is no valgrind")], [])
    assert [one.is_met for one in absent] == [False] * 3 and "valgrind" in absent[0].found


def judged(*files):
    """The exit code and the lines of the command."""
    words = [sys.executable, str(Path(__file__).with_name("judge.py")), *map(str, files)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout.splitlines()


def test_the_files_of_the_benchmarks_are_judged(tmp_path):
    rows = [row for row in corpus.load() if row.id == "gropp/face-200"]
    found = rows_of_engine({"memcpy": 1, "by-hand": 14, "mpi": 49, "lacuna": 10})
    engine = tmp_path / "engine.json"
    engine.write_text(json.dumps({"corpus": described(rows), "rows": found}))
    code, lines = judged(engine)
    assert code == 0 and len(lines) == len(engine_criteria.judge(rows, Times(found)))
    assert any(line.startswith("PASS  every row against the best") for line in lines)

    slow = Row("mpich", message_times(size="16KiB", ll=1.2), message_times(size="16KiB", ll=1.3))
    slow.times.about["kind"] = "row"
    counts = dict.fromkeys(CONTIGUOUS + NEW_TYPES, (100.0, 101.0))
    preload = tmp_path / "preload.json"
    calls = [Calls("mpich", counts).as_json()]
    preload.write_text(json.dumps({"calls": calls, "rows": [slow.as_json()]}))
    code, lines = judged(engine, preload)
    assert code == 1
    assert any(line.startswith("FAIL  MPICH: messages") and "x/16KiB" in line for line in lines)
