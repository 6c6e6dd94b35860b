# SPDX-License-Identifier: BSD-3-Clause
"""lacuna-cc in the place of a compiler, and what it writes for people."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from programs import call, environment, find, lacuna_cc, plain_wrapper, symbols

pytestmark = pytest.mark.skipif(
    shutil.which("clang-19") is None, reason="no clang-19; remedy: setup/setup.sh optimizer"
)


def test_as_the_compiler_of_cmake(tmp_path: Path) -> None:
    wrapper = tmp_path / "lacuna-cc"
    wrapper.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -m lacuna.compiler.wrapper --mpi mpich "$@"\n'
    )
    wrapper.chmod(0o755)
    halo = find("halo.c")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(p C)\n"
        "find_package(MPI REQUIRED COMPONENTS C)\n"
        f'add_executable(p "{halo}")\ntarget_link_libraries(p MPI::MPI_C)\n'
    )
    words = [
        f"-DCMAKE_C_COMPILER={wrapper}",
        "-DCMAKE_BUILD_TYPE=Release",
        "-B",
        str(tmp_path / "build"),
    ]
    call(["cmake", "-S", str(tmp_path), *words], "mpich")
    call(["cmake", "--build", str(tmp_path / "build")], "mpich")
    assert not {name for name in symbols(tmp_path / "build" / "p") if name.startswith("MPI_Type_")}


def test_files_that_are_not_of_c(tmp_path: Path) -> None:
    """Assembly, and what -save-temps makes of C: clang's assembler knows no plugin."""
    (tmp_path / "a.s").write_text("nop\n")
    (tmp_path / "b.S").write_text("#define A nop\nA\n")
    lacuna_cc("mpich", "-c", str(tmp_path / "a.s"), "-o", str(tmp_path / "a.o"))
    lacuna_cc("mpich", "-c", str(tmp_path / "b.S"), "-o", str(tmp_path / "b.o"))
    output = ["-o", str(tmp_path / "halo")]
    lacuna_cc("mpich", "-save-temps=obj", str(find("halo.c")), *output)
    assert not {name for name in symbols(tmp_path / "halo") if name.startswith("MPI_Type_")}


def test_precompiled_headers(tmp_path: Path) -> None:
    header, made = tmp_path / "halo.h", tmp_path / "halo.pch"
    header.write_text("#include <mpi.h>\n")
    lacuna_cc("mpich", "-O2", "-x", "c-header", str(header), "-o", str(made))
    output = ["-o", str(tmp_path / "halo")]
    lacuna_cc("mpich", "-O2", "-include-pch", str(made), str(find("halo.c")), *output)
    assert not {name for name in symbols(tmp_path / "halo") if name.startswith("MPI_Type_")}


@pytest.mark.parametrize(
    ("option", "flag"),
    [
        ("-fshort-wchar", '!"wchar_size", i32 2'),
        ("-fcf-protection=full", '!"cf-protection-branch", i32 1'),
        ("--target=x86_64-linux-gnu", 'triple = "x86_64-unknown-linux-gnu"'),
        ("-g", "!llvm.dbg.cu"),
    ],
)
def test_how_the_program_is_compiled_is_its_own(option: str, flag: str, tmp_path: Path) -> None:
    """The templates, which are linked to it, were compiled otherwise."""
    words = [option, "-Wall", "-Werror", "-Rpass=lacuna", "-S", "-emit-llvm"]
    told = lacuna_cc("mpich", *words, str(find("halo.c")), "-o", str(tmp_path / "halo.ll"))
    assert " specialized: " in told
    assert flag in (tmp_path / "halo.ll").read_text()


def test_another_processor_is_left_alone(tmp_path: Path) -> None:
    """Whose templates there are not."""
    source = tmp_path / "p.c"
    source.write_text(
        "typedef int MPI_Datatype, MPI_Comm;\n"
        "int MPI_Type_contiguous(int, MPI_Datatype, MPI_Datatype *);\n"
        "int f(MPI_Datatype *type) { return MPI_Type_contiguous(3, 0x4c00080b, type); }\n"
    )
    words = ["--target=aarch64-linux-gnu", "-Wall", "-Werror", "-S", "-emit-llvm"]
    lacuna_cc("mpich", *words, str(source), "-o", str(tmp_path / "p.ll"))
    assert "@MPI_Type_contiguous(" in (tmp_path / "p.ll").read_text()


def test_the_programs_own_headers_come_first(tmp_path: Path) -> None:
    """Also of a name that MPI's folder has: its wrappers put that folder last."""
    (tmp_path / "mpi.h").write_text("enum { kOwn = 1 };\n")
    (tmp_path / "p").mkdir()
    source = tmp_path / "p" / "p.c"
    source.write_text("#include <mpi.h>\nint f(void) { return kOwn; }\n")
    lacuna_cc("mpich", f"-I{tmp_path}", "-c", str(source), "-o", str(tmp_path / "p.o"))


def test_options_in_response_files(tmp_path: Path) -> None:
    """Ours are taken out, also of files that files name, and in quotes."""
    source = tmp_path / "a 'file.c"
    shutil.copy(find("halo.c"), source)
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    inner.write_text(f'-O2\n"{source}"\n--mpi \\mpich -o {tmp_path}/halo')
    outer.write_text(f"'-DA=\"b c\"' @{inner} ")
    for module in ("lacuna.compiler.start", "lacuna.compiler.start", "lacuna.compiler.wrapper"):
        call([sys.executable, "-m", module, f"@{outer}"], "mpich")
        assert not {name for name in symbols(tmp_path / "halo") if name.startswith("MPI_Type_")}
        (tmp_path / "halo").unlink()
    # What says that nothing is linked.
    inner.write_text(f"-c -o {tmp_path}/used.o")
    lacuna_cc("mpich", f"@{inner}", "-Werror", str(find("used_here.c")), "--lto")
    inner.write_text(f"--lto -c -o {tmp_path}/made.o")
    lacuna_cc("mpich", f"@{inner}", str(find("made_here.c")))
    inner.write_text("--lto")
    objects = [str(tmp_path / "made.o"), str(tmp_path / "used.o")]
    lacuna_cc("mpich", *objects, f"@{inner}", "-o", str(tmp_path / "together"))
    assert "lacuna.kernel.prefix" in call(["nm", str(tmp_path / "together")], "mpich").stdout


@pytest.mark.parametrize("asked", ["-v", "-dumpmachine", "--version"])
def test_what_compiles_can_be_asked(asked: str) -> None:
    """As configure scripts do, with nothing to compile."""
    command = [sys.executable, "-m", "lacuna.compiler.start", "--mpi", "mpich", asked]
    done = call(command, "mpich")
    assert "x86_64" in done.stdout + done.stderr
    assert "main" not in done.stderr


def test_a_name_that_is_missing_is_an_error(tmp_path: Path) -> None:
    """Also where the same command line without `--mpi` is cached."""
    (tmp_path / "empty.c").write_text("")
    command = [sys.executable, "-m", "lacuna.compiler.start", "-c", "empty.c"]
    for words, code in (([], 0), ([], 0), (["--mpi"], 2)):
        environ = environment("mpich")
        environ.pop("LACUNA_MPICC", None)
        environ["PATH"] = f"{plain_wrapper('mpich').parent}:{environ['PATH']}"
        done = subprocess.run(
            [*command, *words], env=environ, cwd=tmp_path, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
    assert done.stderr.startswith("lacuna-cc: --mpi without a name; ")


@pytest.mark.parametrize(
    ("command", "starts"),
    [("cc", "mpicc clang"), ("cxx", "mpicxx clang++"), ("fc", "mpifort flang")],
)
def test_help_is_lacunas_own(command: str, starts: str) -> None:
    """Not the compiler's, which does not know --mpi."""
    mpicc, compiler = starts.split()
    program = f"from lacuna.compiler import wrapper; wrapper.{command}()"
    told = subprocess.run(
        [sys.executable, "-c", program, "--help"], capture_output=True, text=True, check=True
    )
    assert told.stdout.startswith("usage: lacuna-")
    for part in (
        "--mpi NAME|MPICC",
        "--lto",
        "-Rpass-missed=lacuna",
        f"as {mpicc} does, by {compiler}-",
    ):
        assert part in told.stdout
    assert not told.stderr


def test_nothing_to_compile_is_said() -> None:
    command = [sys.executable, "-m", "lacuna.compiler.start", "--mpi", "mpich", "-O2"]
    told = environment("mpich")
    done = subprocess.run(command, env=told, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "no input files" in done.stderr


def test_the_wrapper_is_asked_once(tmp_path: Path) -> None:
    """And again when it has changed, or when other words are asked for."""
    wrapper, log = tmp_path / "mpicc", tmp_path / "log"
    real = plain_wrapper("mpich")
    wrapper.write_text(f'#!/bin/sh\necho asked >> {log}\nexec "{real}" "$@"\n')
    wrapper.chmod(0o755)
    told = environment("mpich") | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "lacuna.compiler.start", "--mpi", str(wrapper), "-O2"]
    output = tmp_path / "p"

    def compile_halo(*words: str) -> int:
        output.unlink(missing_ok=True)
        subprocess.run(
            [*command, *words, str(find("halo.c")), "-o", str(output)], env=told, check=True
        )
        assert not {name for name in symbols(output) if name.startswith("MPI_Type_")}
        return len(log.read_text().splitlines())

    first = compile_halo()
    assert first > 0
    assert compile_halo() == first
    assert compile_halo("-c") > first
    second = compile_halo()
    assert compile_halo("-c") == second
    for kept in (tmp_path / "cache" / "lacuna" / "compilers").iterdir():
        kept.write_bytes(b"?")
    third = compile_halo()
    assert third > second
    os.utime(wrapper, ns=(1, 1))
    assert compile_halo() > third


def test_without_clang_the_plain_compiler_is_called(tmp_path: Path) -> None:
    source = tmp_path / "p.c"
    source.write_text("#include <mpi.h>\nint main(void) { return MPI_SUCCESS; }\n")
    command = [sys.executable, "-m", "lacuna.compiler.wrapper", "--mpi", "mpich", str(source)]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "p")],
        env={**environment("mpich"), "LACUNA_LIBRARY_DIR": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert (tmp_path / "p").is_file()
    assert done.stderr.startswith("lacuna-cc: no lacuna-")
    remedy = "(`make optimizer` in a clone of lacuna brings it)"
    assert done.stderr.endswith(f"{remedy}; mpicc compiles, and nothing is specialized\n")


def test_a_record_is_explained(tmp_path: Path) -> None:
    source = str(find("soundness.c"))
    words = [
        "-g",
        "-fsave-optimization-record",
        f"-foptimization-record-file={tmp_path}/r.opt.yaml",
    ]
    lacuna_cc("mpich", *words, "-c", source, "-o", str(tmp_path / "r.o"))
    command = [
        sys.executable,
        "-c",
        "import sys; from lacuna.cli.main import main; sys.exit(main())",
        "explain",
        "--json",
        str(tmp_path / "r.opt.yaml"),
    ]
    sites = json.loads(call(command, "mpich").stdout)
    assert {"specialized", "removed", "left as it is"} <= {site["outcome"] for site in sites}
    assert any("4, 1, 9, double" in site["detail"] for site in sites)
    assert any(site["remedy"].startswith("compile and link with --lto") for site in sites)
    # Each call that looks its type up is told how to avoid that.
    asking = {site["detail"]: site["remedy"] for site in sites if "looks" in site["outcome"]}
    assert "the type is an argument of the function" in asking
    assert len(asking) > 2
    assert all(asking.values()), asking
    call([word for word in command if word != "--json"], "mpich")
    words[2] = f"-foptimization-record-file={tmp_path}/r.opt.yaml"
    lacuna_cc("mpich", *words, "-c", str(find("warnings.c")), "-o", str(tmp_path / "r.o"))
    sites = json.loads(call(command, "mpich").stdout)
    assert any(s["outcome"] == "warning" and "never freed" in s["detail"] for s in sites)
