# SPDX-License-Identifier: BSD-3-Clause
"""The tables of `lacuna tune --compiled`: from speeds to rules, and what lacuna-cc is told."""

import json
import re

import pytest
from conftest import CPU_ROWS

from lacuna import engine
from lacuna.base import paths
from lacuna.base.errors import LacunaError
from lacuna.compiler import table as compiled_table
from lacuna.compiler.table import Cell


def cell(run, size, *starts, **speeds):
    """A cell of blocks whose ways are as fast as packing on both sides, but for those named; of one
    start, or of several."""
    ways = dict.fromkeys(compiled_table.LANES, 1.0)
    return Cell("strided", f"b{run}", run, size, [ways | start for start in starts or [speeds]])


def test_who_packs():
    assert cell(8, 1024).best == "ss"
    assert cell(8, 1024, nn=1.01, sn=0.5, ns=0.5).best == "ss"  # too little to be sure
    assert cell(8, 1024, nn=1.5).best == "nn"
    assert cell(8, 1024, sn=1.5, nn=1.2, ns=0.8).best == "sn"
    # A sender does not know its receiver.
    assert cell(8, 1024, sn=1.5, nn=1.4, ns=0.8, sc=1.0, nc=2.0).best == "nn"
    assert cell(8, 1024, sn=1.5, nn=0.5, ns=0.5, sc=1.0, nc=2.0).best == "sn"


def test_starts_that_differ():
    """What loses least against the best of each."""
    close, far = {"nn": 2.0, "sn": 1.6}, {"nn": 0.5, "sn": 1.6}
    assert cell(8, 1024, close, close).best == "nn"
    assert cell(8, 1024, close, far, close).best == "sn"
    assert cell(8, 1024, close, {"nn": 0.9}).best == "nn"
    assert cell(8, 1024, {"nn": 1.05}, {"nn": 0.9}).best == "ss"
    # The program's own way counts more.
    assert cell(8, 1024, {"nn": 1.1}, {"nn": 0.9}).best == "nn"


def test_what_is_sent_with_a_gap():
    """The sizes at which it wins in all starts, whatever the shape; there it is what packing is."""
    gap, none = {"gs": 2.0, "gn": 1.5, "gc": 2.0}, {"gs": 0.9, "gn": 1.0, "gc": 1.0}
    rungs = [[cell(8, 1024, none)], [cell(8, 4096, gap, none | {"gs": 1.2})], [cell(8, 8192, gap)]]
    assert compiled_table.apart(rungs) == [[4096, 1 << 30]]
    assert compiled_table.apart([*rungs, [cell(8, 16384, none)]]) == [[4096, 16383]]
    assert compiled_table.apart([[cell(8, 4096, gap, none)]]) == []
    one = cell(8, 4096, nn=1.5, nc=1.5, **gap)
    assert one.best == "nn" and one.sent_apart().best == "ss"


def test_what_a_table_was_made_of(tmp_path):
    """Is what `lacuna tune --compiled --add` adds to."""
    file = tmp_path / "t.json"
    cells = [cell(8, 1024, {"nn": 1.23456}, {"nn": 0.5}).as_json()]
    file.write_text(json.dumps({"evidence": {"shared": cells}}))
    (first, second) = compiled_table.starts(file)["b8", 1024]
    assert first == dict.fromkeys(compiled_table.LANES, 1.0) | {"nn": 1.235} and second["nn"] == 0.5
    file.write_text("{}")
    with pytest.raises(LacunaError, match="no measurements"):
        compiled_table.starts(file)


def test_spans_begin_and_end_where_the_gain_does():
    slow, fast = {"nn": 0.5, "sn": 0.5, "ns": 0.5}, {"nn": 2.0, "sn": 0.5, "ns": 0.5}
    cells = [cell(8, 1024, **slow), cell(8, 4096, **fast), cell(8, 16384, **slow)]
    cells += [cell(512, 1024, **slow), cell(512, 4096, **fast)]
    for found in compiled_table.rules(cells)["strided"].values():
        (run_from, run_to, begin, end), (next_from, next_to, next_begin, next_end) = found
        assert (run_from, run_to, next_from, next_to) == (0, 64, 64, 1 << 30)
        assert 1024 < begin < 4096 < end < 16384
        assert begin == next_begin and next_end == 1 << 30


@pytest.mark.parametrize("row", CPU_ROWS)
def test_shipped_tables_are_in_order(row, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/nowhere")
    monkeypatch.delenv(compiled_table.TABLE, raising=False)
    monkeypatch.setattr(engine, "machine", lambda: {"row": {"name": row}})
    end = "-zen.json" if row.startswith("zen") else ".json"
    assert compiled_table.place("mpich").name == f"mpich{end}"
    assert compiled_table.place("openmpi").name == f"openmpi{end}"
    assert compiled_table.place("intelmpi").name == "intelmpi.json"
    for kind in ("mpich", "openmpi", "intelmpi"):
        left, apart = compiled_table.load(kind)
        assert all(begin <= end for begin, end in apart)
        rules = [rule for sides in left.values() for found in sides.values() for rule in found]
        assert rules
        assert all(rule[0] < rule[1] and rule[2] <= rule[3] for rule in rules)


def test_shipped_tables_are_of_rows_that_there_are():
    """Each row has at most one table of a kind."""
    for kind in ("mpich", "openmpi", "intelmpi"):
        named = []
        for path in paths.compiled_tables().glob(f"{kind}-*.json"):
            named += json.loads(path.read_text())["rows"]
        assert len(named) == len(set(named)) and set(named) <= set(CPU_ROWS)


def test_lacuna_cc_is_told(tmp_path, monkeypatch):
    file = tmp_path / "t.json"
    empty = {side: [] for side in compiled_table.SIDES}
    left = dict.fromkeys(compiled_table.PATTERNS, empty)
    left = left | {"listed": {"send": [[0, 8, 100, 200]], "receive": []}}
    table = {"lacuna_compiled_table": 1, "left": left, "apart": [[4000, 5000]]}
    file.write_text(json.dumps(table))
    monkeypatch.setenv(compiled_table.TABLE, str(file))
    left, apart = compiled_table.load("mpich")
    options = compiled_table.pass_options(left, compiled_table.preloads(), apart)
    assert options.pop(0) == "-lacuna-most=67108864"
    assert options.pop(0) == "-lacuna-left=strided/send/0/1073741824/4000/5000/apart"
    assert all(options.pop(0).endswith("/4000/5000/apart") for _ in compiled_table.PATTERNS[1:])
    assert options.pop(0) == "-lacuna-left=listed/send/0/8/100/200"
    for_preload = r"-lacuna-left=\w+/(send|receive)/0/\d+/4097/\d+/preload"
    assert len(options) == 2 * len(compiled_table.PATTERNS)
    assert all(re.fullmatch(for_preload, option) for option in options)
    # Tables from before nested ones were told apart.
    del table["left"]["nested"]
    table["left"]["strided"] = table["left"]["listed"]
    file.write_text(json.dumps(table))
    left, _ = compiled_table.load("mpich")
    assert left["nested"] == left["strided"] == table["left"]["listed"]
    file.write_text("{}")
    with pytest.raises(LacunaError, match="no table for compiled code"):
        compiled_table.load("mpich")
    monkeypatch.setenv(compiled_table.TABLE, "none")
    assert compiled_table.load("mpich") == ({}, [])
    assert compiled_table.preloads() == {}
