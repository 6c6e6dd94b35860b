# SPDX-License-Identifier: BSD-3-Clause
"""Compares programs under lacuna with the same programs alone, and reports differences."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from jobs import BLOCK, Asked, Job, Settings, settings_of

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Finding:
    """A program that hung, died or differed."""

    seed: int
    first: int  # the first seed of the launch
    what: str  # "hangs", "dies", "differs"
    told: str
    settings: Settings
    native: bool = False  # it happened with the library alone

    def text(self) -> str:
        alone = " with the library alone" if self.native else ""
        return f"seed {self.seed} {self.what}{alone} ({self.settings.told()})\n{self.told}"


def repeat_line(asked: Asked, finding: Finding) -> str:
    words = [f"{HERE / 'run.py'} --mpi {asked.target.name}"]
    alone = finding.first == finding.seed
    seeds = f"--seeds {finding.first}:{finding.seed + 1}"
    words.append(f"--seed {finding.seed}" if alone else seeds)
    fixed = {
        "ranks": lambda v: f"--ranks {v}",
        "stops": lambda v: "--stops" if v else "--no-stops",
        "refuse": lambda v: f"--refuse {v}" if v else "--no-refusals",
        "threads": lambda v: "--threads" if v else "--no-threads",
    }
    words += [fixed[name](value) for name, value in asked.fixed.items() if name in fixed]
    words += ["--devices"] if asked.devices else []
    words += [f"--set {name}={value}" for name, value in asked.options.items()]
    words += [f"--without {step}" for step in asked.without]
    words += [f"--leave-out {asked.leave_out}"] if asked.leave_out else []
    words += [f"--block {asked.block}"] if asked.block != BLOCK else []
    return " ".join(words)


@dataclass(frozen=True)
class Outcome:
    """A launch, when it has ended."""

    lines: dict[tuple[str, int], str]
    hung: bool
    code: int
    told: str
    at: int  # the seed that ran when it hung or died


def launch(asked: Asked, first: int, last: int, settings: Settings, calm: bool) -> Outcome:
    native = calm or asked.steady
    with Job(asked, first, last, settings, native, calm) as job:
        job.wait()
        assert job.process is not None
        code = None if job.hung else job.process.poll()
        lines, pages = job.lines(), job.pages()
        at = first
        if job.hung or code != 0:
            # The first program that some rank has not ended, or not begun.
            at = min((min(p[3][: 2 if settings.threads else 1]) for p in pages), default=first)
            at = min(max(at, first), last - 1)
        told = job.places if job.hung else ""
        if code not in (0, None):
            lines_of = (f"  rank {p[1]}: seed {p[3][0]}, step {p[4][0]}: {p[5][0]}" for p in pages)
            where = "\n".join(lines_of)
            told = f"{where}\n{job.complaint()}"
        return Outcome(lines, job.hung, -1 if code is None else code, told, at)


def compare(
    asked: Asked, first: int, last: int, times: int, end: float | None
) -> tuple[int, list[Finding]]:
    """How many programs were compared, and what was found. After a program that hangs or dies, the
    rest are started in a new launch."""
    settings = settings_of(first, asked)
    findings: list[Finding] = []
    programs = 0
    at = first
    while at < last and (end is None or time.monotonic() < end):
        native = launch(asked, at, last, settings, True)
        upto = last
        if native.hung or native.code != 0:
            what = "hangs" if native.hung else f"dies ({native.code})"
            findings.append(Finding(native.at, at, what, native.told, settings, True))
            upto = native.at
        for _ in range(times):
            done, found = _under_lacuna(asked, at, upto, settings, native)
            programs += done
            findings += found
        at = upto if upto == last else upto + 1
    return programs, findings


def _under_lacuna(
    asked: Asked, first: int, last: int, settings: Settings, native: Outcome
) -> tuple[int, list[Finding]]:
    findings: list[Finding] = []
    at = first
    while at < last:
        ours = launch(asked, at, last, settings, False)
        whole = not ours.hung and ours.code == 0
        upto = last if whole else ours.at
        is_all = whole and at == first and native.code == 0
        findings += _differences(at, upto, settings, native, ours, is_all)
        if whole:
            break
        what = "hangs" if ours.hung else f"dies ({ours.code})"
        findings.append(Finding(ours.at, at, what, ours.told, settings))
        at = ours.at + 1
    return last - first, findings


def _differences(
    first: int, last: int, settings: Settings, native: Outcome, ours: Outcome, end: bool
) -> list[Finding]:
    found = []
    threads = 2 if settings.threads else 1
    for seed in range(first, last):
        told = []
        for thread in range(threads):
            for rank in range(settings.ranks):
                key = (f"{seed}.{thread}", rank)
                told += _one(key, native.lines.get(key, ""), ours.lines.get(key, ""))
        if told:
            found.append(Finding(seed, first, "differs", "\n".join(told), settings))
    if end:
        told = []
        for rank in range(settings.ranks):
            for name in ("end", "checks"):
                one, other = native.lines.get((name, rank)), ours.lines.get((name, rank))
                if one != other:
                    told.append(f"  rank {rank}, {name}: {one} natively, {other}")
        if told:
            found.append(Finding(last - 1, first, "differs at the end", "\n".join(told), settings))
    return found


def _one(key: tuple[str, int], native: str, ours: str) -> list[str]:
    if native == ours:
        return []
    for number, (one, other) in enumerate(zip(native.split(), ours.split(), strict=False)):
        if one != other:
            step = "end" if one.startswith("end=") else str(number)
            thread = f", thread {key[0].partition('.')[2]}"
            return [f"  rank {key[1]}{thread}, step {step}: {one} natively, {other}"]
    return [f"  rank {key[1]}: {len(native.split())} steps natively, {len(ours.split())}"]


def shrink(asked: Asked, seed: int, times: int) -> int:
    """Leaves out steps, one after the other, as long as the program still fails."""
    settings = replace(settings_of(seed, asked), verbose=False)

    def fails(left_out: set[int]) -> bool:
        words = ",".join(str(step) for step in sorted(left_out))
        fewer = replace(asked, leave_out=words)
        for _ in range(max(times, 1)):
            _, found = compare(fewer, seed, seed + 1, 1, None)
            if any(not finding.native for finding in found):
                return True
        return False

    if not fails(set()):
        print(f"seed {seed} does not fail ({settings.told()})")
        return 1
    left_out: set[int] = set()
    for step in range(24):
        if fails(left_out | {step}):
            left_out.add(step)
            print(f"without step {step} it still fails", flush=True)
    words = ",".join(str(step) for step in sorted(left_out))
    command = f"{sys.argv[0]} --mpi {asked.target.name} --seed {seed} --leave-out {words}"
    print(f"{command}  # block {seed // asked.block}")
    return 0
