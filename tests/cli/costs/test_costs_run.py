# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna run --costs`: the time of a program's calls, by place and by piece."""

import ctypes
import json
import subprocess
from collections import Counter

import pytest
from conftest import BUILD, MPI_ROOT, one_line_error, program
from elftools.elf.elffile import ELFFile
from topics import MPIS, TYPE, launch

from lacuna.launch import run
from lacuna.report import advice, sites

PIECES = ("o", "l_p", "l_m", "L", "wait")


@pytest.mark.parametrize("mpi", list(MPIS))
@pytest.mark.parametrize("direct", ["0", "1"])
def test_calls_are_timed_by_place(tmp_path, lacuna, mpi, direct):
    file = tmp_path / "costs.json"
    options = {"LACUNA_REPORT": str(file), "LACUNA_COSTS": "1", "LACUNA_DIRECT": direct}
    launch(mpi, 2, "test", "report_calls", environment=options)
    report = json.loads(file.read_text())
    calls, taken, saved = Counter(), Counter(), Counter()
    for row in report["rows"]:
        costs = row["costs"]
        pieces = [costs[f"{name}_seconds"] for name in PIECES]
        assert min(pieces) >= 0, row
        assert sum(pieces) == pytest.approx(costs["seconds"], abs=1e-8), row
        assert 0 <= costs["would_save_seconds"] <= costs["seconds"] + 1e-8, row
        saved[row["function"]] += abs(costs["saved_seconds"])
        key = row["function"], report["types"][row["type"]]["text"]
        calls[key] += costs["calls"]
        taken[key] += row["handled"]
    # What topic report_calls does, in each of two ranks; calls on predefined types are among it.
    assert calls["MPI_Send", TYPE] == taken["MPI_Send", TYPE] == 200
    assert calls["MPI_Send", "contiguous(32, double)"] == 20
    assert calls["MPI_Irecv", "double"] == 230
    assert calls["MPI_Isend", TYPE] == calls["MPI_Irecv", TYPE] == 40
    assert calls["MPI_Wait", None] == 230 and calls["MPI_Waitall", None] == 40
    assert calls["MPI_Pack", "vector(32, 1, 7, double)"] == 100
    # Packed by lacuna, and timed by the library in the end: one of them is quicker.
    assert saved["MPI_Pack"] > 0 and saved["MPI_Wait"] == 0
    assert not any(function in ("MPI_Init", "MPI_Finalize") for function, _ in calls)
    # Each is called by the test, and not by lacuna.
    for row in report["rows"]:
        assert row["costs"]["site"].partition("+0x")[0].endswith(f"interpose_test_{MPIS[mpi]}"), row
    assert len({row["costs"]["site"] for row in report["rows"]}) >= 6
    shown = lacuna("report", file)
    assert shown.returncode == 0, shown.stderr
    assert "seconds in calls, summed over ranks" in shown.stdout


def test_a_page_of_a_job_and_of_the_machine(tmp_path, lacuna):
    job, machine = tmp_path / "job.json", tmp_path / "costs.json"
    options = {"LACUNA_REPORT": str(job), "LACUNA_COSTS": "1"}
    launch("mpich", 2, "test", "report_calls", environment=options)
    header = {"kind": "costs", "date": "", "cpu": "", "cores": 1, "lacuna": "", "commit": ""}
    header |= {"command": [], "compiler": "", "ranks": 2, "mpi": {}}
    lists = ("rows", "findings", "parameters", "sweeps", "misses")
    machine.write_text(json.dumps({"provenance": header} | {name: [] for name in lists}))
    result = lacuna("report", job, machine, "--output", tmp_path / "page")
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "page" / "report.html").read_text()
    assert "<h2>job.json</h2>" in page and "<h2>costs.json</h2>" in page
    assert f"<td>{TYPE}</td>" in page and 'alt="job-pieces"' in page
    image = tmp_path / "page" / "job" / "job-pieces.png"
    assert image.read_bytes().startswith(b"\x89PNG")


def test_a_message_just_above_a_threshold_is_said_to_be():
    def told(size, library, function="MPI_Send", findings=()):
        row = {"function": function, "calls": 2, "bytes_handled": 0, "bytes_declined": 2 * size}
        report = {"provenance": {"library": library}, "findings": list(findings)}
        return " ".join(advice.on_threshold(report, row))

    assert "OMPI_MCA_btl_sm_eager_limit" in told(4100, "Open MPI v5.0.11")
    assert "OMPI_MCA_btl_sm_eager_limit" in told(4080, "Open MPI v5.0.11")  # and a header
    assert told(3900, "Open MPI v5.0.11") == told(6000, "Open MPI v5.0.11") == ""
    assert "P2P_THRESHOLD" in told(8200, "MPICH Version: 5.0.2")
    assert told(8200, "MPICH Version: 5.0.2", "MPI_Alltoallw") == ""
    found = [{"mpi": "mpich", "kind": "step", "low": 20_000, "cause": ""}]
    assert "20000 (measured)" in told(20_500, "MPICH Version: 5.0.2", findings=found)
    assert told(8200, "MPICH Version: 5.0.2", findings=found) == ""


def test_who_waits_is_said_to(tmp_path):
    file = tmp_path / "costs.json"
    options = {"LACUNA_REPORT": str(file), "LACUNA_COSTS": "1"}
    launch("mpich", 2, "test", "report_calls", environment=options)
    waits = [
        r for r in json.loads(file.read_text())["rows"] if r["function"].startswith("MPI_Wait")
    ]
    assert waits
    for row in waits:
        assert row["costs"]["wait_seconds"] == pytest.approx(row["costs"]["seconds"])


def test_the_table_on_stderr():
    options = {"LACUNA_REPORT": "1", "LACUNA_COSTS": "1"}
    lines = launch("mpich", 2, "test", "report_calls", environment=options).stderr.splitlines()
    assert any(line.startswith("lacuna: seconds in calls, summed over ranks") for line in lines)
    sends = [line for line in lines if line.startswith("lacuna: MPI_Send ") and TYPE in line]
    assert sends and all("interpose_test_mpich+0x" in line for line in sends)


def test_without_the_option_nothing_is_timed(tmp_path):
    file = tmp_path / "report.json"
    options = {"LACUNA_REPORT": str(file)}
    launch("mpich", 2, "test", "report_calls", environment=options)
    rows = json.loads(file.read_text())["rows"]
    assert rows and not any("costs" in row for row in rows)


def test_the_command_asks_for_it(lacuna):
    words = ["run", "--costs", "a.json", "mpirun"]
    assert run.with_report_value(words) == ["run", "--costs=a.json", "mpirun"]
    assert run.with_report_value(["run", "--costs", "x"]) == ["run", "--costs=1", "x"]
    command = [MPI_ROOT / "mpich" / "bin" / "mpiexec", "-n", 2, program("mpich")]
    result = lacuna("run", "--dry-run", "--costs", *command)
    assert "-genv LACUNA_COSTS 1" in result.stdout and "-genv LACUNA_REPORT 1" in result.stdout
    result = lacuna("run", "--costs", "--report", *command)
    one_line_error(result, 2, "--report and --costs write one report")


def test_a_function_is_named_only_where_the_place_is_in_it(tmp_path):
    source = tmp_path / "two.c"
    # The second is not named: without debug information a tool calls it by the first.
    source.write_text(
        "int first(int a) { return a + 1; }\n"
        "static __attribute__((noinline)) int second(int a) { return a * 3; }\n"
        "int (*both[])(int) = {first, second};\n"
    )
    library = tmp_path / "libtwo.so"
    compiler = ["gcc", "-O1", "-fno-toplevel-reorder", "-shared", "-fPIC", "-s"]
    subprocess.run([*compiler, "-o", library, source], check=True)
    loaded = ctypes.CDLL(str(library))
    both = (ctypes.c_void_p * 2).in_dll(loaded, "both")
    base = both[0] - _offset(library, "first")
    places = [f"{library}+{one - base:#x}" for one in both]
    assert sites.names(places) == {places[0]: "first", places[1]: places[1].rpartition("/")[2]}


def _offset(library, name):
    with library.open("rb") as file:
        symbols = ELFFile(file).get_section_by_name(".dynsym")
        return symbols.get_symbol_by_name(name)[0]["st_value"]


def test_places_that_nobody_knows_keep_their_numbers():
    places = ["", "/no/such/file+0x12", "/no/such/file+0x34 main", "odd"]
    assert sites.names(places) == {
        "": "",
        "/no/such/file+0x12": "file+0x12",
        "/no/such/file+0x34 main": "main",
        "odd": "odd",
    }
    here = f"{BUILD / 'bin' / 'interpose_test_mpich'}+0x0"
    assert sites.names([here])[here]  # no function: as it was
