# SPDX-License-Identifier: BSD-3-Clause
"""The checks of `lacuna doctor` on made-up machines: ok, warning and fault of each."""

import errno
import json
from pathlib import Path

import pytest
from made_up import is_like

from lacuna.engine.device import driver
from lacuna.engine.device.driver import Installed
from lacuna.launch.check import facts, machine, page
from lacuna.launch.check.finding import FAULT, OK, WARNING, Finding, fault, ok, warning
from lacuna.launch.check.machine import Table

GIB = 1 << 30
HERE = "AMD EPYC, family 25"
LIBRARY = Path("/apps/lacuna/lib/liblacuna-mpich.so")


@pytest.mark.parametrize(
    ("arguments", "level", "word"),
    [
        (("zen4", "family 25 model 17", None), OK, "zen4 (family 25 model 17)"),
        (("generic", "another CPU", None), WARNING, "LACUNA_CPU"),
        (("zen4", "", "LACUNA_CPU=z is not known"), WARNING, "LACUNA_CPU=z"),
    ],
)
def test_cpu(arguments, level, word):
    is_like(machine.cpu(*arguments), level, word)


@pytest.mark.parametrize(
    ("arguments", "level", "word"),
    [
        (("/c/machine.json", "2026-11-27", None, ""), OK, "measured 2026-11-27"),
        ((None, None, None, ""), OK, "lacuna machine --measure"),
        ((None, None, None, "none"), OK, "LACUNA_PROFILE=none"),
        ((None, None, "it was measured on another CPU", "x"), WARNING, "another CPU"),
    ],
)
def test_profile(arguments, level, word):
    is_like(machine.profile(*arguments), level, word)


H200 = ["NVIDIA H200"] * 2
MOVER = Path("/apps/lacuna/lib/liblacuna-cuda.so")


@pytest.mark.parametrize(
    ("found", "mover", "level", "word"),
    [
        (None, None, OK, "no CUDA device"),
        (Installed(13000, H200, False), MOVER, OK, "2 (NVIDIA H200), CUDA 13.0, ranks take turns"),
        (Installed(12020, H200, True), MOVER, OK, "CUDA 12.2, under NVIDIA's MPS"),
        (Installed(13000, H200, False), None, WARNING, "no liblacuna-cuda.so"),
        (Installed(11080, H200, False), MOVER, WARNING, "CUDA 11.8"),
    ],
)
def test_gpus(found, mover, level, word):
    is_like(machine.gpus(found, mover), level, word)


class TwoDevices:
    """A driver by ctypes' arguments: of CUDA 12.4, whose first device several processes share."""

    def cuDriverGetVersion(self, version):
        version._obj.value = 12040
        return 0

    def cuDeviceGetCount(self, count):
        count._obj.value = 2
        return 0

    def cuDeviceGet(self, device, number):
        device._obj.value = 10 + number
        return 0

    def cuDeviceGetName(self, name, _, device):
        name.value = f"device {device.value}".encode()
        return 0

    def cuDeviceGetAttribute(self, value, attribute, device):
        value._obj.value = 1 if attribute == 133 and device.value == 10 else 0
        return 0


def test_devices_are_asked_of_the_driver(monkeypatch):
    monkeypatch.setattr(driver, "driver", TwoDevices)
    assert driver.installed() == Installed(12040, ["device 10", "device 11"], True)


MINE = Table("/c/table-a.json", "MPICH Version: 5.0.2", HERE)
OTHERS = Table("/c/table-b.json", "MPICH Version: 5.0.2", "another")
BROKEN = Table("/c/table-c.json", wrong="it is not JSON")


@pytest.mark.parametrize(
    ("wanted", "named", "kept", "level", "word"),
    [
        ("none", None, [BROKEN], OK, "LACUNA_TABLE=none"),
        ("", None, [], OK, "those shipped"),
        ("", None, [OTHERS], OK, "1 of other CPUs"),
        ("", None, [MINE, OTHERS], OK, "measured on this CPU: MPICH Version: 5.0.2"),
        ("", None, [MINE, BROKEN], WARNING, "table-c.json: it is not JSON"),
        (MINE.file, MINE, [], OK, "on this CPU"),
        (OTHERS.file, OTHERS, [], WARNING, 'another CPU, "another"'),
        (BROKEN.file, BROKEN, [], WARNING, "lacuna tune"),
    ],
)
def test_tables(wanted, named, kept, level, word):
    is_like(machine.tables(wanted, named, kept, HERE), level, word)


def test_what_is_read_of_a_table(tmp_path):
    file = tmp_path / "table-x.json"
    assert "No such file" in facts.table(file).wrong
    for text, wrong in [
        ("{", "it is not JSON"),
        ("[]", "it is not a table"),
        ('{"lacuna_table": 2}', "its format is 2"),
    ]:
        file.write_text(text)
        assert wrong in facts.table(file).wrong
    file.write_text(json.dumps({"lacuna_table": 3, "mpi": "M", "cpu": HERE}))
    assert facts.table(file) == Table(str(file), "M", HERE)


def test_preload_libraries():
    check = machine.preload_libraries
    is_like(check({"mpich": LIBRARY}, "build"), OK, "/apps/lacuna/lib")
    is_like(check({"mpich": LIBRARY, "ompi": None}, "build"), WARNING, "liblacuna-ompi.so", "build")
    is_like(check({"mpich": None, "ompi": None}, "build"), FAULT, "liblacuna-mpich.so")


@pytest.mark.parametrize(
    ("environment", "level", "word"),
    [
        ({"HOME": "/root"}, OK, "none is set"),
        ({"LACUNA_LOG": "1"}, OK, "LACUNA_LOG=1"),
        ({"LACUNA_DISABLE": "0"}, OK, "LACUNA_DISABLE=0"),
        ({"LACUNA_ALWAYS": "1"}, WARNING, "LACUNA_ALWAYS"),
        ({"LACUNA_DISABLE_P2P": "on"}, WARNING, "LACUNA_DISABLE_P2P"),
        ({"LACUNA_DISABLE": "yes"}, FAULT, "unset LACUNA_DISABLE"),
    ],
)
def test_options(environment, level, word):
    is_like(machine.options(environment), level, word)
    if level == OK:
        is_like(machine.options(environment, ["LACUNA_LOGG is not"]), WARNING, "LACUNA_LOGG is not")


@pytest.mark.parametrize(
    ("setting", "level", "word"),
    [
        ("always [madvise] never", OK, "madvise"),
        ("[always] madvise never", OK, "all memory"),
        ("always madvise [never]", WARNING, "echo madvise"),
        (None, WARNING, "no transparent huge pages"),
    ],
)
def test_huge_pages(setting, level, word):
    is_like(machine.huge_pages(setting), level, word)


@pytest.mark.parametrize(
    ("total", "free", "level", "word"),
    [
        (GIB, GIB, OK, "1024 MiB"),
        (64 << 20, 64 << 20, WARNING, "--shm-size=1g"),
        (GIB, 100, FAULT, "delete files"),
        (None, 0, FAULT, "mount"),
    ],
)
def test_shared_memory(total, free, level, word):
    is_like(machine.shared_memory(total, free), level, word)


def test_memfd():
    is_like(machine.memfd(0), OK, "works")
    is_like(machine.memfd(errno.EPERM), WARNING, "not permitted", "seccomp")
    is_like(machine.memfd(errno.ENOSYS), WARNING, "no such system call")


@pytest.mark.parametrize(
    ("arguments", "level", "word"),
    [
        ((0, "1", True), OK, "allowed"),
        ((errno.EPERM, "1", True), WARNING, "kernel.yama.ptrace_scope=0"),
        ((errno.EPERM, "0", True), WARNING, "SYS_PTRACE"),
        ((errno.ENOSYS, None, True), WARNING, "no such system call"),
        ((0, "0", False), WARNING, "unset LACUNA_READ_PEERS"),
    ],
)
def test_peer_reads(arguments, level, word):
    is_like(machine.peer_reads(*arguments), level, word)


@pytest.mark.parametrize(
    ("kind", "cpus", "quota", "level", "word"),
    [
        (None, 4, None, OK, "none is seen"),
        ("Docker", 4, 4.0, OK, "inside"),
        ("Docker", 64, 1.5, WARNING, "1.5 processors, and sees 64"),
    ],
)
def test_container(kind, cpus, quota, level, word):
    is_like(machine.container(kind, cpus, quota), level, word)


def test_what_is_read_of_a_container(tmp_path, monkeypatch):
    monkeypatch.delenv("APPTAINER_CONTAINER", raising=False)
    monkeypatch.delenv("SINGULARITY_NAME", raising=False)
    assert facts.container(tmp_path) is None
    (tmp_path / "proc/1").mkdir(parents=True)
    (tmp_path / "proc/1/cgroup").write_text("0::/kubepods/pod1\n")
    assert facts.container(tmp_path) == "kubepods"
    (tmp_path / ".dockerenv").touch()
    assert facts.container(tmp_path) == "Docker"
    assert facts.processors(tmp_path) is None
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert facts.processors(tmp_path) is None
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    assert facts.processors(tmp_path) == 1.5


def test_hardware_counters_are_no_fault():
    is_like(machine.counters(False, None), OK, "not supported here")
    is_like(machine.counters(True, "4"), OK, "perf_event_paranoid is 4")
    is_like(machine.counters(True, "-1"), OK, "there")


def test_the_page_and_its_counts():
    sections = [
        page.Section("one", [ok("a", "good"), warning("check", "slow " * 40, "mend it")]),
        page.Section("two", [fault("b", "gone", "bring it"), fault("b", "gone", "bring it")]),
    ]
    lines = page.lines(sections)
    assert lines[0] == "one"
    assert lines[2] == "  ok       a      good"
    assert lines[-1] == "2 faults, 1 warning"
    assert sum("remedy: " in line for line in lines) == 3
    assert max(map(len, lines)) <= 110
    data = page.data(sections)
    assert (data["faults"], data["warnings"]) == (2, 1)
    first = {"check": "a", "level": "ok", "found": "good", "remedy": ""}
    assert data["sections"][0]["findings"][0] == first
    assert page.lines([])[-1] == "no faults, no warnings"
    # What was not tried is not said to be well.
    unseen = [page.Section("this machine", []), page.Section("mpirun", [ok("program", "there")])]
    assert page.lines(unseen)[-1].startswith("not known whether lacuna is at work, ")


def test_every_check_of_this_machine_has_a_remedy(monkeypatch):
    found = page.machine_findings({})
    assert len(found) >= 12
    assert all(isinstance(one, Finding) and one.found for one in found)
    assert all(one.remedy for one in found if one.level != OK)
