# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench transpose`, small: what it prints and what it writes."""

import csv
import json

import pytest
from conftest import BUILD

METHODS = {
    "native",
    "by_hand",
    "lacuna",
    "contiguous",
    "pack_native",
    "pack_lacuna",
    "unpack_native",
    "unpack_lacuna",
    "pack_by_hand",
    "memcpy",
}
PROVENANCE = {
    "date",
    "lacuna",
    "commit",
    "command",
    "cpu",
    "cores",
    "kernel",
    "governor",
    "transparent_hugepages",
    "environment",
    "compiler",
    "mpi",
    "hosts",
}


def test_all_mpi_libraries(lacuna, tmp_path):
    result = lacuna(
        "bench",
        "transpose",
        *("--mpi", "all", "--n", 64, "--n", 24, "--repetitions", 3),
        *("--json", "out/rows.json", "--csv", "rows.csv", "--plots", "figures"),
    )
    assert result.returncode == 0, result.stderr
    for title in ("MPICH", "Open MPI", "Intel MPI"):
        assert result.stdout.count(title) == 2
    written = [line.removeprefix("wrote ") for line in result.stderr.splitlines()]
    assert written == [
        "out/rows.json",
        "rows.csv",
        "figures/byna-fig6.png",
        "figures/byna-fig7.png",
    ]
    for name in written[2:]:
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    found = json.loads((tmp_path / "out/rows.json").read_text())
    check_json(found)
    with (tmp_path / "rows.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [(row["mpi"], row["method"]) for row in table] == [
        (row["mpi"], row["method"]) for row in found["rows"]
    ]
    assert {row["samples"] for row in table} == {"3"}


def check_json(found):
    assert set(found) == {"provenance", "rows"}
    assert set(found["provenance"]) == PROVENANCE
    assert "MPICH Version" in found["provenance"]["mpi"]["mpich"]
    assert "Open MPI" in found["provenance"]["mpi"]["openmpi"]
    assert "Intel" in found["provenance"]["mpi"]["intelmpi"]
    keys = [(row["mpi"], row["n"], row["method"]) for row in found["rows"]]
    assert set(keys) == {
        (mpi, n, method)
        for mpi in ("mpich", "openmpi", "intelmpi")
        for n in (64, 24)
        for method in METHODS
    }
    assert len(keys) == len(set(keys))
    for row in found["rows"]:
        assert row["bytes"] == 8 * row["n"] ** 2
        assert len(row["samples_s"]) == 3
        assert sorted(row["samples_s"])[1] == row["median_s"] > 0
        assert row["mad_s"] >= 0
        assert row["over_memcpy"] > 0
        assert ("over_contiguous" in row) == (
            row["method"] in ("native", "by_hand", "lacuna", "contiguous")
        )
        if row["method"] in ("memcpy",):
            assert row["over_memcpy"] == 1


def test_no_file_is_left_of_a_run_that_failed(lacuna, tmp_path, script):
    # A launcher in MPICH's place that fails after a word.
    script(
        "mpi/mpich/bin/mpiexec",
        '#!/bin/sh\n[ "$1" = --version ] && { echo HYDRA; exit; }\necho my last words\nexit 5\n',
    )
    result = lacuna("bench", "transpose", "--mpi-root", "mpi", "--n", 8, "--json", "rows.json")
    assert result.returncode == 1
    assert result.stdout == ""
    first, second = result.stderr.splitlines()
    assert first.startswith("lacuna bench transpose: the program failed on mpich: exit code 5")
    assert second == "my last words"
    assert not (tmp_path / "rows.json").exists()


@pytest.mark.parametrize("name", ["mpich", "ompi", "mpiabi"])
def test_the_programs_are_built(name):
    assert (BUILD / "bin" / f"lacuna-bench-transpose-{name}").is_file()
