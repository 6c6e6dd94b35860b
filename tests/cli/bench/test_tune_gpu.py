# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna tune --gpu`: what it decides, and its whole way with a fake driver, whose memory an MPI
library may touch as if it knew devices.
"""

import json
import re

from conftest import BUILD, ROOT, one_line_error
from made_up import message_times

from lacuna.tune import devices

_FAKE = BUILD / "tests" / "interpose" / "device"
_ENVIRONMENT = {
    "LACUNA_TEST_CUDA": str(_FAKE / "driver" / "libcuda.so.1"),
    "LACUNA_TEST_CUDA_IS_OPEN": "1",
    "LACUNA_GPU_STAGING": "device",
}


def _size(size_bytes, host, device):
    times = message_times(host=host, device=device)
    times.about["bytes"] = size_bytes
    return times


def test_memory_of_the_device_is_used_from_where_it_stays_faster():
    sizes = [_size(1024, 2, 1), _size(4096, 1, 2), _size(16384, 2, 1), _size(65536, 3, 1)]
    assert devices.device_memory_from(sizes) == 16384
    assert devices.device_memory_from(sizes[:2]) is None
    assert devices.device_memory_from([_size(1024, 1, 1)]) is None  # not surely faster
    assert devices.device_memory_from(sizes[2:]) == 16384
    assert devices.device_memory_from([]) is None


def _fake_installation(folder):
    """Where the command finds its programs, and the preload libraries beside the fake mover."""
    (folder / "lib").mkdir(parents=True)
    (folder / "bin").symlink_to(BUILD / "bin")
    for library in _FAKE.glob("liblacuna-*.so"):
        (folder / "lib" / library.name).symlink_to(library.resolve())
    return {"LACUNA_LIBRARY_DIR": str(folder / "lib")}


def test_it_adds_to_the_table_what_it_has_measured(lacuna, tmp_path):
    environment = _ENVIRONMENT | _fake_installation(tmp_path / "prefix")
    words = ("tune", "--gpu", "--quick", "--mpi", "mpich", "--output", "table.json")
    refused = lacuna(*words, **environment)
    one_line_error(refused, 2, "table.json is no table of this library", "measure them first")
    shipped = ROOT / "interpose" / "policy" / "tables" / "mpich.json"
    before = json.loads(shipped.read_text(encoding="utf-8")) | {"mpi": "another"}
    place = tmp_path / "table.json"
    place.write_text(json.dumps(before), encoding="utf-8")
    refused = lacuna(*words, **environment)
    assert refused.returncode == 2
    before["mpi"] = re.search(r"no table of (MPICH.*) with messages", refused.stderr)[1]
    place.write_text(json.dumps(before), encoding="utf-8")
    result = lacuna(*words, **environment)
    assert result.returncode == 0, result.stderr
    assert "wrote table.json" in result.stderr
    assert "packed into memory of the device: " in result.stdout
    table = json.loads(place.read_text(encoding="utf-8"))
    assert table["shared"] == before["shared"]
    rows = table["evidence"].pop("device")
    assert table["evidence"] == before.get("evidence", {})
    sizes = [row["bytes"] for row in rows]
    assert sizes == [1 << 14, 1 << 16, 1 << 18, 1 << 20]
    assert all(row["host_us"] > 0 and row["device_us"] > 0 for row in rows)
    assert table["device"]["shared"] in [None, *sizes]


def test_it_says_what_it_lacks(lacuna, tmp_path):
    one_line_error(lacuna("tune", "--gpu", "--compiled"), 2, "--gpu with --compiled or --plot")
    one_line_error(lacuna("tune", "--gpu", "--network"), 2, "--network needs a launcher")
    fake = _fake_installation(tmp_path / "prefix")
    words = ("tune", "--gpu", "--quick", "--mpi", "mpich")
    blind = lacuna(*words, **(_ENVIRONMENT | {"LACUNA_GPU_STAGING": "auto"} | fake))
    one_line_error(
        blind, 3, "does not say that it takes addresses of CUDA devices", "STAGING=device"
    )
    missing = lacuna(*words, LACUNA_GPU_STAGING="device", LACUNA_TEST_CUDA="/nothing.so", **fake)
    one_line_error(missing, 3, "no CUDA device: ", "run where an NVIDIA device and its driver are")
