# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna machine --gpu`, `bench gpu` and `explain --gpu`, where there is no device: programs that
say what those of ours would (lacuna-gpu-probe, lacuna-gpu-bench), and ours, which say that there is
none. tests/gpu/device.sh runs them on one.
"""

import json
from pathlib import Path

import pytest
from conftest import BUILD, one_line_error

from lacuna.engine import Type
from lacuna.engine.device import library
from lacuna.gpu import cost, machine

FAILED, USAGE, ENVIRONMENT = 1, 2, 3
HAS_DEVICE = Path("/dev/nvidiactl").exists()
BUILT = (BUILD / "lib" / "liblacuna-cuda.so").is_file()
needs_library = pytest.mark.skipif(not BUILT, reason="no liblacuna-cuda.so: CMake found no nvcc")

FACTS = {
    "device": "NVIDIA Test 9",
    "compute": "9.0",
    "multiprocessors": 10,
    "memory_bytes": 2**36,
    "l2_bytes": 2**25,
    "fetch_bytes": 32,
    "pci": "0000:01:00.0",
}
PROFILE = {
    "lacuna_gpu": 1,
    "facts": FACTS,
    "numbers": {
        "copy_bytes_per_ns": {"value": 1000, "unit": "GB/s", "meaning": "its own copy"},
        "kernel_us": {"value": 2.0, "unit": "us", "meaning": "an empty kernel"},
        "enqueue_us": {"value": 2.5, "unit": "us", "meaning": "a launch on the host"},
    },
    "copy_curve": [[2**14, 1.5], [2**20, 2.5], [2**28, 268.4]],
}


@pytest.fixture
def fake(script, tmp_path):
    """A program of ours of that name that does this, and the environment in which it is found."""

    def make(name, text):
        script(f"bin/{name}", f"#!/bin/sh\n{text}\n")
        return {
            "LACUNA_LIBRARY_DIR": str(tmp_path / "lib"),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
        }

    return make


def probe(fake):
    facts, whole = json.dumps({"lacuna_gpu": 1, "facts": FACTS}), json.dumps(PROFILE)
    return fake(
        "lacuna-gpu-probe",
        f"if [ \"$1\" = --facts ]; then echo '{facts}'; else echo '{whole}'; fi",
    )


def no_device(fake, name):
    return fake(name, f"echo '{name}: no CUDA device: driver missing' >&2; exit 3")


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("lacuna-gpu-probe", ["machine", "--gpu"]),
        ("lacuna-gpu-probe", ["machine", "--gpu", "--measure"]),
        ("lacuna-gpu-bench", ["bench", "gpu"]),
    ],
)
def test_without_a_device_one_line_says_so(lacuna, fake, program, words):
    result = lacuna(*words, **no_device(fake, program))
    one_line_error(result, ENVIRONMENT, "no CUDA device: driver missing", "nvidia-smi")


@needs_library
@pytest.mark.skipif(HAS_DEVICE, reason="here is a device")
@pytest.mark.parametrize("words", [["machine", "--gpu"], ["bench", "gpu", "--only", "ddtbench"]])
def test_our_programs_without_a_device(lacuna, words):
    one_line_error(lacuna(*words), ENVIRONMENT, "no CUDA device: ", "nvidia-smi")


@pytest.mark.parametrize(
    ("words", "program"),
    [
        (["machine", "--gpu"], "no lacuna-gpu-probe in"),
        (["bench", "gpu"], "no lacuna-gpu-bench in"),
        (["explain", "--gpu", "int"], "no liblacuna"),
    ],
)
def test_where_nothing_was_built(lacuna, tmp_path, words, program):
    result = lacuna(*words, LACUNA_LIBRARY_DIR=str(tmp_path))
    one_line_error(result, ENVIRONMENT, program, "make")


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["machine", "--gpu", "--quick"], ["--quick", "add --measure"]),
        (["machine", "--gpu", "--plot", "x.png"], ["--plot", "leave out --gpu"]),
        (["explain", "--gpu", "--measure", "int"], ["--gpu only predicts", "bench gpu --type"]),
        (["explain", "--gpu", "--count", "-1", "int"], ["bad count", "-1"]),
        (["bench", "gpu", "--only", "nosuch"], ["--only nosuch", "ddtbench", "transposed"]),
        (["bench", "gpu", "--type", "int", "--only", "tiny"], ["--type and --only"]),
        (["bench", "gpu", "--count", "0", "--type", "int"], ["--count", "bench gpu --help"]),
    ],
)
def test_usage(lacuna, words, parts):
    one_line_error(lacuna(*words), USAGE, *parts)


def test_numbers_are_measured_kept_and_shown(lacuna, fake):
    environment = probe(fake)
    before = lacuna("machine", "--gpu", "--json", **environment)
    assert json.loads(before.stdout)["source"] == "default"
    table = lacuna("machine", "--gpu", **environment).stdout
    assert "NVIDIA Test 9" in table
    assert "lacuna machine --gpu --measure" in table
    made = lacuna("machine", "--gpu", "--measure", "--quick", **environment)
    place = Path(environment["XDG_CACHE_HOME"]) / "lacuna" / "gpu-nvidia-test-9.json"
    assert made.stderr == f"wrote {place}\n"
    assert json.loads(place.read_text()) == PROFILE
    after = json.loads(lacuna("machine", "--gpu", "--json", **environment).stdout)
    assert after["source"] == "measured"
    assert after["numbers"] == PROFILE["numbers"]
    table = lacuna("machine", "--gpu", **environment).stdout
    assert str(place) in table
    assert "256 MiB" in table
    place.write_text('{"lacuna_gpu": 2}')
    result = lacuna("machine", "--gpu", **environment)
    one_line_error(result, ENVIRONMENT, "cannot read the device's numbers", "--gpu --measure")


def test_a_probe_that_fails(lacuna, fake):
    result = lacuna("machine", "--gpu", **fake("lacuna-gpu-probe", "echo broken >&2; exit 7"))
    assert result.returncode == FAILED
    assert "lacuna-gpu-probe failed: exit code 7" in result.stderr
    assert "broken" in result.stderr


LINES = [
    {"kind": "header", "rows": 1} | FACTS,
    {"kind": "copy", "bytes": 2**20, "us": 2.0},
    {
        "kind": "row",
        "row": "strided/8-of-16-1M",
        "op": "pack",
        "bytes": 2**20,
        "us": 4.0,
        "ceiling_us": 3.0,
        "ceiling_with_reads_us": 3.5,
        "rivals_us": {"memcpy": 2.0, "hand": 3.0, "element": 6.0},
    },
    {"kind": "small", "what": "empty launch, enqueued", "value": 3.0, "unit": "us"},
    {"kind": "end", "wrong": 0},
]


def bench_program(fake, tmp_path, lines):
    answer = tmp_path / "answer"
    answer.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return fake(
        "lacuna-gpu-bench",
        f'echo "$@" > {tmp_path}/words; cp "$2" {tmp_path}/rows; cp {answer} "$4"',
    )


def test_bench_starts_the_program_and_shows_its_rows(lacuna, fake, tmp_path):
    environment = bench_program(fake, tmp_path, LINES)
    result = lacuna(
        "bench", "gpu", "--only", "strided", "--only", "ddtbench/WRF*", "--quick",
        "--json", "out.json", "--csv", "out.csv", **environment,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    words = (tmp_path / "words").read_text()
    assert "--only strided --only ddtbench/WRF* --quick" in words
    rows = (tmp_path / "rows").read_text().splitlines()
    assert any(row.startswith("ddtbench/WRF_x_vec-2x2\t1\t") for row in rows)
    assert not any(row.startswith("lifecycle/") for row in rows)
    assert "a rival is more than 3 % faster in 1" in result.stdout
    assert "hand takes 0.75 of the time" in result.stdout
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["provenance"]["device"] == FACTS["device"]
    assert written["rows"][0]["fastest"] == "hand"
    assert written["rows"][0]["over"] == pytest.approx(4 / 3)
    assert written["small"][0]["value"] == 3.0
    assert "strided/8-of-16-1M,pack" in (tmp_path / "out.csv").read_text()


def test_bench_of_one_type(lacuna, fake, tmp_path):
    environment = bench_program(fake, tmp_path, LINES)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "liblacuna.so.0").symlink_to(BUILD / "lib" / "liblacuna.so.0")
    text = "vector(4, 1, 2, double)"
    result = lacuna("bench", "gpu", "--type", text, "--count", "3", "--own", **environment)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "rows").read_text() == f"given/type\t3\t-\t{text}\n"
    assert "--only given/type --own" in (tmp_path / "words").read_text()


def test_wrong_results_fail(lacuna, fake, tmp_path):
    environment = bench_program(fake, tmp_path, [*LINES[:-1], {"kind": "end", "wrong": 2}])
    result = lacuna("bench", "gpu", **environment)
    assert result.returncode == FAILED
    assert "2 results were wrong" in result.stderr
    environment = bench_program(fake, tmp_path, LINES[:-1])
    result = lacuna("bench", "gpu", **environment)
    assert result.returncode == FAILED
    assert "lacuna-gpu-bench failed" in result.stderr


@needs_library
def test_explain_names_kernel_words_and_pieces(lacuna, tmp_path):
    result = lacuna("explain", "--gpu", "vector(9, 2, 4, double)", XDG_CACHE_HOME=str(tmp_path))
    assert result.returncode == 0, result.stderr
    for part in (
        "the words kernel",
        "loop 9 mem +32 packed +16, run of 16 bytes, by words of 16 bytes",
        "1 blocks of 128 threads",
        "pack ",
        "unpack ",
        "enqueue  3.3 us on the host",
        "an H100's",
    ):
        assert part in result.stdout
    turned = "resized(0, 8, vector(640, 1, 640, double))"
    found = json.loads(lacuna("explain", "--gpu", turned, "--count", "640", "--json").stdout)
    assert found["kernel"] == "tiles"
    assert found["word_bytes"] == [8]
    assert found["bytes"] == 640 * 640 * 8
    assert found["predicted"]["pack"]["us"] > found["predicted"]["memcpy_us"] * 0.9
    nothing = json.loads(lacuna("explain", "--gpu", "int", "--count", "0", "--json").stdout)
    assert nothing["kernel"] == "nothing"
    assert nothing["predicted"]["pack"]["us"] == 0
    assert "one copy by the copy engine" in lacuna("explain", "--gpu", "int").stdout


# What an H100 took (docs/experiments/2026-11-26-gpu-rows.md), 256 MiB: GB/s packed and unpacked.
MEASURED = [
    ("hvector(33554432, 8, 16, byte)", 1, 1007, 597),
    ("hvector(33554432, 8, 128, byte)", 1, 310, None),
    ("hvector(8388608, 32, 64, byte)", 1, 1005, 1224),
    ("hvector(4194304, 64, 128, byte)", 1, 1432, 1224),
    ("hvector(524288, 512, 1024, byte)", 1, 1472, 1462),
    ("resized(0, 24, struct([1, 1], [0, 16], [double, int]))", 22369621, 1010, 561),
    ("resized(0, 8, vector(5760, 1, 5760, double))", 5760, 1448, 1451),
]


@needs_library
@pytest.mark.parametrize(("text", "count", "pack", "unpack"), MEASURED)
def test_predictions_are_near_what_an_h100_took(text, count, pack, unpack):
    explained = library.explain(Type(text), count)
    predicted = cost.predict(explained, machine.DEFAULTS)
    for op, rate in (("pack", pack), ("unpack", unpack)):
        if rate is not None:
            assert explained["bytes"] / predicted[op]["us"] / 1000 == pytest.approx(rate, rel=0.25)
            assert predicted[op]["bound"] == "memory"


def test_times_of_copies_between_the_measured_sizes():
    curve = PROFILE["copy_curve"]
    assert cost.copy_us(curve, 1) == 1.5
    assert cost.copy_us(curve, 2**20) == 2.5
    assert 2.5 < cost.copy_us(curve, 2**24) < 268.4
    assert cost.copy_us(curve, 2**29) == pytest.approx(2 * 268.4)
