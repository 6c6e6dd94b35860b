# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench nodes` between network namespaces, small: what it prints and writes."""

import json
import subprocess

import pytest

from lacuna.base import paths
from lacuna.bench.nodes import command as nodes
from lacuna.messages import shapes


@pytest.fixture(scope="session", autouse=True)
def namespaces():
    """Ends the session, for ctest to skip it, where they cannot be made."""
    words = ["sh", str(paths.hosts_script()), "2", "true"]
    tried = subprocess.run(words, capture_output=True, text=True, check=False)
    if tried.returncode == 77:
        pytest.exit(tried.stderr.strip(), returncode=77)
    assert tried.returncode == 0, tried.stderr


def shown(result):
    """What it printed, without the breaks of lines in narrow tables."""
    assert result.returncode == 0, (result.stdout, result.stderr)
    return " ".join(result.stdout.split())


def check_rows(rows, chosen):
    """Of a library and a job: all data passed the link, and lacuna had nothing of native ones."""
    assert [row["id"] for row in rows] == [
        one.id for one in shapes.messages(nodes.QUICK_SIZES, chosen)
    ]
    for row in rows:
        # By hand, too: there are loops for all of them.
        assert set(row["ways"]) == {"nn", "nn*", "ll", "hh", "cc"}
        for way in row["ways"].values():
            rounds = len(way["seconds"])
            assert way["link_bytes"] >= row["bytes"] * way["iterations"] * rounds
        assert not row["ways"]["nn"]["send_taken"]


def test_messages_on_all_libraries(lacuna, tmp_path):
    words = ("--shape", "structs", "--shape", "transpose", "--rate", "10gbit")
    words += ("--only", "messages", "--seconds", 0.005, "--json", "out/rows.json")
    result = lacuna("bench", "nodes", "--quick", *words)
    told = shown(result)
    assert result.stderr.splitlines()[-1] == "wrote out/rows.json"
    for title in ("MPICH", "Open MPI", "Intel MPI"):
        assert f"{title}: how many times faster with lacuna" in told
    assert "Messages between 2 namespaces, 10gbit: geometric means" in told
    found = json.loads((tmp_path / "out/rows.json").read_text())
    assert set(found) == {"provenance", "rows", "exchanges", "summary"}
    about = found["provenance"]
    assert about["hosts"] == {"number": 2, "namespaces": True, "rate": "10gbit", "delay": None}
    assert about["command"][:4] == ["lacuna", "bench", "nodes", "--quick"]
    assert set(about["mpi"]) == {"mpich", "openmpi", "intelmpi"}
    for mpi in about["mpi"]:
        check_rows([row for row in found["rows"] if row["mpi"] == mpi], ["structs", "transpose"])
    assert [one["rows"] for one in found["summary"]] == [6, 4] * 3


def test_options_make_jobs_of_their_own(lacuna, tmp_path):
    words = ("--mpi", "openmpi", "--shape", "vector-64", "--only", "messages", "--seconds", 0.005)
    words += ("--also", "LACUNA_DISABLE=1", "--also", "LACUNA_ALWAYS=1,LACUNA_READ_PEERS=0")
    result = lacuna("bench", "nodes", "--quick", *words, "--json", "rows.json")
    told = shown(result)
    found = json.loads((tmp_path / "rows.json").read_text())
    jobs = ({}, {"LACUNA_DISABLE": "1"}, {"LACUNA_ALWAYS": "1", "LACUNA_READ_PEERS": "0"})
    for job, is_taken in zip(jobs, (None, False, True), strict=True):
        rows = [row for row in found["rows"] if row["options"] == job]
        check_rows(rows, ["vector-64"])
        for row in rows:
            assert is_taken in (None, row["ways"]["ll"]["send_taken"])
    assert [one["options"] for one in found["summary"]] == [job for job in jobs for _ in range(2)]
    assert "Open MPI, LACUNA_ALWAYS=1,LACUNA_READ_PEERS=0: how many times faster" in told


def test_exchanges_between_four(lacuna, tmp_path):
    words = ("--namespaces", 4, "--only", "exchanges", "--mpi", "mpich", "--json", "rows.json")
    result = lacuna("bench", "nodes", "--quick", *words)
    assert "Exchanges between 4 namespaces, unshaped" in shown(result)
    found = json.loads((tmp_path / "rows.json").read_text())
    assert found["rows"] == [] and found["summary"] == []
    (one,) = found["exchanges"]
    assert one["id"] == "alltoallw of pencils, 64^3"
    assert set(one["fastest_s"]) == {"native", "lacuna", "by_hand", "contiguous"}
    assert all(seconds > 0 for samples in one["samples_s"].values() for seconds in samples)
    assert one["native_over_lacuna"] == one["fastest_s"]["native"] / one["fastest_s"]["lacuna"]
