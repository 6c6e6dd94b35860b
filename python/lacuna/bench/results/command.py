# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench results`: makes the pages of docs/results, and checks that they are made so."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from lacuna.base import paths, results
from lacuna.base.errors import Exit, LacunaError
from lacuna.bench.results import data as results_data
from lacuna.bench.results import pages
from lacuna.bench.results.data import Data

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_BLOCK = re.compile(r"<!-- performance: begin.*?-->.*?<!-- performance: end -->", re.DOTALL)
_MACHINES = re.compile(r"<!-- machines: begin -->.*?<!-- machines: end -->", re.DOTALL)


@dataclass
class Options:
    """What the command line asked for."""

    machine: str | None = None  # whose results those of `add` are
    add: list[Path] = field(default_factory=list)
    readme: str | None = None  # the machine of the README's table from now on
    check: bool = False
    root: Path = field(default_factory=paths.checkout)


def make(options: Options) -> None:
    """Adds new results, then writes all pages and plots, or checks that they match the data."""
    folder = options.root / "bench" / "results"
    if not folder.is_dir():
        raise LacunaError(
            Exit.ENVIRONMENT, f"no {folder}", "run in a checkout, or name one with --root"
        )
    if options.add:
        _add(options, folder)
    found = {
        path.name: results_data.of_machine(path)
        for path in sorted(folder.iterdir())
        if path.is_dir()
    }
    texts = _texts(found, options)
    stale = [path for path, text in texts.items() if not _is(path, text)]
    plots = _stale_plots(found, options.root)
    left_over = _left_over(found, options.root)
    if options.check:
        _report(options.root, [*stale, *plots, *left_over])
        return
    for path in stale:
        results.make_folder(path.parent)
        results.write_text(path, texts[path])
    if plots:
        from lacuna.bench.results import plots as results_plots  # matplotlib takes a second to load

        for path, data in plots.items():
            results_plots.draw(data, path)
    for path in [*stale, *plots]:
        print(f"wrote {path}", file=sys.stderr)
    for path in left_over:
        path.unlink()
        print(f"removed {path}", file=sys.stderr)


def _add(options: Options, folder: Path) -> None:
    if options.machine is None or not _NAME.fullmatch(options.machine):
        raise LacunaError(
            Exit.USAGE,
            "--add needs the machine's name in --machine",
            "give small letters, digits and hyphens, as in zen5-guest",
        )
    for path in options.add:
        print(f"wrote {results_data.add(path, folder / options.machine)}", file=sys.stderr)


def _texts(found: dict[str, list[Data]], options: Options) -> dict[Path, str]:
    """All pages as they must be, by path."""
    folder = options.root / "docs" / "results"
    texts = {
        folder / f"{machine}.md": pages.page(machine, of_machine)
        for machine, of_machine in found.items()
        if of_machine
    }
    index = folder / "README.md"
    machines = pages.index([name for name, of_machine in found.items() if of_machine])
    texts[index] = _MACHINES.sub(lambda _: machines, index.read_text(encoding="utf-8"), count=1)
    readme = options.root / "README.md"
    before = readme.read_text(encoding="utf-8")
    machine = options.readme or pages.machine_of_readme(before)
    if machine is not None:
        chosen = [data for data in found.get(machine, []) if data.kind == "transpose"]
        if not chosen:
            raise LacunaError(
                Exit.USAGE,
                f"no transpose.json in bench/results/{machine}, which the README's table needs",
                "add results of lacuna bench transpose with --add",
            )
        block = pages.readme(machine, chosen[0])
        texts[readme] = _BLOCK.sub(lambda _: block, before, count=1)
    return texts


def _is(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


def _left_over(found: dict[str, list[Data]], root: Path) -> list[Path]:
    """Pages and plots without data."""
    folder = root / "docs" / "results"
    known = {"README.md"}
    for machine, of_machine in found.items():
        known |= {f"{machine}-{data.kind}.svg" for data in of_machine}
        known |= {f"{machine}.md"} if of_machine else set()
    made = [*folder.glob("*.md"), *folder.glob("*.svg")]
    return sorted(path for path in made if path.name not in known)


def _stale_plots(found: dict[str, list[Data]], root: Path) -> dict[Path, Data]:
    """Plots that were drawn from other data."""
    stale = {}
    for machine, of_machine in found.items():
        for data in of_machine:
            path = root / "docs" / "results" / f"{machine}-{data.kind}.svg"
            text = path.read_text(encoding="utf-8") if path.is_file() else ""
            if data.mark() not in text:
                stale[path] = data
    return stale


def _report(root: Path, stale: list[Path]) -> None:
    if not stale:
        print("docs/results and README.md are what bench/results says")
        return
    names = ", ".join(str(path.relative_to(root)) for path in stale)
    raise LacunaError(
        Exit.CHECK_FAILED, f"not as bench/results says: {names}", "run lacuna bench results"
    )
