# SPDX-License-Identifier: BSD-3-Clause
"""Places of calls: from "FILE+0xOFFSET NAME" in a report to function and line, by addr2line."""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

_ASK_SECONDS = 60
_TOOL = "addr2line"


def names(sites: list[str]) -> dict[str, str]:
    """A name for each place, as precise as the tool, the file and its debug information allow."""
    found = {site: _plain(site) for site in sites}
    tool = shutil.which(_TOOL)
    if tool is None:
        return found
    by_file: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for site in found:
        file, offset = _parts(site)
        if offset is not None:
            by_file[file].append((site, offset))
    for file, places in by_file.items():
        base = _base(Path(file))
        if base is None:
            continue
        told = _ask(tool, file, [base + offset for _, offset in places])
        guessed = []
        for (site, offset), (function, line) in zip(places, told, strict=False):
            if function and line:
                found[site] = f"{function} ({line})"
            elif function:
                guessed.append((site, base + offset, function))
        if guessed:
            spans = _functions(Path(file))
            for site, address, function in guessed:
                if any(begin <= address < end for begin, end in spans):
                    found[site] = function
    return found


def _functions(path: Path) -> list[tuple[int, int]]:
    """(begin, end) of the functions in the symbol tables of a file. Where a file has few symbols
    (Fortran bindings of distributions), addr2line names the function before instead.
    """
    spans = []
    with path.open("rb") as file:
        for section in ELFFile(file).iter_sections():
            if isinstance(section, SymbolTableSection):
                for symbol in section.iter_symbols():
                    begin = symbol["st_value"]
                    spans.append((begin, begin + symbol["st_size"]))
    return spans


def _parts(site: str) -> tuple[str, int | None]:
    """The file, and the offset in it."""
    file, plus, offset = site.split(" ")[0].rpartition("+0x")
    try:
        return file, int(offset, 16) if plus else None
    except ValueError:
        return file, None


def _plain(site: str) -> str:
    """The name without addr2line: the function that the dynamic linker knew, or file and offset."""
    place, _, name = site.partition(" ")
    return name or place.rpartition("/")[2]


def _base(path: Path) -> int | None:
    """The address for which the file's first byte was linked; None: the file cannot be read
    here.
    """
    try:
        with path.open("rb") as file:
            loaded = [s["p_vaddr"] - s["p_offset"] for s in ELFFile(file).iter_segments("PT_LOAD")]
    except (OSError, ELFError):
        return None
    return min(loaded, default=None)


def _ask(tool: str, file: str, addresses: list[int]) -> list[tuple[str, str]]:
    """Function and "file:line" of each address; empty where addr2line does not know."""
    words = [tool, "-f", "-C", "-s", "-e", file, *(hex(address) for address in addresses)]
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=_ASK_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = done.stdout.splitlines()
    found = []
    for function, line in zip(lines[::2], lines[1::2], strict=False):
        known = not line.startswith("??") and not line.endswith((":0", ":?"))
        found.append(
            ("" if function == "??" else function, line.partition(" ")[0] if known else "")
        )
    return found
