# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna costs misses`: the simulation against cachegrind, against an LRU that is written out, and
against the cost model."""

import json
import os
import shutil

import pytest
from conftest import MPI_ROOT, one_line_error

from lacuna.base.errors import LacunaError
from lacuna.bench.preload import calls as preload_calls
from lacuna.costs import cachegrind as costs_cachegrind
from lacuna.costs import misses as costs_misses
from lacuna.messages import program

LINE, PAGE = 64, 4096
L1, L2, L3 = (8 << 10, 4, LINE), (32 << 10, 8, LINE), (128 << 10, 16, LINE)
TLB, TLB2 = 16, 48
WORDS = ["--l1", "8192,4,64", "--l2", "32768,8,64", "--l3", "131072,16,64"]
WORDS += ["--tlb", str(TLB), "--tlb2", str(TLB2)]


class Naive:
    """Lists of what was used, the last one last; a level is asked when the one before misses."""

    def __init__(self, levels):
        self.levels = [
            (max(size // (ways * unit), 1), ways, unit, {}) for size, ways, unit in levels
        ]
        self.misses = [0] * len(levels)

    def use(self, address):
        for i, (sets, ways, unit, kept) in enumerate(self.levels):
            number = address // unit
            used = kept.setdefault(number % sets, [])
            is_hit = number in used
            if is_hit:
                used.remove(number)
            used.append(number)
            del used[:-ways]
            if is_hit:
                return
            self.misses[i] += 1


def naive(pairs, turns, levels=(L1, L2, L3)):
    """Misses by level, of the last of so many turns, of (memory, packed) places of 8 bytes."""
    caches = Naive(levels)
    tlbs = Naive([(TLB * PAGE, TLB, PAGE), (TLB2 * PAGE, TLB2, PAGE)])
    for _ in range(turns):
        for one in (caches, tlbs):
            one.misses = [0] * len(one.misses)
            for pair in pairs:
                for address in pair:
                    one.use(address)
    return caches.misses + tlbs.misses


@pytest.mark.parametrize("count", [60, 700, 5000])
@pytest.mark.parametrize("stride", [2, 16, 65, 700])
def test_the_levels_are_those_of_an_lru_that_is_written_out(count, stride):
    _, (packing, unpacking) = costs_misses.measure(
        [("x", 1, f"vector({count}, 1, {stride}, double)")], WORDS
    )
    span = -(-((count - 1) * stride * 8 + 8) // PAGE) * PAGE
    pairs = [(i * stride * 8, span + i * 8) for i in range(count)]
    for line, way in ((packing, pairs), (unpacking, [(b, a) for a, b in pairs])):
        for turns, state in ((1, "cold"), (2, "warm")):
            found = line["simulated"][state]
            assert [costs_misses.total(found[name]) for name in costs_misses.LEVELS] == naive(
                way, turns
            )


def test_each_level_has_lines_of_its_own_length():
    count, stride = 700, 16
    words = ["--l2", "32768,8,128", "--l3", "131072,16,256"]
    _, (packing, _) = costs_misses.measure(
        [("x", 1, f"vector({count}, 1, {stride}, double)")], [*WORDS, *words]
    )
    span = -(-((count - 1) * stride * 8 + 8) // PAGE) * PAGE
    pairs = [(i * stride * 8, span + i * 8) for i in range(count)]
    found = packing["simulated"]["cold"]
    assert [costs_misses.total(found[name]) for name in costs_misses.LEVELS] == naive(
        pairs, 1, (L1, (32 << 10, 8, 128), (128 << 10, 16, 256))
    )


def test_lists_are_read_in_the_order_of_the_list():
    places = [900, 3, 70_000, 3000, 12, 69_000]
    text = f"indexed_block(1, {places}, double)".replace("'", "")
    _, (packing, _) = costs_misses.measure([("x", 1, text)], WORDS)
    found = packing["simulated"]["cold"]["l3"]
    # Six lines (3 and 12 are in different ones), the list's own two at the most, and one packed.
    assert 6 <= found["reads"] <= 8 and found["writes"] == 1


# valgrind takes seconds for each.
@pytest.mark.parametrize(
    "row",
    [
        pytest.param(
            row, id=row[0], marks=[] if row[0] in ("rows", "indexed") else pytest.mark.depth
        )
        for row in costs_misses.SHAPES
    ],
)
def test_cachegrind_says_the_same(row):
    for one in costs_cachegrind.agreements([row]):
        assert sum(one.cachegrind) > 500
        assert one.off <= costs_cachegrind.MOST_OFF, one


def test_cachegrind_would_say_if_it_were_not(monkeypatch):
    monkeypatch.setattr(costs_cachegrind, "LAST", (128 << 10, 8, LINE))  # not what is simulated
    row = ("x", 2, "contiguous(100, resized(0, 8, vector(150, 1, 100, double)))")
    monkeypatch.setattr(
        costs_cachegrind, "WORDS", ["--l1", "1024,2,64", "--l2", "2048,2,64", "--l3", "0"]
    )
    assert next(iter(costs_cachegrind.agreements([row]))).off > costs_cachegrind.MOST_OFF


def test_what_is_interrupted_would_leave_no_pipes(script, tmp_path, monkeypatch):
    """Those by which gdb could ask valgrind, which are gone when it has ended and not before."""
    instead = script(
        "bin/valgrind",
        f"""#!/usr/bin/env python3
import itertools, subprocess, sys
options = itertools.takewhile(lambda word: word.startswith("--"), sys.argv[1:])
with open({str(tmp_path / "seen")!r}, "a") as seen:
    list_it = ["ls", "-a", {str(tmp_path)!r}]
    subprocess.run([{shutil.which("valgrind")!r}, *options, *list_it], stdout=seen)
sys.exit(1)
""",
    )
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("PATH", f"{instead.parent}:{os.environ['PATH']}")
    with pytest.raises(LacunaError):
        list(costs_cachegrind.agreements(costs_misses.SHAPES[:1]))
    preload_calls.count(program.bundled(["mpich"], MPI_ROOT)[0])
    seen = (tmp_path / "seen").read_text()
    assert seen.count("bin\n") >= 2  # cachegrind, and callgrind of one rank, which ends the job
    assert "vgdb" not in seen


def test_the_model_is_about_what_is_simulated():
    _, found = costs_misses.measure(costs_misses.SHAPES, costs_cachegrind.WORDS)
    for line in found:
        model, simulated = line["model"]["cold"], line["simulated"]["cold"]
        for level, off in (("l1", 0.1), ("l2", 0.1), ("tlb", 0.45)):
            wanted = costs_misses.total(simulated[level])
            assert model[level] == pytest.approx(wanted, rel=off), (line["id"], line["op"], level)


def test_large_messages_are_the_models_alone():
    row = ("x", 1, "vector(5000000, 1, 3, double)")
    _, (line, _) = costs_misses.measure([row], WORDS)
    assert "simulated" not in line
    assert line["model"]["cold"]["l3"] == pytest.approx(5_000_000 * 32 / LINE, rel=0.01)


def test_what_cannot_be_counted_is_said_with_why(lacuna, tmp_path):
    file = tmp_path / "misses.json"
    result = lacuna("costs", "misses", "vector(64, 1, 16, double)", "--count", "3", "--json", file)
    assert result.returncode == 0, result.stderr
    document = json.loads(file.read_text())
    assert document["provenance"]["kind"] == "misses"
    line = document["rows"][0]
    assert line["bytes"] == 3 * 64 * 8
    counters = {"cycles", "instructions", "loads", "stores", "l1_load_misses", "tlb_load_misses"}
    assert counters <= set(line["counted"]) | set(line["not_counted"])
    assert line["counted"].get("page_faults") == 0  # the kernel's own, there on every machine
    for why in line["not_counted"].values():
        assert why in result.stdout
    assert "simulated" in result.stdout and "model" in result.stdout


def test_what_is_wrong_is_said_in_a_line(lacuna):
    result = lacuna("costs", "misses", "vector(")
    assert result.returncode == 2 and "cannot read the type text" in result.stderr
    one_line_error(lacuna("costs", "misses", "double", "--l1", "7"), 2, "bad cache in --l1: 7")
