# SPDX-License-Identifier: BSD-3-Clause
"""Others' MPI test suites, natively and with lacuna preloaded: does anything newly fail or hang?

`suites.py SOURCES [DIRECTORY ...] [--mpi NAME] [--build FOLDER]` takes MPICH's test/mpi, whose
lists of tests it reads itself (no configure, no make), or a folder of single C programs, as Open
MPI's ompi/test/datatype. Each program is compiled once by the MPI library's mpicc and run natively,
with lacuna, and with LACUNA_ALWAYS=1, the direct path on; with --set, with lacuna and the
variables given instead. A test that wants more than --ranks is run on so many, or on two, and
counts if it passes natively so. One that then fails or hangs with lacuna is run three times: it
newly fails if it never passes, but twice more natively.

Prints a line per directory, then what fails, and ends with 1 if something newly fails. The folder
--build keeps the programs, what the failing runs printed, and a line per run (runs.txt).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from lacuna.launch import mpis, run

BUILD = Path(__file__).resolve().parents[2] / "build"
GAPS = Path(__file__).resolve().with_name("gaps.c")
MPICH = "datatype pt2pt coll topo attr comm errhan part init group info session rma"
BASIC_TYPES = ["MPI_INT", "MPI_INT:4+MPI_DOUBLE:8"]  # MPICH's choice for its lists of dtpools
SHORT = ("--cycles=1", "--trials=2", "--warmups=0", "--min-work-bytes=1")  # it measures, too
ARGUMENTS = {"to_self": ("--validate", *SHORT)}  # of single programs
NATIVE = "natively"
WAYS = {"with lacuna": {}, "with LACUNA_ALWAYS=1": {"LACUNA_ALWAYS": "1"}}
NEW = "NEWLY FAIL"
# What MPICH's configure would find.
CONFIGURED = """
ATOMIC GETRUSAGE LONG_DOUBLE LONG_LONG LONG_LONG_INT MPI_WIN_CREATE PTHREAD_BARRIER_INIT PTHREAD_H
STDARG_H STDLIB_H STRING_H SYS_RESOURCE_H SYS_TIME_H UNISTD_H _BOOL FLOAT__COMPLEX DOUBLE__COMPLEX
LONG_DOUBLE__COMPLEX"""


@dataclass(frozen=True)
class Test:
    """A program, and how it is run."""

    directory: str
    name: str
    ranks: int
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    expected: str = "TestNormal"
    seconds: int = 180
    wanted: int = field(default=0, compare=False)  # ranks

    def __str__(self) -> str:
        return " ".join([self.name, str(self.ranks), *self.args, *self.env])


@dataclass
class Tally:
    """What became of a directory's tests."""

    passed: dict[str, int]
    left_out: int = 0
    skipped: int = 0
    names: dict[str, list[str]] = field(default_factory=dict)

    def note(self, what: str, name: str) -> None:
        if name not in self.names.setdefault(what, []):
            self.names[what].append(name)

    def tell(self, directory: str) -> None:
        counts = ", ".join(f"{count} {way}" for way, count in self.passed.items())
        print(f"{directory}: passed {counts}; skip themselves {self.skipped}", end="")
        print(f", left out {self.left_out}")
        for what, which in self.names.items():
            print(f"  {what} ({len(which)}): {'; '.join(which)}")
        sys.stdout.flush()


def choices(mpi: mpis.Installed, ranks: int) -> dict[str, str]:
    """Settings for more ranks than cores: the libraries then yield while they wait."""
    if mpi.kind == "openmpi":
        ours = {"mpi_yield_when_idle": "1", "pml": "ob1", "btl": "^ofi"}
        return {f"OMPI_MCA_{name}": value for name, value in ours.items()} | {
            "PRTE_MCA_hwloc_default_binding_policy": "none"
        }
    if ranks <= len(os.sched_getaffinity(0)):
        return {}
    kinds = ("BARRIER", "BCAST", "REDUCE", "ALLREDUCE")
    return {f"MPIR_CVAR_{kind}_POSIX_INTRA_ALGORITHM": "mpir" for kind in kinds}


def gapped_functions() -> list[str]:
    """The functions of gaps.c, without the first letter."""
    found = re.findall(r"\((PI_\w+)##ending", GAPS.read_text())
    return [name + ending for name in found for ending in ("", "_c")]


def judged(expected: str, status: int | None, said: str) -> str:
    """As MPICH's runtests does, but what else is printed does not matter."""
    if status is None:
        return "hung"
    if expected == "TestNormal" and re.search(r"^\s*Test Skipped\s*$", said, re.M):
        return "skipped"
    must_fail = expected in ("TestStatus", "TestErrFatal", "TestStatusNoErrors")
    is_silent = expected in ("TestStatus", "TestErrFatal", "TestBench")
    is_good = is_silent or re.search(r"^\s*No [Ee]rrors\s*$", said, re.M) is not None
    return "passed" if is_good and (status != 0) == must_fail else "failed"


class Suite:
    """A suite's sources, one MPI library, and the folder in which it is built and run."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        variables = dict(word.partition("=")[::2] for word in options.set)
        self.ways = {f"with {' '.join(options.set)}": variables} if variables else WAYS
        self.sources = options.sources.resolve()
        self.mpi = mpis.installed(options.mpi, options.mpi_root)
        self.build = options.build.resolve() / f"{options.mpi}{'-gaps' * options.gaps}"
        self.include = self.build / "include"
        self.include.mkdir(parents=True, exist_ok=True)
        for name in ("../dtpoolsconf.h", "mtest_mpix.h", "ompi_config.h"):
            (self.include / name).touch()
        defined = [f"#define HAVE_{name} 1" for name in CONFIGURED.split()]
        defined += ["#define THREAD_PACKAGE_NAME 1", "#define THREAD_PACKAGE_POSIX 1"]
        defined += ["#define POINTERINT_t long", "#include <stdint.h>", ""]
        (self.include / "mpitestconf.h").write_text("\n".join(defined))
        names = ("mtest", "mtest_common", "mtest_single", "dtypes", "run_mpitests")
        files = [self.sources / "util" / f"{name}.c" for name in names]
        files += sorted((self.sources / "dtpools" / "src").glob("*.c"))
        self.is_mpich = any(file.is_file() for file in files)
        files += [GAPS] * options.gaps
        objects = [self._object(file) for file in files if file.is_file()]
        self.common = [str(self.build / "libsuite.a")] if objects else []
        if objects:  # an archive, as some tests have no main() of their own
            subprocess.run(["ar", "rcs", *self.common, *objects], check=True)

    def _object(self, file: Path) -> str:
        target = self.build / f"{file.stem}.o"
        if not target.exists() and not self._compile(["-c", str(file)], target):
            sys.exit(f"suites: {file} does not compile; see {target}.errors")
        return str(target)

    def _compile(self, words: list[str], target: Path) -> bool:
        folders = [self.include, *(self.sources / at for at in ("include", "dtpools/include"))]
        line = [str(self.mpi.prefix / "bin" / "mpicc"), "-O1", "-g", "-w"]
        line += [*(f"-I{at}" for at in folders), *words, "-o", str(target), "-lm", "-lpthread"]
        environment = dict(os.environ) | self.mpi.environment()
        with Path(f"{target}.errors").open("w") as errors:
            return subprocess.run(line, env=environment, stderr=errors, check=False).returncode == 0

    def program(self, directory: str, name: str) -> Path | None:
        """The compiled program, as its Makefile.am says; None: it does not compile."""
        target = self.build / directory / name
        if Path(f"{target}.errors").exists():
            return target if target.exists() else None
        target.parent.mkdir(parents=True, exist_ok=True)
        makefile = self._text(directory, "Makefile.am").replace("\\\n", " ")
        sources, flags = (
            re.findall(rf"^{name}_{what}\s*=(.*)", makefile, re.M)
            for what in ("SOURCES", "CPPFLAGS")
        )
        words = [word for word in " ".join(flags).split() if word.startswith("-D")]
        files = [file for file in " ".join(sources).split() if file.endswith(".c")]
        if self.options.gaps:
            words += [f"-DM{name}=G{name}" for name in gapped_functions()]
        words += [str(self.sources / directory / file) for file in files or [f"{name}.c"]]
        return target if self._compile([*words, *self.common], target) else None

    def _text(self, directory: str, name: str) -> str:
        file = self.sources / directory / name
        return file.read_text(errors="replace") if file.is_file() else ""

    def tests(self, directory: str, tally: Tally) -> list[Test]:
        """A directory's tests, each once."""
        lines = [self._text(directory, f"testlist{ending}") for ending in ("", ".in")]
        if any(lines):
            lines = "\n".join(lines).splitlines() + self._dtp_lines(directory)
            found = [self._parsed(directory, line.split("#")[0].split(), tally) for line in lines]
            return list(dict.fromkeys(test for test in found if test))
        names = [file.stem for file in sorted((self.sources / directory).glob("*.c"))]
        names = [name for name in names if "int main" in self._text(directory, f"{name}.c")]
        return [
            Test(directory, name, ranks, ARGUMENTS.get(name, ()), expected="TestBench")
            for name in names
            for ranks in ((1, 2) if name in ARGUMENTS else (1,))
        ]

    def _parsed(self, directory: str, words: list[str], tally: Tally) -> Test | None:
        if not words:
            return None
        given = [word.partition("=")[::2] for word in words[2:]]
        last = dict(given)
        if "xfail" in last or "hasgpu" in last or float(last.get("mem", 0)) > self.options.memory:
            tally.left_out += 1
            return None
        wanted = int(words[1]) if len(words) > 1 else 2
        ranks = min(wanted, self.options.ranks)
        args, env = (tuple(v for key, v in given if key == kind) for kind in ("arg", "env"))
        if self.mpi.kind == "openmpi":  # those are MPICH's choices
            env = tuple(word for word in env if not word.startswith("MPIR_"))
        expected, seconds = last.get("resultTest", "TestNormal"), int(last.get("timeLimit", 180))
        return Test(directory, words[0], ranks, args, env, expected, seconds, wanted)

    def _dtp_lines(self, directory: str) -> list[str]:
        """As MPICH's maint/gentests_dtp.sh makes them, with no more objects than --objects."""
        result, seed = [], 0
        for line in self._text("maint", "dtp-test-config.txt").splitlines():
            if line.startswith("#") or line.count(":") != 7:
                continue
            path, args, counts, passed, ranks, least, most, _ = line.split(":")
            where, _, name = path.rpartition("/")
            both = where in ("pt2pt", "part")
            extra = " ".join([*(f"arg={word}" for word in args.split()), passed])
            for kind in BASIC_TYPES:
                size, before = int(most or least), 0
                for count in map(int, counts.split()):
                    if before:
                        size = min(max(size * before // count, int(least)), int(most or least))
                    before = before or count
                    for received in (count, 2 * count) if both else (count,):
                        seed += 1
                        counted = f"sendcnt={count} arg=-recvcnt={received}"
                        how = counted if both else f"count={count}"
                        some = f"seed={seed} arg=-testsize={min(size, self.options.objects)}"
                        if where == directory:
                            result.append(
                                f"{name} {ranks} arg=-type={kind} arg=-{how} arg=-{some} {extra}"
                            )
        return result

    def outcome(self, test: Test, program: Path, way: str, limit: float) -> tuple[str, float]:
        """`passed`, `skipped`, `failed` or `hung`, and the seconds it took."""
        environment = dict(os.environ) | self.mpi.environment() | choices(self.mpi, test.ranks)
        environment |= dict(word.partition("=")[::2] for word in test.env)
        environment["MPIEXEC_TIMEOUT"] = str(test.seconds)  # what init/timeout is about
        words = self.mpi.command(test.ranks, [str(program), *test.args])
        if way != NATIVE:
            environment |= {"LACUNA_DIRECT": "1"} | self.ways[way]
            words, environment = run.build(words, self.options.mpi, environment)
        log = self.build / "last.txt"
        begun = time.monotonic()
        with log.open("w") as out:
            started = subprocess.Popen(
                words,
                env=environment,
                cwd=self.sources / test.directory,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
            status = None
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = started.wait(limit)
            for kind in (signal.SIGTERM, signal.SIGKILL) if status is None else ():
                with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
                    os.killpg(started.pid, kind)  # first the launcher ends its ranks
                    started.wait(5)
        took = time.monotonic() - begun
        result = judged(test.expected, status, log.read_text(errors="replace"))
        if result in ("failed", "hung"):
            log.replace(f"{program}.{way.split('_')[-1].split()[-1]}.{result}.txt")
        with (self.build / "runs.txt").open("a") as runs:
            print(f"{result:8}{took:7.2f} {test.directory}/{test} {way}", file=runs)
        return result, took

    def examine(self, test: Test, tally: Tally) -> None:
        """Runs a test each way, and again what differs."""
        program = self.program(test.directory, test.name)
        if program is None:
            return tally.note("not built", test.name)
        longest = min(test.seconds + 10, self.options.limit)
        first, took = self.outcome(test, program, NATIVE, longest)
        if first == "failed" and test.ranks < test.wanted:  # perhaps not with so many
            test = replace(test, ranks=2)
            first, took = self.outcome(test, program, NATIVE, longest)
        tally.skipped += first == "skipped"
        if first in ("failed", "hung"):
            tally.note(f"{first} natively", str(test))
        if first != "passed":
            return None
        tally.passed[NATIVE] += 1
        limit = 20 + 5 * took
        for way in self.ways:
            runs = [self.outcome(test, program, way, limit)[0]]
            while runs[-1] != "passed" and len(runs) < 3:
                runs.append(self.outcome(test, program, way, limit)[0])
            tally.passed[way] += runs[-1] == "passed"
            if len(runs) > 1:
                is_new = runs[-1] != "passed" and all(
                    self.outcome(test, program, NATIVE, limit)[0] == "passed" for _ in range(2)
                )
                what = NEW if is_new else "fail now and then"
                tally.note(what, f"{test} ({way}: {', '.join(runs)})")
        return None


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sources", type=Path)
    parser.add_argument("directory", nargs="*", help=f"default: MPICH's {MPICH}; else SOURCES")
    parser.add_argument("--mpi", default="mpich", help="mpich or openmpi")
    parser.add_argument("--mpi-root", type=Path, default=BUILD / "mpi")
    parser.add_argument("--build", type=Path, default=BUILD / "suites")
    parser.add_argument("--ranks", type=int, default=4, help="at most (4)")
    parser.add_argument("--limit", type=float, default=60, help="seconds natively, at most (60)")
    parser.add_argument("--memory", type=float, default=4, help="GB that a test may want (4)")
    parser.add_argument("--objects", type=int, default=8, help="of a test of dtpools, at most (8)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--gaps", action="store_true", help="give their data gaps (gaps.c)")
    parser.add_argument("--match", default="", help="only tests whose line matches this pattern")
    options = parser.parse_args()
    suite = Suite(options)
    is_new = False
    for directory in options.directory or (MPICH.split() if suite.is_mpich else ["."]):
        tally = Tally(dict.fromkeys([NATIVE, *suite.ways], 0))
        for test in suite.tests(directory, tally):
            if re.search(options.match, str(test)):
                suite.examine(test, tally)
        tally.tell(directory)
        is_new = is_new or NEW in tally.names
    return 1 if is_new else 0


if __name__ == "__main__":
    sys.exit(main())
