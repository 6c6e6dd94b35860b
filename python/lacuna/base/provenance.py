# SPDX-License-Identifier: BSD-3-Clause
"""The provenance of a result: machine, versions, commit, settings, command."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from lacuna import VERSION
from lacuna.base import paths


def _line(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return None


def cpu_name() -> str:
    """The processor's name as the system gives it."""
    for line in (_line("/proc/cpuinfo") or "").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _commit() -> str | None:
    """The commit of the source tree, marked if files differ from it; None outside a checkout."""

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(paths.checkout()), *words],
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError:
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit = git("rev-parse", "HEAD")
    if commit is None:
        return None
    return f"{commit}-dirty" if git("status", "--porcelain") else commit


def collect() -> dict[str, Any]:
    """The provenance of a result that is measured now, for the header of its file."""
    cpu = "/sys/devices/system/cpu/cpu0"
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "lacuna": VERSION,
        "commit": _commit(),
        "command": ["lacuna", *sys.argv[1:]],
        "cpu": cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "governor": _line(f"{cpu}/cpufreq/scaling_governor"),
        "transparent_hugepages": _line("/sys/kernel/mm/transparent_hugepage/enabled"),
        "environment": {k: v for k, v in sorted(os.environ.items()) if k.startswith("LACUNA_")},
    }


def caption(header: dict[str, Any]) -> str:
    """The provenance as one line, for below a figure."""
    if "program" in header:  # of a job
        return f"{header['program']} on {header['library']}, lacuna {header['lacuna']}"
    commit, is_dirty, _ = (header["commit"] or "no commit").partition("-dirty")
    return f"{header['cpu']}, lacuna {header['lacuna']} ({commit[:12]}{is_dirty}), medians"
