# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench nodes` without hosts: what it says of times, and of what it cannot do."""

import shutil

import pytest
from conftest import one_line_error
from made_up import message_times

from lacuna.base.errors import LacunaError
from lacuna.bench.nodes import command as nodes
from lacuna.bench.nodes import summary
from lacuna.bench.nodes.summary import Job
from lacuna.bench.preload.row import Row

USUAL = Job({})


def row(size, **ways):
    return Row("mpich", message_times(size, **ways))


def test_means_are_geometric_and_by_job():
    rows = [
        (USUAL, row("1KiB", ll=1.0, hh=0.5, cc=0.25)),
        (USUAL, row("16KiB", ll=0.25, hh=0.5, cc=0.125)),
        (USUAL, row("1MiB", ll=4.0, cc=0.5)),  # an application has no loops for it
        (Job({"LACUNA_ALWAYS": "1"}), row("1KiB", ll=0.5, hh=1.0, cc=0.5)),
    ]
    everything, long, always = summary.of_messages(rows)
    assert (everything["which"], everything["rows"]) == (summary.ALL, 3)
    assert everything["native_over_lacuna"] == pytest.approx(1)  # of 1, 4 and 1/4
    assert (everything["lowest"], everything["lowest_id"]) == (0.25, "x/1MiB")
    assert everything["slower"] == ["x/1MiB"]
    disturbed = row("2KiB", ll=1.0)
    disturbed.times.ways["ll"]["seconds"] = [9.0] * 4 + [1.0] * 3
    rows.append((USUAL, disturbed))
    assert summary.of_messages(rows)[0]["lowest_id"] == "x/1MiB"
    rows[2][1].again = message_times(ll=0.8)  # more samples do not find it slower
    assert summary.of_messages(rows)[0]["lowest_id"] == "x/1KiB"
    assert everything["native_over_contiguous"] == pytest.approx((4 * 8 * 2) ** (1 / 3))
    assert everything["lacuna_over_contiguous"] == pytest.approx((4 * 2 * 8) ** (1 / 3))
    assert everything["by_hand_over_contiguous"] == pytest.approx((2 * 4) ** (1 / 2))
    assert (long["which"], long["rows"]) == (summary.LONG, 2)
    assert long["native_over_lacuna"] == pytest.approx(1)
    assert long["lacuna_over_contiguous"] == pytest.approx(4)
    assert always["options"] == {"LACUNA_ALWAYS": "1"}
    assert (always["which"], always["native_over_lacuna"], always["lowest"]) == ("all", 2, 2)


def test_exchanges_are_by_library_and_row():
    lanes = [
        {"mpi": mpi, "id": "x", "method": method, "samples_s": [9 * seconds, seconds, 7 * seconds]}
        for mpi in ("mpich", "openmpi")
        for method, seconds in (("native", 6.0), ("lacuna", 2.0), ("contiguous", 1.0))
    ]
    found = summary.of_exchanges(USUAL, lanes)
    assert [(one.mpi, one.id) for one in found] == [("mpich", "x"), ("openmpi", "x")]
    told = found[0].as_json()
    assert (told["fastest_s"]["native"], told["median_s"]["native"]) == (6, 42)
    assert told["native_over_lacuna"] == 3
    assert found[0].ratio("by_hand", "contiguous") is None


def test_data_that_do_not_pass_the_link_are_an_error():
    times = message_times(ll=0.5)
    for line in times.ways.values():
        line |= {"iterations": 3, "link_bytes": 1024 * 3 * len(line["seconds"])}
    nodes.check_passed("mpich", "lacuna0", [times])
    times.ways["ll"]["link_bytes"] -= 1
    with pytest.raises(LacunaError, match="x/1KiB by way ll on mpich: 21503 of 21504 bytes"):
        nodes.check_passed("mpich", "lacuna0", [times])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--only", "x"), "unknown part in --only: x"),
        (("--hosts", "a"), "bad hosts in --hosts: a;"),
        (("--hosts", "a,"), "bad hosts in --hosts: a,;"),
        (("--hosts", "a,b,c"), "bad hosts in --hosts: a,b,c;"),
        (("--hosts", "a,b", "--rate", "1gbit"), "--namespaces, --rate and --delay make links"),
        (("--launch-agent", "x"), "--launch-agent starts ranks on hosts; add --hosts"),
        (("--namespaces", 3), "bad number in --namespaces: 3"),
        (("--rate", "10gbyte"), "bad value in --rate: 10gbyte; as in: --rate 10gbit"),
        (("--delay", "fast"), "bad value in --delay: fast; as in: --delay 10us"),
        (("--hosts", "a,b", "--also", "NAME=1"), "no option of lacuna in --also: NAME=1"),
        (("--hosts", "a,b", "--also", "LACUNA_X=1,LACUNA_Y"), "no option of lacuna in --also"),
        (("--hosts", "a,b", "--shape", "x"), "unknown shape in --shape: x"),
    ],
)
def test_wrong_words(lacuna, words, told):
    one_line_error(lacuna("bench", "nodes", *words), 2, told)


def test_hosts_that_are_there_already_are_those_asked_for(lacuna):
    there = {"LACUNA_HOST_LIST": "a,b", "LACUNA_LINK_RATE": "1gbit"}
    for words in (("--namespaces", 4), ("--rate", "10gbit"), ("--delay", "10us")):
        result = lacuna("bench", "nodes", *words, **there)
        one_line_error(result, 2, "LACUNA_HOST_LIST names hosts that are there already")


def test_a_machine_without_namespaces_says_what_is_missing(lacuna, tmp_path):
    # As where the package iproute2 is not installed.
    for name in ("sh", "id"):
        (tmp_path / name).symlink_to(shutil.which(name))
    result = lacuna("bench", "nodes", "--quick", PATH=str(tmp_path))
    one_line_error(result, 3, "no namespaces here: no command ip", "apt-get install iproute2")
    one_line_error(result, 3, "--hosts A,B")
