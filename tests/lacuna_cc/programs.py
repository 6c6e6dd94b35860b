# SPDX-License-Identifier: BSD-3-Clause
"""Compiles programs by lacuna-cc and by the plain compilers, and runs them."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from lacuna.base import paths
from lacuna.launch import mpis

HANGS = 400  # seconds: of what takes a few when nothing else runs
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIBRARIES = ["mpich", "openmpi", "intelmpi", "mpiabi", "debian-mpich", "debian-openmpi"]
# What is compiled is the same for a binary interface, and for MPI-5's but for the handles: on these
# libraries most programs are for `make test-conformance`.
SHARING = ("intelmpi", "mpiabi", "debian-mpich", "debian-openmpi")
WRAPPERS = {
    "mpich": "mpich/bin/mpicc",
    "openmpi": "openmpi/bin/mpicc",
    "intelmpi": "intelmpi/bin/mpicc",
    "mpiabi": "mpich/bin/mpicc_abi",
    "debian-mpich": "/usr/bin/mpicc.mpich",
    "debian-openmpi": "/usr/bin/mpicc.openmpi",
}


def find(name: str) -> Path:
    """A file of these tests: its name is enough, whichever folder it is in."""
    (found,) = HERE.rglob(name)
    return found


def deep_if_sharing(library: str):
    return pytest.param(library, marks=[pytest.mark.depth] if library in SHARING else [])


def environment(library: str) -> dict[str, str]:
    build = Path(os.environ["LACUNA_BUILD_DIR"])
    found = {
        **os.environ,
        "LACUNA_LIBRARY_DIR": str(build / "lib"),
        "PYTHONPATH": str(ROOT / "python"),
        "LACUNA_TABLE": "none",
        "LACUNA_COMPILED_TABLE": "none",
        "XDG_CACHE_HOME": str(build / "cache"),
    }
    if library == "intelmpi":
        found["I_MPI_ROOT"] = str(paths.default_mpi_root() / "intelmpi")
        found["I_MPI_PIN"] = "off"
    found["OMPI_MCA_mpi_yield_when_idle"] = "1"
    return found


def call(command: list[str], library: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command,
        env=environment(library),
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS,
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done


def lacuna_cc(library: str, *arguments: str) -> str:
    """Compiles, and returns what the compiler said."""
    return call(
        [sys.executable, "-m", "lacuna.compiler.wrapper", "--mpi", library, "-O2", *arguments],
        library,
    ).stderr


def plain_wrapper(library: str) -> Path:
    """The MPI's own compiler; MPICH's cannot work in a folder whose name has blanks."""
    found = paths.default_mpi_root() / WRAPPERS[library]
    return paths.without_blanks(found.parent) / found.name


def plain_cc(library: str, *arguments: str) -> None:
    call([str(plain_wrapper(library)), "-O2", *arguments], library)


def run(
    library: str,
    program: Path,
    preload: Path | None = None,
    told: list[str] | None = None,
    ranks: int = 2,
) -> str:
    """What it prints; what it says on stderr is appended to `told`."""
    if library.startswith("debian-"):
        target = mpis.Installed(library, Path("/usr"))
    else:
        target = mpis.installed(library, paths.default_mpi_root())
    preloads = [] if preload is None else ["env", f"LD_PRELOAD={paths.without_blanks(preload)}"]
    words = [*preloads, str(program)]
    done = subprocess.run(
        target.command(ranks, words), env={**environment(library), **target.environment()},
        capture_output=True, text=True, check=False, timeout=HANGS,
    )  # fmt: skip
    assert done.returncode == 0, f"{program}\n{done.stdout}\n{done.stderr}"
    if told is not None:
        told.append(done.stderr)
    return done.stdout


@functools.cache
def plain_result(library: str, *sources: str) -> str:
    """What these programs print by the plain compiler: made and run once for all tests."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "plain"
        plain_cc(library, *(str(find(source)) for source in sources), "-o", str(program))
        return run(library, program)


def no_types(folder: Path) -> Path:
    """A library to load before a program, which then must not commit a type."""
    library = folder / "no_types.so"
    command = ["cc", "-shared", "-fPIC", "-w", str(find("no_types.c")), "-o", str(library)]
    subprocess.run(command, check=True)
    return library


def symbols(program: Path) -> set[str]:
    listing = subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True)
    return set(re.findall(r" U (MPI_\w+)", listing.stdout))


REMARK = re.compile(
    r"^[^:]*?(\w+\.c(?:pp)?):(\d+):\d+: remark: (MPI_\w+) "
    r"(specialized|left as it is|looks its type up at run time): (.*) \[-Rpass"
)
REMARKS = ("-Rpass=lacuna", "-Rpass-missed=lacuna", "-mllvm", "-lacuna-verify")

VERBS = {
    "specialized": "specialized",
    "left": "left as it is",
    "asks": "looks its type up at run time",
}


def said(remarks: str) -> dict[int, set[tuple[str, str]]]:
    """For each line of the program: what became of its calls."""
    found: dict[int, set[tuple[str, str]]] = {}
    for line in remarks.splitlines():
        match = REMARK.match(line)
        if match:
            found.setdefault(int(match[2]), set()).add((match[4], match[5]))
    return found


def expected(source: Path) -> dict[int, str]:
    """The comments behind calls: `specialized`, or `left: a word of the reason`, or `asks`."""
    lines = source.read_text().splitlines()
    found = {}
    for number, line in enumerate(lines, 1):
        match = re.search(r"[;)}]\s*// (specialized|left|asks)(?:: (.*))?", line)
        if match:
            found[number] = line.split("// ")[-1]
    return found


def agree(source: Path, remarks: str) -> None:
    """The comments behind calls, and what was said of these."""
    found = said(remarks)
    for number, words in expected(source).items():
        verb, _, reason = words.partition(":")
        whats = found.get(number, set())
        verbs = {what for what, _ in whats}
        wanted = VERBS[verb.split()[0]]
        assert verbs == {wanted}, f"{source.name}:{number}: {words}: {whats}"
        assert all(reason.strip() in why for _, why in whats), f"{source.name}:{number}: {whats}"
