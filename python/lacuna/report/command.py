# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna report`: result files as tables or a page; the kind of a file is `provenance.kind`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lacuna.base.errors import Exit, LacunaError
from lacuna.report import job as job_report
from lacuna.report import page

Result = dict[str, Any]

_PAGE = Path("lacuna-report")

# What writes each kind of file.
_WRITERS = {
    job_report.KIND: "lacuna run --report",
    "apps": "lacuna bench apps",
    "guidelines": "lacuna bench guidelines",
    "papers": "lacuna bench papers",
    "costs": "lacuna costs machine",
}


def report(files: list[Path], output: Path | None) -> None:
    """Prints jobs as tables on stdout. Other files, and with `output` all files, become a page."""
    found = [_read(path) for path in files]
    are_jobs = {result["provenance"]["kind"] == job_report.KIND for result in found}
    if output is None and len(are_jobs) > 1:
        names = ", ".join(
            f"{path} ({_WRITERS[one['provenance']['kind']]})"
            for path, one in zip(files, found, strict=True)
        )
        raise LacunaError(
            Exit.USAGE,
            f"files of two kinds: {names}",
            "report each kind alone, or all on one page with --output",
        )
    for path, result in zip(files, found, strict=True):
        job_report.check_version(path, result)
    try:
        for result in found:
            if result["provenance"]["kind"] == job_report.KIND:
                job_report.rename_old_keys(result)
        findings = [one for result in found for one in result.get("findings", [])]
        for result in found if True in are_jobs else []:
            result.setdefault("findings", findings)  # thresholds, for advice
        if True in are_jobs and output is None:
            for result in found:
                job_report.show(result)
            return
        page.write(files, found, output or _PAGE)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        names = " or ".join(map(str, files))
        raise LacunaError(
            Exit.USAGE,
            f"{names} is damaged, or of another version: {type(error).__name__}, {error}",
            "give what --report or --json wrote",
        ) from error


def _read(path: Path) -> Result:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        kind = found["provenance"]["kind"]
        known = kind in page.SECTIONS and isinstance(found["rows"], list)
    except OSError as error:
        raise LacunaError(
            Exit.ENVIRONMENT,
            f"cannot read {path}: {error.strerror}",
            "give a file that `lacuna run --report FILE.json` or a benchmark's --json wrote",
        ) from error
    except (ValueError, KeyError, TypeError, RecursionError):
        known = False
    if not known:
        raise LacunaError(
            Exit.USAGE,
            f"{path} is no result of `{'`, `'.join(_WRITERS.values())}`",
            "give what --report or --json of one of them wrote",
        )
    return found
