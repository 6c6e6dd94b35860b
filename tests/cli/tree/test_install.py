# SPDX-License-Identifier: BSD-3-Clause
"""`cmake --install`: what is installed works from a prefix, as in docs/user/install.md."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BUILD, MPI_ROOT, ROOT

from lacuna import VERSION

ENGINE = """
#include <lacuna/lacuna.h>
#include <stdio.h>
int main(void) {
  double from[6] = {0, 1, 2, 3, 4, 5}, to[3] = {0};
  lacuna_type* type;
  lacuna_plan* plan;
  if (lacuna_type_parse("vector(3, 1, 2, double)", &type)) return 1;
  if (lacuna_plan_create(type, &plan)) return 2;
  if (lacuna_pack(plan, from, 1, to)) return 3;
  printf("%g %g %g\\n", to[0], to[1], to[2]);
  lacuna_plan_destroy(plan);
  lacuna_type_destroy(type);
  return 0;
}
"""
ENGINE_HPP = """
#include <cstdio>
#include <lacuna/lacuna.hpp>
int main() {
  const double from[6] = {0, 1, 2, 3, 4, 5};
  double to[3] = {0};
  const lacuna::Plan plan(lacuna::Type::vector(3, 1, 2, lacuna::Type::named("double")));
  plan.pack(from, 1, to);
  std::printf("%g %g %g\\n", to[0], to[1], to[2]);
}
"""
DECODE = """
#include <lacuna/lacuna_mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Datatype column;
  MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &column);
  lacuna_type* type;
  lacuna_plan* plan;
  double from[6] = {0, 1, 2, 3, 4, 5}, to[3] = {0};
  if (lacuna_type_from_mpi(column, &type) || lacuna_plan_create(type, &plan)) return 1;
  if (lacuna_pack(plan, from, 1, to)) return 2;
  printf("%g %g %g\\n", to[0], to[1], to[2]);
  lacuna_plan_destroy(plan);
  lacuna_type_destroy(type);
  MPI_Type_free(&column);
  return MPI_Finalize();
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(user C CXX)
find_package(lacuna ${WANTED} REQUIRED)
add_executable(shared engine.c)
target_link_libraries(shared PRIVATE lacuna::lacuna)
add_executable(archive engine.c)
target_link_libraries(archive PRIVATE lacuna::static)
add_executable(hpp engine.cpp)
target_compile_features(hpp PRIVATE cxx_std_20)
target_link_libraries(hpp PRIVATE lacuna::static)
add_executable(decode decode.c)
target_include_directories(decode PRIVATE ${MPI}/include)
target_link_libraries(decode PRIVATE lacuna::decode_mpich ${MPI}/lib/libmpi.so.12)
target_link_options(decode PRIVATE -Wl,--allow-shlib-undefined)
"""
# A parent's own module of the same name is not lacuna's.
WITHIN = """
cmake_minimum_required(VERSION 3.20)
project(user C)
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_SOURCE_DIR})
include(FetchContent)
FetchContent_Declare(lacuna SOURCE_DIR ${LACUNA})
FetchContent_MakeAvailable(lacuna)
enable_testing()
add_executable(shared engine.c)
target_link_libraries(shared PRIVATE lacuna::lacuna)
add_executable(archive engine.c)
target_link_libraries(archive PRIVATE lacuna::static)
if(LACUNA_MPI)
  add_executable(decode decode.c)
  target_include_directories(decode PRIVATE ${MPI}/include)
  target_link_libraries(decode PRIVATE lacuna::decode_mpich ${MPI}/lib/libmpi.so.12)
  target_link_options(decode PRIVATE -Wl,--allow-shlib-undefined)
endif()
"""


def do(*words, **environment):
    """What a command prints, which must succeed."""
    done = subprocess.run(
        [str(word) for word in words],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """An installed lacuna that has been moved."""
    folder = tmp_path_factory.mktemp("install")
    do("cmake", "--install", BUILD, "--prefix", folder / "first")
    return (folder / "first").rename(folder / "moved")


def test_pkg_config(prefix, tmp_path):
    (tmp_path / "engine.c").write_text(ENGINE)
    path = {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    flags = do("pkg-config", "--cflags", "--libs", "lacuna", **path).split()
    do("cc", "-Wall", "-Werror", tmp_path / "engine.c", "-o", tmp_path / "engine", *flags)
    assert do(tmp_path / "engine", LD_LIBRARY_PATH=str(prefix / "lib")) == "0 2 4\n"
    assert do("pkg-config", "--modversion", "lacuna", **path).strip() == VERSION


def test_pkg_config_of_the_build_tree(tmp_path):
    (tmp_path / "engine.c").write_text(ENGINE)
    path = {"PKG_CONFIG_PATH": str(BUILD / "lib/pkgconfig")}
    flags = do("pkg-config", "--cflags", "--libs", "lacuna", **path).split()
    do("cc", "-Wall", "-Werror", tmp_path / "engine.c", "-o", tmp_path / "engine", *flags)
    assert do(tmp_path / "engine") == "0 2 4\n"


def test_find_package(prefix, tmp_path):
    texts = {"engine.c": ENGINE, "engine.cpp": ENGINE_HPP, "decode.c": DECODE}
    for name, text in (texts | {"CMakeLists.txt": PROJECT}).items():
        (tmp_path / name).write_text(text)
    mpi = MPI_ROOT / "mpich"
    words = ("-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    do("cmake", *words, f"-DMPI={mpi}", f"-DWANTED={VERSION.rpartition('.')[0]}")
    do("cmake", "--build", tmp_path / "build")
    for name in ("shared", "archive", "hpp", "decode"):
        told = do(tmp_path / "build" / name, LD_LIBRARY_PATH=str(mpi / "lib"))
        assert told == "0 2 4\n", name


def test_within_another_project(tmp_path):
    """The engine alone, and MPI where it is asked for; nothing of it is the parent's."""
    for name, text in (("engine.c", ENGINE), ("decode.c", DECODE), ("CMakeLists.txt", WITHIN)):
        (tmp_path / name).write_text(text)
    (tmp_path / "flags.cmake").write_text("message(FATAL_ERROR another)\n")
    mpi, build = MPI_ROOT / "mpich", tmp_path / "build"
    words = ["-S", tmp_path, "-B", build, f"-DLACUNA={ROOT}", f"-DMPI={mpi}", "-G", "Ninja"]
    # Whatever the processor: the kernels of its instruction sets took 60 of 108 s.
    words += ["-DCMAKE_CXX_FLAGS=-DHWY_COMPILE_ONLY_STATIC"]
    do("cmake", *words)
    do("cmake", "--build", build)
    assert "Total Tests: 0" in do("ctest", "--test-dir", build, "-N")
    assert not list(build.rglob("lacuna-*probe*")) and not list(build.rglob("example*"))
    do("cmake", *words, "-DLACUNA_MPI=ON")
    do("cmake", "--build", build, "--target", "decode")
    for name in ("shared", "archive", "decode"):
        assert do(build / name, LD_LIBRARY_PATH=str(mpi / "lib")) == "0 2 4\n", name
    do("cmake", "--install", build, "--prefix", tmp_path / "prefix")
    assert not (tmp_path / "prefix").exists()


def test_the_engine_shows_what_its_header_names(prefix):
    """And nothing of the C++ library's, which a program may have another one of."""
    header = (prefix / "include/lacuna/lacuna.h").read_text()
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    named = set(re.findall(r"\b(lacuna_\w+)\(", code))
    lines = do("nm", "-D", "--defined-only", prefix / "lib/liblacuna.so").splitlines()
    assert {line.split()[-1] for line in lines} == named


def test_the_modulefile_names_what_is_there(prefix):
    (module,) = (prefix / "share/modulefiles/lacuna").iterdir()
    text = module.read_text()
    assert text.startswith("#%Module1.0\n") and module.name == VERSION
    assert (module.parent / ".." / ".." / "..").resolve() == prefix.resolve()
    named = re.findall(r"\$prefix(\S*)$", text, re.MULTILINE)
    assert len(named) == 7
    for part in named:
        assert (prefix / part.lstrip("/")).is_dir(), part


def test_nothing_of_the_tests_is_installed(prefix):
    names = {path.name for path in prefix.rglob("*") if path.is_file()}
    assert {"liblacuna-mpich.so", "liblacuna-ompi.so", "liblacuna-mpiabi.so"} < names
    assert {"lacuna-measure", "lacuna-machine-probe", "liblacuna-mpich.a", "smoke.sh"} < names
    assert not {name for name in names if "test" in name or "interpose" in name}


def test_man_pages_and_completion_are_where_they_are_looked_for(prefix):
    """Below the prefix that has bin: as man, bash and fish look there; zsh is told."""
    share = ROOT / "packaging/manual/share"
    files = [path.relative_to(share) for path in share.rglob("*") if path.is_file()]
    assert len(files) > 10
    for file in files:
        assert (prefix / "share" / file).read_bytes() == (share / file).read_bytes()


def test_the_command_finds_what_is_in_its_prefix(prefix, tmp_path):
    """As after `pip install`, which needs a network: the package in an environment of its own."""
    whole = tmp_path / "whole"
    shutil.copytree(prefix, whole, symlinks=True)
    do(sys.executable, "-m", "venv", "--without-pip", whole)
    (packages,) = whole.glob("lib/python3*/site-packages")
    shutil.copytree(ROOT / "python/lacuna", packages / "lacuna")
    # What it needs comes from here. (The source tree's own package is not found by that.)
    here = next(path for path in sys.path if path.endswith("site-packages"))
    (packages / "needs.pth").write_text(f"{here}\n")
    start = ("-c", "from lacuna.cli.main import main; main()")
    environment = {"LACUNA_LIBRARY_DIR": "", "PYTHONPATH": ""}

    def installed(*words):
        return do(whole / "bin/python", *start, *words, **environment)

    assert Path(installed("preload", "--mpi", "mpich").strip()) == whole / "lib/liblacuna-mpich.so"
    assert "48 bytes" not in installed("explain", "vector(3, 1, 2, double)")
    assert "24 bytes" in installed("explain", "vector(3, 1, 2, double)")
    assert installed("docs", "run") == (ROOT / "docs/user/run.md").read_text()
    do(
        *(whole / "bin/python", "-c"),
        "from lacuna.base import paths; assert paths.corpus().is_dir(), paths.corpus(); "
        "assert (paths.compiled_tables() / 'preload.json').is_file(); "
        "assert (paths.bench_sources('ompi') / 'cg.c').is_file(); "
        f"assert str(paths.corpus()).startswith({str(whole)!r}), paths.corpus()",
        **environment,
    )
