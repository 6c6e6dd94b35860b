# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna run --costs`: counts are exact where few calls are timed; advice is given where it is
due, and nowhere else."""

import json
from collections import Counter

import pytest
from conftest import BUILD, launch_words, preload, run_quietly
from topics import MPIS

from lacuna.report import advice

# Words of each advice, and the program that asks for it.
WORDS = {
    "loop": "makes this type again and again",
    "transposed": "inner loop has the longer stride",
    "threshold": "just above a threshold",
    "small": "messages of 64 bytes from one place",
    "structs": "the data are sent as bytes",
}
JUST_ABOVE = {"mpich": 1026, "openmpi": 513}  # doubles


def report_of(tmp_path, mpi, *words, **options):
    family = MPIS[mpi]
    file = tmp_path / "costs.json"
    command, found_by = launch_words(mpi, family)
    command += ["-n", "2", "env", f"LD_PRELOAD={preload(family)}"]
    command += [str(BUILD / "bin" / f"cli_costs_program_{family}"), *map(str, words)]
    environment = {"LACUNA_REPORT": str(file), "LACUNA_COSTS": "1"} | options
    done = run_quietly(command, environment | found_by)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(file.read_text())


@pytest.mark.parametrize("mpi", list(MPIS))
def test_what_is_not_timed_is_counted(tmp_path, mpi):
    report = report_of(tmp_path, mpi, "many")
    calls, of_bytes, nothing, error = Counter(), Counter(), Counter(), 0.0
    for row in report["rows"]:
        costs = row["costs"]
        calls[row["function"]] += costs["calls"]
        of_bytes[row["function"]] += row["bytes_handled"] + row["bytes_declined"]
        nothing[row["function"]] += row["declined"].get("no data, or not examined", 0)
        if row["function"] == "MPI_Send" and row["bytes_declined"]:
            assert row["calls"] == costs["calls"] == 60000, row
            assert 0 < costs["error_seconds"] < costs["seconds"], row
            error = costs["error_seconds"]
    assert error > 0  # not all of them were timed
    assert calls["MPI_Irecv"] == calls["MPI_Wait"] == 60000
    assert calls["MPI_Send"] == 120000 and nothing["MPI_Send"] == 60000
    assert of_bytes["MPI_Irecv"] == 60000 * 24 and of_bytes["MPI_Send"] == 60000 * 16


@pytest.mark.parametrize("mpi", list(MPIS))
@pytest.mark.parametrize("direct", ["0", "1"])
def test_types_and_completions_that_are_not_timed_are_counted(tmp_path, mpi, direct):
    report = report_of(tmp_path, mpi, "kinds", LACUNA_DIRECT=direct)
    texts = [one["text"] for one in report["types"]]
    found = {}
    for row in report["rows"]:
        costs = row["costs"]
        key = row["function"], texts[row["type"]]
        found[key] = costs["calls"], row["bytes_declined"], costs["error_seconds"]
        assert row["bytes_handled"] == 0, row
    for doubles in (2, 3, 4):
        text = f"contiguous({doubles}, double)"
        calls, of_bytes, error = found["MPI_Isend", text]
        assert (calls, of_bytes) == (16000, 16000 * 3 // 2 * doubles * 8)
        assert error > 0  # not all of them were timed
        assert found["MPI_Irecv", text][:2] == (16000, 16000 * 2 * doubles * 8)
    assert sum(calls for (function, _), (calls, *_) in found.items() if "all" in function) == 48000

    report = report_of(tmp_path, mpi, "completions", LACUNA_DIRECT=direct)
    calls = Counter()
    for row in report["rows"]:
        calls[row["function"].removesuffix("_c")] += row["costs"]["calls"]
    completing = ("Waitany", "Waitsome", "Testall", "Testany", "Waitall")
    for name in ("Irecv", "Isend", "Barrier", *completing):
        assert calls[f"MPI_{name}"] == 16000, calls


@pytest.mark.parametrize("mpi", list(MPIS))
@pytest.mark.parametrize("direct", ["0", "1"])
def test_what_is_moved_and_not_timed_is_counted(tmp_path, mpi, direct):
    report = report_of(tmp_path, mpi, "moved", LACUNA_DIRECT=direct, LACUNA_ALWAYS="1")
    texts = [one["text"] for one in report["types"]]
    calls, of_bytes, errors = Counter(), Counter(), Counter()
    for row in report["rows"]:
        key = row["function"], texts[row["type"]]
        calls[key] += row["costs"]["calls"]
        of_bytes[key] += row["bytes_handled"] + row["bytes_declined"]
        errors[row["function"]] += row["costs"]["error_seconds"]
    two, three = (f"vector(64, 1, {stride}, double)" for stride in (2, 3))
    of_double = 2 * len(range(0, 6000, 7))
    of_three = 2 * len([i for i in range(0, 6000, 5) if i % 7])
    expected = {two: 12000 - of_double - of_three, three: of_three, "double": of_double}
    for function in ("MPI_Isend", "MPI_Irecv"):
        for text, times in expected.items():
            assert calls[function, text] == times, (function, text)
            assert of_bytes[function, text] == times * (8 if text == "double" else 512)
        assert errors[function] > 0  # not all of them were timed
    sendrecv = [key for key in calls if key[0] == "MPI_Sendrecv"]
    assert sum(calls[key] for key in sendrecv) == 12000
    assert sum(of_bytes[key] for key in sendrecv) == 12000 * 1024
    assert sum(calls[key] for key in calls if key[0] == "MPI_Waitall") == 12000


@pytest.mark.parametrize("mpi", list(MPIS))
def test_collectives_declined_without_a_vote_are_reported(tmp_path, mpi):
    # After some votes that led to nothing, a call is declined without a vote: its type and bytes
    # are reported all the same.
    report = report_of(tmp_path, mpi, "alone", LACUNA_DIRECT="1")
    texts = [one["text"] for one in report["types"]]
    rows = [row for row in report["rows"] if row["function"] == "MPI_Alltoallw"]
    assert {texts[row["type"]] for row in rows} == {"vector(2, 1024, 2048, double)"}
    assert sum(row["costs"]["calls"] for row in rows) == 2 * 300
    moved = sum(row["bytes_handled"] + row["bytes_declined"] for row in rows)
    assert moved == 2 * 300 * 2 * 16384  # both sides


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
@pytest.mark.parametrize("what", [*WORDS, "none"])
def test_each_mistake_is_told_apart(tmp_path, mpi, what):
    size = [JUST_ABOVE[mpi]] if what == "threshold" else []
    # Advice goes by where the time goes, and a rank may lose its core.
    for _ in range(3):
        report = report_of(tmp_path, mpi, what, *size)
        assert report["rows"]
        text = " ".join(
            words
            for row in report["rows"]
            for words in row["advice"] + advice.on_threshold(report, row)
        )
        told = {name for name, words in WORDS.items() if words in text}
        if told == {what} - {"none"}:
            break
    assert told == {what} - {"none"}, text
