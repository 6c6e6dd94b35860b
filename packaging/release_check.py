#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Is this checkout as it must be for a release? A line for each check; exit code 1 if one fails.

packaging/release_check.py [--skip wheel ...]     by the Python of .venv, after `make`
packaging/release_check.py --set 1.2.3            writes a new version to all places
"""

import argparse
import datetime
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE = "python/lacuna/version.py"
FULL = r"(\d+\.\d+\.\d+)"

# All places that have the version: file, and a pattern whose groups are the version, its first two
# numbers, or one number each. Measured data say with which version they were measured: not here.
PLACES = (
    (SOURCE, rf'^VERSION = "{FULL}"$'),
    (
        "include/lacuna/lacuna.h",
        r"^#define LACUNA_VERSION_MAJOR (\d+)\n#define LACUNA_VERSION_MINOR (\d+)\n"
        r"#define LACUNA_VERSION_PATCH (\d+)$",
    ),
    ("include/lacuna/lacuna.h", rf'^/\* "{FULL}"\. \*/$'),
    ("docs/user/install.md", rf"lacuna_mpi-{FULL}-py3"),
    ("docs/user/install.md", rf"on: lacuna {FULL} under"),
    ("docs/user/install.md", r"find_package\(lacuna (\d+\.\d+)\)"),
    ("docs/user/run.md", rf"on: lacuna {FULL} under"),
    ("docs/user/tune.md", rf"on: lacuna {FULL} under"),
    ("packaging/spack/package.py", rf'^    version\("{FULL}", tag='),
    ("packaging/spack/package.py", rf'tag="v{FULL}"\)$'),
    ("packaging/easybuild/lacuna.eb", rf"^version = '{FULL}'$"),
    ("CITATION.cff", rf"^version: {FULL}$"),
)


class Fault(NamedTuple):
    what: str
    remedy: str


def parts_of(version: str, groups: int, wanted: int) -> list[str]:
    """What the groups of a place must say: `wanted` numbers, in one group or one in each."""
    numbers = version.split(".")
    return [".".join(numbers[:wanted])] if groups == 1 else numbers


def wanted_numbers(pattern: str) -> int:
    return 3 if FULL in pattern else 2


def read_version(root: Path) -> str:
    found = re.search(PLACES[0][1], (root / SOURCE).read_text(encoding="utf-8"), re.MULTILINE)
    if not found:
        raise SystemExit(f'{SOURCE}: there is no line VERSION = "1.2.3"')
    return found[1]


def version_faults(root: Path) -> list[Fault]:
    version = read_version(root)
    faults = []
    for name, pattern in PLACES:
        text = (root / name).read_text(encoding="utf-8")
        found = list(re.finditer(pattern, text, re.MULTILINE))
        if not found:
            remedy = "write it there again, or correct PLACES in packaging/release_check.py"
            faults.append(Fault(f"{name}: the version is not where it was ({pattern})", remedy))
        for match in found:
            wanted = parts_of(version, len(match.groups()), wanted_numbers(pattern))
            if list(match.groups()) != wanted:
                line = text.count("\n", 0, match.start()) + 1
                said = ".".join(match.groups())
                remedy = f"packaging/release_check.py --set {version}"
                faults.append(Fault(f"{name}:{line} says {said}, and {SOURCE} {version}", remedy))
    return faults


def set_version(root: Path, version: str) -> list[str]:
    """Writes a version to all places; the names of the files that changed."""
    changed = {}
    for name, pattern in PLACES:
        text = changed.get(name) or (root / name).read_text(encoding="utf-8")
        for match in reversed(list(re.finditer(pattern, text, re.MULTILINE))):
            wanted = parts_of(version, len(match.groups()), wanted_numbers(pattern))
            for group in range(len(wanted), 0, -1):
                begin, end = match.span(group)
                text = text[:begin] + wanted[group - 1] + text[end:]
        changed[name] = text
    written = []
    for name, text in changed.items():
        if text != (root / name).read_text(encoding="utf-8"):
            (root / name).write_text(text, encoding="utf-8")
            written.append(name)
    return written


def git(root: Path, *words: str) -> str:
    command = ["git", "-C", str(root), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def tree_faults(root: Path) -> list[Fault]:
    changed = git(root, "status", "--porcelain").splitlines()
    if not changed:
        return []
    names = ", ".join(line[3:] for line in changed[:3]) + (", ..." if len(changed) > 3 else "")
    return [Fault(f"not committed: {names}", "commit, ignore or remove it")]


def tag_faults(root: Path) -> list[Fault]:
    tag = f"v{read_version(root)}"
    if not git(root, "tag", "--list", tag).strip():
        return []
    return [Fault(f"the tag {tag} exists", "packaging/release_check.py --set the next version")]


def changelog_faults(root: Path) -> list[Fault]:
    """CHANGELOG.md has a section of this version, with a date, which CITATION.cff has too."""
    version = read_version(root)
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    section = re.search(
        rf"^## {re.escape(version)}(?:, (\S+))?\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL
    )
    if not section:
        return [Fault(f"CHANGELOG.md has no section {version}", "say what a user notices")]
    faults = []
    if not section[2].strip():
        faults.append(Fault(f"CHANGELOG.md: {version} is empty", "say what a user notices"))
    try:
        datetime.date.fromisoformat(section[1] or "")
    except ValueError:
        remedy = f"`## {version}, {datetime.date.today()}`"
        return [*faults, Fault(f"CHANGELOG.md: {version} has no date", remedy)]
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    if f"\ndate-released: {section[1]}\n" not in citation:
        remedy = f"`date-released: {section[1]}`"
        faults.append(Fault("CITATION.cff has not the date of CHANGELOG.md", remedy))
    return faults


def command_faults(root: Path, words: list[str], remedy: str, **environment: str) -> list[Fault]:
    """One fault if a command fails, with the last line that it printed."""
    done = subprocess.run(
        [str(word) for word in words],
        cwd=root,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return []
    lines = done.stdout.strip().splitlines() or [f"exit code {done.returncode}"]
    return [Fault(lines[-1], remedy)]


def build_faults(root: Path) -> list[Fault]:
    """build/release is of this version."""
    call = "import sys; from lacuna import engine; sys.exit(engine.version() != sys.argv[1])"
    words = [sys.executable, "-c", call, read_version(root)]
    library = str(root / "build" / "release" / "lib")
    faults = command_faults(root, words, "make", LACUNA_LIBRARY_DIR=library)
    return [Fault("build/release has another version", fault.remedy) for fault in faults]


def docs_faults(root: Path) -> list[Fault]:
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    tests = ["tests/cli/tree/test_docs.py", "tests/site/test_site.py"]
    again = f"see .venv/bin/python -m pytest {' '.join(tests)}"
    return command_faults(root, [*words, *tests], again)


def results_faults(root: Path) -> list[Fault]:
    command = Path(sys.executable).parent / "lacuna"
    return command_faults(root, [command, "bench", "results", "--check"], "lacuna bench results")


def wheel_faults(root: Path) -> list[Fault]:
    version = read_version(root)
    with tempfile.TemporaryDirectory() as folder:
        script = root / "packaging" / "wheel" / "wheel.sh"
        words = [script, root / "build" / "release", folder]
        faults = command_faults(root, words, "make wheel", LACUNA_PYTHON=sys.executable)
        if not faults and not list(Path(folder).glob(f"lacuna_mpi-{version}-*.whl")):
            faults.append(Fault(f"the wheel is not of version {version}", f"correct {SOURCE}"))
        return faults


CHECKS: dict[str, tuple[str, Callable[[Path], list[Fault]]]] = {
    "tree": ("all changes are committed", tree_faults),
    "version": ("all places have the same version", version_faults),
    "changelog": ("CHANGELOG.md and CITATION.cff have it, with a date", changelog_faults),
    "tag": ("the tag is free", tag_faults),
    "build": ("build/release is of this version", build_faults),
    "docs": ("links, options and commands in documents hold, the site builds", docs_faults),
    "results": ("pages of results are as their data", results_faults),
    "wheel": ("the wheel can be made", wheel_faults),
}


def check(root: Path, skipped: list[str]) -> bool:
    """Prints a line for each check; whether all hold."""
    good = True
    print(f"lacuna {read_version(root)}")
    for name, (what, faults_of) in CHECKS.items():
        if name in skipped:
            print(f"skipped {name}: {what}")
            continue
        faults = faults_of(root)
        if not faults:
            print(f"ok      {name}: {what}", flush=True)
        for fault in faults:
            print(f"fault   {name}: {fault.what}; remedy: {fault.remedy}", flush=True)
            good = False
    return good


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Is this checkout ready for a release?")
    parser.add_argument("--skip", action="append", default=[], choices=CHECKS)
    parser.add_argument("--set", metavar="VERSION", help="write this version to all places")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    arguments = parser.parse_args(words)
    if arguments.set is None:
        return 0 if check(arguments.root, arguments.skip) else 1
    if not re.fullmatch(FULL, arguments.set):
        parser.error(f"--set {arguments.set}: not a version such as 1.2.3")
    for name in set_version(arguments.root, arguments.set):
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
