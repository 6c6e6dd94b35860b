# SPDX-License-Identifier: BSD-3-Clause
"""Compiles random MPI programs in several ways, runs them, and compares what they digest.

`compare.py --mpi mpich --cases 0:500 --way 'clang-19 -O0' --way 'clang-19 -O2'`: the first way is
the reference. --preload adds its binary under `lacuna run`, --optimizer what lacuna-cc makes, where
that is there: packed wherever it can be, but for messages that random rules of sizes leave to the
library or send with a gap, which sizes of the run time may meet or not. A case that differs is made
alone, compared again, and named with a line that repeats it.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "python")]

from generate import Without, numbers_of, program  # noqa: E402

from lacuna.base import paths  # noqa: E402
from lacuna.compiler import table as compiled_table  # noqa: E402
from lacuna.launch import mpis, run  # noqa: E402
from lacuna.messages import ompi_programs  # noqa: E402

SECONDS = 120
MOST_USES = 6  # of one case
NOTHING = "no digest"
# C compilers, and what compiles C++ in their place.
_OF_CPP = {"clang": "clang++", "gcc": "g++", "cc": "c++", "lacuna-cc": "lacuna-c++"}
_LINE = re.compile(r"case (\d+) (\w+ \w+)$")


@dataclass(frozen=True)
class Way:
    """How a program is compiled, or (no command) that the reference runs under `lacuna run`."""

    name: str
    command: tuple[str, ...] = ()


@dataclass(frozen=True)
class Digests:
    """What a run printed, as far as it got: by case, and the end of what it said on stderr."""

    by_case: dict[int, str]
    complaint: str

    def of(self, case: int) -> str:
        return self.by_case.get(case, NOTHING)

    def told(self, case: int) -> str:
        """For a reader."""
        return self.by_case.get(case) or f"{NOTHING} ({self.complaint[-300:].strip()})"


@dataclass(frozen=True)
class Asked:
    """What the command line said."""

    target: mpis.Installed
    ways: tuple[Way, ...]
    seed: int
    keep: Path | None
    without: Without


def cpp_of(command: tuple[str, ...]) -> list[str]:
    """The command that compiles C++."""
    if "-m" in command:  # lacuna.compiler, which takes what follows as lacuna-cc does
        return [*command, "-std=c++17", "-lstdc++"]
    first = Path(command[0])
    name, dash, version = first.name, "", ""
    if name not in _OF_CPP:
        name, dash, version = first.name.rpartition("-")
    if name not in _OF_CPP:
        sys.exit(f"compare.py: no C++ compiler is known for {command[0]}")
    return [str(first.with_name(f"{_OF_CPP[name]}{dash}{version}")), *command[1:], "-std=c++17"]


def rules(seed: int) -> list[str]:
    """Options of lacuna-cc: in each pattern and on each side, some spans of runs and sizes."""
    rng = Random(f"{seed} rules")
    words = []
    for pattern in compiled_table.PATTERNS:
        for side in compiled_table.SIDES:
            for _ in range(rng.randint(1, 3)):
                run_from, size = rng.choice([0, 0, 4, 8]), rng.randint(1, 400)
                run_to = run_from + rng.choice([4, 8, 24, 1000])
                rule = f"{run_from}/{run_to}/{size}/{size * rng.randint(2, 5)}"
                # Of sends half are packed, but sent with a gap.
                ending = "/apart" if side == "send" and rng.random() < 0.5 else ""
                words += ["-mllvm", f"-lacuna-left={pattern}/{side}/{rule}{ending}"]
    return words


class Failure(Exception):
    """A program that does not compile."""


def compile_program(source: Path, way: Way, target: mpis.Installed) -> Path:
    binary = source.with_name(f"{source.stem}-{way.name}")
    command = cpp_of(way.command) if source.suffix == ".cpp" else list(way.command)
    folder = target.prefix / "lib"
    name = {"mpich": "libmpi.so.12", "ompi": "libmpi.so.40"}[paths.family_of(target.name)]
    elsewhere = source.with_name(f"elsewhere{source.suffix}")
    shutil.copyfile(HERE / "elsewhere.c", elsewhere)
    words = [*command, f"-I{HERE}", f"-I{target.prefix}/include"]
    words += [
        str(source),
        str(elsewhere),
        "-o",
        str(binary),
        str(folder / name),
        f"-Wl,-rpath,{folder}",
    ]
    words += ["-Wl,--allow-shlib-undefined"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"{shlex.join(words)}\n{done.stderr[-3000:]}")
    return binary


def digests_of(binary: Path, way: Way, target: mpis.Installed) -> Digests:
    environment = dict(os.environ) | target.environment()
    words = target.command(2, [str(binary)])
    if not way.command:
        environment["LACUNA_ALWAYS"] = "1"
        words, environment = run.build(words, target.kind, environment)
    try:
        done = subprocess.run(
            words,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
        said, complaint = done.stdout, done.stderr
    except subprocess.TimeoutExpired as error:
        said, complaint = (error.stdout or b"").decode(errors="replace"), "too long"
    found = (_LINE.match(line) for line in said.splitlines())
    return Digests({int(match[1]): match[2] for match in found if match}, complaint)


def differences(cases: list[int], is_cpp: bool, asked: Asked, folder: Path) -> dict[int, str]:
    """The ways that differ from the first, by case; of those after a crash nothing is known."""
    source = folder / f"cases{cases[0]}.{'cpp' if is_cpp else 'c'}"
    text = program(asked.seed, cases, is_cpp, asked.without)
    source.write_text(text, encoding="ascii")
    first, *others = asked.ways
    reference_binary = compile_program(source, first, asked.target)
    reference = digests_of(reference_binary, first, asked.target)
    found: dict[int, str] = {}
    for way in others:
        binary = compile_program(source, way, asked.target) if way.command else reference_binary
        digests = digests_of(binary, way, asked.target)
        for case in cases:
            mine, its = reference.of(case), digests.of(case)
            if mine != its or mine == NOTHING:
                both = f"{way.name}: {digests.told(case)}, {first.name}: {reference.told(case)}"
                found.setdefault(case, both)
            if NOTHING in (mine, its):
                break
    return found


def compare(cases: list[int], is_cpp: bool, asked: Asked) -> tuple[int, list[str]]:
    """How many cases of a program were compared, and the sentences about those that differ."""
    said = []
    with tempfile.TemporaryDirectory(prefix="lacuna-") as temporary:
        folder = Path(temporary)
        try:
            for case, told in differences(cases, is_cpp, asked, folder).items():
                said.append(judge(case, told, is_cpp, asked, folder))
        except Failure as failure:
            said.append(f"does not compile: {failure}\n  {repro(cases, is_cpp, asked)}")
    return len(cases), said


def judge(case: int, told: str, is_cpp: bool, asked: Asked, folder: Path) -> str:
    """The sentence about a case that differs, beside others as `told`: alone, and with no use that
    it differs without."""
    alone = differences([case], is_cpp, asked, folder).get(case)
    if alone is None:
        told = f"only beside the other cases of its program ({told})"
    else:
        told = alone
        for use in range(MOST_USES):
            fewer = replace(asked, without=asked.without | {use})
            still = differences([case], is_cpp, fewer, folder).get(case)
            if still is not None:
                asked, told = fewer, still
    if asked.keep:
        name = f"seed{asked.seed}-case{case}.{'cpp' if is_cpp else 'c'}"
        text = program(asked.seed, [case], is_cpp, asked.without)
        (asked.keep / name).write_text(text, encoding="ascii")
    return f"case {case} differs: {told}\n  {repro([case], is_cpp, asked)}"


def repro(cases: list[int], is_cpp: bool, asked: Asked) -> str:
    """The command that compares these cases, and no others."""
    words = ["repeat:", str(HERE / "compare.py"), "--mpi", asked.target.name]
    span = str(cases[0]) if len(cases) == 1 else f"{cases[0]}:{cases[-1] + 1}"
    words += ["--seed", str(asked.seed), "--cases", span, "--language", "c++" if is_cpp else "c"]
    for way in asked.ways:
        words += ["--way", shlex.quote(shlex.join(way.command))] if way.command else ["--preload"]
    words += [f"--without {use}" for use in sorted(asked.without)]
    return " ".join(words)


def programs(cases: list[int], per_file: int, language: str) -> Iterator[tuple[list[int], bool]]:
    """The cases of each program, and whether it is in C++: every third, if that is not said."""
    for at in range(0, len(cases), per_file):
        number = at // per_file
        yield (
            cases[at : at + per_file],
            language == "c++" or (language == "both" and number % 3 == 1),
        )


def read_arguments() -> tuple[argparse.Namespace, Asked]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mpi", action="append", help="mpich (the default), openmpi or intelmpi")
    parser.add_argument("--mpi-root", type=Path, default=paths.default_mpi_root())
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=numbers_of, default=numbers_of("0:50"))
    parser.add_argument("--per-file", type=int, default=50)
    parser.add_argument("--language", choices=("c", "c++", "both"), default="both")
    parser.add_argument("--jobs", type=int, default=2, help="programs at once")
    parser.add_argument("--way", action="append", help="a compiler command; may be repeated")
    parser.add_argument("--preload", action="store_true")
    parser.add_argument("--optimizer", action="store_true")
    parser.add_argument("--without", type=int, action="append", default=[], help="a use")
    parser.add_argument("--keep", type=Path, help="a folder for cases that differ")
    given = parser.parse_args()
    if given.mpi and len(given.mpi) > 1:
        parser.error("--mpi: one library at a time; start it again for the next")
    given.mpi = given.mpi[0] if given.mpi else "mpich"
    ways = [
        Way(f"way{number}", tuple(shlex.split(text)))
        for number, text in enumerate(given.way or ["clang-19 -O0", "clang-19 -O2"])
    ]
    if given.preload:
        ways.append(Way("preload"))
    if given.optimizer:
        special = ompi_programs.specializer(given.mpi)
        if isinstance(special, str):
            print(f"without the optimizer: {special}")
        else:
            os.environ[compiled_table.TABLE] = "none"
            words = (*special, "-O2", "-g", "-mllvm", "-lacuna-verify", *rules(given.seed))
            ways.append(Way("optimizer", words))
    target = mpis.installed(given.mpi, given.mpi_root)
    if given.keep:
        given.keep.mkdir(parents=True, exist_ok=True)
    return given, Asked(target, tuple(ways), given.seed, given.keep, frozenset(given.without))


def main() -> int:
    given, asked = read_arguments()
    todo = list(programs(given.cases, given.per_file, given.language))
    failed = compared = 0
    with ThreadPoolExecutor(given.jobs) as pool:
        for count, said in pool.map(lambda one: compare(*one, asked), todo):
            compared += count
            failed += len(said)
            for sentence in said:
                print(sentence, flush=True)
    names = ", ".join(way.name for way in asked.ways)
    print(
        f"{asked.target.name}: {compared} cases in {len(todo)} programs by {names}: {failed} fail"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
