# SPDX-License-Identifier: BSD-3-Clause
"""Bad input of every kind: one line that names the remedy, and the right exit code."""

import json
import os
import shutil
import subprocess

import pytest
from conftest import COMMAND, MPI_ROOT, one_line_error, program, run_quietly

from lacuna import VERSION
from lacuna.base import results

USAGE, ENVIRONMENT = 2, 3


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ([], ["no command", "lacuna --help"]),
        (["nosuch"], ["nosuch", "lacuna --help"]),
        (["explain"], ["TYPE-TEXT", "lacuna explain --help"]),
        (["explain", "int", "--count", "x"], ["--count", "lacuna explain --help"]),
        (["explain", "int", "--count", "-1"], ["bad count", "-1"]),
        (["explain", "int", "--count", str(2**63)], ["bad count", str(2**63)]),
        (["explain", "int", "--count", str(2**62)], [str(2**62), "64 bits"]),
        (["machine", "--quick"], ["--quick", "add --measure"]),
        (["machine", "--output", "x.json"], ["--output", "add --measure"]),
        (["explain", "no.opt.yaml"], ["cannot read no.opt.yaml: No such file", "lacuna-cc"]),
        (["preload"], ["no MPI named", "--mpi", "mpich"]),
        (["preload", "--mpi", "lam"], ["unknown MPI", "lam", "openmpi"]),
        (["run"], ["no command", "lacuna run mpirun -n 2 ./program"]),
        (["run", "--"], ["no command"]),
        (["run", "--bogus", "x"], ["--bogus", "lacuna run --help"]),
        (["run", "--disable", "--report", "./a.out"], ["--disable", "--report"]),
        (["run", "--report", "out.txt", "./a.out"], ["no program out.txt", "*.json"]),
        (["run", "--mpi", "lam", "./a.out"], ["unknown MPI", "lam"]),
        (["run", "./nosuch"], ["no such program", "./nosuch", "--mpi"]),
        (["run", "nosuchprogram"], ["no program nosuchprogram", "PATH"]),
        (["run", "/bin/true"], ["no MPI found", "/bin/true", "--mpi"]),
        (["run", "aprun", "-n", "2", "./a.out"], ["unknown launcher", "aprun", "lacuna preload"]),
        (["bench"], ["lacuna bench --help"]),
        (["bench", "nosuch"], ["nosuch", "see lacuna bench --help"]),
        (["costs", "nosuch"], ["nosuch", "see lacuna costs --help"]),
        (["bench", "transpose", "--hosts", "a"], ["--hosts: a", "a,b"]),
        (["bench", "transpose", "--hosts", "a,"], ["--hosts: a,", "a,b"]),
        (["costs", "machine", "--hosts", "a,b,c"], ["--hosts: a,b,c", "a,b"]),
        (["tune", "--add"], ["--add", "--compiled"]),
        (["bench", "transpose", "--mpi", "lam"], ["unknown MPI", "lam", "intelmpi"]),
        (["bench", "transpose", "--n", "0"], ["bad order", "0", "16383"]),
        (["bench", "transpose", "--n", "x"], ["--n"]),
        (["bench", "transpose", "--repetitions", "0"], ["--repetitions", "1 or more"]),
        (["bench", "apps", "--seconds", "-1"], ["--seconds", "bench apps --help"]),
    ],
)
def test_usage_errors(lacuna, words, parts):
    one_line_error(lacuna(*words), USAGE, *parts)


def test_a_file_that_is_no_program(lacuna, tmp_path):
    (tmp_path / "notes.txt").write_text("not a program\n")
    one_line_error(lacuna("run", "./notes.txt"), USAGE, "not an executable", "chmod +x")
    (tmp_path / "notes.txt").chmod(0o755)
    one_line_error(lacuna("run", "./notes.txt"), USAGE, "neither an ELF file nor a script")
    hydra = MPI_ROOT / "mpich" / "bin" / "mpiexec"
    one_line_error(lacuna("run", hydra, "-n", 2, "./notes.txt"), USAGE, "neither an ELF file")


LONG = "x" * 300


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["run", LONG], USAGE),
        (["run", "mpirun", "-n", "2", f"./{LONG}"], USAGE),
        (["run", "--report", f"{LONG}.json", "/bin/true"], ENVIRONMENT),
        (["run", "--report", f"{LONG[:249]}.json", "/bin/true"], ENVIRONMENT),
        (["machine", "--measure", "--output", LONG], ENVIRONMENT),
        (["tune", "--output", LONG, "mpirun", "-n", "2"], ENVIRONMENT),
    ],
)
def test_names_that_are_too_long(lacuna, words, code):
    """They are errors of the user's, before anything starts."""
    result = lacuna(*words)
    one_line_error(result, code)
    assert "internal error" not in result.stderr


def test_a_folder_that_is_a_file(lacuna, tmp_path):
    (tmp_path / "a").write_text("")
    one_line_error(lacuna("run", "./a/program"), USAGE, "./a/program", "Not a directory")
    one_line_error(lacuna("machine", "--measure", "--output", "a/b"), ENVIRONMENT, "a")


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="no setpriv (util-linux)")
def test_programs_that_may_not_be_read(tmp_path, script):
    # Root may read everything, unless it gives up that right.
    asked = ["--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]
    gives_up = ["setpriv", *asked] if os.geteuid() == 0 else []

    def command_without_rights(*words):
        return run_quietly([*gives_up, str(COMMAND), *map(str, words)], {}, tmp_path)

    hidden = script("hidden/program", "#!/bin/sh\n")
    hidden.chmod(0o111)
    one_line_error(command_without_rights("run", hidden), USAGE, "cannot read", "--mpi")
    hidden.parent.chmod(0)
    result = command_without_rights("run", hidden)
    hidden.parent.chmod(0o755)
    one_line_error(result, USAGE, "no such program", "Permission denied", "--mpi")


def test_a_damaged_program(lacuna, script):
    script("broken", "\x7fELF and then nothing of the kind")
    one_line_error(lacuna("run", "./broken"), USAGE, "no MPI found", "./broken")


def test_a_launcher_without_a_program(lacuna):
    hydra = MPI_ROOT / "mpich" / "bin" / "mpiexec"
    one_line_error(lacuna("run", hydra, "-n", "2"), USAGE, "no program in the command")
    one_line_error(lacuna("run", hydra, "-n", "2", "./nosuch"), USAGE, "no such program")


@pytest.mark.parametrize("option", ["--log", "--report=job.json"])
def test_our_options_among_the_launchers(lacuna, option):
    """The launcher is started all the same: the last word on its options is its own."""
    hydra = MPI_ROOT / "mpich" / "bin" / "mpiexec"
    result = lacuna("run", "--dry-run", hydra, "-n", "2", option, program("mpich"), "--log")
    assert result.returncode == 0 and option in result.stdout
    assert result.stderr == (
        f"lacuna run: {option} is passed to the launcher; write it before {hydra}\n"
    )


def test_programs_of_several_mpi_libraries(lacuna):
    hydra = MPI_ROOT / "mpich" / "bin" / "mpiexec"
    result = lacuna("run", hydra, "-n", 1, program("mpich"), ":", "-n", 1, program("ompi"))
    one_line_error(result, USAGE, "several MPI libraries", "openmpi", "--mpi")


def test_an_mpi_that_is_not_there(lacuna):
    one_line_error(lacuna("run", program("mpich")), ENVIRONMENT, "libmpi.so.12", "LD_LIBRARY_PATH")
    one_line_error(lacuna("run", "mpirun.nosuch", "./x"), ENVIRONMENT, "no launcher", "PATH")
    result = lacuna("bench", "transpose", "--mpi-root", "nowhere")
    one_line_error(result, ENVIRONMENT, "no MPI library mpich in nowhere", "make")


def test_a_launcher_that_says_nothing_we_know(lacuna, script):
    launcher = script("bin/mpirun", "#!/bin/sh\necho My own launcher 1.0\n")
    one_line_error(lacuna("run", launcher, "./x"), USAGE, "unknown launcher", "lacuna preload")


def test_lacuna_not_built(lacuna, tmp_path):
    empty = {"LACUNA_LIBRARY_DIR": str(tmp_path)}
    one_line_error(lacuna("explain", "int", **empty), ENVIRONMENT, "liblacuna.so", "make")
    result = lacuna("preload", "--mpi", "mpich", **empty)
    one_line_error(result, ENVIRONMENT, "liblacuna-mpich.so", "make", tmp_path)
    result = lacuna("bench", "transpose", **empty)
    one_line_error(result, ENVIRONMENT, "lacuna-bench-transpose-mpich", "make")


def test_a_path_that_ld_preload_cannot_hold(lacuna, tmp_path):
    folder = tmp_path / "with blank"
    folder.mkdir()
    (folder / "liblacuna-mpich.so").write_text("")
    nowhere = {"XDG_CACHE_HOME": str(folder), "TMPDIR": str(folder)}
    result = lacuna("run", "--mpi", "mpich", "./x", LACUNA_LIBRARY_DIR=str(folder), **nowhere)
    one_line_error(result, ENVIRONMENT, "blank or colon", folder, "LACUNA_LIBRARY_DIR")


def test_a_library_that_is_none(lacuna, tmp_path):
    (tmp_path / "liblacuna.so.0").write_text("not a library")
    result = lacuna("explain", "int", LACUNA_LIBRARY_DIR=str(tmp_path))
    one_line_error(result, ENVIRONMENT, "cannot use", "liblacuna.so", "make")


@pytest.mark.parametrize("option", ["--json", "--csv"])
def test_a_place_that_cannot_be_written(lacuna, tmp_path, option):
    (tmp_path / "file").write_text("")
    result = lacuna("bench", "transpose", "--n", 8, option, "file/below.out")
    one_line_error(result, ENVIRONMENT, "cannot write", "give another place")
    result = lacuna("bench", "transpose", "--n", 8, option, ".")
    one_line_error(result, ENVIRONMENT, "cannot write .", "it is a folder")


# Before anything is measured, which would take minutes.
_WRITE = [
    "machine --measure --output",
    "machine --measure --plot",
    "bench transpose --json",
    "bench engine --csv",
    "bench apps --json",
    "bench papers --json",
    "bench preload --json",
    "bench compiled --json",
    "costs machine --json",
    "costs misses --json",
    "tune --output",
    "tune --compiled --mpi mpich --output",
    "run --report",
    "run --costs",
]


@pytest.mark.parametrize("words", _WRITE)
def test_such_a_place_is_refused_by_all(lacuna, tmp_path, words):
    is_launched = words.split()[0] in ("run", "tune") and "--compiled" not in words
    command = ["mpiexec.mpich", "-n", 1, program("mpich")] if is_launched else []
    (tmp_path / "file").write_text("")
    result = lacuna(*words.split(), "file/below.json", *command)
    one_line_error(result, ENVIRONMENT, "cannot write", "give another place")


def test_such_a_place_is_named_before_measuring(lacuna, tmp_path):
    # With one rank it would fail.
    one_rank = ["mpiexec.mpich", "-n", 1]
    result = lacuna("tune", "--output", ".", *one_rank)
    one_line_error(result, ENVIRONMENT, "cannot write .", "it is a folder")
    result = lacuna("tune", *one_rank, LACUNA_TABLE=str(tmp_path))
    one_line_error(result, ENVIRONMENT, f"cannot write {tmp_path}", "it is a folder")
    result = lacuna("tune", *one_rank, HOME="", XDG_CACHE_HOME="")
    one_line_error(result, ENVIRONMENT, "no place to keep the table", "--output")
    (tmp_path / "file").write_text("")
    result = lacuna("tune", *one_rank, XDG_CACHE_HOME=str(tmp_path / "file"))
    one_line_error(result, ENVIRONMENT, "cannot write", "file/lacuna")
    result = lacuna("machine", "--measure", "--output", ".")
    one_line_error(result, ENVIRONMENT, "cannot write .", "it is a folder")


def test_one_table_holds_one_library(lacuna, tmp_path):
    words = ["tune", "--mpi", "mpich", "--mpi", "openmpi", "--mpi-root", MPI_ROOT]
    one_line_error(lacuna(*words, "--output", "x"), USAGE, "one --output for several libraries")
    result = lacuna(*words, LACUNA_TABLE=str(tmp_path / "x"))
    one_line_error(result, USAGE, "one LACUNA_TABLE for several libraries", "--mpi")


JOB = {
    "provenance": {"kind": "job", "format": 1, "program": "p", "library": "l", "date": "d"},
    "ranks": 2,
    "reporting_ranks": 2,
    "seconds": 1,
    "types": [],
    "rows": [{"function": "MPI_Send", "type": 7, "pack_seconds": 0, "unpack_seconds": 0}],
}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["is no result of", "lacuna run --report", "lacuna costs machine"]),
        ("{", ["is no result of"]),
        ("[" * 100_000, ["is no result of"]),
        ('{"provenance": {"kind": "compiled"}, "rows": []}', ["is no result of"]),
        ('{"provenance": {"kind": "job", "format": 9}, "rows": []}', ["another version"]),
        ('{"provenance": {"kind": "apps"}, "rows": []}', ["is damaged", "IndexError"]),
        (json.dumps(JOB), ["is damaged", "KeyError"]),
    ],
)
def test_files_that_cannot_be_reported(lacuna, tmp_path, text, parts):
    (tmp_path / "a.json").write_text(text)
    one_line_error(lacuna("report", "a.json"), USAGE, "a.json", *parts)


def test_who_may_read_a_result_is_left_to_the_umask(tmp_path):
    for mask, mode in ((0o077, 0o600), (0o002, 0o664)):
        before = os.umask(mask)
        try:
            results.write_text(tmp_path / "result", "text")
        finally:
            os.umask(before)
        assert (tmp_path / "result").stat().st_mode & 0o777 == mode
    assert [path.name for path in tmp_path.iterdir()] == ["result"]


@pytest.mark.parametrize("words", [["machine"], ["explain", "int"], ["preload", "--mpi", "mpich"]])
def test_a_reader_that_stops_is_no_failed_check(words):
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run([COMMAND, *words], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (result.returncode, result.stderr) == (141, b"")


@pytest.mark.parametrize("words", [["machine"], ["explain", "int"], ["preload", "--mpi", "mpich"]])
def test_a_full_disk_is_no_defect(words):
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    result.stdout = ""
    one_line_error(result, ENVIRONMENT, "cannot write", "No space left", "free some space")


@pytest.mark.parametrize(
    "words", [["machine"], ["preload", "--mpi", "mpich"], ["--help"], ["run", "--help"]]
)
def test_closed_output_is_no_defect(words):
    shell = ["sh", "-c", 'exec "$@" >&-', "sh", COMMAND, *words]
    result = subprocess.run(shell, stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode == ENVIRONMENT
    assert "standard output is closed; give it a place" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_without_stderr_errors_are_not_among_the_results():
    shell = ["sh", "-c", 'exec "$@" 2>&-', "sh", COMMAND, "preload"]
    result = subprocess.run(shell, stdout=subprocess.PIPE, text=True, check=False)
    assert (result.returncode, result.stdout) == (USAGE, "")


def test_help_and_version(lacuna):
    assert lacuna("--version").stdout == f"lacuna {VERSION}\n"
    for words in (
        [],
        ["explain"],
        ["machine"],
        ["preload"],
        ["run"],
        ["bench"],
        ["bench", "transpose"],
    ):
        result = lacuna(*words, "--help")
        assert result.returncode == 0
        assert result.stdout.startswith("Usage: lacuna")
        assert result.stderr == ""


def test_preload_prints_only_the_path(lacuna):
    for name, family in [
        ("mpich", "mpich"),
        ("intelmpi", "mpich"),
        ("mvapich", "mpich"),
        ("openmpi", "ompi"),
        ("mpiabi", "mpiabi"),
    ]:
        result = lacuna("preload", "--mpi", name)
        assert result.returncode == 0, result.stderr
        assert result.stdout.endswith(f"/liblacuna-{family}.so\n")
        assert result.stdout.count("\n") == 1
