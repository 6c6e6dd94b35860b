# SPDX-License-Identifier: BSD-3-Clause
"""The tables of `lacuna tune --compiled`: from speeds to rules, and what lacuna-cc is told."""

import json
import re

import pytest

from lacuna import compiled_table
from lacuna.compiled_table import Cell
from lacuna.errors import LacunaError


def cell(run, size, **speeds):
    """A cell of blocks whose ways are as fast as packing on both sides, but for those named."""
    return Cell(
        "strided", f"b{run}", run, size, dict.fromkeys(("ss", "sn", "ns", "nn"), 1.0) | speeds
    )


def test_who_packs():
    assert cell(8, 1024).best == "ss"
    assert cell(8, 1024, nn=1.02, sn=0.5, ns=0.5).best == "ss"  # too little to be sure
    assert cell(8, 1024, nn=1.5).best == "nn"
    assert cell(8, 1024, sn=1.5, nn=1.2, ns=0.8).best == "sn"


def test_spans_begin_and_end_where_the_gain_does():
    slow, fast = {"nn": 0.5, "sn": 0.5, "ns": 0.5}, {"nn": 2.0, "sn": 0.5, "ns": 0.5}
    cells = [cell(8, 1024, **slow), cell(8, 4096, **fast), cell(8, 16384, **slow)]
    cells += [cell(512, 1024, **slow), cell(512, 4096, **fast)]
    left = compiled_table.rules(cells)["strided"]
    assert left["send"] == left["receive"]
    (run_from, run_to, begin, end), (next_from, next_to, next_begin, next_end) = left["send"]
    assert (run_from, run_to, next_from, next_to) == (0, 64, 64, 1 << 30)
    assert 1024 < begin < 4096 < end < 16384
    assert begin == next_begin and next_end == 1 << 30


@pytest.mark.parametrize("maker", ["amd", "other"])
def test_shipped_tables_are_in_order(maker, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/nowhere")
    monkeypatch.delenv(compiled_table.TABLE, raising=False)
    monkeypatch.setattr(compiled_table, "_maker", lambda: maker)
    end = "-amd.json" if maker == "amd" else ".json"
    assert compiled_table.place("mpich").name == f"mpich{end}"
    assert compiled_table.place("intelmpi").name == "intelmpi.json"
    for kind in ("mpich", "openmpi", "intelmpi"):
        left = compiled_table.load(kind)
        rules = [rule for sides in left.values() for found in sides.values() for rule in found]
        assert rules
        assert all(rule[0] < rule[1] and rule[2] <= rule[3] for rule in rules)


def test_lacuna_cc_is_told(tmp_path, monkeypatch):
    file = tmp_path / "t.json"
    empty = {side: [] for side in compiled_table.SIDES}
    left = dict.fromkeys(compiled_table.PATTERNS, empty)
    left = left | {"listed": {"send": [[0, 8, 100, 200]], "receive": []}}
    file.write_text(json.dumps({"lacuna_compiled_table": 1, "left": left}))
    monkeypatch.setenv(compiled_table.TABLE, str(file))
    options = compiled_table.pass_options(compiled_table.load("mpich"), compiled_table.preloads())
    assert options[:2] == ["-lacuna-most=67108864", "-lacuna-left=listed/send/0/8/100/200"]
    for_preload = r"-lacuna-left=\w+/(send|receive)/0/\d+/4097/\d+/preload"
    assert len(options) == 10
    assert all(re.fullmatch(for_preload, option) for option in options[2:])
    file.write_text("{}")
    with pytest.raises(LacunaError, match="no table for compiled code"):
        compiled_table.load("mpich")
    monkeypatch.setenv(compiled_table.TABLE, "none")
    assert compiled_table.load("mpich") == compiled_table.preloads() == {}
