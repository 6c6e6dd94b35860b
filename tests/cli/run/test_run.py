# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna run`: the command line for each launcher, and programs that really run."""

import json
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import BUILD, COMMAND, MPI_ROOT, one_line_error, preload, program

from lacuna.base import paths
from lacuna.launch import detect

HYDRA = MPI_ROOT / "mpich" / "bin" / "mpiexec"
INTEL = MPI_ROOT / "intelmpi" / "bin" / "mpirun"
OPEN_MPI = MPI_ROOT / "openmpi" / "bin" / "mpirun"
OTHER = str(paths.without_blanks(BUILD / "lib" / "liblacuna.so"))  # any that can be preloaded


@pytest.fixture(autouse=True)
def no_options_from_outside(monkeypatch):
    """What is set goes to the ranks, and the tests below say what does."""
    for name in ("LACUNA_PROFILE", "LACUNA_TABLE"):
        monkeypatch.delenv(name, raising=False)


def dry(lacuna, *words, **environment):
    result = lacuna("run", "--dry-run", *words, **environment)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return shlex.split(result.stdout)


@pytest.mark.parametrize("launcher", [HYDRA, INTEL, MPI_ROOT / "mpich/bin/mpiexec.gforker"])
def test_hydra(lacuna, launcher):
    words = [str(launcher), "-n", "2", str(program("mpich")), "-x", "-n"]
    ours = ["-genv", "LACUNA_DIRECT", "1", "-genv", "LD_PRELOAD", str(preload("mpich"))]
    assert dry(lacuna, *words) == [words[0], *ours, *words[1:]]
    assert dry(lacuna, "--", *words) == [words[0], *ours, *words[1:]]


def test_the_standard_abi_under_hydra(lacuna):
    words = dry(lacuna, HYDRA, "-n", 2, program("mpiabi"))
    assert words[4:7] == ["-genv", "LD_PRELOAD", str(preload("mpiabi"))]


def test_open_mpi_gets_it_for_each_program(lacuna):
    ours = ["-x", f"LD_PRELOAD={preload('ompi')}"]
    app = str(program("ompi"))
    words = dry(lacuna, OPEN_MPI, "-n", 1, app, "a", ":", "-n", 1, app, "b")
    assert words == [str(OPEN_MPI), *ours, "-n", "1", app, "a", ":", *ours, "-n", "1", app, "b"]


def test_hydra_needs_it_once_for_several_programs(lacuna):
    app = str(program("mpich"))
    words = dry(lacuna, HYDRA, "-n", 1, app, ":", "-n", 1, app)
    ours = ["-genv", "LD_PRELOAD", str(preload("mpich"))]
    assert words == [str(HYDRA), *ours, "-n", "1", app, ":", "-n", "1", app]


def test_options_and_the_environment_reach_the_ranks(lacuna):
    words = dry(lacuna, "--isa", "avx2", "--log", HYDRA, program("mpich"), LACUNA_POOL_MB="7")
    assert words[:2] == ["LACUNA_ISA=avx2", "LACUNA_LOG=1"]
    text = " ".join(words)
    for name, value in [("ISA", "avx2"), ("LOG", "1"), ("POOL_MB", "7")]:
        assert f"-genv LACUNA_{name} {value}" in text
    words = dry(lacuna, "--disable", OPEN_MPI, program("ompi"))
    assert "-x LACUNA_DISABLE=1" in " ".join(words)


def test_another_preload_stays_behind_ours(lacuna):
    words = dry(lacuna, HYDRA, program("mpich"), LD_PRELOAD=f"{OTHER}:{OTHER}")
    assert f"{preload('mpich')}:{OTHER}:{OTHER}" in words
    words = dry(lacuna, HYDRA, "-env", "LD_PRELOAD", "/lib/a.so", program("mpich"))
    assert words[7:10] == ["-env", "LD_PRELOAD", f"{preload('mpich')}:/lib/a.so"]
    words = dry(lacuna, OPEN_MPI, "-x", "LD_PRELOAD=/lib/a.so", program("ompi"))
    ours = ["-x", "LACUNA_DIRECT=1", "-x", f"LD_PRELOAD={preload('ompi')}:/lib/a.so"]
    assert words[1:] == [*ours, str(program("ompi"))]


def test_another_of_our_own_preloads_is_replaced(lacuna):
    others = f"{preload('ompi')}:{OTHER}:{preload('mpich')}"
    words = dry(lacuna, HYDRA, program("mpich"), LD_PRELOAD=others)
    assert f"{preload('mpich')}:{OTHER}" in words
    words = dry(lacuna, OPEN_MPI, "-x", f"LD_PRELOAD={preload('mpich')}", program("ompi"))
    assert f"LD_PRELOAD={preload('ompi')}" in words


def test_a_launcher_of_another_mpi_is_told_of(lacuna):
    for launcher, family in ((HYDRA, "ompi"), (OPEN_MPI, "mpich")):
        app = program(family)
        result = lacuna("run", "--dry-run", launcher, "-n", 2, app)
        assert result.returncode == 0 and str(preload(family)) in result.stdout
        (line,) = result.stderr.splitlines()
        assert f"{app} is linked to" in line and f"{launcher} is the launcher of" in line


@pytest.mark.parametrize("words", [[HYDRA, "-n", 2], []])
def test_an_mpi_that_is_not_the_program_s_is_refused(lacuna, words):
    result = lacuna("run", "--mpi", "openmpi", *words, program("mpich"))
    one_line_error(result, 2, "--mpi openmpi, but", "leave out --mpi, or give --mpi mpich")
    dry(lacuna, "--mpi", "intelmpi", *words, program("mpich"))


def test_what_is_no_option_is_told_of(lacuna):
    one_line_error(lacuna("run", "--isa", "avx9", HYDRA, "true"), 2, "--isa: avx9", "avx512, neon")
    assert "LACUNA_ISA=avx3" in dry(lacuna, "--isa", "avx3", HYDRA, program("mpich"))
    wrong = {"LACUNA_DIRCT": "1", "LACUNA_POOL_MB": "-5", "LACUNA_PIPELINE": "always"}
    wrong |= {"LACUNA_LOG": "1", "LACUNA_DISTANCE": "turns", "LACUNA_GPU_IPC": "no"}
    result = lacuna("run", "--dry-run", HYDRA, program("mpich"), **wrong)
    assert result.returncode == 0
    pool, pipeline, direct = result.stderr.splitlines()
    assert direct == "lacuna run: LACUNA_DIRCT is not an option; did you mean LACUNA_DIRECT?"
    assert pool.startswith("lacuna run: LACUNA_POOL_MB=-5 is not understood: it must be")
    assert pipeline.startswith("lacuna run: LACUNA_PIPELINE=always is not understood: it must be")


@pytest.mark.parametrize("name", ["LACUNA_TABLE", "LACUNA_PROFILE"])
def test_files_that_are_not_here_are_told_of(lacuna, tmp_path, name):
    """The ranks say so in the log alone, and use defaults."""
    words = ("run", "--dry-run", HYDRA, program("mpich"))
    told = lacuna(*words, **{name: "no.json"}).stderr
    assert told.startswith(f"lacuna run: {name}=no.json: there is no such file") and "; " in told
    (tmp_path / "here.json").write_text("{}")
    for value in ("here.json", "none", ""):
        assert lacuna(*words, **{name: value}).stderr == ""


def test_programs_that_no_preload_reaches_are_told_of(lacuna, tmp_path):
    static = tmp_path / "static"
    words = ["cc", "-static", "-x", "c", "-", "-o", str(static)]
    subprocess.run(words, input="int main(void) { return 0; }", text=True, check=True)
    result = lacuna("run", HYDRA, "-n", 1, static)
    assert result.returncode == 0
    assert f"lacuna does not reach {static}: it is linked statically" in result.stderr
    one_line_error(lacuna("run", static), 2, "no MPI found", "linked statically", "lacuna docs run")
    own = "int PMPI_Init(void) { return 0; } int main(void) { return PMPI_Init(); }"
    subprocess.run([words[0], *words[2:]], input=own, text=True, check=True)
    result = lacuna("run", HYDRA, "-n", 1, static)
    assert f"does not reach {static}: it contains the MPI library statically" in result.stderr
    # With lacuna in it, nothing needs to reach it.
    own = f"char lacuna_interposed[] = {{1}}; {own}"
    subprocess.run([words[0], *words[2:]], input=own, text=True, check=True)
    assert lacuna("run", HYDRA, "-n", 1, static).stderr == ""


def test_what_the_loader_preloads_nothing_into(tmp_path, monkeypatch):
    app = tmp_path / "app"
    app.write_bytes(program("mpich").read_bytes())
    app.chmod(0o755)
    assert detect.unreached(app) is None
    app.chmod(0o4755)
    assert detect.unreached(app) is None  # it is our own
    monkeypatch.setattr(os, "getuid", lambda: app.stat().st_uid + 1)
    assert "setuid" in detect.unreached(app)
    app.chmod(0o755)
    names = []
    monkeypatch.setattr(os, "getxattr", lambda path, name: names.append((path, name)))
    assert "capabilities" in detect.unreached(app)
    assert names == [(app, "security.capability")]
    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert detect.unreached(app) is None  # of root the loader ignores nothing then
    monkeypatch.undo()
    assert detect.unreached(tmp_path / "none") is None


def test_srun(lacuna, script):
    srun, app = str(script("bin/srun", "#!/bin/sh\n")), str(program("ompi"))
    preloaded = f"LD_PRELOAD={preload('ompi')}"
    ours = f"LACUNA_DIRECT=1,{preloaded}"
    assert dry(lacuna, srun, "-n4", app) == [srun, f"--export=ALL,{ours}", "-n4", app]
    words = dry(lacuna, srun, "-N", 2, "--export=NONE", app, LACUNA_LOG="1")
    assert words == [srun, "-N", "2", f"--export=LACUNA_DIRECT=1,LACUNA_LOG=1,{preloaded}", app]
    words = dry(lacuna, srun, "--export", "ALL,A=1,LD_PRELOAD=/x.so", app)
    assert words == [srun, "--export", f"ALL,A=1,{ours}:/x.so", app]
    # With ALL, srun passes its environment on: a list could not carry a comma.
    (Path(srun).parents[1] / "a,b.json").write_text("{}")
    words = dry(lacuna, srun, app, LACUNA_TABLE="a,b.json", LACUNA_DIRECT="0")
    assert words == [srun, f"--export=ALL,{preloaded}", app]
    words = dry(lacuna, srun, "--export=ALL,LACUNA_LOG=0", app, LACUNA_LOG="1")
    assert words == [srun, f"--export=ALL,LACUNA_LOG=0,{ours}", app]
    words = dry(lacuna, srun, app, SLURM_EXPORT_ENV="NONE", LACUNA_LOG="1")
    assert words == [srun, f"--export=LACUNA_DIRECT=1,LACUNA_LOG=1,{preloaded}", app]
    result = lacuna("run", "--dry-run", srun, "--export=A", app, LACUNA_TABLE="a,b.json")
    assert result.returncode == 2 and "comma in LACUNA_TABLE: a,b.json" in result.stderr


def test_srun_starts_programs_of_any_mpi(lacuna, script):
    srun = script("bin/srun", "#!/bin/sh\n")
    for family in ("mpich", "ompi", "mpiabi"):
        assert str(preload(family)) in dry(lacuna, srun, program(family))[1]
    result = lacuna("run", "--dry-run", srun, "/bin/true")
    assert result.returncode == 2 and "--mpi" in result.stderr


@pytest.mark.parametrize(
    ("answer", "family"),
    [
        ("HYDRA build details:", "mpich"),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.19", "mpich"),
        ("mpirun (Open MPI) 5.0.11", "ompi"),
        ("mpirun (OpenRTE) 4.1.4", "ompi"),
        ("mpirun (PRRTE) 3.0", "ompi"),
    ],
)
def test_a_script_is_of_its_launcher_s_mpi(lacuna, script, answer, family):
    launcher = script("bin/mpirun", f"#!/bin/sh\necho '{answer}'\n")
    start = script("start.sh", "#!/bin/sh\nexit 0\n")
    assert str(preload(family)) in " ".join(dry(lacuna, launcher, "-np", 2, start))


def test_wrappers_are_looked_through(lacuna):
    words = dry(lacuna, HYDRA, "-n", 2, "env", "A=1", "nice", "-n", 5, program("mpiabi"), "x")
    assert words[6] == str(preload("mpiabi"))
    words = dry(lacuna, HYDRA, "--some-new-option", "its-value", program("mpiabi"))
    assert words[6] == str(preload("mpiabi"))


def test_the_direct_path_needs_lacuna_in_all_ranks(lacuna, script):
    app = str(program("mpich"))
    start = script("start.sh", "#!/bin/sh\nexit 0\n")
    for words in ((app, ":", "-n", 1, app), (start,), ("sh", "-c", app), ("-configfile", "x")):
        assert "LACUNA_DIRECT" not in " ".join(
            dry(lacuna, "--mpi", "mpich", HYDRA, "-n", 1, *words)
        )
    words = dry(lacuna, HYDRA, "-n", 2, app, LACUNA_DIRECT="0")
    assert "-genv LACUNA_DIRECT 0" in " ".join(words)
    words = dry(lacuna, HYDRA, "-n", 2, start, LACUNA_DIRECT="1")
    assert "-genv LACUNA_DIRECT 1" in " ".join(words)


def test_python_tells_which_mpi_mpi4py_loads(lacuna, script, tmp_path):
    # A stand-in for mpi4py whose extension module is linked to Open MPI.
    extension = tmp_path / "extension"
    script("mpi4py/__init__.py", "class rc: pass\n")
    script("mpi4py/MPI.py", f"__file__ = {str(extension)!r}\n")
    extension.symlink_to(program("ompi"))
    srun = script("bin/srun", "#!/bin/sh\n")
    words = dry(lacuna, srun, "python3", "-m", "mpi4py", PYTHONPATH=str(tmp_path))
    assert str(preload("ompi")) in words[1]
    start = script("job.py", "#!/usr/bin/env python3\n")
    words = dry(lacuna, srun, "-n", 2, start, PYTHONPATH=str(tmp_path))
    assert str(preload("ompi")) in words[1]


def test_a_program_alone(lacuna):
    library_path = str(MPI_ROOT / "mpich" / "lib")
    words = dry(lacuna, program("mpich"), "a", LD_LIBRARY_PATH=library_path)
    assert words == [f"LD_PRELOAD={preload('mpich')}", str(program("mpich")), "a"]
    words = dry(lacuna, "--mpi", "openmpi", "./anything", LD_PRELOAD=OTHER)
    assert words == [f"LD_PRELOAD={preload('ompi')}:{OTHER}", "./anything"]


def test_libraries_whose_path_ld_preload_cannot_hold(lacuna, script, tmp_path):
    folder = tmp_path / "a place: f\u00fcr alles"
    folder.mkdir()
    (folder / "liblacuna-mpich.so").symlink_to(preload("mpich").resolve())
    start = script("start.sh", '#!/bin/sh\necho "$LD_PRELOAD"\n')
    of_user = {"XDG_CACHE_HOME": str(folder), "TMPDIR": str(tmp_path)}
    for where in ({"XDG_CACHE_HOME": str(tmp_path / "cache")}, of_user, of_user):
        result = lacuna("run", "--mpi", "mpich", start, LACUNA_LIBRARY_DIR=str(folder), **where)
        assert (result.returncode, result.stderr) == (0, "")  # the loader tells what it cannot load
        named = Path(result.stdout.removesuffix("\n"))
        assert named.samefile(preload("mpich"))
        assert not set(" :") & set(str(named))
    # Where others may write is no place for it.
    (tmp_path / f"lacuna-{os.getuid()}").chmod(0o777)
    result = lacuna("preload", "--mpi", "mpich", LACUNA_LIBRARY_DIR=str(folder), **of_user)
    one_line_error(result, 3, "blank or colon", folder)


def test_exit_codes_pass_through(lacuna, script):
    # A shell is no MPI program: the library is loaded there too and must not mind.
    start = script("start.sh", '#!/bin/sh\necho "$LD_PRELOAD"\nexit 7\n')
    result = lacuna("run", "--mpi", "mpich", start)
    assert (result.returncode, result.stdout) == (7, f"{preload('mpich')}\n"), result.stderr
    assert result.stderr == ""


def test_signals_pass_through(script):
    start = script(
        "start.sh", "#!/bin/sh\ntrap 'exit 9' TERM\necho ready\nwhile :; do sleep 0.1; done\n"
    )
    process = subprocess.Popen(
        [COMMAND, "run", "--mpi", "mpich", start], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + 20
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert process.returncode == 9


@pytest.mark.parametrize(
    ("launcher", "prefix", "family"),
    [
        (HYDRA, "mpich", "mpich"),
        (HYDRA, "mpich", "mpiabi"),
        (INTEL, "intelmpi", "mpich"),
        (INTEL, "intelmpi", "mpiabi"),
        (OPEN_MPI, "openmpi", "ompi"),
        ("mpirun.openmpi", None, "ompi"),
    ],
)
def test_the_library_is_in_the_ranks(lacuna, tmp_path, launcher, prefix, family):
    options = ["--oversubscribe"] if family == "ompi" else []
    words = [launcher, *options, "-n", 2, program(family)]
    environment = {}
    if prefix:  # as its module or vars.sh would; Intel's mpirun starts the mpiexec.hydra of PATH
        environment["LD_LIBRARY_PATH"] = str(MPI_ROOT / prefix / "lib")
        environment["PATH"] = f"{MPI_ROOT / prefix / 'bin'}:{os.environ['PATH']}"
    arguments = ["--out", tmp_path / "out", "--n", "16", "--repetitions", 1]
    result = lacuna("run", *words, *arguments, **environment)
    assert result.returncode == 0, result.stderr
    lines = (tmp_path / "out").read_text().splitlines()
    assert json.loads(lines[0])["lacuna_loaded"] is True
    assert json.loads(lines[-1])["kind"] == "end"


def test_the_launcher_itself_is_not_preloaded(lacuna, script):
    launcher = script(
        "bin/mpirun",
        '#!/bin/sh\n[ "$1" = --version ] && { echo HYDRA; exit; }\necho "${LD_PRELOAD-unset} $*"\n',
    )
    result = lacuna("run", launcher, "-n", 1, program("mpich"))
    assert result.stdout.startswith("unset -genv LACUNA_DIRECT 1 -genv LD_PRELOAD"), result.stderr
    assert "LD_PRELOAD" not in os.environ
