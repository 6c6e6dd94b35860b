# SPDX-License-Identifier: BSD-3-Clause
"""The page of `lacuna doctor`: what is looked at, in which order, and how it is shown."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from lacuna import VERSION, engine
from lacuna.base import paths
from lacuna.base.errors import Exit, LacunaError
from lacuna.launch import detect, elf, launchers, mpis, run
from lacuna.launch.check import facts, launch, machine, probe, start
from lacuna.launch.check.facts import Program
from lacuna.launch.check.finding import FAULT, OK, WARNING, Finding, fault, warning
from lacuna.launch.launchers import Launcher

_FORMAT = 1
_WIDTH = 110
_SONAMES = {
    "mpich": ("libmpi.so.12", "libmpich.so.12"),
    "ompi": ("libmpi.so.40",),
    "mpiabi": ("libmpi_abi.so.1",),
}


@dataclass(frozen=True)
class Section:
    """Findings about one thing."""

    title: str
    findings: list[Finding]


def doctor(words: list[str], as_json: bool, mpi: str | None = None) -> int:
    """Prints the page; 1 if there are faults. `mpi`: as in `lacuna run --mpi`."""
    if words:
        words, named = start.without_lacuna_run(words)
        mpi = mpi or named
    family = paths.family_of(mpi) if mpi else None
    if mpi and not words:
        raise LacunaError(
            Exit.USAGE,
            "--mpi without a launch",
            "give one, as in: lacuna doctor --mpi mpich -- mpirun -n 2 ./program",
        )
    sections = [Section("this machine", machine_findings(os.environ))]
    if words:
        started_as = ["lacuna", "run", *(["--mpi", mpi] if mpi else []), *words]
        found = launch_findings(words, os.environ, family)
        sections.append(Section(shlex.join(started_as), found))
    else:
        sections += _installed()
    if as_json:
        print(json.dumps(data(sections), indent=1))
    else:
        print("\n".join(lines(sections)))
    return Exit.CHECK_FAILED if _count(sections, FAULT) else Exit.OK


def machine_findings(environment: Mapping[str, str]) -> list[Finding]:
    """What can be said without a launch."""
    found: list[Finding] = []
    this_cpu = ""
    complaints: list[str] = []
    try:
        told = engine.machine()
        this_cpu = told["cpu"]
        complaints = told["options"]
        row = told["row"]
        wanted = environment.get("LACUNA_PROFILE", "")
        found += [
            machine.cpu(row["name"], row["why"], row["complaint"]),
            machine.profile(told["profile"], told["provenance"]["date"], told["complaint"], wanted),
        ]
    except LacunaError as error:
        found.append(fault("engine", error.what, error.remedy))
    wanted = environment.get("LACUNA_TABLE", "")
    named = facts.table(Path(wanted)) if wanted not in ("", "none") else None
    found += [
        machine.tables(wanted, named, facts.kept_tables(), this_cpu),
        machine.options(environment, complaints),
        machine.preload_libraries(facts.preload_libraries(), paths.BRING_LIBRARY),
        machine.gpus(*facts.gpus()),
        machine.launchers(facts.launchers_in_path()),
        machine.huge_pages(facts.text("/sys/kernel/mm/transparent_hugepage/enabled")),
        machine.shared_memory(*facts.shared_memory()),
        machine.memfd(probe.memfd_error()),
        _peer_reads(probe.peer_read_error(), environment),
        machine.container(facts.container(), len(os.sched_getaffinity(0)), facts.processors()),
        machine.counters(facts.has_counters(), facts.text("/proc/sys/kernel/perf_event_paranoid")),
    ]
    return found


def launch_findings(
    words: list[str], environment: Mapping[str, str], family: str | None = None
) -> list[Finding]:
    """What can be said of a launch. `family`: that of --mpi."""
    try:
        launcher = launchers.find(words[0])
    except LacunaError as error:
        return [fault("launcher", error.what, error.remedy)]
    programs = start.programs(launcher, words)
    if not programs:
        return [
            fault(
                "program",
                "none is seen in the command",
                "give it on the command line, as in: lacuna doctor -- mpirun -n 2 ./program",
            )
        ]
    all_facts = [facts.program(program) for program in programs]
    found = [launch.program(one, family is not None) for one in dict.fromkeys(all_facts)]
    one = next((program for program in all_facts if program.family), all_facts[0])
    if launcher is not None:
        path = shutil.which(words[0]) or words[0]
        found.append(launch.launcher(launcher.kind, path, launcher.family, one.family))
    families = {program.family for program in all_facts if program.family}
    if len(families) > 1:
        return [
            *found,
            fault(
                "ABI",
                f"the programs use several MPI libraries: {' and '.join(sorted(families))}",
                "start them apart",
            ),
        ]
    if any(program.contains_mpi for program in all_facts):
        return found  # the probe loads the library, and would say nothing about such a program
    other = detect.misnamed(family, one.word) if family else None
    if other:
        what = f"--mpi names another MPI library than the program's, {other[0]}"
        return [*found, fault("ABI", what, other[1])]
    if family and not one.family:
        beside = one.library or _library_beside(words[0] if launcher else None, family)
        one = replace(one, family=family, soname=_SONAMES[family][0], library=beside)
    family = family or one.family or (launcher.family if launcher else None)
    if family:
        for place, value in start.named_preloads(launcher, words, environment):
            wrong = launch.named_preload(place, run.lacuna_in(value), family)
            found += [wrong] if wrong else []
    return found + _rank_findings(launcher, words, one, environment, family)


def _rank_findings(
    launcher: Launcher | None,
    words: list[str],
    one: Program,
    environment: Mapping[str, str],
    family: str | None,
) -> list[Finding]:
    """What the probe finds, started like the program, with lacuna for this family."""
    if family is None and one.wrong:
        return []
    if family is None:
        return [launch.library(one, ""), launch.abi(None, None, paths.BRING_LIBRARY)]
    preload = facts.preload_libraries()[family]
    # Where a program's library is not found here, the ranks may find it all the same.
    file = one.library or (
        None if one.family else _library_beside(words[0] if launcher else None, family)
    )
    library = str(file or one.soname or _SONAMES[family][0])
    abi = launch.abi(family, preload, paths.BRING_LIBRARY)
    if preload is None:
        return [launch.library(one, ""), abi]
    try:
        command = start.command(launcher, words, family, library, environment)
    except LacunaError as error:
        return [launch.library(one, ""), abi, fault("start", error.what, error.remedy)]
    if command is None:
        return [
            launch.library(one, ""),
            abi,
            warning(
                "start",
                "the program cannot be told apart from the launcher's options (a file names it): "
                "no probe was started",
                "give one of its programs on the command line",
            ),
        ]
    started = start.start(*command)
    up = [rank for rank in started.ranks if rank.rank >= 0]
    version = up[0].version.partition(",")[0] if up else ""
    if one.family and one.library is None and up:
        loaded = [path for path in map(Path, up[0].libraries) if path.name.startswith(library)]
        one = replace(one, library=loaded[0] if loaded else Path(library))
    found = [launch.library(one, version), abi, launch.start(started)]
    if not started.ranks:
        return found
    found.append(launch.preload(started.ranks, family))
    if launcher:
        found.append(launch.environment(started.ranks))
    if not up:
        return found
    at_work = launch.at_work(started.log)
    found.append(at_work)
    if at_work.level == OK:
        found += [
            launch.shared_path(started.log, up),
            launch.between_nodes(started.log, up),
            _peer_reads(max(rank.read_error for rank in up), environment),
            launch.table(started.log, version),
        ]
    before, behind = facts.preloaded_tools(up[0].preload)
    return [*found, launch.tools(one, before, behind), *launch.complaints(started.log)]


def _peer_reads(error: int, environment: Mapping[str, str]) -> Finding:
    scope = facts.text("/proc/sys/kernel/yama/ptrace_scope")
    return machine.peer_reads(error, scope, facts.is_set(environment, "LACUNA_READ_PEERS", True))


def _library_beside(launcher: str | None, family: str) -> Path | None:
    """The MPI library of a launcher, by where that stands; else the loader's."""
    path = shutil.which(launcher) if launcher else None
    for soname in _SONAMES[family]:
        beside = Path(path).parent.parent / "lib" / soname if path else None
        if beside and beside.is_file():
            return beside
        found = elf.find(soname)
        if found:
            return found
    return None


def _found(root: Path) -> list[mpis.Installed]:
    """The MPI libraries that are known to be here: ours, Debian's, and that of PATH's launcher."""
    found = []
    with contextlib.suppress(LacunaError):
        found = mpis.chosen([], root)
    for name in ("debian-mpich", "debian-openmpi"):
        one = mpis.Installed(name, Path("/usr"))
        if one.launcher().is_file():
            found.append(one)
    path = shutil.which("mpiexec")
    prefix = Path(path).resolve().parent.parent if path else None
    if path and prefix and prefix not in [one.prefix.resolve() for one in found]:
        with contextlib.suppress(LacunaError):
            launcher = launchers.find(path)
            if launcher and launcher.family:
                name = "openmpi" if launcher.family == "ompi" else "mpich"
                found.append(mpis.Installed(name, prefix))
    return found


def _installed() -> list[Section]:
    """Two ranks of the probe on each MPI library."""
    found = _found(paths.default_mpi_root())
    if not found:
        remedy = "give a launch: lacuna doctor -- mpirun -n 2 ./program"
        return [Section("MPI libraries", [warning("MPI library", "none is found", remedy)])]
    sections = []
    for mpi in found:
        environment = os.environ | mpi.environment()
        environment.setdefault("LACUNA_DIRECT", "1")
        family = paths.family_of(mpi.kind)
        command = mpi.command(2, [sys.executable])
        library = _library_beside(command[0], family)
        one = Program(
            sys.executable,
            Path(sys.executable),
            family=family,
            soname=_SONAMES[family][0],
            library=library,
        )
        launcher = launchers.find(command[0])
        title = f"{mpis.TITLE[mpi.name]}, {mpi.prefix}"
        found_here = _rank_findings(launcher, command, one, environment, family)
        sections.append(Section(title, found_here))
    return sections


def _count(sections: list[Section], level: str) -> int:
    return sum(one.level == level for section in sections for one in section.findings)


def data(sections: list[Section]) -> dict[str, Any]:
    """The page as data."""
    return {
        "lacuna_doctor": _FORMAT,
        "lacuna": VERSION,
        "warnings": _count(sections, WARNING),
        "faults": _count(sections, FAULT),
        "sections": [asdict(section) for section in sections],
    }


def lines(sections: list[Section]) -> list[str]:
    """The page for people: what is wrong has its remedy below it."""
    names = [one.check for section in sections for one in section.findings]
    column = max(map(len, names), default=0)
    indent = " " * (len("  warning  ") + column + 2)
    result = []
    for section in sections:
        result += [section.title, ""]
        for one in section.findings:
            head = f"  {one.level:7}  {one.check:{column}}  "
            result += _wrapped(one.found, head, indent)
            if one.remedy:
                result += _wrapped(f"remedy: {one.remedy}", indent, indent + "  ")
        result.append("")
    counts = []
    for level in (FAULT, WARNING):
        count = _count(sections, level)
        counts.append(f"{count or 'no'} {level}{'' if count == 1 else 's'}")
    if not _count(sections, FAULT) and not all(map(_was_seen_at_work, sections[1:])):
        unknown = "not known whether lacuna is at work, as no probe ran in the ranks"
        return [*result, f"{unknown}; {counts[1]}"]
    return [*result, ", ".join(counts)]


def _was_seen_at_work(section: Section) -> bool:
    """Whether a probe ran in the ranks of a launch."""
    return any(one.check == launch.AT_WORK for one in section.findings)


def _wrapped(words: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        words,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
