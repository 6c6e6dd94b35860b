# SPDX-License-Identifier: BSD-3-Clause
"""Programs compiled by lacuna-fc: what its remarks say, and the MPI's own compiler's results."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from programs import HANGS, no_types

from lacuna.base import paths
from lacuna.compiler import fortran
from lacuna.launch import mpis

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIBRARIES = ["debian-mpich", "debian-openmpi", "intelmpi"]
# What is compiled is much the same for all: some of it is for `make test-conformance`.
DEEPER = [LIBRARIES[0], *(pytest.param(name, marks=pytest.mark.depth) for name in LIBRARIES[1:])]
INTEL = paths.default_mpi_root() / "intelmpi"
PROGRAMS = {
    "types": ["types"],
    "messages": ["messages"],
    "soundness": ["soundness", "others"],
    "registry": ["registry"],
}
REMARKS = ("-Rpass=lacuna", "-Rpass-missed=lacuna", "-mllvm", "-lacuna-verify")
REMARK = re.compile(
    r"(\w+)\.f90:(\d+):\d+: remark: (MPI_\w+) "
    r"(specialized|left as it is|looks its type up at run time): (.*) \[-Rpass"
)

pytestmark = pytest.mark.skipif(
    fortran.find_compiler() is None or shutil.which("gfortran") is None,
    reason="no flang-new-19 or no gfortran; remedy: setup/setup.sh test",
)


def environment() -> dict[str, str]:
    build = Path(os.environ["LACUNA_BUILD_DIR"])
    return {
        **os.environ,
        "LACUNA_LIBRARY_DIR": str(build / "lib"),
        "PYTHONPATH": str(ROOT / "python"),
        "LACUNA_TABLE": "none",
        "XDG_CACHE_HOME": str(build / "cache"),
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "I_MPI_ROOT": str(INTEL),
        "I_MPI_PIN": "off",
    }


def call(command: list[str], **told: str) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as folder:  # module files are written where one is
        done = subprocess.run(
            command, cwd=folder, env={**environment(), **told}, capture_output=True, text=True,
            check=False, timeout=HANGS,
        )  # fmt: skip
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done


def lacuna_fc(library: str, *arguments: str, **told: str) -> str:
    """Compiles, and returns what the compiler said."""
    program = "from lacuna.compiler.wrapper import fc; fc()"
    command = [sys.executable, "-c", program, "--mpi", library, "-O2", *arguments]
    return call(command, **told).stderr


def plain_fc(library: str, *arguments: str) -> None:
    words = [f"mpif90.{library.removeprefix('debian-')}"]
    if library == "intelmpi":  # whose modules for gfortran are where its wrapper does not look
        modules = INTEL / "include" / "mpi" / "gfortran" / "12.4.0"
        words = [str(INTEL / "bin" / "mpif90"), f"-I{modules}"]
    call([*words, "-w", "-fallow-argument-mismatch", "-O2", *arguments])


def run(
    library: str, program: Path, preload: Path | None = None
) -> subprocess.CompletedProcess[str]:
    if library == "intelmpi":
        target = mpis.installed(library, paths.default_mpi_root())
    else:
        target = mpis.Installed(library, Path("/usr"))
    preloads = [] if preload is None else ["env", f"LD_PRELOAD={paths.without_blanks(preload)}"]
    words = [*preloads, str(program)]
    return call(target.command(2, words), **target.environment())


def sources(name: str) -> list[str]:
    return [str(HERE / "fortran" / f"{part}.f90") for part in PROGRAMS[name]]


def agree(name: str, remarks: str) -> None:
    """The comments behind calls, and what was said of these."""
    found: dict[tuple[str, int], set[tuple[str, str]]] = {}
    for line in remarks.splitlines():
        if match := REMARK.search(line):
            found.setdefault((match[1], int(match[2])), set()).add((match[4], match[5]))
    wanted = {}
    for source in sources(name):
        for number, line in enumerate(Path(source).read_text().splitlines(), 1):
            if match := re.search(r"! (specialized|left|asks)(?:: (.*))?$", line):
                wanted[Path(source).stem, number] = (match[1], match[2] or "")
    assert found.keys() == wanted.keys(), remarks
    for place, (verb, reason) in wanted.items():
        verbs = {what.split()[0].replace("looks", "asks") for what, _ in found[place]}
        assert verbs == {verb}, f"{place}: {found[place]}"
        assert all(reason in why for _, why in found[place]), f"{place}: {found[place]}"


@pytest.mark.parametrize(
    ("name", "library"),
    [
        pytest.param(name, library, marks=[pytest.mark.depth] if is_deep else [])
        for library in LIBRARIES
        for name in PROGRAMS
        for is_deep in [library == "intelmpi" and name != "types"]
    ],
)
def test_same_results(library: str, name: str, tmp_path: Path) -> None:
    remarks = lacuna_fc(library, *REMARKS, *sources(name), "-o", str(tmp_path / "specialized"))
    plain_fc(library, *sources(name), "-o", str(tmp_path / "plain"))
    agree(name, remarks)
    seen, wanted = (run(library, tmp_path / program) for program in ("specialized", "plain"))
    assert wanted.stdout.count("\n") >= 10
    assert seen.stdout == wanted.stdout
    assert "leaked" not in seen.stderr  # MPICH tells of types that are not freed


@pytest.mark.parametrize("library", LIBRARIES)
def test_types_in_a_module_are_registered(library: str, tmp_path: Path) -> None:
    """MPI is not called to pack them."""
    source, failing = tmp_path / "no_pack.c", tmp_path / "no_pack.so"
    source.write_text("#include <stdlib.h>\nvoid mpi_pack_(void) { abort(); }\n")
    call(["cc", "-shared", "-fPIC", str(source), "-o", str(failing)])
    lacuna_fc(library, *sources("registry"), "-o", str(tmp_path / "registry"))
    plain_fc(library, *sources("registry"), "-o", str(tmp_path / "plain"))
    right = run(library, tmp_path / "plain").stdout
    assert run(library, tmp_path / "registry", preload=failing).stdout == right
    told = lacuna_fc(library, *sources("registry"), "-o", str(tmp_path / "c"), LACUNA_CHECK="1")
    checked = run(library, tmp_path / "c")
    assert checked.stdout == right
    assert "lacuna check" not in told + checked.stderr


@pytest.mark.parametrize("library", DEEPER)
def test_the_pass_can_be_told_to_do_nothing(library: str, tmp_path: Path) -> None:
    off = ["-mllvm", "-lacuna=off", *sources("messages"), "-o", str(tmp_path / "off")]
    assert "remark" not in lacuna_fc(library, *REMARKS, *off)
    report = ["-mllvm", "-lacuna=report", *sources("messages"), "-o", str(tmp_path / "report")]
    assert "can be specialized" in lacuna_fc(library, *REMARKS, *report)
    # Nothing is left of how the calls were looked at.
    for program in ("off", "report"):
        assert not {name for name in symbols(tmp_path / program) if name.startswith("MPI_")}
    assert run(library, tmp_path / "off").stdout == run(library, tmp_path / "report").stdout


def symbols(program: Path) -> set[str]:
    listing = subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True)
    return set(re.findall(r" U ((?:MPI|mpi)_\w+)", listing.stdout))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("options", [[], ["--lto"]])
def test_types_that_nothing_needs_are_not_made(
    library: str, options: list[str], tmp_path: Path
) -> None:
    source = tmp_path / "column.f90"
    source.write_text(
        "program column\n  use mpi\n  implicit none\n  integer :: t, e, rank\n"
        "  double precision :: a(8, 8)\n  call MPI_Init(e)\n"
        "  call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)\n  a = rank\n"
        "  call MPI_Type_vector(8, 1, 8, MPI_DOUBLE_PRECISION, t, e)\n"
        "  call MPI_Type_commit(t, e)\n"
        "  if (rank == 0) call MPI_Send(a, 1, t, 1, 0, MPI_COMM_WORLD, e)\n"
        "  if (rank == 1) call MPI_Recv(a, 1, t, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, e)\n"
        "  if (rank == 1) write (*, '(F6.1)') sum(a)\n"
        "  call MPI_Type_free(t, e)\n  call MPI_Finalize(e)\nend program\n"
    )
    lacuna_fc(library, *options, str(source), "-o", str(tmp_path / "column"))
    # Open MPI has them made where errors are survived, which these are not.
    left = {name for name in symbols(tmp_path / "column") if name.startswith("mpi_type")}
    assert not left or library == "debian-openmpi"
    assert run(library, tmp_path / "column", no_types(tmp_path)).stdout.split() == ["56.0"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_sizes_can_be_asked(library: str, tmp_path: Path) -> None:
    """Of scalars and arrays, of numbers, logicals and characters."""
    source = tmp_path / "sizes.f90"
    source.write_text(
        "program sizes\n  use mpi\n  implicit none\n  integer :: s(7), e, i(2, 2)\n"
        "  integer(8) :: j\n  double precision :: d(3)\n  complex :: c\n  character :: a, b(3)\n"
        "  real, allocatable :: r(:, :, :)\n  call MPI_Init(e)\n  allocate (r(1, 2, 3))\n"
        "  call MPI_Sizeof(i, s(1), e)\n  call MPI_Sizeof(j, s(2), e)\n"
        "  call MPI_Sizeof(d, s(3), e)\n  call MPI_Sizeof(c, s(4), e)\n"
        "  call MPI_Sizeof(r(:, 1, :), s(5), e)\n  call MPI_Sizeof(a, s(6), e)\n"
        "  call MPI_Sizeof(b, s(7), e)\n  write (*, '(7I3)') s\n"
        "  call MPI_Finalize(e)\nend program\n"
    )
    lacuna_fc(library, str(source), "-o", str(tmp_path / "sizes"))
    assert run(library, tmp_path / "sizes").stdout.split() == list("4888411") * 2


@pytest.mark.parametrize("library", DEEPER)
def test_checks(library: str, tmp_path: Path) -> None:
    """With LACUNA_CHECK=1 each site is compared with MPI_Pack, and agrees."""
    program = tmp_path / "checked"
    for name in ("types", "messages"):
        lacuna_fc(library, *sources(name), "-o", str(program), LACUNA_CHECK="1")
        assert (
            "lacuna_template_check"
            in subprocess.run(
                ["nm", str(program)], capture_output=True, text=True, check=True
            ).stdout
        )
        assert "lacuna check" not in run(library, program).stderr


def test_a_record_is_explained(tmp_path: Path) -> None:
    record = tmp_path / "r.opt.yaml"
    words = ["-fsave-optimization-record", f"-foptimization-record-file={record}"]
    lacuna_fc("debian-mpich", *words, "-c", *sources("types"), "-o", str(tmp_path / "r.o"))
    command = "import sys; from lacuna.cli.main import main; sys.exit(main())"
    told = call([sys.executable, "-c", command, "explain", "--json", str(record)]).stdout
    details = [site["detail"] for site in json.loads(told)]
    assert any("vector(16, 2, 24, double_precision)" in detail for detail in details)


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        ("program p\n  use mpi_f08\nend program\n", [], "mpi_f08"),
        ("program p\n  use mpi\nend program\n", ["-fdefault-integer-8"], "8 bytes"),
    ],
)
def test_what_flang_cannot_do_is_left_to_the_plain_compiler(
    text: str, options: list[str], reason: str, tmp_path: Path
) -> None:
    source = tmp_path / "p.f90"
    source.write_text(text)
    said = lacuna_fc("debian-mpich", *options, str(source), "-o", str(tmp_path / "p"))
    assert said.startswith("lacuna-fc: ")
    assert reason in said
    assert "; mpif90.mpich compiles, and nothing is specialized" in said.replace(
        "mpifort", "mpif90"
    )
    assert (tmp_path / "p").is_file()


@pytest.mark.parametrize("library", ["mpich", "openmpi", "mpiabi"])
def test_libraries_without_fortran_say_so(library: str) -> None:
    program = "from lacuna.compiler.wrapper import fc; fc()"
    done = subprocess.run(
        [sys.executable, "-c", program, "--mpi", library, "x.f90"],
        env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "have no Fortran" in done.stderr


def test_another_mpif_is_not_taken_for_this(tmp_path: Path) -> None:
    """Its numbers are asked for; where they differ, the MPI's own compiler works."""
    real = Path("/usr/include/x86_64-linux-gnu/mpich/mpif.h")
    if not real.is_file():
        pytest.skip("no mpif.h of Debian's MPICH")
    text = real.read_text(errors="replace")
    flang = fortran.find_compiler() or ""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        for number, changed in enumerate(
            (text, text.replace("(MPI_REAL=1275069468)", "(MPI_REAL=9)"))
        ):
            folder = tmp_path / str(number)
            folder.mkdir()
            (folder / "mpif.h").write_text(changed)
            header = fortran.find_header([str(folder)])
            assert header is not None
            assert header.family == "mpich"
            module, is_known = fortran.ensure_module(flang, header, [f"-I{folder}"])
            assert module is not None
            assert (module / "mpi.mod").is_file()
            assert is_known == (number == 0)
        elsewhere = text.replace("MPI_BOTTOM, MPI_IN_PLACE", "MPI_IN_PLACE, MPI_BOTTOM")
        (folder / "mpif.h").write_text(elsewhere)
        header = fortran.find_header([str(folder)])
        assert header is not None
        assert header.family is None
