# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench preload` and `lacuna tune`, small: what they print, write and decide."""

import json
import re
from pathlib import Path

import pytest
from conftest import ROOT, one_line_error
from made_up import message_times

from lacuna import engine
from lacuna.base import paths
from lacuna.base.errors import LacunaError
from lacuna.bench.preload import calls as preload_calls
from lacuna.bench.preload.row import Row
from lacuna.messages import ratios, shapes
from lacuna.tune import messages, rules


def test_ratios_are_taken_round_by_round():
    # One round is slow for both: the ratio does not see it.
    found = ratios.ratio([2, 2, 20, 2, 2, 2, 2], [1, 1, 10, 1, 1, 1, 1])
    assert (found.median, found.low, found.high) == (2, 2, 2)
    # Of nine samples, the outermost on either side may be left out: 96 %.
    found = ratios.ratio([1, 2, 3, 4, 5, 6, 7, 8, 90], [1] * 9)
    assert (found.median, found.low, found.high) == (5, 2, 8)


def test_slower_is_what_both_jobs_say():
    row = Row("mpich", message_times(ll=1.2))
    assert row.seems_slower and row.is_slower
    row.again = message_times(ll=1.0)
    assert not row.is_slower
    assert not Row("mpich", message_times(ll=1.04)).seems_slower
    assert not Row("mpich", message_times(ll=0.5)).same_seems_slower


@pytest.mark.parametrize(
    ("ways", "sure"),
    [
        # Both win; both alone lose nothing beside contiguous data.
        ({"ll": 0.5, "ln": 0.8, "nl": 0.9, "lc": 0.9, "cl": 0.9}, ("ll", "ln", "nl")),
        # Together they would win most, but a sender that packs loses beside a contiguous receiver.
        ({"ll": 0.5, "ln": 0.8, "nl": 0.9, "lc": 1.2, "cl": 0.9}, ("nl",)),
        # A sender that packs for a receiver that does not is slow.
        ({"ll": 0.5, "ln": 2.0, "nl": 1.0, "lc": 0.5, "cl": 1.0}, ("ll",)),
        # Nobody wins enough.
        ({"ll": 0.97, "ln": 1.0, "nl": 1.0, "lc": 1.0, "cl": 1.0}, ()),
        # Only data that were sent contiguously are unpacked faster: and nothing is lost otherwise.
        ({"ll": 1.5, "ln": 1.5, "nl": 1.0, "lc": 1.5, "cl": 0.5}, ("nl",)),
        ({"ll": 1.5, "ln": 1.5, "nl": 1.1, "lc": 1.5, "cl": 0.5}, ()),
        # With lacuna inside, the library is as fast as packing first; or slower than alone.
        ({"ll": 0.5, "ln": 0.8, "nl": 0.9, "lc": 0.9, "cl": 0.9, "ii": 0.5}, ()),
        ({"ll": 0.5, "ln": 0.8, "nl": 0.9, "lc": 0.9, "cl": 0.9, "ii": 1.5}, ("ll", "ln", "nl")),
        # The library cannot receive contiguous data: nobody knows what a receiver that packs wins.
        ({"ll": 0.5, "ln": 0.8, "nl": 0.9, "lc": 0.9, "cn": None}, ("ln",)),
    ],
)
def test_a_side_packs_first_where_it_cannot_lose(ways, sure):
    found = {"nc": 1.0, "cn": 1.0} | ways
    cell = rules.judge(message_times(**{way: one for way, one in found.items() if one}))
    assert cell.sure == sure
    assert (cell.shape, cell.bytes, cell.run) == ("x", 1024, 8)


def strided_rules(*cells):
    """The strided ones of (size, run, pairs...)."""
    made = [
        rules.Cell(f"vector-{run}", "strided", size, run, pairs, {}) for size, run, *pairs in cells
    ]
    book = rules.rules(made, direct=False)
    assert book["send"]["listed"] == [[None, 0]]
    return book["send"]["strided"], book["receive"]["strided"]


def test_rules_hold_between_sizes_only_where_both_neighbours_do():
    sends, receives = strided_rules(
        *((256, 8, "ll"), (256, 64), (1024, 8, "ll"), (1024, 64, "ll")),
        *((4096, 8, "ll"), (4096, 64, "ll"), (16384, 8), (16384, 64, "ll")),
    )
    assert sends == receives == [[1023, 10], [4096, 80], [None, 0]]


def test_a_measured_size_is_taken_where_it_wins_itself():
    # Powers of two are what programs send; the library changes its ways just below one.
    sends, receives = strided_rules((4096, 8), (8192, 8, "ll"), (16384, 8, "ll"), (32768, 8))
    assert sends == receives == [[8191, 0], [16384, 10], [None, 0]]


def test_direct_rules_hold_where_the_direct_path_beats_everything_else():
    def cell(size, run, direct):
        return rules.Cell(f"vector-{run}", "strided", size, run, (), {}, direct)

    cells = [cell(1024, 8, False), cell(4096, 8, True), cell(16384, 8, True)]
    cells += [cell(1024, 64, True), cell(4096, 64, True), cell(16384, 64, False)]
    book = rules.rules(cells, direct=True)
    assert book["direct"]["strided"] == [[4096, 80, 51.2], [None, 10]]
    # Short runs may lose where longer ones win.
    cells = [cell(size, run, run > 8) for size in (1024, 4096) for run in (8, 40, 64)]
    book = rules.rules(cells, direct=True)
    assert book["direct"]["strided"] == [[None, 80, 32]]
    packed = rules.judge(message_times(nc=1.0, cn=1.0, ll=0.5, ln=2.0, nl=2.0, lc=0.9, cl=0.9))
    assert packed.sure[0] == "ll"
    assert not rules.with_direct(packed, message_times(nc=1.0, ll=0.6, lc=0.5)).direct
    assert not rules.with_direct(packed, message_times(nc=1.0, ll=0.3, lc=2.0)).direct
    assert rules.with_direct(packed, message_times(nc=1.0, ll=0.3, lc=1.0)).direct


def test_rules_never_make_a_pair_that_is_not_sure():
    # One size wants both, the next the receiver alone: nothing is sure between them.
    assert strided_rules((256, 8, "ll"), (1024, 8, "nl")) == (
        [[256, 10], [None, 0]],
        [[256, 10], [1023, 0], [None, 10]],
    )
    # The receiver alone from some run on.
    assert strided_rules((256, 8, "ll", "nl"), (256, 64, "nl"), (256, 512, "ll")) == (
        [[None, 10]],
        [[None, 80]],
    )


def test_the_figure_shows_what_the_table_decides():
    """The first rule that has a message's size says up to which run, or from which."""
    from lacuna.tune.plot import decision

    book = {
        "direct": {"strided": [[1024, 0], [None, 64, 16]]},
        "send": {"strided": [[None, 32]]},
        "receive": {"strided": [[4096, 32], [None, 0]]},
    }
    cell = {"pattern": "strided", "speeds": {"ll": 2, "ln": 3}, "direct_speeds": {"ll": 5}}
    for size, run, wanted in (
        (1024, 32, ("packed first", 2)),
        (1024, 33, ("left to the MPI library", 1)),
        (1025, 16, ("through shared memory", 5)),
        (1025, 64, ("through shared memory", 5)),
        (1025, 8, ("packed first", 2)),
        (8192, 8, ("packed first", 3)),
        (8192, 65, ("left to the MPI library", 1)),
    ):
        assert decision(book, cell | {"bytes": size, "run": run}) == wanted, (size, run)


def test_rows_have_the_size_they_say():
    rows = shapes.messages(shapes.SIZES)
    assert len({row.id for row in rows}) == len(rows) > 100
    for row in rows:
        assert shapes.size_of(row.id) == row.bytes


def test_callgrind_output_is_read_with_what_functions_call():
    text = """events: Ir
fn=(1) lacuna_counted_send
10 5
cfn=(2) MPI_Send
calls=3 20
10 300
fn=(2)
20 300
fn=(1)
11 2
"""
    assert preload_calls.inclusive(text) == {"send": 307}


def test_bench_preload(lacuna, tmp_path):
    result = lacuna(
        *("bench", "preload", "--quick", "--seconds", 0.005, "--only", "messages"),
        *("--mpi", "mpich", "--json", "out/rows.json", "--plots", "figures"),
    )
    assert result.returncode == 0, result.stderr
    assert "MPICH: how many times faster with lacuna" in result.stdout
    assert "times faster, geometric mean with gaps" in result.stdout
    found = json.loads((tmp_path / "out/rows.json").read_text())
    assert set(found) == {"provenance", "calls", "rows"}
    assert found["provenance"]["table"] == {"mpich": "shipped for MPICH"}
    rows = {row["id"]: row for row in found["rows"]}
    assert set(rows) == {row.id for row in shapes.messages(shapes.QUICK_SIZES)}
    for row in rows.values():
        assert set(row["ways"]) == {"nn", "nn*", "ll", "cc"}
        lengths = {len(way["seconds"]) for way in row["ways"].values()}
        # Rounds that take seconds, as on a busy machine, are fewer.
        assert len(lengths) == 1 and lengths.pop() >= 1
        assert not row["ways"]["nn"]["send_taken"]
        assert row["contiguous"] == row["id"].startswith("face-i/")
        assert 0 < row["speedup_low"] <= row["speedup"] <= row["speedup_high"]
    # Structs are what every table takes.
    assert rows["structs/16KiB"]["ways"]["ll"]["send_taken"]
    assert not rows["face-i/1MiB"]["ways"]["ll"]["send_taken"]
    patterns = {name.partition("/")[0]: row["pattern"] for name, row in rows.items()}
    assert patterns["vector-1"] == patterns["face-j"] == patterns["face-k"] == "strided"
    assert patterns["structs"] == "fields"
    assert patterns["sorted"] == patterns["random"] == "listed"
    assert rows["transpose/1MiB"]["pattern"] == "transposed"
    assert (tmp_path / "figures/preload.png").read_bytes().startswith(b"\x89PNG")


def test_bench_preload_of_collectives(lacuna, tmp_path):
    words = ("bench", "preload", "--quick", "--seconds", 0.002, "--only", "collectives")
    result = lacuna(*words, "--mpi", "mpich", "--json", "rows.json")
    assert result.returncode == 0, result.stderr
    assert "collectives slower beyond noise" in result.stdout
    rows = {row["id"]: row for row in json.loads((tmp_path / "rows.json").read_text())["rows"]}
    # The quick ones are those of at most 1 KiB.
    assert {"bcast-8/64B", "alltoallw-512/1KiB", "gather-whole/16B"} < set(rows)
    assert {row["bytes"] for row in rows.values()} == {16, 64, 256, 1024}
    for name, row in rows.items():
        assert set(row["ways"]) == {"nn", "nn*", "ll"}
        assert row["contiguous"] == ("-whole/" in name)
        assert row["what"] == "collective" and row["speedup"] > 0
        assert not row["ways"]["nn"]["taken"]
    # The least that goes without the library (interpose/direct/rooms/room.cpp).
    assert rows["alltoallw-8/1KiB"]["ways"]["ll"]["taken"]


def test_tune_writes_the_table_that_the_ranks_read(lacuna, tmp_path):
    cache = tmp_path / "cache"
    words = ("tune", "--quick", "--mpi", "mpich", "--plot", "table.png")
    result = lacuna(*words, LACUNA_TABLE="", XDG_CACHE_HOME=str(cache))
    assert result.returncode == 0, result.stderr
    (place,) = cache.glob("lacuna/table-mpich-version-5-*.json")
    assert result.stderr.splitlines()[-2:] == [f"wrote {place}", "wrote table.png"]
    assert (tmp_path / "table.png").read_bytes().startswith(b"\x89PNG")
    table = json.loads(place.read_text())
    assert table["mpi"].startswith("MPICH Version: 5.")
    assert set(table["shared"]["send"]) == {"strided", "listed", "fields", "transposed", "pieces"}
    assert all(set(cell["speeds"]) for cell in table["evidence"]["shared"])

    def log(**environment):
        words = ("bench", "preload", "--quick", "--seconds", 0.001, "--only", "messages")
        ran = lacuna(
            *(*words, "--mpi", "mpich", "--json", "rows.json"),
            XDG_CACHE_HOME=str(cache),
            **environment,
        )
        assert ran.returncode == 0, ran.stderr
        return json.loads((tmp_path / "rows.json").read_text())["provenance"]["table"]["mpich"]

    assert log(LACUNA_TABLE="") == str(place)
    # Of another version of the library: the defaults.
    table["mpi"] = "MPICH Version: 1.0"
    place.write_text(json.dumps(table))
    assert log(LACUNA_TABLE="") == "shipped for MPICH"


def test_tune_says_what_it_lacks(lacuna):
    one_line_error(lacuna("tune", "--network"), 2, "--network needs a launcher")
    one_line_error(lacuna("tune", "ls"), 2, "not a launcher: ls")
    one_line_error(lacuna("tune", "--plot", "a.png"), 2, "one --plot for several libraries")
    one_line_error(lacuna("tune", "--compiled", "--plot", "a.png"), 2, "--plot draws the table")
    one_line_error(lacuna("tune", "--mpi", "nothing"), 2, "unknown MPI in --mpi: nothing")
    one_line_error(lacuna("bench", "preload", "--only", "x"), 2, "unknown part in --only: x")


def test_tune_names_a_wrong_launch_before_it_measures(lacuna, tmp_path):
    launcher = paths.default_mpi_root() / "mpich/bin/mpiexec"
    many = lacuna("tune", "--max-load", "1e9", launcher, "-n", 3, XDG_CACHE_HOME=str(tmp_path))
    one_line_error(many, 2, "the launcher started 3; start two, with -n 2")
    # Between nodes: first there must be a table, then there must be two.
    network = ("tune", "--network", launcher, "-n", 2)
    kept = {"LACUNA_TABLE": "", "XDG_CACHE_HOME": str(tmp_path)}
    missing = lacuna(*network, **kept)
    one_line_error(missing, 2, "on one node; measure those first")
    told = re.search(r"lacuna tune: (.*\.json) has no measurements of (.*?) on one", missing.stderr)
    place = Path(told[1])
    shipped = ROOT / "interpose" / "policy" / "tables" / "mpich.json"
    table = json.loads(shipped.read_text(encoding="utf-8")) | {"mpi": told[2]}
    table["cpu"] = engine.machine()["cpu"]
    place.write_text(json.dumps(table), encoding="utf-8")
    before = place.read_bytes()
    one_line_error(lacuna(*network, **kept), 2, "both ranks are on node ", "--host node1,node2")
    assert place.read_bytes() == before
    with pytest.raises(LacunaError, match="must be on one node, and are on a and b"):
        messages.check_nodes({"nodes": ["a", "b"]}, network=False)


def test_tune_warns_on_a_busy_node(monkeypatch, capsys):
    for load, said in ((6.07, ["other work runs on this node (load 6.1)"]), (0.5, [])):
        monkeypatch.setattr("os.getloadavg", lambda load=load: (load, 0.0, 0.0))
        messages.warn_if_busy(messages.MOST_LOAD)
        told = capsys.readouterr()
        assert [line.split(": ", 1)[1].split(",")[0] for line in told.err.splitlines()] == said
        assert told.out == ""
    messages.warn_if_busy(7)
    assert capsys.readouterr().err == ""


def test_tune_names_a_library_that_the_ranks_do_not_find(lacuna):
    words = ("tune", "--mpi", "mpiabi", "--quick", "--output", "table.json", "--max-load", "1e9")
    result = lacuna(*words, "mpiexec.mpich", "-n", "2")
    one_line_error(result, 3, "a library of mpiabi", "libmpi_abi.so.1", "LD_LIBRARY_PATH")


def test_tune_measures_the_library_of_the_launcher(lacuna, tmp_path):
    # Not Debian's, which the dynamic linker finds.
    launcher = paths.default_mpi_root() / "mpich/bin/mpiexec"
    result = lacuna("tune", "--quick", "--output", "table.json", launcher, "-n", "2")
    assert result.returncode == 0, result.stderr
    assert json.loads((tmp_path / "table.json").read_text())["mpi"].startswith("MPICH Version: 5.")


def test_tune_on_a_library_with_another_name_and_a_defect(lacuna, tmp_path):
    # Debian's MPICH, 4.0: called libmpich, and unable to receive long contiguous data as structs.
    result = lacuna("tune", "--quick", "--output", "table.json", "mpiexec.mpich", "-n", "2")
    assert result.returncode == 0, result.stderr
    assert "cannot receive contiguous data as fields-3/16KiB, fields-30/16KiB;" in result.stderr
    assert "wrote table.json" in result.stderr
    cells = json.loads((tmp_path / "table.json").read_text())["evidence"]["shared"]
    without = [cell for cell in cells if "cl" not in cell["speeds"]]
    assert without and all(cell["pattern"] == "fields" for cell in without)
    assert not any("nl" in cell["sure"] or "ll" in cell["sure"] for cell in without)
