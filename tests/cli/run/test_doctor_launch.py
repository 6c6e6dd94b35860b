# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna doctor -- LAUNCHER... PROGRAM`: its checks on made-up launches, and real ones."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BUILD, MPI_ROOT, launch_words, preload, program
from made_up import FAR, LIBRARY, LOST, OFF, OTHER, RANK, findings, is_like

from lacuna.launch import launchers
from lacuna.launch.check import facts, launch, probe, start
from lacuna.launch.check.facts import Program
from lacuna.launch.check.finding import FAULT, OK, WARNING
from lacuna.launch.check.start import Rank, Started

GOOD = Program("a.out", Path("/a.out"), family="mpich", soname="libmpi.so.12", library=LIBRARY)


def changed(facts, **values):
    return dataclasses.replace(facts, **values)


@pytest.mark.parametrize(
    ("values", "level", "word"),
    [
        ({}, OK, "linked dynamically"),
        ({"is_linked_to_us": True, "unreached": "static"}, OK, "needs no preload"),
        ({"is_linked_to_us": True, "contains_mpi": True}, OK, "shared memory is not used"),
        ({"contains_mpi": True, "family": None}, FAULT, "link it dynamically, or link lacuna in"),
        ({"is_script": True, "family": None}, WARNING, "is a script"),
        ({"family": None}, WARNING, "not linked to a known MPI"),
        ({"unreached": "it is linked statically"}, FAULT, "linked statically"),
        ({"unreached": "it runs with the rights of another user (setuid)"}, FAULT, "setuid"),
        ({"opens_mpi": True, "family": None}, FAULT, "dlopen"),
        ({"path": None}, FAULT, "no program a.out"),
        ({"wrong": "not a program", "remedy": "give one"}, FAULT, "not a program"),
    ],
)
def test_program(values, level, word):
    is_like(launch.program(changed(GOOD, **values)), level, word)


def test_a_program_whose_mpi_is_named():
    wrong = changed(GOOD, wrong="not a program", family=None)
    is_like(launch.program(wrong, is_named=True), WARNING, "not a program")
    is_like(launch.program(changed(GOOD, family=None), is_named=True), OK, "linked dynamically")


def test_library_and_abi():
    is_like(launch.library(GOOD, RANK.version), OK, "5.0.2", str(LIBRARY))
    unknown = changed(GOOD, family=None)
    is_like(launch.library(unknown, ""), WARNING, "--mpi")
    is_like(launch.library(unknown, RANK.version), WARNING, "the launcher's is MPICH")
    is_like(launch.library(changed(GOOD, library=None), ""), FAULT, "LD_LIBRARY_PATH")
    is_like(launch.abi("ompi", Path("/l/x.so"), "build"), OK, "Open MPI's ABI", "/l/x.so")
    is_like(launch.abi(None, None, "build"), WARNING, "--mpi")
    is_like(launch.abi("mpich", None, "build"), FAULT, "liblacuna-mpich.so is not found", "build")


def test_launcher():
    is_like(launch.launcher("hydra", "/b/mpiexec", "mpich", "mpiabi"), OK, "/b/mpiexec (hydra)")
    is_like(launch.launcher("srun", "/b/srun", None, "ompi"), OK)
    is_like(launch.launcher("hydra", "/b/mpiexec", "mpich", "ompi"), FAULT, "may run alone")


@pytest.mark.parametrize(
    ("started", "level", "word"),
    [
        (Started(0, (RANK, OTHER)), OK, "2 ranks on 1 node,"),
        (Started(0, (RANK, FAR)), OK, "2 ranks on 2 nodes,"),
        (Started(0), WARNING, "no rank's output"),
        (Started(None, (RANK, LOST)), FAULT, "1 of 2 came through MPI_Init"),
        (Started(1, (RANK, LOST), ("wrong library",)), FAULT, "exit code 1: wrong library"),
        (Started(1, first_words=("as bad", "as can be")), FAULT, "as bad as can be"),
        (Started(1, first_words=("will not run as root",)), FAULT, "OMPI_ALLOW_RUN_AS_ROOT=1"),
        (Started(1, (changed(LOST, why="no libmpi"),)), FAULT, "no libmpi"),
        (Started(0, (changed(RANK, size=1), changed(OTHER, size=1))), FAULT, "runs alone"),
    ],
)
def test_start(started, level, word):
    is_like(launch.start(started), level, word)


def test_preload_and_environment():
    bare = changed(FAR, libraries=(str(LIBRARY),), preload="", options=())
    is_like(launch.preload([RANK, OTHER], "mpich"), OK, "in all ranks")
    is_like(launch.preload([RANK, bare], "mpich"), FAULT, "1 of 2", "n2", "does not reach")
    replaced = changed(bare, options=RANK.options)
    is_like(launch.preload([RANK, replaced], "mpich"), FAULT, "though other variables do", "script")
    named = changed(bare, preload=RANK.preload)
    is_like(launch.preload([RANK, named], "mpich"), FAULT, "though LD_PRELOAD names it")
    is_like(launch.environment([RANK, OTHER]), OK)
    is_like(launch.environment([RANK, changed(FAR, passed_on=False)]), WARNING, "lacuna run")
    is_like(launch.environment([RANK, bare]), FAULT, "export LD_PRELOAD")


def test_tools_and_complaints(tmp_path):
    is_like(launch.tools(GOOD, [], []), OK, "no other library")
    is_like(
        launch.tools(changed(GOOD, tools=("libmpiP.so",)), [], ["b.so"]), OK, "b.so, libmpiP.so"
    )
    is_like(launch.tools(GOOD, ["a.so"], []), WARNING, "a.so is loaded before lacuna")
    # A file with MPI functions that has no name of an MPI library.
    tool = tmp_path / "libtool.so"
    shutil.copy(MPI_ROOT / "mpich/lib/libmpi.so.12", tool)
    ours = preload("mpich")
    value = f"{ours}:{tool}:/lib/x86_64-linux-gnu/libm.so.6"
    assert facts.preloaded_tools(value) == ([], [str(tool)])
    assert facts.preloaded_tools(f"{tool} {ours}") == ([str(tool)], [])
    said = launch.complaints(
        [OFF, "pipelined messages off: why", "LACUNA_DRECT is not an option", "x; remedy: y"]
    )
    assert [(one.level, one.found) for one in said] == [
        (WARNING, "LACUNA_DRECT is not an option"),
        (WARNING, "x"),
    ]
    assert said[1].remedy == "y"


def test_what_is_read_of_an_output():
    first = {"stage": "loaded", "host": "a", "pid": 5, "preload": "x", "options": ["LACUNA_LOG"]}
    text = "\n".join(
        [
            "-----",
            f"[1,0]<stdout>:{probe.MARK}{json.dumps(first)}",
            f"{probe.MARK}{json.dumps({'stage': 'started', 'host': 'a', 'pid': 5, 'rank': 1})}",
            f"{probe.MARK}{{broken}}",
            "lacuna[0]: on: x",
            "[0] lacuna[0]: on: x",
            "the launcher says this",
        ]
    )
    started = start.read(3, text)
    rank = Rank("a", 5, rank=1, preload="x", options=("LACUNA_LOG",))
    assert started == Started(3, (rank,), ("on: x",), ("the launcher says this",))


def test_the_probe_is_in_the_place_of_the_program():
    words = ["mpiexec", "-n", "2", "./a", "-n", ":", "-unknown", sys.executable, "b"]
    made = start.with_probe(launchers.HYDRA, words, ["probe", "x"])
    assert made == ["mpiexec", "-n", "2", "probe", "x", ":", "-unknown", "probe", "x"]
    assert start.with_probe(launchers.HYDRA, ["mpiexec", "-configfile", "f"], ["p"]) is None
    assert start.with_probe(None, ["./a", "1"], ["probe"]) == ["probe"]
    words = ["lacuna", "run", "--report", "r.json", "--mpi", "mpich", "mpiexec", "./a"]
    assert start.without_lacuna_run(words) == (["mpiexec", "./a"], "mpich")
    words = ["lacuna", "run", "--mpi=openmpi", "--log", "mpiexec", "./a"]
    assert start.without_lacuna_run(words) == (["mpiexec", "./a"], "openmpi")
    assert start.without_lacuna_run(["lacuna", "run", "--", "./a"]) == (["./a"], None)
    assert start.without_lacuna_run(["./lacuna"]) == (["./lacuna"], None)


def test_a_launcher_that_hangs_is_ended():
    started = start.start(["sleep", "60"], os.environ, 0.2)
    assert started.code is None
    is_like(launch.start(started), FAULT, "did not end in time")


@pytest.mark.parametrize(
    ("mpi", "family", "version"),
    [
        ("mpich", "mpich", "MPICH Version: 5"),
        ("openmpi", "ompi", "Open MPI v5"),
        ("intelmpi", "mpich", "Intel(R) MPI Library"),
        ("mpiabi", "mpiabi", "MPICH Version: 5"),
    ],
)
def test_a_launch(lacuna, mpi, family, version):
    words, environment = launch_words(mpi, family)
    words += ["-n", "2", program(family)]
    result = lacuna("doctor", "--json", "--", *words, **environment)
    assert result.returncode == 0, (result.stdout, result.stderr)
    found = findings(result)
    assert version in found["MPI library"]["found"]
    assert f"liblacuna-{family}.so" in found["ABI"]["found"]
    assert found["start"]["found"].startswith("2 ranks on 1 node")
    assert found["preload"]["level"] == OK
    assert found["shared-memory path"]["found"] == "on"
    assert found["lacuna"]["level"] == OK
    page = lacuna("doctor", "--", *words, **environment).stdout.splitlines()
    assert page[0] == "this machine"
    assert page[-1].startswith("no faults, ")
    assert any(line.split()[:2] == ["ok", "preload"] for line in page)


def test_faults_of_a_launch(lacuna, tmp_path):
    words, environment = launch_words("mpich", "mpich")
    words += ["-n", "2"]
    # The MPI library is not found.
    result = lacuna("doctor", "--json", "--", *words, program("mpich"))
    assert result.returncode == 1
    assert findings(result)["MPI library"]["level"] == FAULT
    assert "libmpi.so.12" in findings(result)["start"]["found"]
    # A static program, which no preload reaches.
    source, static = tmp_path / "empty.c", tmp_path / "static"
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run(["cc", "-static", source, "-o", static], check=True)
    result = lacuna("doctor", "--json", "--", *words, static, **environment)
    assert result.returncode == 1
    assert "linked statically" in findings(result)["program"]["found"]
    assert "link it to lacuna" in findings(result)["program"]["remedy"]
    # One that contains the MPI library: the probe's log would say that lacuna is on.
    source.write_text("int PMPI_Init(void) { return 0; } int main(void) { return PMPI_Init(); }\n")
    subprocess.run(["cc", source, "-o", static], check=True)
    result = lacuna("doctor", "--json", "--", *words, static, **environment)
    assert result.returncode == 1
    assert "contains the MPI library statically" in findings(result)["program"]["found"]
    assert "lacuna" not in findings(result)
    # So does this one, with lacuna.
    linked = BUILD / "bin" / "interpose_static_debian_mpich"
    if linked.exists():
        result = lacuna("doctor", "--json", "--", *words, linked, **environment)
        assert result.returncode == 0
        assert "lacuna is linked into it" in findings(result)["program"]["found"]
    # Another MPI library is named than the program's.
    result = lacuna("doctor", "--json", "--mpi", "openmpi", "--", *words, program("mpich"))
    assert result.returncode == 1
    assert "leave out --mpi, or give --mpi mpich" in findings(result)["ABI"]["remedy"]
    # lacuna is off, a table does not fit, and an option has a typing error.
    off = {"LACUNA_DISABLE": "1", "LACUNA_TABLE": str(source), "LACUNA_DRECT": "1"}
    result = lacuna("doctor", "--json", "--", *words, program("mpich"), **environment, **off)
    assert result.returncode == 1
    assert findings(result)["lacuna"]["found"] == "off: LACUNA_DISABLE is set"
    result = lacuna("doctor", "--json", LACUNA_DRECT="1", LACUNA_POOL_MB="-5")
    told = json.loads(result.stdout)["sections"][0]["findings"]
    (options,) = (one for one in told if one["check"] == "options")
    assert options["level"] == WARNING
    assert "did you mean LACUNA_DIRECT?" in options["found"]
    assert "LACUNA_POOL_MB=-5 is not understood" in options["found"]
    # No program, and a launcher that is not known.
    for command, check in (([*words], "program"), (["aprun", "./a"], "launcher")):
        result = lacuna("doctor", "--json", "--", *command)
        assert result.returncode == 1
        assert findings(result)[check]["level"] == FAULT
    result = lacuna("doctor", "--json", "--", "./nosuch")
    assert (result.returncode, findings(result)["program"]["level"]) == (1, FAULT)


def test_a_launcher_that_clears_the_environment(lacuna, script):
    folder = MPI_ROOT / "mpich/lib"
    clear = f'exec env -i LD_LIBRARY_PATH="{folder}" "$@"'
    launcher = script(
        "bin/mpirun",
        '#!/bin/sh\n[ "$1" = --version ] && { echo HYDRA; exit; }\n'
        f'while [ "$1" = -genv ]; do shift 3; done\nshift 2\n{clear}\n',
    )
    words = ("doctor", "--json", "--", launcher, "-n", "1", program("mpich"))
    result = lacuna(*words, LD_LIBRARY_PATH=str(folder))
    assert result.returncode == 1
    found = findings(result)
    assert found["start"]["level"] == OK, found["start"]
    for check in ("preload", "environment", "lacuna"):
        assert found[check]["level"] == FAULT
    assert "does not reach" in found["preload"]["found"]


# Slurm's --export, by MPICH's launcher: Slurm itself is not here.
SRUN = """#!/bin/sh
IFS=,; for one in ${1#--export=ALL,}; do export "$one"; done; unset IFS; shift
CHANGE
exec "LAUNCHER" "$@"
"""


@pytest.mark.parametrize("change", ["", "unset LD_PRELOAD"])
def test_srun(lacuna, script, change):
    words, environment = launch_words("mpich", "mpich")
    text = SRUN.replace("CHANGE", change).replace("LAUNCHER", str(words[0]))
    launcher = script("bin/srun", text)
    words = ("doctor", "--json", "--", launcher, "-n", 2, program("mpich"))
    result = lacuna(*words, **environment)
    found = findings(result)
    assert found["launcher"]["found"] == f"{launcher} (srun)"
    if change:
        assert result.returncode == 1
        assert "though other variables do" in found["preload"]["found"]
    else:
        assert result.returncode == 0, result.stdout
        assert found["preload"]["level"] == found["environment"]["level"] == OK
        assert found["shared-memory path"]["found"] == "on"


def test_programs_of_several_kinds(lacuna, script, tmp_path):
    words, environment = launch_words("mpich", "mpich")
    words += ["-n", "1"]
    # One that opens the MPI library itself.
    source, opens = tmp_path / "opens.c", tmp_path / "opens"
    source.write_text(
        '#include <dlfcn.h>\nint main(void) { return dlopen("libmpi.so.12", RTLD_NOW) == 0; }\n'
    )
    subprocess.run(["cc", source, "-o", opens, "-ldl"], check=True)
    result = lacuna("doctor", "--json", "--", *words, opens, **environment)
    assert (result.returncode, findings(result)["program"]["level"]) == (1, FAULT)
    assert "dlopen" in findings(result)["program"]["found"]
    # A script, and one that is looked through.
    start_script = script("start.sh", "#!/bin/sh\n")
    result = lacuna("doctor", "--json", "--", *words, start_script, **environment)
    assert (result.returncode, findings(result)["program"]["level"]) == (0, WARNING)
    assert findings(result)["preload"]["level"] == OK
    result = lacuna("doctor", "--json", "--", *words, "env", program("mpich"), **environment)
    assert (result.returncode, findings(result)["program"]["level"]) == (0, OK)
    # Of two MPI libraries.
    both = [*words, program("mpich"), ":", "-n", "1", program("ompi")]
    result = lacuna("doctor", "--json", "--", *both, **environment)
    assert (result.returncode, findings(result)["ABI"]["level"]) == (1, FAULT)
    # Linked to lacuna.
    linked = tmp_path / "linked"
    source.write_text("int main(void) { return 0; }\n")
    flags = ["-Wl,--no-as-needed", preload("mpich"), f"-Wl,-rpath,{BUILD / 'lib'}"]
    undefined = "-Wl,--unresolved-symbols=ignore-in-shared-libs"
    subprocess.run(["cc", source, "-o", linked, *flags, undefined], check=True)
    result = lacuna("doctor", "--json", "--", *words, linked, **environment)
    assert "needs no preload" in findings(result)["program"]["found"]


def test_warnings_of_a_launch(lacuna, tmp_path):
    words, environment = launch_words("mpich", "mpich")
    bad = {"LACUNA_TABLE": str(tmp_path / "none.json"), "LACUNA_DRECT": "1", "LACUNA_DIRECT": "0"}
    report = tmp_path / "report.json"
    result = lacuna(
        *("doctor", "--json", "--", "lacuna", "run", "--log", *words, "-n", "2", program("mpich")),
        **environment,
        **bad,
        LACUNA_REPORT=str(report),
    )
    assert result.returncode == 0, result.stdout
    found = findings(result)
    assert found["table"]["level"] == WARNING
    assert "LACUNA_DRECT" in found["log"]["found"]
    assert "unset LACUNA_DIRECT" in found["shared-memory path"]["remedy"]
    assert not report.exists()  # the probe's is not the user's


def test_each_mpi_library_without_a_launch(lacuna):
    result = lacuna("doctor")
    assert result.returncode == 0, (result.stdout, result.stderr)
    for title in ("this machine", "MPICH, ", "Open MPI, ", "Intel MPI, "):
        assert any(line.startswith(title) for line in result.stdout.splitlines())
    assert result.stdout.count("in all ranks") >= 3


def test_the_probe_needs_nothing_of_ours():
    folder = Path(probe.__file__).parent
    result = subprocess.run(
        [sys.executable, "-I", folder / "probe.py", "mpich", BUILD / "no_such_library.so"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    rank = start.read(1, result.stdout).ranks[0]
    assert "no_such_library" in rank.why
