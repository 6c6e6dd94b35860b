# SPDX-License-Identifier: BSD-3-Clause
"""Sizes in bytes as text, for people and in the names of rows."""

from __future__ import annotations

KIB = 1024
MIB = 1024 * 1024


def size_name(count: int) -> str:
    """A size as part of a name: 64B, 4KiB, 16MiB."""
    for unit, factor in (("MiB", MIB), ("KiB", KIB)):
        if count >= factor and count % factor == 0:
            return f"{count // factor}{unit}"
    return f"{count}B"


def size(count: int) -> str:
    """A size for people, in KiB, MiB or GiB if that is exact: "1.5 MiB", "100 bytes"."""
    for unit, factor in (("GiB", 1024 * MIB), ("MiB", MIB), ("KiB", KIB)):
        if count >= factor and count % (factor // 4) == 0:
            return f"{count / factor:g} {unit}"
    return f"{count} bytes"
