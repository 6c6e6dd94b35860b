# SPDX-License-Identifier: BSD-3-Clause
"""What a user is told: the report of a job, and differences found by verification."""

import functools
import json
import re
import shlex
from datetime import datetime, timezone

import pytest
from conftest import MPI_ROOT, one_line_error, program
from rich.console import Console
from topics import MPIS, TYPE, launch

from lacuna import VERSION
from lacuna.base.errors import Exit, LacunaError
from lacuna.launch import run
from lacuna.report import job as job_report
from lacuna.report.command import report as report_files


def row(report, function, text=TYPE):
    """The one row of a function and a type."""
    found = [
        row
        for row in report["rows"]
        if row["function"] == function and report["types"][row["type"]]["text"] == text
    ]
    assert len(found) == 1, report["rows"]
    return found[0]


def check_calls(report, ranks, family):
    """What topic report_calls does, in each rank."""
    column, plain, anew = TYPE, "contiguous(32, double)", "vector(32, 1, 7, double)"
    assert (report["ranks"], report["reporting_ranks"]) == (ranks, ranks)
    send = row(report, "MPI_Send")
    assert (send["calls"], send["handled"], send["declined"]) == (100 * ranks, 100 * ranks, {})
    assert (send["bytes_handled"], send["ranks"]) == (100 * ranks * 256, ranks)
    assert 0 < send["slowest_rank_seconds"] <= send["pack_seconds"]
    assert send["unpack_seconds"] == 0
    assert send["advice"] == []
    contiguous = row(report, "MPI_Send", plain)
    assert contiguous["declined"] == {"contiguous": 10 * ranks}
    assert contiguous["bytes_declined"] == 10 * ranks * 256
    assert "the type is contiguous" in contiguous["advice"][0]
    assert row(report, "MPI_Send", None)["declined"] == {"no data, or not examined": 5 * ranks}
    packed = row(report, "MPI_Pack", anew)
    assert packed["handled"] == 50 * ranks
    assert "make it once" in packed["advice"][0]
    assert report["types"][packed["type"]]["made"] == 50 * ranks
    assert report["types"][send["type"]]["made"] == ranks
    for function in ("MPI_Isend", "MPI_Irecv"):
        assert row(report, function)["handled"] == 20 * ranks
    assert row(report, "MPI_Irecv")["unpack_seconds"] > 0  # though it was unpacked in MPI_Waitall
    assert row(report, "MPI_Bcast", column)["handled"] == ranks
    functions = {row["function"] for row in report["rows"]}
    assert functions == {"MPI_Send", "MPI_Pack", "MPI_Isend", "MPI_Irecv", "MPI_Bcast"}


@pytest.mark.parametrize(("mpi", "ranks"), [("mpich", 5), ("openmpi", 2), ("intelmpi", 4)])
def test_a_report_counts_what_was_called(tmp_path, lacuna, mpi, ranks):
    file = tmp_path / "report.json"
    result = launch(mpi, ranks, "test", "report_calls", environment={"LACUNA_REPORT": str(file)})
    assert "lacuna" not in result.stderr
    report = json.loads(file.read_text())
    check_calls(report, ranks, MPIS[mpi])
    header = report["provenance"]
    assert (header["kind"], header["format"]) == ("job", 1)
    assert header["program"] == f"interpose_test_{MPIS[mpi]}"
    age = datetime.now(timezone.utc) - datetime.fromisoformat(header["date"])
    assert 0 <= age.total_seconds() < 600
    assert [name.name for name in tmp_path.iterdir()] == ["report.json"]
    shown = lacuna("report", file)
    assert shown.returncode == 0
    assert f"{ranks} ranks" in shown.stdout
    assert "the type is contiguous" in " ".join(shown.stdout.split())


@pytest.mark.parametrize("mpi", ["mpich", "openmpi", "intelmpi"])
def test_collectives_without_gaps_are_predefined(tmp_path, mpi):
    file = tmp_path / "report.json"
    environment = {"LACUNA_REPORT": str(file), "LACUNA_DIRECT": "1"}
    launch(mpi, 2, "test", "--perhaps", "report_votes", environment=environment)
    report = json.loads(file.read_text())
    for function, calls in (("MPI_Bcast", 7), ("MPI_Allgather", 3)):
        assert row(report, function, None)["declined"] == {"predefined": calls * 2}


def test_the_table_on_stderr(tmp_path):
    result = launch("mpiabi", 2, "test", "report_calls", environment={"LACUNA_REPORT": "1"})
    lines = result.stderr.splitlines()
    assert all(line.startswith("lacuna: ") for line in lines), lines
    assert re.match(r"lacuna: report of 2 ranks of interpose_test_mpiabi on .*, [\d.]+ s", lines[0])
    sends = [line for line in lines if re.match(r"lacuna: MPI_Send +200 +200 +50\.0 KiB", line)]
    assert len(sends) == 1
    assert sends[0].endswith(TYPE)


@pytest.mark.parametrize(("mpi", "direct"), [("openmpi", "0"), ("mpich", "1")])
def test_types_are_bounded_and_declining_has_its_reason(tmp_path, mpi, direct):
    file = tmp_path / "report.json"
    options = {"LACUNA_REPORT": str(file), "LACUNA_ALWAYS": "0", "LACUNA_DIRECT": direct}
    launch(mpi, 2, "test", "report_many_types", environment=options)
    report = json.loads(file.read_text())
    assert len(report["types"]) == 256
    packed = [row for row in report["rows"] if row["function"] == "MPI_Pack"]
    assert sum(row["calls"] for row in packed) == 1024
    sent = row(report, "MPI_Send", "vector(32, 1, 6, double)")
    assert (sent["calls"], sent["declined"]["new type, small message"]) == (24, 16)
    assert sum(found["made"] for found in report["types"] if found["text"] is None) == 494
    kept = row(report, "MPI_Pack", "vector(32, 1, 7, double)")
    assert (kept["handled"], kept["declined"]) == (8, {"new type, small message": 16})
    others = row(report, "MPI_Pack", None)
    assert (others["calls"], others["declined"]) == (494, {"new type, small message": 494})
    declined = row(report, "MPI_Pack", "vector(4, 256, 512, double)")
    assert declined["declined"] == {"the library is as fast": 2}
    assert "2048 bytes" in declined["advice"][0]


def test_a_receive_that_found_its_data_in_shared_memory_is_told_of(tmp_path):
    file = tmp_path / "report.json"
    options = {"LACUNA_REPORT": str(file), "LACUNA_ALWAYS": "0", "LACUNA_DIRECT": "1"}
    launch("openmpi", 2, "test", "direct_exchange", environment=options)
    report = json.loads(file.read_text())
    received = row(report, "MPI_Sendrecv_replace", "vector(4096, 1, 3, double)")
    assert received["handled"] == 0 and received["unpack_seconds"] > 0
    assert "came through shared memory" in received["advice"][0]
    # MPI_Sendrecv: the send is handled, and the receive is not reported as one for which the
    # library is as fast.
    options["LACUNA_REPORT"] = "1"
    result = launch("openmpi", 2, "test", "direct_exchange", environment=options)
    lines = result.stderr.splitlines()
    both = [
        at for at, line in enumerate(lines) if re.match(r"lacuna: MPI_Sendrecv +\d+ +[1-9]", line)
    ]
    assert any(re.match(r"lacuna:     \d+ receives are not counted", lines[at + 1]) for at in both)


def log(mpi, **options):
    environment = {"LACUNA_LOG": "1"} | options
    # (The program itself fails where lacuna is off.)
    result = launch(mpi, 2, "test", "report_calls", environment=environment, check=False)
    return [line for line in result.stderr.splitlines() if line.startswith("lacuna[")]


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_the_log_says_that_lacuna_is_on(mpi):
    lines = log(mpi, LACUNA_DIRECT="1", LACUNA_DISTANCE="turns")  # the old name of `alternate`
    assert not any("LACUNA_DISTANCE" in line for line in lines)
    (on,) = [line for line in lines if ": on: lacuna " in line]
    assert on.startswith(f"lacuna[0]: on: lacuna {VERSION} under ") and "; table: shipped" in on
    assert re.search(r", 2 ranks; CPU: [a-z0-9-]+ \((family \d+ model \d+|AArch64)\); table: ", on)
    on = on.removesuffix("; inside the library, too")  # Open MPI
    assert on.endswith("; shared-memory path on")
    # A type that is made 50 times is logged once by each rank.
    for rank in (0, 1):
        told = [line for line in lines if line.startswith(f"lacuna[{rank}]: vector(32, 1, 7, doub")]
        assert len(told) == len(set(told)) > 0


def test_the_log_says_why_lacuna_is_off_and_which_options_are_none():
    assert log("mpich", LACUNA_DISABLE="1") == ["lacuna[0]: off: LACUNA_DISABLE is set"]
    lines = log("mpich", LACUNA_ISA="avx9", LACUNA_POOL="1", LACUNA_LIBRARY_DIR="/none")
    for rank in (0, 1):
        told = [line for line in lines if line.startswith(f"lacuna[{rank}]: LACUNA_")]
        name, isa = sorted(told, reverse=True)
        assert name.endswith("LACUNA_POOL is not an option; did you mean LACUNA_POOL_MB?")
        assert "LACUNA_ISA=avx9 is not available here; " in isa
    (on,) = [line for line in lines if ": on: " in line]
    assert on.endswith("; shared-memory path off (LACUNA_DIRECT is not set)")
    lines = log(
        "mpich",
        LACUNA_DIRECT="0",
        LACUNA_DISTANCE="near",
        LACUNA_COSTS="1",
        LACUNA_THREADS="2 ",
        LACUNA_CPU="zen9",
    )
    for sentence in (
        "LACUNA_DISTANCE=near is not understood: it must be close, far or alternate; ",
        "LACUNA_CPU=zen9 is not understood: it must be generic, golden-cove, ",
        "LACUNA_COSTS has no effect without LACUNA_REPORT; remedy: ",
        "LACUNA_THREADS=2  is not understood: it must be an integer from 1 to 256; 1 is used",
    ):
        assert len([line for line in lines if f"]: {sentence}" in line]) == 2
    assert any(line.endswith("; shared-memory path off (LACUNA_DIRECT=0)") for line in lines)


def test_a_rank_without_lacuna_hangs_nobody(tmp_path):
    for mpi in ("mpich", "openmpi"):
        file = tmp_path / f"{mpi}.json"
        options = {"LACUNA_REPORT": str(file), "LACUNA_REPORT_WAIT": "1"}
        launch(mpi, 3, "test", "report_calls", environment=options, without=(2,), check=False)
        report = json.loads(file.read_text())
        assert (report["ranks"], report["reporting_ranks"]) == (3, 1)
        assert row(report, "MPI_Send")["handled"] == 100


def test_no_finalize(tmp_path):
    file = tmp_path / "report.json"
    options = {"LACUNA_REPORT": str(file)}
    launch("mpich", 2, "test", "report_no_finalize", environment=options, check=False)
    report = json.loads(file.read_text())
    assert report["reporting_ranks"] == 1
    assert row(report, "MPI_Sendrecv")["handled"] == 1


def test_a_report_that_cannot_be_written_is_told_of(tmp_path):
    options = {"LACUNA_REPORT": str(tmp_path / "nowhere" / "report.json")}
    result = launch("mpich", 2, "test", "report_calls", environment=options)
    assert re.fullmatch(
        r"lacuna\[0\]: LACUNA_REPORT: cannot write .*: No such file or directory; remedy: .*\n",
        result.stderr,
    )


def test_the_option_of_the_command(lacuna, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def understood(*words):
        return run.with_report_value(["run", *words, "mpirun", "--report", "-n", "2", "./app"])

    for words in (["--report"], ["--mpi", "mpich", "--report"], ["--report", "--log"]):
        expected = [word.replace("--report", "--report=1") for word in words]
        assert understood(*words)[1 : len(words) + 1] == expected
    assert understood("--report", "a.json")[1:3] == ["--report=a.json", "mpirun"]
    assert understood("--report=b")[1:4] == ["--report=b", "mpirun", "--report"]
    assert run.report_option("a.json") == str(tmp_path / "a.json")
    assert run.report_option("out/a.json", dry_run=True) == str(tmp_path / "out/a.json")
    assert not (tmp_path / "out").exists()
    run.report_option("out/a.json")
    assert (tmp_path / "out").is_dir()
    assert run.report_option("1") == "1"
    command = [MPI_ROOT / "mpich" / "bin" / "mpiexec", "-n", 2, program("mpich")]
    result = lacuna("run", "--dry-run", "--report", "--verify", *command)
    for option in ("LACUNA_REPORT", "LACUNA_VERIFY"):
        assert f"-genv {option} 1" in result.stdout, result.stderr


def test_files_that_cannot_be_shown_together(lacuna, tmp_path):
    def write(name, **header):
        (tmp_path / name).write_text(json.dumps({"provenance": header, "rows": []}))
        return tmp_path / name

    def refused(files, output=None):
        with pytest.raises(LacunaError) as error:
            report_files(files, output)
        assert error.value.code == Exit.USAGE
        return str(error.value)

    write("job.json", kind="job", format=1)
    write("apps.json", kind="apps")
    result = lacuna("report", "job.json", "apps.json")
    kinds = ("job.json (lacuna run --report)", "apps.json (lacuna bench apps)")
    one_line_error(result, 2, "lacuna report", "two kinds", *kinds)
    assert "--output" in result.stderr
    assert "9.9" in refused([write("new.json", kind="job", format=2, lacuna="9.9")])
    assert "lacuna run --report" in refused([write("other.json", kind="jobs")])
    assert not (tmp_path / "lacuna-report").exists()


@pytest.mark.parametrize("mpi", ["mpich", "openmpi", "mpiabi"])
def test_verification_finds_a_wrong_byte(lacuna, mpi):
    options = {"LACUNA_VERIFY": "1"}
    result = launch(mpi, 2, "faults", "verify_finds_wrong_bytes", environment=options)
    lines = result.stderr.splitlines()
    found = [line for line in lines if "the library as" in line]
    for rank, verb, functions in (
        (0, "packs", ("MPI_Send", "MPI_Isend", "MPI_Send_init", "MPI_Pack", "MPI_Bcast")),
        (1, "unpacks", ("MPI_Recv", "MPI_Irecv", "MPI_Recv_init", "MPI_Unpack")),
    ):
        for function in functions:
            pattern = rf"lacuna\[{rank}\]: LACUNA_VERIFY: {function}: {verb} byte 0 of \d+ as \d+, "
            assert sum(bool(re.match(pattern, line)) for line in found) == 1, (function, lines)
    assert len(found) == 9
    again = shlex.split(found[0].split("reproduce: ")[1])
    assert again[:2] == ["lacuna", "bench"]
    compared = lacuna(*again[1:], "--mpi", mpi)  # here the library is right
    assert (compared.returncode, compared.stdout[:6]) == (0, "1 rows"), compared.stderr
    assert sum("differences" in line for line in lines) == 2


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
@pytest.mark.parametrize("disabled", ["1", "0"])
def test_a_fatal_error_ends_the_job(mpi, disabled):
    options = {"LACUNA_DISABLE": disabled}
    result = launch(mpi, 2, "test", "errors_fatal", environment=options, check=False)
    assert result.returncode != 0
    assert "survived" not in result.stdout
    assert "errors_fatal:" not in result.stdout  # the line that ends a topic


def job_of(rows):
    """A document of two ranks; `rows`: function, reasons for declining, advice."""
    return {
        "provenance": {
            "kind": "job",
            "format": 1,
            "program": "app",
            "library": "MPI",
            "date": "today",
        },
        "ranks": 2,
        "reporting_ranks": 2,
        "seconds": 1,
        "types": [{"text": None}, {"text": TYPE}],
        "rows": [
            {
                "function": function,
                "type": 1,
                "calls": 3,
                "handled": 2,
                "declined": declined,
                "bytes_handled": 8,
                "bytes_declined": 8,
                "pack_seconds": 0,
                "unpack_seconds": 0,
                "advice": told,
            }
            for function, declined, told in rows
        ],
    }


def test_what_could_be_done_is_told_below_the_table(capsys):
    advice = (
        "commit the type once, before the loop: " + "a sentence that has no room in a column " * 2
    )
    job_report.show(job_of([("MPI_Send", {"contiguous": 1}, [advice]), ("MPI_Recv", {}, [])]))
    table, _, below = capsys.readouterr().out.partition("could be done:\n")
    assert "MPI_Send" in table and "MPI_Recv" in table and "contiguous" not in table
    lines = [line.strip() for line in below.splitlines()]
    assert lines == [f"MPI_Send, {TYPE}", "1 contiguous", advice.strip()]


@pytest.mark.parametrize("width", [40, 80])
def test_names_of_functions_are_whole_on_a_narrow_terminal(monkeypatch, capsys, width):
    console = functools.partial(Console, width=width, force_terminal=True, color_system=None)
    monkeypatch.setattr(job_report, "Console", console)
    name = "MPI_Neighbor_alltoallw_init"
    job_report.show(job_of([(name, {}, []), ("MPI_Send", {}, [])]))
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split()[:1] == [name] for line in lines)
    (heads,) = [line.split() for line in lines if "function" in line]
    assert heads == ["function", "type", "calls", "handled", "data", "packing", "s"]  # no GB/s


def test_what_a_device_has_moved_is_told(capsys):
    report = job_of([("MPI_Send", {}, []), ("MPI_Recv", {}, [])])
    report["rows"][0]["bytes_on_device"] = 4096
    job_report.show(report)
    below = capsys.readouterr().out.partition("could be done:\n")[2]
    lines = [line.strip() for line in below.splitlines()]
    assert lines == [f"MPI_Send, {TYPE}", "4.0 KiB packed and unpacked on a device"]


def test_a_file_with_the_old_names_is_shown(capsys, tmp_path):
    report = job_of([("MPI_Send", {"new, and few data": 1}, [])])
    for row in report["rows"]:
        row |= {"taken": row.pop("handled"), "bytes_taken": row.pop("bytes_handled")}
    (tmp_path / "old.json").write_text(json.dumps(report))
    report_files([tmp_path / "old.json"], None)
    shown = " ".join(capsys.readouterr().out.split())
    assert f"MPI_Send {TYPE} 3 2 16 B" in shown and "1 new type, small message" in shown
