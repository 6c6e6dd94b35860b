# SPDX-License-Identifier: BSD-3-Clause
"""Programs compiled by lacuna-cc: what its remarks say, and the plain compiler's results."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from programs import (
    LIBRARIES,
    REMARKS,
    SHARING,
    agree,
    call,
    deep_if_sharing,
    find,
    lacuna_cc,
    no_types,
    plain_cc,
    plain_result,
    run,
    said,
    symbols,
)

from lacuna.base import paths
from lacuna.compiler import table as compiled_table


def with_programs(names, few):
    """Each library with each program; some have no more than few in `make test`."""
    return [
        pytest.param(library, name, marks=[pytest.mark.depth] if is_deep else [])
        for library in LIBRARIES
        for name in names
        for is_deep in [library in SHARING and name not in few]
    ]


PROGRAMS = ["types", "lists", "soundness", "nonblocking", "collectives", "large"]
PROGRAMS += ["structs"]
PROGRAMS += ["noticed", "jumps", "frames", "tools", "errors", "registry"]
OTHER_FILES = {"frames": ["leaves.c"]}

pytestmark = pytest.mark.skipif(
    shutil.which("clang-19") is None, reason="no clang-19; remedy: setup/setup.sh optimizer"
)


def line_of(source: Path, words: str) -> int:
    lines = source.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if words in line)


@pytest.mark.parametrize(
    ("library", "name"),
    with_programs(PROGRAMS, ["types", "errors", "registry", "structs"]),
)
def test_same_results(library: str, name: str, tmp_path: Path) -> None:
    source = find(f"{name}.c")
    files = [f"{name}.c", *OTHER_FILES.get(name, [])]
    sources = [str(find(file)) for file in files]
    remarks = lacuna_cc(library, *REMARKS, *sources, "-o", str(tmp_path / "specialized"))
    agree(source, remarks)
    # Of types whose count may be negative, too.
    not_made = [
        n for n, line in enumerate(source.read_text().splitlines(), 1) if "not made" in line
    ]
    removed = {line.split(":")[1] for line in remarks.splitlines() if " removed: " in line}
    assert {str(number) for number in not_made} <= removed
    assert run(library, tmp_path / "specialized") == plain_result(library, *files)


# All that is packed is sent with a gap.
APART = [
    word
    for option in compiled_table.pass_options({}, {}, [[1, 1 << 30]])[1:]
    for word in ("-mllvm", option)
]


@pytest.mark.parametrize(
    ("library", "name"),
    with_programs(
        ["types", "lists", "soundness", "nonblocking", "large", "halo", "registry"],
        ["types"],
    ),
)
def test_sent_with_a_gap(library: str, name: str, tmp_path: Path) -> None:
    """All that is packed: the receiver has what it has without."""
    source = find(f"{name}.c")
    lacuna_cc(library, *APART, str(source), "-o", str(tmp_path / "apart"))
    assert "MPI_Type_indexed" in symbols(tmp_path / "apart")
    assert run(library, tmp_path / "apart") == plain_result(library, source.name)


@pytest.mark.parametrize(
    ("library", "how"),
    [
        ("mpich", "WORLD"),
        ("mpich", "THREADS"),
        ("mpich", "SESSIONS"),  # Open MPI 5.0.11's own second session ends the program
        ("openmpi", "WORLD"),
        ("openmpi", "THREADS"),
    ],
)
def test_types_with_a_gap_are_kept(library: str, how: str, tmp_path: Path) -> None:
    """Until MPI_Finalize; not where it may begin again.

    One rank begins again: of two, MPICH 5.0's second session gets a message of the first now
    and then, and aborts or hangs without lacuna, too (6 of 240 jobs).
    """
    ranks = 1 if how == "SESSIONS" else 2
    counting = tmp_path / "counted.o"
    plain_cc(library, "-c", str(find("gaps_counted.c")), "-o", str(counting))
    program = tmp_path / "gaps"
    lacuna_cc(library, *APART, f"-D{how}", str(find("gaps.c")), str(counting), "-o", str(program))
    lines = [f"{how.lower()}: 0 wrong, made, all freed"]
    if how == "WORLD":
        lines.append("one size: 1 made")
    assert sorted(run(library, program, ranks=ranks).splitlines()) == sorted(lines * ranks)


RUNTIMES = ["cudaMalloc", "cuInit", "hipMalloc", "zeMemAllocDevice"]
RUNTIMES += ["__sycl_register_lib", "__tgt_register_lib"]


@pytest.mark.parametrize("runtime", [*RUNTIMES, "of_the_host"])
def test_memory_of_a_device(runtime: str, tmp_path: Path) -> None:
    """A program that has a device's runtime leaves to MPI what may be there."""
    is_device = runtime in RUNTIMES
    words = [f"-DOWNER={runtime}", f"-DIS_DEVICE={int(is_device)}", "-w", "-c"]
    source, objects = find("device.c"), [str(tmp_path / "p.o"), str(tmp_path / "r.o")]
    agree(source, lacuna_cc("mpich", *REMARKS, *words, str(source), "-o", objects[0]))
    lacuna_cc("mpich", *words, "-DIS_RUNTIME", str(source), "-o", objects[1])
    lacuna_cc("mpich", *objects, "-o", str(tmp_path / "p"))
    assert run("mpich", tmp_path / "p") == f"packed by MPI: {2 * int(is_device)} of 128\n" * 2


# Open MPI 5 has no functions with MPI_Count.
@pytest.mark.parametrize(
    "library", [deep_if_sharing(name) for name in ("mpich", "mpiabi", "intelmpi", "debian-mpich")]
)
def test_large_counts(library: str, tmp_path: Path) -> None:
    source = find("counts.c")
    remarks = lacuna_cc(library, *REMARKS, str(source), "-o", str(tmp_path / "specialized"))
    agree(source, remarks)
    removed = {re.sub(".*remark: (.*) removed.*", r"\1", line) for line in remarks.splitlines()}
    assert {"MPI_Type_vector_c", "MPI_Type_create_hindexed_c", "MPI_Type_contiguous_c"} <= removed
    assert run(library, tmp_path / "specialized") == plain_result(library, source.name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LACUNA_CHECK", "1")
        lacuna_cc(library, str(source), "-o", str(tmp_path / "checked"))
    told: list[str] = []
    assert run(library, tmp_path / "checked", told=told) == plain_result(library, source.name)
    assert "lacuna" not in told[0]


@pytest.mark.parametrize("library", ["mpich", "openmpi"])
def test_cplusplus(library: str, tmp_path: Path) -> None:
    source = find("classes.cpp")
    program = "from lacuna.compiler.wrapper import cxx; cxx()"
    command = [sys.executable, "-c", program, "--mpi", library, "-O2", *REMARKS, str(source)]
    remarks = call([*command, "-o", str(tmp_path / "specialized")], library).stderr
    agree(source, remarks)
    # Also of types whose destructor runs when an exception passes.
    removed = {line.split(":")[1] for line in remarks.splitlines() if " removed: " in line}
    assert str(line_of(source, "MPI_Type_vector(rows")) in removed
    plain = paths.without_blanks(paths.default_mpi_root() / library / "bin") / "mpicxx"
    call([str(plain), "-O2", str(source), "-o", str(tmp_path / "plain")], library)
    assert run(library, tmp_path / "specialized") == run(library, tmp_path / "plain")


WARNING = re.compile(r"^[^ :]*?\w+\.c(?:pp)?:(\d+):\d+: remark: MPI_\w+: (.*) \[-Rpass-analysis")


def warnings(remarks: str) -> dict[int, str]:
    found = (WARNING.match(line) for line in remarks.splitlines())
    return {int(match[1]): match[2] for match in found if match}


@pytest.mark.parametrize("library", ["mpich", "openmpi", "mpiabi"])
def test_warnings(library: str, tmp_path: Path) -> None:
    source = find("warnings.c")
    output = ["-c", "-o", str(tmp_path / "w.o")]
    said = lacuna_cc(library, "-Rpass-analysis=lacuna", str(source), *output)
    found = warnings(said)
    lines = enumerate(source.read_text().splitlines(), 1)
    wanted = {number: line.split("// warned: ")[1] for number, line in lines if "// warned" in line}
    assert found.keys() == wanted.keys(), said
    assert all(words in found[number] for number, words in wanted.items()), said


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ([], "is not proven"),
        (["-DSOURCE=1"], "is not proven"),
        (["-DSOURCE=MPI_ANY_SOURCE"], "takes any rank's"),
    ],
)
def test_pairs_of_messages(options: list[str], reason: str, tmp_path: Path) -> None:
    source = find("pairs.c")
    output = ["-c", "-o", str(tmp_path / "p.o")]
    told = lacuna_cc("mpich", "-Rpass-missed=lacuna", *options, str(source), *output)
    pattern = re.compile(
        r"pairs\.c:(\d+):\d+: remark: MPI_(?:I?[Ss]end|Sendrecv) not merged "
        r"with that of line (\d+) (.*)"
    )
    found = {int(one): (int(other), why) for one, other, why in pattern.findall(told)}
    lines = enumerate(source.read_text().splitlines(), 1)
    wanted = {number: line.split("// pair: ")[1] for number, line in lines if "// pair" in line}
    assert found.keys() == wanted.keys(), told
    for number, words in wanted.items():
        assert found[number][0] == number - 1
        is_any = reason == "takes any rank's"
        words = words.replace("BOTH", reason if is_any else "may run another program")
        words = words.replace("TWO", reason if is_any else "are two messages")
        assert words.replace("REASON", reason) in found[number][1]


def test_pairs_whose_receives_are_elsewhere(tmp_path: Path) -> None:
    source = tmp_path / "sends.c"
    source.write_text(
        "#include <mpi.h>\nvoid f(double *data, int to) {\n"
        + "  MPI_Send(data, 9, MPI_DOUBLE, to, 3, MPI_COMM_WORLD);\n" * 2
        + "}\n"
    )
    output = ["-c", "-o", str(tmp_path / "p.o")]
    told = lacuna_cc("mpich", "-Rpass-missed=lacuna", str(source), *output)
    assert "not in this program unit" in told


@pytest.mark.parametrize("name", ["types.c", "nonblocking.c", "collectives.c", "halo.c"])
def test_no_warnings_of_right_programs(name: str, tmp_path: Path) -> None:
    output = ["-c", "-o", str(tmp_path / "w.o")]
    assert not warnings(lacuna_cc("mpich", "-Rpass-analysis=lacuna", str(find(name)), *output))


@pytest.mark.parametrize("library", ["mpich", "openmpi", "mpiabi"])
def test_checks(library: str, tmp_path: Path) -> None:
    """With LACUNA_CHECK=1 each site is compared with MPI_Pack: and agrees, and is told if not."""
    source, program, wrong = find("types.c"), tmp_path / "checked", tmp_path / "wrong.so"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LACUNA_CHECK", "1")
        remarks = lacuna_cc(library, *REMARKS, str(source), "-o", str(program))
    plain_cc(library, "-shared", "-fPIC", str(find("wrong_pack.c")), "-o", str(wrong))
    told: list[str] = []
    assert run(library, program, told=told) == plain_result(library, source.name)
    assert "lacuna" not in told[0]
    assert run(library, program, preload=wrong, told=told) == plain_result(library, source.name)
    lines = {int(number) for number in re.findall(r"lacuna check: .*types.c:(\d+): MPI_", told[1])}
    assert lines, told[1]
    assert all("remedy: " in line for line in told[1].splitlines() if "lacuna check" in line)
    sites = {line for line, whats in said(remarks).items() if ("specialized" in dict(whats))}
    assert lines <= sites


@pytest.mark.parametrize("library", ["mpich", "openmpi"])
def test_kernels_of_escaping_handles_are_registered(library: str, tmp_path: Path) -> None:
    """The preload takes those that fit the type; without it nothing changes."""
    source, program = find("registered.c"), tmp_path / "registered"
    told: list[str] = []
    # As if all calls were of another file: this program's own would look its types up.
    options = [*REMARKS, "-mllvm", "-lacuna-note=0"]
    remarks = lacuna_cc(library, *options, str(source), "-o", str(program))
    lines = source.read_text().splitlines()
    wanted = {str(number) for number, line in enumerate(lines, 1) if line.endswith("// registers")}
    assert wanted <= {line.split(":")[1] for line in remarks.splitlines() if " registers " in line}
    plain = plain_result(library, source.name)
    assert run(library, program) == plain
    family = "ompi" if library == "openmpi" else library
    preload = Path(os.environ["LACUNA_BUILD_DIR"]) / "lib" / f"liblacuna-{family}.so"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LACUNA_ALWAYS", "1")
        patch.setenv("LACUNA_REPORT", str(tmp_path / "report.json"))
        assert run(library, program, preload=preload) == plain
        counted = json.loads((tmp_path / "report.json").read_text())["compiled_kernels"]
        # Each type that is used, on both ranks; words at a stride need no kernel. Inside Open MPI,
        # lacuna also analyses three types that no call uses.
        unused = 3 if library == "openmpi" else 0
        assert counted["used"] == 2 * (3 * 3 + 1 + 30 + unused), counted
        assert counted["moves"] > 0
        # Those that by_hand() gives, on both ranks; that of a library is not even registered.
        assert counted["of_another_type"] == 4, counted
        patch.setenv("LACUNA_REPORT", "1")
        assert run(library, program, preload=preload, told=told) == plain
        assert re.search(r"lacuna: compiled kernels: \d+ registered, \d+ types use theirs", told[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LACUNA_CHECK", "1")
        lacuna_cc(library, str(source), "-o", str(tmp_path / "checked"))
    assert run(library, tmp_path / "checked", told=told) == plain
    assert "lacuna check" not in told[-1], told[-1]


@pytest.mark.parametrize("library", ["mpich", "openmpi"])
def test_types_that_nothing_needs_are_not_made(library: str, tmp_path: Path) -> None:
    lacuna_cc(library, str(find("halo.c")), "-o", str(tmp_path / "halo"))
    # Open MPI has them made where errors are survived, which these are not.
    left = {name for name in symbols(tmp_path / "halo") if name.startswith("MPI_Type_")}
    assert not left or library == "openmpi"
    assert run(library, tmp_path / "halo", no_types(tmp_path)) == plain_result(library, "halo.c")


def test_link_time_optimization_sees_other_files(tmp_path: Path) -> None:
    objects = []
    for name in ("made_here", "used_here"):
        objects.append(str(tmp_path / f"{name}.o"))
        lacuna_cc("mpich", "--lto", "-c", str(find(f"{name}.c")), "-o", objects[-1])
    lacuna_cc("mpich", "--lto", *objects, "-o", str(tmp_path / "together"))
    sources = [str(find(f"{name}.c")) for name in ("made_here", "used_here")]
    plain_cc("mpich", *sources, "-o", str(tmp_path / "plain"))
    listing = call(["nm", str(tmp_path / "together")], "mpich").stdout
    assert "lacuna.kernel.prefix" in listing  # of short receives
    assert run("mpich", tmp_path / "together") == run("mpich", tmp_path / "plain")
