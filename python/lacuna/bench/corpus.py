# SPDX-License-Identifier: BSD-3-Clause
"""The corpus of `bench engine` and `bench apps`: types as text with their sources."""

from __future__ import annotations

import configparser
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from lacuna.base import paths
from lacuna.base.errors import Exit, LacunaError
from lacuna.engine import Type

# In the order in which tables and plots show them.
FAMILIES = [
    "gropp",
    "ddtbench",
    "transpose",
    "faces",
    "structs",
    "index",
    "sweep",
    "tiny",
    "lifecycle",
]
_KEYS = {"type", "bytes", "count", "source", "tags", "shape"}
# The tag of rows for `bench apps` only: further sizes of types that `bench engine` packs.
_APPS_ONLY = "apps"


@dataclass(frozen=True)
class CorpusRow:
    """A datatype of the corpus, and how many elements of it are packed."""

    id: str  # family/name
    text: str  # on one line, index lists as bench/engine/lists.hpp describes them
    count: int
    bytes: int  # of data, as the corpus declares it; the program's own number must be the same
    source: str
    tags: frozenset[str]
    shape: tuple[int, ...] = ()  # the numbers that the application makes it from (bench/apps)

    @property
    def family(self) -> str:
        """The part before the slash."""
        return self.id.partition("/")[0]

    @property
    def is_far(self) -> bool:
        """Whether its data are strided or indexed and exceed the caches, so that the lines touched
        bound its time. Not transposes: they touch a line several times.
        """
        return "out-of-cache" in self.tags and self.family != "transpose"

    @property
    def is_of_corpus(self) -> bool:
        """Whether it is from a file of the corpus: then all rivals can pack it."""
        return self.family in FAMILIES

    def flags(self) -> str:
        """A letter for each tag that the program needs to know."""
        told = {"s": "slices" in self.tags, "l": "lifecycle" in self.tags, "f": self.is_far}
        return "".join(flag for flag, is_so in told.items() if is_so)

    def line(self) -> str:
        """The row as the program reads it."""
        return f"{self.id}\t{self.count}\t{self.flags() or '-'}\t{self.text}\n"


def _read(path: Path) -> list[CorpusRow]:
    file = configparser.ConfigParser(interpolation=None, default_section="DEFAULT")
    with path.open(encoding="utf-8") as text:
        file.read_file(text)
    rows = []
    for name in file.sections():
        section = file[name]
        unknown = set(section) - _KEYS
        if unknown or not name.startswith(f"{path.stem}/"):
            raise ValueError(f"{path}: [{name}]: {', '.join(sorted(unknown)) or 'wrong family'}")
        rows.append(
            CorpusRow(
                name,
                " ".join(section["type"].split()),
                section.getint("count", 1),
                section.getint("bytes"),
                section["source"],
                frozenset(section.get("tags", "").split()),
                tuple(int(number) for number in section.get("shape", "").split()),
            )
        )
    return rows


def load(folder: Path | None = None) -> list[CorpusRow]:
    """All rows, family by family."""
    folder = folder or paths.corpus()
    rows = []
    for family in FAMILIES:
        path = folder / f"{family}.ini"
        try:
            rows += _read(path)
        except OSError as error:
            raise LacunaError(
                Exit.ENVIRONMENT, f"cannot read {path}: {error.strerror}", "run in a checkout"
            ) from error
    return rows


def given(text: str, count: int) -> CorpusRow:
    """A row for a type on the command line."""
    datatype = Type(text)
    return CorpusRow("given/type", datatype.text(), count, count * datatype.size(), "", frozenset())


def select(rows: list[CorpusRow], globs: list[str], quick: bool) -> list[CorpusRow]:
    """The rows of `bench engine` that fit the patterns; the name of a family stands for all
    of it.
    """
    ours = [row for row in rows if _APPS_ONLY not in row.tags]
    return chosen([row for row in ours if not quick or "quick" in row.tags], globs)


def chosen(rows: list[CorpusRow], globs: list[str]) -> list[CorpusRow]:
    """The rows that fit one of the patterns. Raises LacunaError for a pattern that no row fits."""
    for glob in globs:
        if not any(_fits(row, glob) for row in rows):
            families = [name for name in FAMILIES if any(row.family == name for row in rows)]
            raise LacunaError(
                Exit.USAGE,
                f"no row fits --only {glob}",
                f"families are {', '.join(families)}; as in --only 'ddtbench/WRF*'",
            )
    return [row for row in rows if not globs or any(_fits(row, glob) for glob in globs)]


def _fits(row: CorpusRow, glob: str) -> bool:
    return fnmatchcase(row.id, glob) or row.family == glob
