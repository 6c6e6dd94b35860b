# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench apps`, `guidelines`, `papers` and `lacuna report`: quickly, on few messages."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest
from conftest import BUILD, COMMAND, MPI_ROOT, one_line_error

from lacuna.base.errors import LacunaError
from lacuna.bench import guidelines
from lacuna.bench.apps import command as bench_apps
from lacuna.bench.papers import command as papers
from lacuna.messages import exchange

TABLE_1 = {
    *("WRF_x_vec", "WRF_y_vec", "WRF_x_sa", "WRF_y_sa", "MILC_su3_zd"),
    *("NAS_MG_x", "NAS_MG_y", "NAS_MG_z", "NAS_LU_x", "NAS_LU_y", "FFT"),
    *("SPECFEM3D_mt", "SPECFEM3D_oc", "SPECFEM3D_cm", "LAMMPS_full", "LAMMPS_atomic"),
}
SMALL = ("--only", "NAS_LU_y-12", "--only", "LAMMPS_atomic-114", "--only", "FFT-256")
SHORT = ("--samples", 3, "--seconds", 0.05)


def test_every_test_of_the_paper_is_there_in_several_sizes():
    sizes = {}
    for row in bench_apps.tests():
        sizes.setdefault(row["test"], []).append(row["id"])
    assert set(sizes) == TABLE_1
    assert all(len(set(ids)) == len(ids) >= 3 for ids in sizes.values())
    assert len(bench_apps.choose(bench_apps.tests(), [], [], quick=True)) == len(TABLE_1)


@pytest.mark.skipif(
    shutil.which("clang-19") is None, reason="no clang-19; setup/setup.sh optimizer"
)
def test_what_lacuna_cpp_makes_of_the_applications_moves_the_right_bytes(lacuna):
    methods = [word for name in bench_apps.ASKED for word in ("--method", name)]
    result = lacuna(
        "bench", "apps", "--quick", "--verify-only", *methods, "--mpi", "mpich", "--mpi", "openmpi"
    )
    assert result.returncode == 0, result.stderr
    assert "16 tests" in result.stdout


def test_all_methods_move_the_right_bytes_on_all_mpi_libraries(lacuna):
    """The corpus' typemaps against the applications' loops and constructors."""
    result = lacuna("bench", "apps", "--quick", "--verify-only")
    assert result.returncode == 0, result.stderr
    assert "16 tests" in result.stdout
    assert "MPICH, Open MPI, Intel MPI" in result.stdout


def test_the_alltoall_is_right_on_more_ranks(lacuna):
    words = ("--only", "FFT-256", "--only", "NAS_LU_y-12", "--ranks", 4, "--verify-only")
    result = lacuna("bench", "apps", "--mpi", "mpich", *words)
    assert result.returncode == 0, result.stderr


def run_rows(tmp_path, rows):
    """The program itself on rows of a test's own, without lacuna."""
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    return subprocess.run(
        [
            *(str(MPI_ROOT / "mpich" / "bin" / "mpiexec"), "-n", "2"),
            *(str(BUILD / "bin" / "lacuna-bench-apps-mpich"), "--rows", "rows.json"),
            *("--out", "lines", "--verify-only", "1"),
        ],
        cwd=tmp_path,
        env=os.environ | {"LD_LIBRARY_PATH": str(MPI_ROOT / "mpich" / "lib")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def a_row(method, **changes):
    [row] = [row for row in bench_apps.tests() if row["id"] == "NAS_MG_x-34"]
    way = bench_apps.METHODS[method][0]
    return row | {"lanes": [{"name": method, "way": way, "lacuna": False}]} | changes


@pytest.mark.parametrize("method", ["by_hand", "native", "mpi_pack"])
def test_wrong_unpacking_is_caught(tmp_path, method):
    # Loops and constructors for an array of other bounds than the type text says; smaller ones, so
    # that nothing lies outside.
    assert run_rows(tmp_path, [a_row(method)]).returncode == 0
    result = run_rows(tmp_path, [a_row(method, shape=[33, 18, 18])])
    assert result.returncode != 0
    assert f"wrong bytes in NAS_MG_x-34 from {method}" in result.stderr + result.stdout


@pytest.mark.parametrize("mpi", ["mpich", "openmpi", "intelmpi"])
def test_what_was_wrong_is_not_lost_among_the_words_of_the_launcher(mpi):
    rows = [a_row("native", shape=[33, 18, 18])]
    with pytest.raises(LacunaError) as caught:
        exchange.measure("apps", rows, exchange.Options(mpis=[mpi], verify_only=True))
    assert "wrong bytes in NAS_MG_x-34 from native" in caught.value.details


def test_rows_that_make_no_sense_are_named(tmp_path):
    for changes, word in (
        ({"shape": [34]}, "takes 3 numbers"),
        ({"test": "NO_SUCH"}, "no test NO_SUCH"),
        ({"type": "vector("}, "NAS_MG_x-34"),
        ({"lanes": [{"name": "x", "way": "by_pigeon"}]}, "no way by_pigeon"),
    ):
        result = run_rows(tmp_path, [a_row("native", **changes)])
        assert result.returncode != 0
        assert word in result.stderr + result.stdout


def test_errors(lacuna, tmp_path):
    one_line_error(lacuna("bench", "apps", "--only", "WRF_z"), 2, "no test fits", "WRF_x_vec")
    one_line_error(lacuna("bench", "apps", "--mpi", "lam"), 2, "unknown MPI", "mpich")
    one_line_error(lacuna("bench", "apps", "--method", "magic"), 2, "unknown method", "by_hand")
    one_line_error(lacuna("bench", "apps", "--ranks", 3), 2, "--ranks", "even")
    one_line_error(lacuna("bench", "guidelines", "be-fast"), 2, "unknown guideline", "pack")
    one_line_error(lacuna("bench", "papers", "fig9"), 2, "unknown experiment", "gropp-table1")
    (tmp_path / "other.json").write_text('{"provenance": {}}')
    one_line_error(lacuna("report", "other.json"), 2, "other.json", "--json")
    one_line_error(lacuna("report", "none.json"), 3, "none.json")


CHROMIUM = shutil.which("chromium")


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium (apt-get install -y chromium)")
def test_a_browser_shows_all_figures(lacuna, tmp_path):
    words = ("--mpi", "mpich", "--only", "NAS_LU_x-12", *SHORT, "--json", "x.json")
    assert lacuna("bench", "apps", *words).returncode == 0
    assert lacuna("report", "x.json", "--output", "page").returncode == 0
    count = (
        "<script>addEventListener('load', () => {const all = [...document.images];"
        "const shown = all.filter(one => one.complete && one.naturalWidth > 100);"
        "document.title = `${shown.length} of ${all.length} are shown`})</script></body>"
    )
    page = (tmp_path / "page" / "report.html").read_text()
    (tmp_path / "counted.html").write_text(page.replace("</body>", count))
    # No name is found, so nothing can be loaded.
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--host-resolver-rules=MAP * ~NOTFOUND",
    ]
    told = subprocess.run(
        [CHROMIUM, *options, "--virtual-time-budget=3000", "--dump-dom", tmp_path / "counted.html"],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    ).stdout
    figures = page.count("<img")
    assert figures >= 3
    assert f"<title>{figures} of {figures} are shown</title>" in told


def check_page(folder, *words):
    """All figures are in the page; nothing is loaded from elsewhere."""
    page = (folder / "report.html").read_text()
    for source in re.findall(r'(?:src|href)="([^"]*)"', page):
        assert source.startswith("data:image/png;base64,")
    for word in words:
        assert word in page
    return page


def test_results_and_their_page(lacuna, tmp_path):
    words = ("bench", "apps", "--mpi", "mpich", *SMALL, *SHORT)
    result = lacuna(*words, "--json", "one.json", "--csv", "one.csv")
    assert result.returncode == 0, result.stderr
    assert "Geometric means" in result.stdout
    found = json.loads((tmp_path / "one.json").read_text())
    assert found["provenance"]["kind"] == "apps"
    assert "MPICH" in found["provenance"]["mpi"]["mpich"]
    keys = {(row["id"], row["method"]) for row in found["rows"]}
    assert keys == {
        (name, method)
        for name in ("NAS_LU_y-12", "LAMMPS_atomic-114", "FFT-256")
        for method in bench_apps.METHODS
        if method not in bench_apps.ASKED
    }
    for row in found["rows"]:
        assert len(row["samples_s"]) == 3
        assert sorted(row["samples_s"])[1] == row["median_s"] > 0
        if row["method"] in ("by_hand", "mpi_pack", "mpi_pack_lacuna"):
            assert min(row["pack_s"], row["communicate_s"], row["unpack_s"]) > 0
        if row["method"] in ("native", "lacuna"):
            assert row["create_s"] > 0
    assert len((tmp_path / "one.csv").read_text().splitlines()) == len(keys) + 1
    assert not (tmp_path / "one.json.partial").exists()

    assert lacuna(*words, "--json", "two.json").returncode == 0
    result = lacuna("report", "one.json", "two.json", "--output", "page")
    assert result.returncode == 0, result.stderr
    check_page(tmp_path / "page", "NAS_LU_y-12", "two.json over one.json", "Worst cases")
    for name in ("overheads.png", "absolute-mpich.png", "gains.png"):
        assert (tmp_path / "page" / "one" / name).read_bytes().startswith(b"\x89PNG")


def test_an_interrupted_run_loses_nothing(lacuna, tmp_path):
    words = ["bench", "apps", "--mpi", "mpich", "--only", "NAS_LU_*", "--samples", 3]
    words += ["--seconds", 0.4, "--json", "rows.json"]  # three are made however slow they are
    partial = tmp_path / "rows.json.partial"
    with subprocess.Popen(
        [str(COMMAND), *map(str, words)], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as process:
        while process.poll() is None and (
            not partial.exists() or '"kind": "row"' not in partial.read_text()
        ):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 130, said
    assert "the same command continues" in said
    kept = [json.loads(line) for line in partial.read_text().splitlines()]
    first = next(line["id"] for line in kept if line["kind"] == "row")
    times = [
        line["transfer"]
        for line in kept
        if line["kind"] == "sample" and (line["id"], line["lane"]) == (first, "native")
    ]
    assert len(times) == 3
    partial.write_text(partial.read_text() + '{"kind": "sample", "id"')  # died while it wrote
    one_line_error(lacuna(*words, "--ranks", 4), 2, "rows.json.partial", "other options")
    result = lacuna(*words)
    assert result.returncode == 0, result.stderr
    found = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert {row["id"] for row in found} == {
        row["id"] for row in bench_apps.tests() if row["test"].startswith("NAS_LU")
    }
    [again] = [row for row in found if (row["id"], row["method"]) == (first, "native")]
    assert again["samples_s"] == times
    assert not partial.exists()


def test_guidelines(lacuna, tmp_path):
    words = ("bench", "guidelines", "pack", "described", "--mpi", "openmpi", "--quick")
    result = lacuna(*words, "--json", "rules.json")
    assert result.returncode == 0, result.stderr
    assert guidelines.RULES["pack"] in " ".join(result.stdout.split())
    verdicts = json.loads((tmp_path / "rules.json").read_text())["verdicts"]
    expected = [one for one in guidelines.checks() if one.rule in ("pack", "described")]
    assert len(verdicts) == 2 * len(expected)
    assert lacuna("report", "rules.json", "--output", "page").returncode == 0
    check_page(tmp_path / "page", "described", "hvector for vector")


def test_a_guideline_is_violated_where_the_left_side_is_slower_than_noise():
    check = guidelines.checks()[0]

    def lanes(left, right, mad):
        return [
            {"mpi": "mpich", "id": "0", "method": f"{side}{suffix}", "median_s": s, "mad_s": mad}
            for side, s in (("left", left), ("right", right))
            for suffix in ("", "_lacuna")
        ]

    for left, right, mad, broken in (
        (2.0, 1.0, 0.01, True),
        (2.0, 1.0, 0.3, False),
        (1.05, 1.0, 0.001, False),
        (0.5, 1.0, 0.001, False),
    ):
        assert [one["broken"] for one in guidelines.judge([check], lanes(left, right, mad))] == [
            broken,
            broken,
        ]


def test_papers(lacuna, tmp_path):
    names = ["gropp-table1", "gropp-table3", "ompi-fig5"]
    result = lacuna("bench", "papers", *names, "--mpi", "mpich", "--quick", "--json", "then.json")
    assert result.returncode == 0, result.stderr
    assert "1999, IBM SP" in result.stdout
    assert "MPICH, lacuna" in result.stdout
    assert lacuna("report", "then.json", "--output", "page").returncode == 0
    check_page(tmp_path / "page", "1999, IBM SP", "AP1000")


@pytest.mark.parametrize(
    "mpi", ["mpich", "openmpi", pytest.param("intelmpi", marks=pytest.mark.depth)]
)
def test_a_graph_of_many_ranks(lacuna, tmp_path, mpi):
    words = ("schneider-graph-8", "--mpi", mpi, "--samples", 1, "--seconds", 0.01)
    result = lacuna("bench", "papers", *words, "--json", "graph.json")
    assert result.returncode == 0, result.stderr
    rows = json.loads((tmp_path / "graph.json").read_text())["rows"]
    assert {row["id"] for row in rows} == {row["id"] for row in papers.EXPERIMENTS[words[0]].rows()}


def test_rows_go_to_jobs_of_as_many_ranks_as_they_say(lacuna, tmp_path):
    names = ("schneider-graph-8", "gropp-table3")
    words = ("bench", "papers", *names, "--mpi", "openmpi", "--samples", 1, "--seconds", 0.01)
    result = lacuna(*words, "--json", "both.json")
    assert result.returncode == 0, result.stderr
    found = {row["id"] for row in json.loads((tmp_path / "both.json").read_text())["rows"]}
    assert found == {row["id"] for name in names for row in papers.EXPERIMENTS[name].rows()}
    assert all(name in result.stdout for name in names)


def test_all_ways_of_a_graph_and_no_others(tmp_path):
    row = {"id": "graph", "test": "GRAPH", "shape": [64]}
    ways = ("derived", "neighbor_derived", "by_hand", "neighbor_by_hand", "contiguous")
    lanes = [{"name": way, "way": way} for way in ways]
    assert run_rows(tmp_path, [row | {"lanes": lanes}]).returncode == 0
    result = run_rows(tmp_path, [row | {"lanes": [{"name": "x", "way": "mpi_pack"}]}])
    assert "no way mpi_pack" in result.stderr + result.stdout
    result = run_rows(tmp_path, [row | {"lanes": lanes, "shape": [64, 2]}])
    assert "GRAPH takes one number" in result.stderr + result.stdout


def test_every_experiment_has_rows_with_names_of_their_own():
    for experiment in papers.EXPERIMENTS.values():
        rows = experiment.rows()
        assert rows
        for row in rows:
            lanes = [lane["name"] for lane in row["lanes"]]
            assert len(lanes) == len(set(lanes))
    together = {}
    for experiment in papers.EXPERIMENTS.values():
        for row in experiment.rows():
            assert together.setdefault(row["id"], row) == row


def test_every_experiment_makes_a_table_of_its_rows():
    for name, experiment in papers.EXPERIMENTS.items():
        parts = ("median", "mpi", "create", "destroy", "pack", "unpack", "communicate")
        made = [
            {"mpi": mpi, "id": row["id"], "method": lane["name"], "bytes": row["bytes"]}
            | {f"{part}_s": 1e-3 for part in parts}
            for mpi in ("mpich", "intelmpi")
            for row in experiment.rows()
            for lane in row["lanes"]
        ]
        [shown] = papers.experiments(made, [name])
        headings, rows = shown.cells
        assert rows
        assert {len(row) for row in rows} == {len(headings)}, name
        assert any("Intel MPI" in " ".join(row) for row in rows)
