# SPDX-License-Identifier: BSD-3-Clause
"""Parses the command line of lacuna-cc and lacuna-c++, and caches the compiler's for it.

Running the MPI's own wrapper, and loading the modules that do so, takes longer than compiling a
small file. So the result is cached with all that it depends on, and start.py loads this module
alone.
"""

from __future__ import annotations

import marshal
import os
import zlib

MPICC = "LACUNA_MPICC"  # the environment variable for --mpi, where no option can be given
# What the answers depend on, besides the files.
_PREFIXES = ("LACUNA_", "MPICH_", "OMPI_", "OPAL_", "PRTE_", "I_MPI_")
_NO_LINKING = {"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"}


def _words(text: str) -> list[str]:
    """The words of a response file by GNU's rules (quotes, and backslashes)."""
    found: list[str] = []
    word, quote = None, ""
    rest = iter(text)
    for letter in rest:
        if letter == "\\":
            word = (word or "") + next(rest, "")
        elif quote:
            quote, word = ("", word) if letter == quote else (quote, word + letter)
        elif letter in "'\"":
            quote, word = letter, word or ""
        elif letter.isspace():
            found += [] if word is None else [word]
            word = None
        else:
            word = (word or "") + letter
    return [*found, *([] if word is None else [word])]


def _expanded(words: list[str], under_way: tuple[str, ...] = ()) -> list[str]:
    """The words, with response files (@FILE, possibly nested) replaced by their words."""
    found: list[str] = []
    for word in words:
        name = word[1:]
        try:
            if word[:1] != "@" or name in under_way:
                raise OSError
            with open(name, encoding="utf-8", errors="surrogateescape") as file:
                found += _expanded(_words(file.read()), (*under_way, name))
        except OSError:
            found.append(word)  # no such file: a word like any other, as for compilers
    return found


def _is_ours(word: str) -> bool:
    return word in ("--lto", "--mpi") or word.startswith("--mpi=")


class Request:
    """The parsed command line: lacuna's options may stand anywhere among the compiler's."""

    def __init__(self, words: list[str]) -> None:
        self.mpi = os.environ.get(MPICC)
        self.lto = self.lacks_name = False
        self.arguments: list[str] = []
        files = [word for word in words if word[:1] == "@"]
        # Otherwise they are passed on as files: their words may be too many for a command line.
        if any(map(_is_ours, _expanded(files))):
            words = _expanded(words)
        rest = iter(words)
        for word in rest:
            if word == "--lto":
                self.lto = True
            elif _is_ours(word):
                self.mpi = word[6:] if "=" in word else next(rest, None)
                self.lacks_name = not self.mpi
            else:
                self.arguments.append(word)
        # With the words of response files.
        self.all_words = _expanded(self.arguments)

    @property
    def links(self) -> bool:
        """Whether the compiler will call the linker; not for precompiled headers (`-x
        c-header`).
        """
        of_headers = any(word.endswith("-header") for word in self.all_words)
        # `-v` alone only prints the version. For clang, a library is something to link.
        has_files = any(
            word == "-" or word[:1] != "-" or word[:2] == "-l" for word in self.all_words
        )
        return has_files and _NO_LINKING.isdisjoint(self.all_words) and not of_headers


def _key(command: str, request: Request) -> list[str]:
    settings = sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith(_PREFIXES))
    asked = [command, request.mpi or "", str(request.lto), str(request.links)]
    return [*asked, os.environ.get("PATH", ""), *settings]


def _file(key: list[str]) -> str:
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    base = chosen if chosen.startswith("/") else os.path.expanduser("~/.cache")
    return f"{base}/lacuna/compilers/{zlib.crc32(chr(0).join(key).encode()):08x}"


def _stamp(path: str) -> tuple[str, int, int]:
    try:
        about = os.stat(path)
    except FileNotFoundError:
        return path, 0, 0  # a file that is created later is a change
    return path, about.st_mtime_ns, about.st_size


def recall(command: str, request: Request) -> list[str] | None:
    """The cached command line of the compiler; None if a file or setting that it depends on has
    changed, or if there is an error to report.
    """
    if request.lacks_name:  # else the same words without `--mpi` would be found
        return None
    key = _key(command, request)
    try:
        with open(_file(key), "rb") as kept:
            its_key, stamps, before, after = marshal.loads(kept.read())
        if its_key != key or any(_stamp(stamp[0]) != stamp for stamp in stamps):
            return None
        return [*before, *request.arguments, *after]
    except (OSError, ValueError, EOFError, TypeError):
        return None


def keep(
    command: str, request: Request, files: list[str], before: list[str], after: list[str]
) -> None:
    """Caches the words before and after the user's arguments. `files`: the files on which they
    depend.
    """
    key = _key(command, request)
    path = _file(key)
    part = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(part, "wb") as kept:
            kept.write(marshal.dumps((key, [_stamp(name) for name in files], before, after)))
        os.replace(part, path)
    except OSError:
        pass  # nothing is cached, then
