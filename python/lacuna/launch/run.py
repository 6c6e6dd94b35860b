# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna run`: starts a program with lacuna preloaded into its ranks, not into the launcher."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
from pathlib import Path

from lacuna.base import paths, results
from lacuna.base.errors import Exit, LacunaError
from lacuna.launch import detect, launchers
from lacuna.launch.launchers import HYDRA, OPEN_MPI, SLURM, Launcher

PRELOAD = "LD_PRELOAD"
DIRECT = "LACUNA_DIRECT"
_OURS = re.compile(r"liblacuna-(mpich|ompi|mpiabi)\.so$")
_SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh", "fish", "busybox"}
REPORT = "--report"
COSTS = "--costs"
OWN = (REPORT, COSTS, "--log", "--verify", "--disable", "--dry-run")  # no launcher has these
TAKE_A_VALUE = ("--mpi", "--isa")  # other options of `lacuna run` that have a value


def with_report_value(words: list[str]) -> list[str]:
    """Joins --report and --costs with the file that may follow: a word that ends in .json."""
    if words[:1] != ["run"]:
        return words
    result, at = ["run"], 1
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        following = words[at + 1 : at + 2]
        if words[at] in (REPORT, COSTS):
            is_file = bool(following) and following[0].endswith(".json")
            result.append(f"{words[at]}={following[0] if is_file else 1}")
            at += 2 if is_file else 1
            continue
        taken = following if words[at] in TAKE_A_VALUE else []
        result += [words[at], *taken]
        at += 1 + len(taken)
    return result + words[at:]


def report_option(value: str, dry_run: bool = False) -> str:
    """The value of LACUNA_REPORT for --report or --costs: 1, or an absolute path for rank 0, whose
    folder is made.
    """
    if value == "1":
        return value
    if not dry_run:
        results.make_folders([Path(value)])
    return str(Path(value).absolute())


def run(command: list[str], mpi: str | None, options: dict[str, str], dry_run: bool) -> None:
    """Replaces this process by the command (so signals and the exit code are the command's), or
    with `dry_run` prints it.
    """
    environment = dict(os.environ) | options
    _warn_of_options(environment)
    words, environment = build(command, mpi, environment)
    if dry_run:
        changed = {k: v for k, v in environment.items() if os.environ.get(k) != v}
        print(shlex.join([*([f"{k}={v}" for k, v in sorted(changed.items())]), *words]))
        return
    try:
        os.execvpe(words[0], words, environment)
    except OSError as error:
        raise LacunaError(
            Exit.ENVIRONMENT,
            f"cannot start {words[0]}: {error.strerror}",
            "check its path and that it is executable",
        ) from error


def build(
    command: list[str], mpi: str | None, environment: dict[str, str]
) -> tuple[list[str], dict[str, str]]:
    """The command to start instead, and its environment."""
    if not command:
        raise LacunaError(
            Exit.USAGE, "no command", "give one, as in: lacuna run mpirun -n 2 ./program"
        )
    family = paths.family_of(mpi) if mpi else None
    launcher = launchers.find(command[0])
    if launcher is None:
        if mpi:
            _check_named(mpi, command[0])
        family = family or _family_alone(command, environment.get("LACUNA_REPORT"))
        ours = _before(paths.preload_library(family), environment.get(PRELOAD))
        return command, environment | {PRELOAD: ours}
    contexts = launchers.split_contexts(launcher, command[1:])
    _warn_of_own_options(command[0], launcher, contexts)
    for words in contexts:
        at = launchers.program_at(launcher, words) if mpi else None
        if mpi and at is not None:
            _check_named(mpi, first_program(words[at:])[0])
    family = family or _family_launched(launcher, contexts, command)
    library = paths.preload_library(family)
    # What the ranks get: our library before what they would have got, and our own options.
    direct = {DIRECT: "1"} if _runs_everywhere(launcher, contexts) else {}
    passed = {
        name: value
        for name, value in sorted((direct | environment).items())
        if name.startswith("LACUNA_") and name != paths.LIBRARY_DIR
    }
    passed[PRELOAD] = _before(library, environment.get(PRELOAD))
    if launcher is SLURM:
        return [command[0], *_for_srun(contexts, library, passed, environment)], environment
    if launcher is HYDRA:
        return [command[0], *_for_hydra(contexts, library, passed)], environment
    return [command[0], *_for_open_mpi(contexts, library, passed)], environment


def _runs_everywhere(launcher: Launcher, contexts: list[list[str]]) -> bool:
    """Whether all ranks of the job surely load lacuna.

    Needed since ranks of a node wait for each other when they agree on shared memory. Sure only for
    a single program that loads MPI dynamically (a shell might start different programs). A node on
    which lacuna is missing goes without; the other nodes need not know.
    """
    if len(contexts) > 1:
        return False
    at = launchers.program_at(launcher, contexts[0])
    if at is None:
        return False
    words = first_program(contexts[0][at:])
    if any(Path(word).name in _SHELLS for word in words):
        return False
    try:
        return detect.family_of_program(words) is not None
    except LacunaError:  # with --mpi the files need not show it; build() reports other errors
        return False


def _before(library: Path, others: str | None) -> str:
    """LD_PRELOAD with `library` first and without other libraries of lacuna, since two would
    disturb each other.
    """
    ours = lacuna_in(others or "")
    kept = [part for part in _parts(others or "") if part not in ours]
    return ":".join([str(library), *kept])


def lacuna_in(value: str) -> list[str]:
    """The preload libraries of lacuna in an LD_PRELOAD."""
    return [part for part in _parts(value) if _OURS.match(Path(part).name)]


def _parts(value: str) -> list[str]:
    return [part for part in re.split("[: ]", value) if part]


def _warn(what: str, remedy: str) -> None:
    """Prints a warning on stderr; the command is started all the same."""
    print(f"lacuna run: {what}; {remedy}", file=sys.stderr)


def _warn_of_options(environment: dict[str, str]) -> None:
    """Warns of LACUNA_ variables that are no options, whose values are not understood, or that name
    files that are not here: the ranks say so only in the log.
    """
    if not any(name.startswith("LACUNA_") for name in environment.keys() - {paths.LIBRARY_DIR}):
        return  # most jobs: starts sooner
    from lacuna import engine

    with contextlib.suppress(LacunaError):  # without the library
        for sentence in engine.option_complaints():
            print(f"lacuna run: {sentence}", file=sys.stderr)
    for name, command in (("LACUNA_TABLE", "tune"), ("LACUNA_PROFILE", "machine --measure")):
        file = environment.get(name, "none")
        if file not in ("", "none") and not os.path.isfile(file):
            remedy = f"measure with `lacuna {command}`, or unset {name}"
            _warn(f"{name}={file}: there is no such file on this machine", remedy)


def _check_named(mpi: str, word: str) -> None:
    """Raises LacunaError if --mpi names another MPI library than a program is linked to: there the
    preload library would end the ranks.
    """
    other = detect.misnamed(paths.family_of(mpi), word)
    if other:
        raise LacunaError(Exit.USAGE, f"--mpi {mpi}, but {word} is linked to {other[0]}", other[1])


def _warn_of_own_options(name: str, launcher: Launcher, contexts: list[list[str]]) -> None:
    """Warns of options of `lacuna run` that stand among the launcher's."""
    for words in contexts:
        for word in words[: launchers.program_at(launcher, words)]:
            if word.partition("=")[0] in OWN:
                _warn(f"{word} is passed to the launcher", f"write it before {name}")


def _warn_of_unreached(word: str) -> None:
    path = detect.find_program(word)
    why = path and detect.unreached(path)
    if why:
        _warn(f"lacuna does not reach {word}: {why}", "link it to lacuna (see lacuna docs run)")


def _family_alone(command: list[str], report: str | None) -> str:
    """The family of MPI libraries of a program that is started without a launcher."""
    path = detect.find_program(command[0])
    if path is None and "/" not in command[0] and not os.path.exists(command[0]):
        remedy = "check its name, or give its path"
        if report == "1":
            remedy += f" (a file for {REPORT} or {COSTS} must be called *.json)"
        raise LacunaError(Exit.USAGE, f"no program {command[0]} found in PATH", remedy)
    family = detect.family_of_program(command)
    if family is None:
        why = path and detect.unreached(path)
        raise LacunaError(
            Exit.USAGE,
            f"no MPI found in {command[0]}: {why or 'it is not linked to a known MPI library'}",
            "link it to lacuna (see lacuna docs run)"
            if why
            else "start it under its launcher, or name its MPI with --mpi",
        )
    _warn_of_unreached(command[0])
    found = detect.family_of_file(path) if path else None
    if found and found[2] is None:
        raise LacunaError(
            Exit.ENVIRONMENT,
            f"the MPI library {found[1]} that {command[0]} needs is not found",
            "load its module, or add its folder to LD_LIBRARY_PATH",
        )
    return family


def _family_launched(launcher: Launcher, contexts: list[list[str]], command: list[str]) -> str:
    """The family of all programs under a launcher; if the files do not show it, the launcher's."""
    families = set()
    programs = []
    for words in contexts:
        at = launchers.program_at(launcher, words)
        if at is None:
            if any(word.lstrip("-").split("=")[0] in ("configfile", "app") for word in words):
                continue
            raise LacunaError(
                Exit.USAGE,
                f"no program in the command: {shlex.join(command)}",
                "give one, as in: lacuna run mpirun -n 2 ./program",
            )
        program = first_program(words[at:])
        families.add(detect.family_of_program(program) or launcher.family)
        programs.append(program[0])
    families.discard(None)
    if len(families) > 1:
        names = " and ".join(sorted(paths.NAMES_OF[family] for family in families if family))
        raise LacunaError(
            Exit.USAGE,
            f"programs of several MPI libraries in one command: {names}",
            "start them apart, or name one MPI with --mpi",
        )
    family = families.pop() if families else launcher.family
    if family is None:
        raise LacunaError(
            Exit.USAGE,
            f"no MPI found in the command: {shlex.join(command)}",
            "name it with --mpi",
        )
    for program in programs:
        _warn_of_unreached(program)
    if {family, launcher.family} == {"mpich", "ompi"}:
        own, other = paths.NAMES_OF[family], paths.NAMES_OF[launcher.family or ""]
        _warn(
            f"{programs[0]} is linked to {own}, but {command[0]} is the launcher of {other}: "
            "each rank may run alone",
            "give the launcher of the program's MPI library",
        )
    return family


def first_program(words: list[str]) -> list[str]:
    """Drops words before the program that may be the value of an unknown option."""
    for at, word in enumerate(words):
        if detect.find_program(word):
            return words[at:]
        if not at and ("/" in word or os.path.exists(word)):
            break
    return words


def _for_hydra(contexts: list[list[str]], library: Path, passed: dict[str, str]) -> list[str]:
    """Hydra (MPICH, Intel MPI): -genv holds for all programs. An LD_PRELOAD that the user sets is
    kept, after lacuna.
    """
    result: list[str] = []
    for name, value in passed.items():
        result += ["-genv", name, value]
    for index, words in enumerate(contexts):
        end = launchers.program_at(HYDRA, words)
        words = list(words)
        for at in range(len(words) if end is None else end):
            is_env = words[at].lstrip("-") in ("genv", "env") and at + 1 < len(words)
            if is_env and words[at + 1] == PRELOAD and at + 2 < len(words):
                words[at + 2] = _before(library, words[at + 2])
            elif is_env and words[at + 1].startswith(f"{PRELOAD}="):
                words[at + 1] = f"{PRELOAD}={_before(library, words[at + 1].partition('=')[2])}"
        result += [":", *words] if index else words
    return result


def _for_open_mpi(contexts: list[list[str]], library: Path, passed: dict[str, str]) -> list[str]:
    """Open MPI: each program gets its own -x, as -x holds for one program in version 4 and the
    first one wins in version 5.
    """
    result: list[str] = []
    for index, words in enumerate(contexts):
        end = launchers.program_at(OPEN_MPI, words)
        kept: list[str] = []
        mine = dict(passed)
        at = 0
        while at < len(words):
            name, is_set, value = (
                words[at + 1].partition("=") if at + 1 < len(words) else ("", "", "")
            )
            in_options = end is None or at < end
            if in_options and words[at].lstrip("-") == "x" and name in mine:
                if name == PRELOAD and is_set:
                    mine[name] = _before(library, value)
                elif is_set:
                    mine[name] = value
                at += 2
                continue
            kept.append(words[at])
            at += 1
        options = [word for name, value in mine.items() for word in ("-x", f"{name}={value}")]
        result += [":"] if index else []
        result += options + kept
    return result


def _for_srun(
    contexts: list[list[str]], library: Path, passed: dict[str, str], environment: dict[str, str]
) -> list[str]:
    """srun: --export lists the variables of the ranks, as does SLURM_EXPORT_ENV. A list of the
    user's is kept, with ours added. With ALL in the list, srun passes on its own environment.
    """
    result: list[str] = []
    for index, words in enumerate(contexts):
        result += [":"] if index else []
        result += _one_for_srun(list(words), library, passed, environment)
    return result


def _one_for_srun(
    words: list[str], library: Path, passed: dict[str, str], environment: dict[str, str]
) -> list[str]:
    end = launchers.program_at(SLURM, words)
    for at in range(len(words) if end is None else end):
        if words[at].startswith("--export="):
            wanted = words[at].removeprefix("--export=")
            words[at] = f"--export={_export(wanted, library, passed, environment)}"
            return words
        if words[at] == "--export" and at + 1 < len(words):
            words[at + 1] = _export(words[at + 1], library, passed, environment)
            return words
    wanted = environment.get("SLURM_EXPORT_ENV") or "ALL"
    return [f"--export={_export(wanted, library, passed, environment)}", *words]


def _export(wanted: str, library: Path, passed: dict[str, str], environment: dict[str, str]) -> str:
    parts = wanted.split(",")
    mine = dict(passed)
    if "ALL" in parts:  # a list can carry fewer values than an environment
        mine = {name: value for name, value in mine.items() if environment.get(name) != value}
    kept = []
    for part in parts:
        name, is_set, value = part.partition("=")
        if name == PRELOAD and is_set:
            mine[name] = _before(library, value)
        elif name in ("NONE", "NIL", "") or name in mine:
            continue
        else:
            kept.append(part)
    for name, value in mine.items():
        if "," in value:
            raise LacunaError(
                Exit.USAGE,
                f"srun --export cannot carry a comma in {name}: {value}",
                f"export {name} in a job script and use --export=ALL there",
            )
    return ",".join([*kept, *(f"{name}={value}" for name, value in mine.items())])
