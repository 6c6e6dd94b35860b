# SPDX-License-Identifier: BSD-3-Clause
"""A line of the page of `lacuna doctor`."""

from __future__ import annotations

from dataclasses import dataclass

OK = "ok"
WARNING = "warning"  # lacuna works, but slower than it could, or this cannot be known
FAULT = "fault"  # lacuna is not at work, or the job does not start


@dataclass(frozen=True)
class Finding:
    """What one check found, and what to do about it."""

    check: str
    level: str
    found: str
    remedy: str = ""


def ok(check: str, found: str) -> Finding:
    """A finding without a problem."""
    return Finding(check, OK, found)


def warning(check: str, found: str, remedy: str) -> Finding:
    """A finding: lacuna works, but not as well as it could."""
    return Finding(check, WARNING, found, remedy)


def fault(check: str, found: str, remedy: str) -> Finding:
    """A finding: lacuna is not active."""
    return Finding(check, FAULT, found, remedy)
