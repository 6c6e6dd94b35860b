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


def test_messages_on_all_libraries(lacuna, tmp_path):
    result = lacuna(
        *("bench", "nodes", "--quick", "--only", "messages", "--seconds", 0.005),
        *("--rate", "10gbit", "--also", "LACUNA_ALWAYS=1", "--json", "out/rows.json"),
    )
    assert result.returncode == 0, (result.stdout, result.stderr)
    assert result.stderr.splitlines()[-1] == "wrote out/rows.json"
    for title in ("MPICH", "Open MPI", "Intel MPI"):
        assert f"{title}: how many times faster with lacuna" in result.stdout
        assert f"{title}, LACUNA_ALWAYS=1: how many times" in result.stdout
    assert "Messages between 2 namespaces, 10gbit: geometric means" in result.stdout
    found = json.loads((tmp_path / "out/rows.json").read_text())
    assert set(found) == {"provenance", "rows", "exchanges", "summary"}
    about = found["provenance"]
    assert about["hosts"] == {"number": 2, "namespaces": True, "rate": "10gbit", "delay": None}
    assert about["command"][:4] == ["lacuna", "bench", "nodes", "--quick"]
    assert set(about["mpi"]) == {"mpich", "openmpi", "intelmpi"}
    jobs = ({}, {"LACUNA_ALWAYS": "1"})
    ids = [one.id for one in shapes.messages(nodes.QUICK_SIZES, nodes.SHAPES)]
    for mpi in about["mpi"]:
        for job in jobs:
            rows = [row for row in found["rows"] if (row["mpi"], row["options"]) == (mpi, job)]
            assert [row["id"] for row in rows] == ids
            for row in rows:
                # By hand, too: there are loops for all of them.
                assert set(row["ways"]) == {"nn", "nn*", "ll", "hh", "cc"}
                for way in row["ways"].values():
                    rounds = len(way["seconds"])
                    assert way["link_bytes"] >= row["bytes"] * way["iterations"] * rounds
                assert not row["ways"]["nn"]["send_taken"]
            long = [row["ways"]["ll"]["send_taken"] for row in rows if row["bytes"] > 1000]
            assert all(long) or not job, rows
    assert len(found["summary"]) == 2 * 3 * len(jobs)
    assert {one["rows"] for one in found["summary"]} == {17, 12}


def test_exchanges_between_four(lacuna, tmp_path):
    words = ("--namespaces", 4, "--only", "exchanges", "--mpi", "mpich", "--json", "rows.json")
    result = lacuna("bench", "nodes", "--quick", *words)
    assert result.returncode == 0, (result.stdout, result.stderr)
    assert "Exchanges between 4 namespaces, unshaped" in result.stdout
    found = json.loads((tmp_path / "rows.json").read_text())
    assert found["rows"] == [] and found["summary"] == []
    (one,) = found["exchanges"]
    assert one["id"] == "alltoallw of pencils, 64^3"
    assert set(one["median_s"]) == {"native", "lacuna", "by_hand", "contiguous"}
    assert all(seconds > 0 for samples in one["samples_s"].values() for seconds in samples)
    assert one["native_over_lacuna"] == one["median_s"]["native"] / one["median_s"]["lacuna"]
