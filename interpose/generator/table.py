# SPDX-License-Identifier: BSD-3-Clause
"""functions.ini: the functions of MPI that lacuna knows, each in its forms."""

from __future__ import annotations

import configparser
import re
import sys
from dataclasses import dataclass
from pathlib import Path

GROUPS = {
    "init": "Start, end and switch",
    "pack": "Packing (`LACUNA_DISABLE_PACK`)",
    "p2p": "Point to point (`LACUNA_DISABLE_P2P`)",
    "collectives": "Collectives (`LACUNA_DISABLE_COLLECTIVES`)",
    "files": "Files (`LACUNA_DISABLE_FILES`)",
    "rma": "One-sided (`LACUNA_DISABLE_RMA`)",
    "completion": "Completion",
    "types": "Types",
}
# A policy, and the keys that an entry of it must have.
POLICIES = {
    "taken": ("gate", "take", "why"),
    "watched": ("around", "why"),
    "passed": ("why",),
    "internal": ("calls",),
}


@dataclass(frozen=True)
class Parameter:
    """One C parameter; `type` may hold COUNT or DISPL."""

    type: str
    name: str

    def type_in(self, large: bool) -> str:
        count, displacement = ("MPI_Count", "MPI_Aint") if large else ("int", "int")
        return self.type.replace("COUNT", count).replace("DISPL", displacement)

    def declare(self, large: bool) -> str:
        return f"{self.type_in(large)} {self.name}".strip()


@dataclass(frozen=True)
class Function:
    """One entry of the table, in one of its forms."""

    name: str
    parameters: tuple[Parameter, ...]
    entry: dict[str, str]
    large: bool = False

    @property
    def wrapped(self) -> bool:
        return self.entry["policy"] in ("taken", "watched")

    @property
    def in_next(self) -> bool:
        return self.wrapped or "calls" in self.entry

    @property
    def optional(self) -> bool:
        return self.wrapped or self.entry["calls"] == "optional"

    @property
    def version(self) -> str:
        """The version of MPI that brought it; 3.1 or older are one."""
        return self.entry.get("since", "4.0" if self.large else "3.1")

    @property
    def in_open_mpi(self) -> bool:
        """Whether Open MPI 5 has it: MPI 4.0 without the large-count forms."""
        return self.version in ("3.1", "4.0") and not self.large

    @property
    def symbol(self) -> str:
        return self.name + ("_c" if self.large else "")

    def texts(self) -> dict[str, str]:
        """What the templates need of every function."""
        return {
            "name": self.name,
            "symbol": self.symbol,
            "declaration": ", ".join(p.declare(self.large) for p in self.parameters),
            "types": ", ".join(p.type_in(self.large) for p in self.parameters),
            "arguments": ", ".join(p.name for p in self.parameters if p.name),
        }


def read_parameter(text: str) -> Parameter:
    if text == "...":
        return Parameter("...", "")
    type_, _, name = text.rpartition(" ")
    return Parameter(type_, name)


def read_table(path: Path) -> list[Function]:
    """All functions in all their forms, in the order of the file; a mistake ends the program."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str
    parser.read_string(path.read_text(encoding="ascii"), source=str(path))
    functions = []
    for name in parser.sections():
        entry = dict(parser[name])
        policy = entry.get("policy")
        if policy not in POLICIES:
            sys.exit(f"{path}: [{name}]: policy must be one of {', '.join(POLICIES)}")
        if policy != "internal" and entry.get("group") not in GROUPS:
            sys.exit(f"{path}: [{name}]: group must be one of {', '.join(GROUPS)}")
        for key in ("params", *POLICIES[policy]):
            if key not in entry:
                sys.exit(f"{path}: [{name}]: `{key}` is needed where policy is {policy}")
        texts = (text.strip() for text in entry["params"].split(","))
        parameters = tuple(read_parameter(text) for text in texts if text)
        functions.append(Function(name, parameters, entry))
        if entry.get("large") == "yes":
            functions.append(Function(name, parameters, entry, large=True))
    return functions


def fill(template: str, **values: str) -> str:
    return re.sub(r"@(\w+)@", lambda match: values[match[1]], template)
