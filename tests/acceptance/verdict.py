# SPDX-License-Identifier: BSD-3-Clause
"""A promise, and what came out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """One thing that is promised, held against what was measured."""

    what: str
    limit: str
    found: str
    is_met: bool | None  # None: not judged, `found` says why
