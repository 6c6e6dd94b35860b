# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna tune --compiled` as a person calls it, and that lacuna-cc goes by what it wrote."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import COMMAND, CPU_ROWS, MPI_ROOT, ROOT, launch_words, run_quietly

from lacuna import engine
from lacuna.base import paths
from lacuna.compiler import table as compiled_table

HERE = Path(__file__).resolve().parent
LONG = 900  # seconds: two ranks on one core, beside other tests

pytestmark = pytest.mark.skipif(
    shutil.which("clang-19") is None, reason="no clang-19; remedy: setup/setup.sh optimizer"
)


def lacuna_cc(mpi, *words):
    """Compiles as the command does that is installed; what the compiler said."""
    done = subprocess.run(
        [sys.executable, "-m", "lacuna.compiler.start", "--mpi", mpi, "-O2", *map(str, words)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def told(mpi):
    """The rules that the pass is given, but for those of programs that find the preload."""
    said = lacuna_cc(mpi, "-###", "-c", HERE / "left_alone.c")
    rules = set(re.findall(r'"-lacuna-left=([^"]*)"', said))
    return sorted(rule for rule in rules if not rule.endswith("/preload"))


def rules_of(file):
    """Those of a table, as the pass has them."""
    table = json.loads(Path(file).read_text())
    left = table["left"]
    left.setdefault("nested", left["strided"])  # as tables say it that do not tell the two apart
    rules = [
        f"{pattern}/{side}/{'/'.join(map(str, rule))}"
        for pattern, sides in left.items()
        for side, found in sides.items()
        for rule in found
    ]
    for begin, end in table.get("apart", []):
        rules += [f"{p}/send/0/{1 << 30}/{begin}/{end}/apart" for p in compiled_table.PATTERNS]
    return sorted(rules)


def is_in(cell, rules):
    """Whether one of the rules holds for what was measured."""
    return any(
        rule[0] < cell["run"] <= rule[1] and rule[2] <= cell["bytes"] <= rule[3] for rule in rules
    )


SIZES = "compiled._QUICK_SIZES"
# Two sizes of each shape, or all.
START = "from lacuna.cli import main; from lacuna.tune import compiled"
FEW = ["-c", f"{START}; {SIZES} = [4096, 32768]; main.main()"]
ALL = [str(COMMAND)]


@pytest.mark.parametrize(
    ("mpi", "command"),
    [
        ("mpich", FEW),
        pytest.param("mpich", ALL, marks=pytest.mark.depth),
        pytest.param("openmpi", ALL, marks=pytest.mark.depth),
    ],
)
def test_what_is_written_is_what_is_used(mpi, command, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shipped = compiled_table.place(mpi)
    assert told(mpi) == rules_of(shipped)  # and is kept, for the next time
    done = subprocess.run(
        [
            sys.executable,
            *command,
            "tune",
            "--compiled",
            "--quick",
            "--seconds",
            "0.001",
            "--mpi",
            mpi,
        ],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    own = tmp_path / "cache" / "lacuna" / f"compiled-{mpi}.json"
    assert json.loads(own.read_text())["rows"] == [engine.machine()["row"]["name"]]
    assert done.stderr.splitlines()[-1] == f"wrote {own}"
    table = json.loads(own.read_text())
    cells = table["evidence"]["shared"]
    assert {cell["pattern"] for cell in cells} == set(compiled_table.PATTERNS)
    lanes = set(compiled_table.LANES)
    assert all([set(start) for start in cell["starts"]] == [lanes] * 2 for cell in cells)
    assert all(cell["shape"] in done.stdout for cell in cells)
    for cell in cells:
        for number, side in enumerate(compiled_table.SIDES):
            one = compiled_table.Cell(**cell)
            if any(begin <= one.bytes <= end for begin, end in table["apart"]):
                one = one.sent_apart()
            gain = one.gain(number)
            # The file has rounded speeds.
            if all(abs(one.gain(k) - compiled_table.LEAST_GAIN) > 0.01 for k in range(number + 1)):
                is_left = is_in(cell, table["left"][cell["pattern"]][side])
                assert is_left == (gain > compiled_table.LEAST_GAIN), (cell, side)
    assert told(mpi) == rules_of(own)
    own.unlink()
    assert told(mpi) == rules_of(shipped)


@pytest.mark.parametrize("row", CPU_ROWS)
@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_the_shipped_table_is_the_rows(mpi, row, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LACUNA_CPU", row)
    end = "-zen.json" if row.startswith("zen") else ".json"
    assert told(mpi) == rules_of(ROOT / "optimizer" / "tables" / f"{mpi}{end}")


def test_an_output_is_used_where_it_is_named(tmp_path, monkeypatch):
    """A table in another place changes nothing until LACUNA_COMPILED_TABLE names it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    table = rule_table(tmp_path / "t.json", "strided", "send", [8, 64, 1, 2])
    before = told("mpich")
    assert "strided/send/8/64/1/2" not in before
    monkeypatch.setenv(compiled_table.TABLE, str(table))
    assert told("mpich") == ["strided/send/8/64/1/2"]
    monkeypatch.delenv(compiled_table.TABLE)
    (tmp_path / "cache" / "lacuna").mkdir(exist_ok=True)
    shutil.copy(table, tmp_path / "cache" / "lacuna" / "compiled-mpich.json")
    assert told("mpich") == ["strided/send/8/64/1/2"]


def rule_table(file, pattern, side, rule):
    """A table of one rule."""
    left = {name: {one: [] for one in compiled_table.SIDES} for name in compiled_table.PATTERNS}
    left[pattern][side] = [rule]
    file.write_text(json.dumps({"lacuna_compiled_table": compiled_table.FORMAT, "left": left}))
    return file


def test_the_table_for_programs_under_the_preload(tmp_path, monkeypatch):
    """Of any MPI: what is larger than 4 KiB is left to it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv(compiled_table.TABLE, "preload")
    wanted = rules_of(ROOT / "optimizer" / "tables" / "preload.json")
    assert told("mpich") == told("openmpi") == wanted
    assert f"strided/send/0/{1 << 30}/4097/{1 << 30}" in wanted
    assert len(wanted) == len(compiled_table.PATTERNS) * len(compiled_table.SIDES)


def counted(mpi, folder, source, *options):
    """What lacuna-cc says of a program that prints the counts of its messages; and the program."""
    program, counting = folder / "p", folder / "counted.o"
    wrapper = paths.without_blanks(MPI_ROOT / mpi / "bin") / "mpicc"
    subprocess.run([wrapper, "-O2", "-c", HERE / "counted.c", "-o", counting], check=True)
    return lacuna_cc(mpi, *options, HERE / source, counting, "-o", program), program


@pytest.mark.parametrize("pattern", ["strided", "nested"])
@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_a_rule_is_obeyed(mpi, pattern, tmp_path, monkeypatch):
    """Columns, or planes, of 1024 bytes are the library's, those of 128 are packed: also by the run
    time."""
    table = rule_table(tmp_path / "t.json", pattern, "send", [7, 64, 1000, 2000])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv(compiled_table.TABLE, str(table))
    said, program = counted(mpi, tmp_path, "left_alone.c", "-Rpass-missed=lacuna")
    is_left = "1024 bytes are moved as well by the MPI library (`lacuna tune`)" in said
    assert is_left == (pattern == "strided")  # no plane's size is in the text
    words, environment = launch_words(mpi, "ompi" if mpi == "openmpi" else "mpich")
    done = run_quietly([*words, "-n", "1", program, "16", "125", "124", "128"], environment)
    # Packed: so many doubles; left to the library: one of the type.
    wanted = ["16: 16", f"128: {1 if pattern == 'strided' else 128}"]
    for n, is_left in ((16, False), (125, True), (124, False), (128, True)):
        wanted.append(f"{n}: {1 if is_left and pattern == 'strided' else n}")
        even = n // 2 * 2
        is_left = even * 8 >= 1000
        wanted.append(f"{even}: {1 if is_left and pattern == 'nested' else even}")
    assert done.stdout.splitlines() == wanted, done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_a_program_finds_the_preload(mpi, tmp_path, monkeypatch):
    """What is larger than 4 KiB is left to it while it is there, and switched on."""
    table = rule_table(tmp_path / "t.json", "strided", "send", [7, 64, 1, 2])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv(compiled_table.TABLE, str(table))
    said, program = counted(mpi, tmp_path, "preloaded.c", "-Rpass=lacuna")
    assert said.count("MPI_Send specialized") == said.count("MPI_Recv specialized") == 2
    words, environment = launch_words(mpi, "ompi" if mpi == "openmpi" else "mpich")
    words += ["-n", "2", program, "16", "512", "513", "4096"]
    alone = ["16: 16", "512: 512", "513: 513", "4096: 4096"] + ["1024: 1024"] * 3
    done = run_quietly(words, environment)
    assert done.stdout.splitlines() == alone, done.stderr
    under = [str(COMMAND), "run", *words]
    done = run_quietly(under, environment)
    wanted = ["16: 16", "512: 512", "513: 1", "4096: 1", "1024: 1", "1024: 1024", "1024: 1"]
    assert done.stdout.splitlines() == wanted, done.stderr
    done = run_quietly(under, environment | {"LACUNA_DISABLE": "1"})
    assert done.stdout.splitlines() == alone, done.stderr
