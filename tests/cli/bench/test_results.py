# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench results`: pages, plots and the README's table are what the data say."""

import json
import re

import pytest
from conftest import MPI_ROOT, ROOT, one_line_error

from lacuna.base import results
from lacuna.bench.preload.row import Row
from lacuna.messages.ratios import Times

HEADER = {
    "date": "2026-11-27T12:00:00+00:00",
    "lacuna": "0.1.0",
    "commit": "0123456789abcdef",
    "command": ["lacuna", "bench", "transpose", "--mpi", "all", "--json", "/somewhere/t.json"],
    "cpu": "A CPU",
    "cores": 2,
    "kernel": "6.1",
    "governor": None,
    "transparent_hugepages": "madvise",
    "environment": {"LACUNA_LIBRARY_DIR": "/somewhere/lib", "LACUNA_DIRECT": "1"},
    "mpi": {"mpich": "MPICH Version:      5.0.2\nMPICH configure: --prefix=/somewhere"},
    "compiler": "12.2.0",
}
MS = {"native": 40, "by_hand": 20, "lacuna": 10, "contiguous": 8, "memcpy": 5}
PACKS_MS = {"pack_native": 65, "pack_lacuna": 5, "unpack_native": 60, "unpack_lacuna": 6}


def transpose():
    samples = [
        {"n": n, "method": method, "seconds": (n / 4096) ** 2 * ms / 1e3 + step * 1e-9}
        for n in (1024, 4096)
        for method, ms in (MS | PACKS_MS).items()
        for step in (-1, 0, 1)
    ]
    return {"provenance": HEADER, "rows": results.rows("mpich", samples)}


def preload():
    rows = []
    for size, name in ((1024, "1KiB"), (1 << 20, "1MiB")):
        for shape, slow in (("structs", 4.0), ("face-i", 1.0)):
            about = {"kind": "row", "id": f"{shape}/{name}", "bytes": size}
            about["contiguous"] = shape == "face-i"
            ways = {"nn": slow, "nn*": slow, "ll": 1.0, "cc": 0.5}
            lines = {way: {"seconds": [factor] * 7} for way, factor in ways.items()}
            rows.append(Row("mpich", Times(about, lines)).as_json())
    instructions = {
        "MPI_Send": {"native": 100.0, "lacuna": 108.0},
        "MPI_Send, later": {"native": 100.0, "lacuna": 108.0},
        "MPI_Recv": {"native": 100.0, "lacuna": 130.0},
        "MPI_Recv, later": {"native": 100.0, "lacuna": 140.0},
    }
    calls = [{"mpi": "mpich", "instructions": instructions, "problem": None}]
    return {"provenance": HEADER, "calls": calls, "rows": rows}


def engine():
    ns = {"memcpy": 10, "by-hand": 40, "mpi": 60, "lacuna": 20, "lacuna-again": 20}
    rows = [
        {"mpi": "mpich", "start": 0, "row": f"{family}/x", "family": family, "op": op}
        | {"cache": cache, "rival": rival, "bytes": 64, "median_ns": value, "mad_ns": 0.1}
        | {"samples_ns": [value] * 3}
        for family in ("gropp", "lifecycle")
        for op in ("pack", "unpack")
        for cache in ("warm", "cold")
        for rival, value in ns.items()
    ]
    return {"provenance": HEADER, "corpus": {}, "rows": rows}


def apps():
    us = {"native": 40, "by_hand": 20, "lacuna": 10, "contiguous": 8}
    rows = [
        {"mpi": "mpich", "id": f"{test}-{size}", "test": test, "bytes": size, "method": method}
        | {"median_s": time / 1e6, "mad_s": 1e-9, "samples_s": [time / 1e6] * 3}
        for test in ("FFT", "WRF_x_vec")
        for size in (8, 16)
        for method, time in us.items()
    ]
    return {"provenance": HEADER | {"kind": "apps", "language": "c++"}, "rows": rows}


def gpu():
    header = {key: value for key, value in HEADER.items() if key not in ("mpi", "compiler")}
    header |= {"device": "A GPU", "cuda_runtime": 13000, "cuda_driver": 12030}
    rows = [
        {"row": f"{family}/x", "op": op, "bytes": 64, "us": 2.0, "ceiling_us": 1.0}
        | {"ceiling_with_reads_us": 1.5, "rivals_us": rivals, "fastest": "hand", "over": 0.5}
        for family, rivals in (
            ("strided", {"memcpy": 1.0, "hand": 4.0, "element": 6.0, "2d": 8.0, "blocks": 100.0}),
            ("index", {"memcpy": 1.0, "hand": 4.0, "element": 6.0}),
        )
        for op in ("pack", "unpack")
    ]
    small = [{"kind": "small", "what": "an empty launch", "value": 4.25, "unit": "us"}]
    return {"provenance": header, "rows": rows, "small": small}


@pytest.fixture
def root(tmp_path):
    """A checkout with the README of this one and no results, and files of results beside it."""
    made = tmp_path / "root"
    for folder in ("bench/results", "docs/results"):
        (made / folder).mkdir(parents=True)
    text = re.sub(
        r"<!-- performance: begin.*?-->.*?<!--",
        "<!-- performance: begin -->\nby hand\n<!--",
        (ROOT / "README.md").read_text(),
        count=1,
        flags=re.DOTALL,
    )
    (made / "README.md").write_text(text)
    (made / "docs/results/README.md").write_text((ROOT / "docs/results/README.md").read_text())
    for made_up in (transpose, preload, apps, engine, gpu):
        (tmp_path / f"{made_up.__name__}.json").write_text(json.dumps(made_up()))
    return made


ALL = [
    word
    for name in ("transpose", "preload", "apps", "engine")
    for word in ("--add", f"{name}.json")
]


def test_what_is_in_the_tree_is_what_the_data_say(lacuna):
    result = lacuna("bench", "results", "--root", ROOT, "--check")
    assert result.returncode == 0, result.stderr


def test_pages_are_made_of_the_data(lacuna, root):
    readme = (root / "README.md").read_text()
    result = lacuna("bench", "results", "--root", root, "--machine", "toy", *ALL)
    assert result.returncode == 0, result.stderr
    assert (root / "README.md").read_text() == readme  # until it is told whose table to show
    assert "- [toy](toy.md)" in (root / "docs/results/README.md").read_text()
    page = (root / "docs/results/toy.md").read_text()
    rows = [re.split(r" *\| *", line.strip("| ")) for line in page.splitlines() if line[:1] == "|"]
    assert ["CPU", "A CPU"] in rows
    assert "commit 0123456; MPICH 5.0.2; benchmark compiled by gcc 12.2.0." in page
    assert "    LACUNA_DIRECT=1 lacuna bench transpose --mpi all\n" in page
    data = (root / "bench/results/toy/transpose.json").read_text()
    assert "somewhere" not in page + data and "samples_s" not in data
    gbs = [f"{8 * 4096**2 / MS[way] / 1e6:.2f}" for way in list(MS)[:4]]
    assert ["MPICH", "4096", *gbs, "4.0", "2.0", "0.80"] in rows
    # Of a contiguous message: cc takes half of what lacuna does, and the library four times that.
    assert ["1KiB", "4.0", "0.12", "0.50"] in rows or ["1KiB", "4.0", "0.13", "0.50"] in rows
    assert ["MPICH", "messages", "4", "0", "4.0"] in rows
    called = {row[0]: row[1] for row in rows if row[0].startswith("MPI_")}
    assert called == {"MPI_Send": "+8", "MPI_Recv": "+30", "MPI_Recv, later": "+40"}
    assert ["WRF_x_vec", "2", "0.20", "0.40", "0.80", "4.0", "2.0"] in rows
    assert ["all", "4", "0.20", "0.40", "0.80", "4.0", "2.0"] in rows
    assert ["gropp", "pack", "1", "3.0", "2.0", "0.50"] in rows
    assert all(len(line) <= 120 for line in page.splitlines() if line[:1] not in "| ")
    for name in re.findall(r"\]\((toy-\w+\.svg)\)", page):
        assert (root / "docs/results" / name).read_text().startswith("<?xml")
    assert lacuna("bench", "results", "--root", root, "--check").returncode == 0


def test_a_gpu_has_a_page_of_its_own(lacuna, root):
    words = ("bench", "results", "--root", root)
    result = lacuna(*words, "--machine", "gpu", "--add", "gpu.json")
    assert result.returncode == 0, result.stderr
    page = (root / "docs/results/gpu.md").read_text()
    assert "| GPU | A GPU |" in page
    assert "commit 0123456; CUDA runtime 13.0, driver 12.3." in page
    assert "| strided | pack | 1 | 0.50 | 2.0 | 3.0 | 4.0 | 50.0 |" in page
    assert "| index | pack | 1 | 0.50 | 2.0 | 3.0 |  |  |" in page
    assert "| all | pack | 2 | 0.50 | 2.0 | 3.0 | 4.0 | 50.0 |" in page
    assert "| an empty launch | 4.25 us |" in page
    assert (root / "docs/results/gpu-gpu.svg").read_text().startswith("<?xml")
    assert lacuna(*words, "--check").returncode == 0


def test_the_table_of_the_readme_is_made_of_the_data(lacuna, root):
    words = ("bench", "results", "--root", root)
    result = lacuna(*words, "--machine", "toy", *ALL[:2], "--readme", "toy")
    assert result.returncode == 0, result.stderr
    text = (root / "README.md").read_text()
    assert "by hand\n<!--" not in text and text.count("performance: end") == 1
    assert "| MPICH 5.0.2 | **4.0** | 2.0 | 0.80 | **13.0** |" in text
    block = text[text.index("begin; of toy, by lacuna bench results") :]
    block = " ".join(block[: block.index("performance: end")].split())
    for part in ("A 4096 x 4096 matrix", "A CPU, 2 cores; commit 0123456", "transpose --mpi all`"):
        assert part in block
    assert "](docs/results/toy.md)" in block
    # From then on it follows the data, without being told again.
    (root / "README.md").write_text(text.replace("**4.0**", "**5.0**"))
    one_line_error(lacuna(*words, "--check"), 1, "README.md", "run lacuna bench results")
    assert lacuna(*words).returncode == 0
    assert (root / "README.md").read_text() == text


def test_what_is_not_as_the_data_are_is_named(lacuna, root):
    words = ("bench", "results", "--root", root)
    assert lacuna(*words, "--machine", "toy", *ALL[:2]).returncode == 0
    page, plot = root / "docs/results/toy.md", root / "docs/results/toy-transpose.svg"
    page.write_text(page.read_text() + "more\n")
    one_line_error(lacuna(*words, "--check"), 1, "docs/results/toy.md")
    assert lacuna(*words).returncode == 0
    data = root / "bench/results/toy/transpose.json"
    data.write_text(data.read_text().replace("2026-11-27", "2026-11-28"))
    one_line_error(lacuna(*words, "--check"), 1, "docs/results/toy.md", plot.name)
    before = plot.read_text()
    assert lacuna(*words).returncode == 0
    assert plot.read_text() != before and lacuna(*words, "--check").returncode == 0
    data.unlink()
    one_line_error(lacuna(*words, "--check"), 1, "docs/results/toy.md", plot.name)
    assert lacuna(*words).returncode == 0
    assert [path.name for path in (root / "docs/results").iterdir()] == ["README.md"]


def test_a_file_of_the_benchmark_itself_is_taken(lacuna, root):
    measured = lacuna(
        *("bench", "transpose", "--mpi", "mpich", "--mpi-root", MPI_ROOT, "--n", 64),
        *("--repetitions", 2, "--json", "real.json"),
    )
    assert measured.returncode == 0, measured.stderr
    words = ("bench", "results", "--root", root)
    result = lacuna(*words, "--machine", "here", "--add", "real.json", "--readme", "here")
    assert result.returncode == 0, result.stderr
    assert "A 64 x 64 matrix" in (root / "README.md").read_text()


def test_what_cannot_be_shown(lacuna, root, tmp_path):
    words = ("bench", "results", "--root", root)
    one_line_error(lacuna(*words, "--add", "engine.json"), 2, "--machine")
    one_line_error(lacuna(*words, "--machine", "toy"), 2, "--add")
    one_line_error(lacuna(*words, "--machine", "../up", "--add", "engine.json"), 2, "--machine")
    one_line_error(lacuna(*words, "--machine", "toy", "--add", "none.json"), 2, "none.json")
    (tmp_path / "other.json").write_text('{"provenance": {}, "rows": [{"id": 1}]}')
    one_line_error(lacuna(*words, "--machine", "toy", "--add", "other.json"), 2, "other.json")
    one_line_error(lacuna(*words, "--check", "--readme", "toy"), 2, "--check")
    one_line_error(lacuna(*words, "--readme", "toy"), 2, "transpose.json")
    one_line_error(lacuna("bench", "results", "--root", tmp_path / "no"), 3, "in a checkout")
    assert lacuna(*words, "--machine", "toy", *ALL[:2]).returncode == 0
    other = engine()
    other["provenance"] = HEADER | {"cpu": "another CPU"}
    (tmp_path / "engine.json").write_text(json.dumps(other))
    result = lacuna(*words, "--machine", "toy", "--add", "engine.json")
    one_line_error(result, 2, "another CPU")
    assert not (root / "bench/results/toy/engine.json").exists()
