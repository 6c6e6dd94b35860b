# SPDX-License-Identifier: BSD-3-Clause
"""What pip installs: the wheel, of the sdist's files and this build, in an environment of its own
and without a compiler on PATH. Nothing is fetched: what the command needs comes from here."""

import os
import platform
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from conftest import BUILD, MPI_ROOT, ROOT, launch_words, one_line_error, run_quietly

FAMILY = {"mpich": "mpich", "openmpi": "ompi", "mpiabi": "mpiabi"}
# Programs of the runtime's that no loop over families makes.
ALONE = ["lacuna", "lacuna_machine_probe", "lacuna_measure", "lacuna_misses"]


def do(*words, cwd=ROOT, **environment):
    """What a command prints on both, which must succeed."""
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=500,  # packing takes 15 s when nothing else runs
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """The sources as they are published, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    build = "import sys, scikit_build_core.build as b; b.build_sdist(sys.argv[1])"
    do(sys.executable, "-c", build, folder)
    (file,) = folder.glob("lacuna_mpi-*.tar.gz")
    with tarfile.open(file) as archive:
        archive.extractall(folder, filter="data")
    return folder / file.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    script = ROOT / "packaging" / "wheel" / "wheel.sh"
    do(script, BUILD, folder, sdist, LACUNA_PYTHON=sys.executable)
    (file,) = folder.iterdir()
    return file


@pytest.fixture(scope="module")
def user(wheel, tmp_path_factory):
    """Calls the installed command."""
    folder = tmp_path_factory.mktemp("user") / "env"
    do(sys.executable, "-m", "venv", folder)
    words = ("--quiet", "--disable-pip-version-check", "--no-index", "--no-deps")
    do(folder / "bin" / "python", "-m", "pip", "install", *words, wheel)
    (packages,) = folder.glob("lib/python3*/site-packages")
    # What it needs. (The source tree's own package is not found by that.)
    here = next(path for path in sys.path if path.endswith("site-packages"))
    (packages / "needs.pth").write_text(f"{here}\n")
    tools = folder.parent / "tools"  # no compiler, but what launchers and MPI libraries may call
    tools.mkdir()
    for name in ("sh", "env", "sed", "uname", "hostname", "dirname", "basename", "ps"):
        for place in ("/bin", "/usr/bin"):
            if (Path(place) / name).exists() and not (tools / name).exists():
                (tools / name).symlink_to(Path(place) / name)

    def call(*words, **environment):
        environment |= {"LACUNA_LIBRARY_DIR": "", "PYTHONPATH": "", "PATH": f"{tools}"}
        command = folder / "bin" / "lacuna"
        return do(command, *words, cwd=folder.parent, **environment)

    call.folder = folder
    return call


def test_the_wheel_has_what_is_needed_and_no_mpi_library(wheel):
    with zipfile.ZipFile(wheel) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
    own = {Path(name).name for name in entries if "/prefix/" in name}
    for family in FAMILY.values():
        assert f"liblacuna-{family}.so" in own
        for program in ("bench-transpose", "bench-preload", "bench-engine", "bench-apps", "costs"):
            entry = entries[f"lacuna/prefix/bin/lacuna-{program}-{family}"]
            assert entry.external_attr >> 16 & 0o111, entry
    assert {"liblacuna.so.0", "lacuna.h", "lacuna-machine-probe", "preload.json"} < own
    assert not [name for name in own if "gpu" in name or "cuda" in name or "fortran" in name]
    # Man pages and completion, for the environment's share.
    source = ROOT / "packaging/manual/share"
    wanted = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
    assert wanted and {f"share/{name}" for name in wanted} < {
        name.partition(".data/data/")[2] for name in entries
    }
    # What auditwheel had to put in, by the names of libraries.
    given = [Path(name).name for name in entries if "lacuna_mpi.libs/lib" in name]
    assert {name.split("-")[0] for name in given} <= {"libhwloc", "libudev"}
    assert not [name for name in entries if "libmpi" in name or name.endswith("README.md")]


def test_the_wheel_needs_no_newer_c_library_than_is_told(wheel):
    """2.34 by the toolchain of Debian 12: RHEL 9, Ubuntu 22.04 and newer."""
    (minor,) = re.findall(r"-py3-none-manylinux_2_(\d+)_\w+\.whl$", wheel.name)
    here = int(platform.libc_ver()[1].split(".")[1])
    assert int(minor) <= (34 if here <= 36 else here)
    if here == 36:
        text = (ROOT / "docs" / "user" / "install.md").read_text()
        assert f"C library 2.{minor}" in text


def test_the_command_finds_its_engine(user):
    assert user("--version").startswith("lacuna 0.")
    assert "24 bytes" in user("explain", "vector(3, 1, 2, double)")
    assert "row" in user("machine")
    assert user("docs", "run") == (ROOT / "docs" / "user" / "run.md").read_text()


@pytest.mark.parametrize("mpi", FAMILY)
def test_lacuna_is_in_the_ranks(user, mpi):
    launcher, environment = launch_words(mpi, FAMILY[mpi])
    program = BUILD / "bin" / f"cli_costs_program_{FAMILY[mpi]}"
    told = user("run", "--log", *launcher, "-n", "2", program, "transposed", **environment)
    assert re.search(r"^lacuna\[0\]: on: lacuna 0\.", told, re.MULTILINE), told
    library = user("preload", "--mpi", mpi).strip()
    assert str(user.folder) in library and Path(library).is_file()


def test_programs_of_the_wheel_run_on_the_library_of_a_prefix(user):
    """As that of the environment is, where pip brings an MPI library, too."""
    words = ("bench", "transpose", "--n", "64", "--repetitions", "1")
    root = ("--mpi-root", str(MPI_ROOT / "mpich"))
    assert "MPICH" in user(*words, *root)
    own = {"LACUNA_LIBRARY_DIR": "", "PYTHONPATH": ""}
    for more in ((), ("--mpi", "openmpi", *root)):
        result = run_quietly([str(user.folder / "bin" / "lacuna"), *words, *more], own)
        one_line_error(result, 3, "no MPI library", "pip install")


def test_without_what_draws_figures(lacuna, tmp_path):
    """matplotlib is an extra: whoever asks for figures is told before anything is measured."""
    text = "import importlib.util as u\nfind = u.find_spec\n"
    text += (
        "u.find_spec = lambda name, *more: None if name == 'matplotlib' else find(name, *more)\n"
    )
    (tmp_path / "sitecustomize.py").write_text(text)
    words = ("bench", "transpose", "--plots", tmp_path / "plots")
    path = os.environ.get("PYTHONPATH", "")
    result = lacuna(*words, PYTHONPATH=f"{tmp_path}:{path}".rstrip(":"))
    one_line_error(result, 3, "no matplotlib", "pip install matplotlib")
    assert not (tmp_path / "plots").exists()


def ninja(*words):
    return do("ninja", "-C", BUILD, "-t", *words).splitlines()


def test_the_sdist_has_all_that_a_build_reads(sdist):
    targets = [*ALONE, *(f"lacuna-{family}" for family in FAMILY.values())]
    for family in FAMILY.values():
        targets += [f"lacuna_{name}_{family}" for name in ("bench_preload", "bench_apps", "costs")]
    read = {line.strip() for line in ninja("inputs", *targets)}
    is_ours = False
    for line in ninja("deps"):
        if not line.startswith(" "):
            is_ours = line.split(":")[0] in read
        elif is_ours:
            read.add(line.strip())
    read |= {line.strip() for line in ninja("inputs", "build.ninja")}
    missing = []
    for name in sorted(read):
        path = Path(os.path.normpath(BUILD / name))
        inside = path.is_relative_to(ROOT) and not path.is_relative_to(BUILD)
        part = path.relative_to(ROOT) if inside else None
        if part and path.is_file() and part.parts[0] not in ("build", "tests", ".venv"):
            missing += [] if (sdist / part).is_file() else [str(part)]
    assert len(read) > 500 and not missing, missing
    for needed in ("setup/setup.sh", "packaging/wheel/wheel.sh", "Makefile", "CMakePresets.json"):
        assert (sdist / needed).is_file(), needed
    assert not (sdist / "tests").exists() and not (sdist / "build").exists()
