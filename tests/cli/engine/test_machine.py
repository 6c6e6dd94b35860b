# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna machine`: the numbers in force, the profile they are from, and what is wrong with it.

Nothing here depends on what a measurement gives; one quick measurement shows that it gives
something that is believed.
"""

import json
import os
import re
import subprocess

import pytest
from conftest import BUILD, CPU_ROWS, ROOT, one_line_error

from lacuna.machine import numbers as machine

USAGE, ENVIRONMENT = 2, 3
PROBE = BUILD / "bin" / "lacuna-machine-probe"
LEVELS = ("l1", "l2", "l3", "memory")


@pytest.fixture
def cpu(lacuna):
    """The name of this CPU, as profiles must have it."""
    return json.loads(lacuna("machine", "--json").stdout)["cpu"]


@pytest.fixture
def profile(tmp_path, cpu):
    """Writes a profile of this CPU and returns its path; members may be replaced."""

    def write(**members):
        number = {"value": 97, "source": "measured", "evidence": "a step", "told": 64}
        file = {
            "lacuna_machine": 1,
            "cpu": cpu,
            "provenance": {"date": "2026-01-02", "kernel": "6.1"},
            "numbers": {"tlb_entries": number},
            "curves": [
                {"name": "latency", "pages": "small", "stride_bytes": 64, "points": CURVE},
                {"name": "latency", "pages": "huge", "stride_bytes": 64, "points": CURVE},
                {
                    "name": "tlb",
                    "pages": "small",
                    "stride_bytes": 4160,
                    "points": [[8, 1], [96, 2]],
                },
                {"name": "tlb", "pages": "small", "stride_bytes": 64, "points": [[8, 1], [96, 1]]},
            ],
        }
        path = tmp_path / "profile.json"
        path.write_text(json.dumps(file | members))
        return path

    return write


CURVE = [[4096, 1.4], [65536, 4.4], [1048576, 20], [268435456, 150]]


def test_the_table_names_every_number_with_unit_and_source(lacuna):
    result = lacuna("machine")
    assert (result.returncode, result.stderr) == (0, "")
    assert "lacuna machine --measure" in result.stdout
    rows = {line.split()[0]: line.split() for line in result.stdout.splitlines() if line.strip()}
    assert rows["tlb_entries"][1:4] == ["64", "pages", "default"]
    assert rows["page_bytes"][2:4] in (["KiB", "told"], ["bytes", "told"])
    assert rows["latency_ns"][1:6] == ["(1.5)", "(5)", "(25)", "(100)", "ns"]
    assert "\x1b" not in result.stdout


def test_json_has_all_that_the_table_has(lacuna):
    result = lacuna("machine", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert found["profile"] is None
    assert found["complaint"] is None
    assert found["curves"] == []
    numbers = found["numbers"]
    for name in ("line_bytes", "l3_cpus", "tlb2_entries", "tlb_walk_ns", "stream_run_bytes"):
        assert numbers[name]["value"] > 0
    for level in LEVELS:
        for kind in ("copy", "read", "write", "stream_write", "stream_copy"):
            assert numbers[f"{level}_{kind}_bytes_per_ns"]["unit"] == "bytes/ns"
    for number in numbers.values():
        assert set(number) == {"value", "unit", "source", "meaning"}


def test_the_row_in_force_is_named(lacuna):
    """The host's own, or the one that LACUNA_CPU names; with why."""
    found = json.loads(lacuna("machine", "--json").stdout)
    own, rows = found["row"], found["rows"]
    assert own["name"] in rows and own["complaint"] is None
    assert re.fullmatch(r"family \d+ model \d+|AArch64|no row matches .+", own["why"])
    assert list(rows) == CPU_ROWS
    for name, origin in rows.items():
        result = lacuna("machine", LACUNA_CPU=name)
        assert (result.returncode, result.stderr) == (0, "")
        how = origin if origin.startswith("not measured: ") else f"measured on {origin}"
        assert f"row      {name} (LACUNA_CPU), {how}" in result.stdout.splitlines()
    for name in ("zen9", "Zen4", "none"):
        result = lacuna("machine", LACUNA_CPU=name)
        assert result.returncode == 0
        assert result.stderr == (
            f"lacuna machine: LACUNA_CPU={name} is not understood: it must be "
            f"{', '.join(list(rows)[:-1])} or {list(rows)[-1]}; {own['name']} is used, "
            f"the row of this CPU ({own['why']})\n"
        )
        assert f"row      {own['name']} ({own['why']}), " in result.stdout


def test_every_row_is_documented(lacuna):
    page = (ROOT / "docs" / "internals" / "machine.md").read_text()
    for name, origin in json.loads(lacuna("machine", "--json").stdout)["rows"].items():
        assert f"| `{name}` | {origin} |" in page


def test_every_habit_of_every_row_is_documented(lacuna):
    lines = (ROOT / "docs" / "internals" / "machine.md").read_text().splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("| habit |"))
    rows = lines[begin].replace("`", "").strip("| ").split(" | ")[2:]
    end = lines.index("", begin)
    cells = [line.replace("`", "").strip("| ").split(" | ") for line in lines[begin + 2 : end]]
    for column, row in enumerate(rows, 2):
        found = json.loads(lacuna("machine", "--json", LACUNA_CPU=row).stdout)
        assert set(rows) == set(found["rows"])
        for cell in cells:
            number = found["numbers"][cell[0]]
            value = f"{number['value']:g}" if cell[0] == "word_cycles" else str(number["value"])
            if number["unit"] == "bytes":
                value = machine.size(number["value"]).removesuffix(" bytes")
            assert cell[column] == value, (row, cell[0])


def test_every_number_is_documented(lacuna):
    page = (ROOT / "docs" / "internals" / "machine.md").read_text()
    for name in json.loads(lacuna("machine", "--json").stdout)["numbers"]:
        level, _, rest = name.partition("_")
        assert f"`{name}`" in page or (level in LEVELS and f"`{rest}`" in page), name


def test_a_profile_is_in_force(lacuna, profile):
    path = profile()
    result = lacuna("machine", "--json", LACUNA_PROFILE=str(path))
    assert (result.returncode, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert found["profile"] == str(path)
    assert found["provenance"] == {"date": "2026-01-02", "kernel": "6.1"}
    entries = found["numbers"]["tlb_entries"]
    assert (entries["value"], entries["source"], entries["told"]) == (97, "measured", 64)
    assert entries["evidence"] == "a step"
    assert len(found["curves"]) == 4
    told = lacuna("machine", LACUNA_PROFILE=str(path)).stdout
    assert str(path) in told
    assert "measured (told: 64" in told


def test_the_profile_of_this_cpu_is_found_in_the_cache_folder(lacuna, profile, tmp_path):
    environment = {"LACUNA_PROFILE": "", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    found = json.loads(lacuna("machine", "--json", **environment).stdout)
    assert (found["profile"], found["complaint"]) == (None, None)  # not there: no complaint
    place = found["place"]
    assert place.startswith(f"{tmp_path}/cache/lacuna/machine-")
    os.makedirs(os.path.dirname(place))
    os.rename(profile(), place)
    found = json.loads(lacuna("machine", "--json", **environment).stdout)
    assert found["profile"] == place
    assert found["numbers"]["tlb_entries"]["value"] == 97


@pytest.mark.parametrize(
    ("members", "part"),
    [
        ({"cpu": "another"}, "another CPU"),
        ({"lacuna_machine": 7}, "format is 7"),
        ({"numbers": {"l1_bytes": {"value": -1, "source": "told"}}}, "l1_bytes is -1"),
    ],
)
def test_a_profile_that_is_not_believed(lacuna, profile, members, part):
    path = profile(**members)
    result = lacuna("machine", "--json", LACUNA_PROFILE=str(path))
    assert result.returncode == 0
    assert result.stderr.count("\n") == 1
    for word in (part, str(path), "; remedy: lacuna machine --measure"):
        assert word in result.stderr
    found = json.loads(result.stdout)
    assert found["profile"] is None
    assert found["numbers"]["tlb_entries"]["source"] == "default"


def test_a_profile_that_is_not_there(lacuna, tmp_path):
    result = lacuna("machine", LACUNA_PROFILE=str(tmp_path / "none.json"))
    assert result.returncode == 0
    assert "none.json is not used: there is no such file; remedy:" in result.stderr


def test_the_plot(lacuna, profile, tmp_path):
    result = lacuna("machine", "--plot", "figures/machine.png", LACUNA_PROFILE=str(profile()))
    assert (result.returncode, result.stderr) == (0, "wrote figures/machine.png\n")
    assert (tmp_path / "figures/machine.png").read_bytes().startswith(b"\x89PNG")


def test_a_plot_needs_curves_and_a_place(lacuna, profile, tmp_path):
    one_line_error(lacuna("machine", "--plot", "a.png"), ENVIRONMENT, "no curves", "--measure")
    (tmp_path / "file").write_text("")
    environment = {"LACUNA_PROFILE": str(profile())}
    result = lacuna("machine", "--plot", "file/below.png", **environment)
    one_line_error(result, ENVIRONMENT, "cannot write", "give another place")
    result = lacuna("machine", "--plot", "picture.unknown", **environment)
    one_line_error(result, ENVIRONMENT, "cannot write picture.unknown", "give another place")


def test_places_are_tried_before_anything_is_measured(lacuna, tmp_path):
    (tmp_path / "file").write_text("")
    result = lacuna("machine", "--measure", "--output", "file/below/x.json")
    one_line_error(result, ENVIRONMENT, "cannot write", "file/below", "give another place")
    result = lacuna("machine", "--measure", HOME="", XDG_CACHE_HOME="")
    one_line_error(result, ENVIRONMENT, "no place", "--output")


def test_a_probe_that_is_not_there_or_fails(lacuna, script, tmp_path):
    folder = tmp_path / "lib"
    folder.mkdir()
    environment = {"LACUNA_LIBRARY_DIR": str(folder)}
    result = lacuna("machine", "--measure", **environment)
    one_line_error(result, ENVIRONMENT, "lacuna-machine-probe", "make")
    script("bin/lacuna-machine-probe", "#!/bin/sh\necho out of luck >&2\nexit 7\n")
    result = lacuna("machine", "--measure", "--output", "x.json", **environment)
    assert result.returncode == 1
    assert "exit code 7" in result.stderr
    assert "out of luck" in result.stderr
    assert not (tmp_path / "x.json").exists()


def test_a_quick_measurement_is_believed(lacuna, tmp_path):
    result = lacuna("machine", "--measure", "--quick", "--output", "x.json", "--json")
    assert (result.returncode, result.stderr) == (0, "wrote x.json\n")
    found = json.loads(result.stdout)
    assert found["complaint"] is None
    assert found["profile"] == "x.json"
    assert found["numbers"]["l1_copy_bytes_per_ns"]["source"] == "measured"
    assert {curve["name"] for curve in found["curves"]} == {"latency", "tlb"}
    assert found["provenance"]["effort"] == "quick"
    assert json.loads((tmp_path / "x.json").read_text())["cpu"] == found["cpu"]


def test_the_probe_refuses_what_it_does_not_know():
    result = subprocess.run([PROBE, "--fast"], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert "usage" in result.stderr


FIT = BUILD / "bin" / "lacuna-fit-cpu"


def test_a_row_is_fitted():
    done = subprocess.run(
        [FIT, "--from", "generic", "--trials", "1", "--samples", "3", "--seconds", "0.01"],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    (trial,) = found["trials"]
    assert [tried["numbers"] for tried in trial["tried"]] == [
        {"vector_bytes": 64},
        {"vector_bytes": 32},
    ]
    assert all(tried["speed"] > 0 for tried in trial["tried"])
    kept = trial["kept"]
    assert found["numbers"] == ({} if kept < 0 else trial["tried"][kept]["numbers"])
    assert found["own_row"] in CPU_ROWS
    done = subprocess.run([FIT, "--from", "nobody"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "there is no row nobody; known are generic, " in done.stderr


def test_what_is_fitted_is_shown_and_kept(lacuna, script, tmp_path):
    found = {
        "from": "generic",
        "trials": [
            {
                "question": "one is better",
                "tried": [
                    {"numbers": {"fast_words": 0}, "speed": 0.98},
                    {"numbers": {"fast_words": 1}, "speed": 1.25},
                ],
                "kept": 1,
            }
        ],
        "numbers": {"fast_words": 1, "miss_runs": 64},
        "speed": 1.2,
        "own_row": "zen4",
        "own_speed": 1.1,
    }
    script("bin/lacuna-fit-cpu", f"#!/bin/sh\necho '{json.dumps(found)}'\n")
    (tmp_path / "lib").mkdir()
    for file in (BUILD / "lib").glob("liblacuna.so*"):
        (tmp_path / "lib" / file.name).symlink_to(file)
    place = tmp_path / "profile.json"
    environment = {"LACUNA_LIBRARY_DIR": str(tmp_path / "lib")}
    done = lacuna("machine", "--fit", "generic", "--output", str(place), **environment)
    assert done.returncode == 0, done.stderr
    assert re.search(r"fast_words = 1\s+1\.25\s+kept", done.stdout)
    assert "  habits.fast_words = true;\n  habits.miss_runs = 64;\n" in done.stdout
    assert "1.20 times the speed of the row generic" in done.stdout
    shown = json.loads(lacuna("machine", "--json", LACUNA_PROFILE=str(place)).stdout)
    assert shown["complaint"] is None or shown["complaint"] == ""
    assert (shown["numbers"]["miss_runs"]["value"], shown["numbers"]["fast_words"]["value"]) == (
        64,
        1,
    )
    assert shown["numbers"]["miss_runs"]["source"] == "measured"
    one_line_error(lacuna("machine", "--fit", "generic", "--measure"), USAGE, "--fit")
