# SPDX-License-Identifier: BSD-3-Clause
"""The pages that are made of the data: one for each machine, their list, and the README's first
table.
"""

from __future__ import annotations

import re
import shlex
from typing import Any

from lacuna.bench.results import tables
from lacuna.bench.results.data import Data
from lacuna.launch import mpis

_ORDER = 4096  # of the README's matrix, where it was measured
README_END = "<!-- performance: end -->"


def readme_begin(machine: str) -> str:
    """The mark in the README before a table of this machine's data."""
    return f"<!-- performance: begin; of {machine}, by lacuna bench results -->"


def machine_of_readme(text: str) -> str | None:
    """The machine whose data the README's table shows; None: the table has no mark."""
    found = re.search(r"<!-- performance: begin; of (\S+), by lacuna bench results -->", text)
    return found[1] if found else None


def _commit(provenance: dict[str, Any]) -> str:
    commit, is_dirty, _ = (provenance["commit"] or "unknown").partition("-dirty")
    return commit[:7] + (" with changes" if is_dirty else "")


def _command(provenance: dict[str, Any]) -> str:
    environment = [f"{name}={shlex.quote(v)}" for name, v in provenance["environment"].items()]
    return " ".join([*environment, shlex.join(provenance["command"])])


def _compiler(provenance: dict[str, Any]) -> str:
    """The compiler's name and version; gcc reports a number only."""
    found: str = provenance["compiler"]
    return f"gcc {found}" if found[:1].isdigit() else found


def version(library: str) -> str:
    """The version of an MPI library, in its own words."""
    found = re.search(r"\d+\.\d+(\.\d+)?", library)
    return found[0] if found else library


def _cuda(number: int) -> str:
    """CUDA's version: 12030 is 12.3."""
    return f"{number // 1000}.{number % 1000 // 10}"


def _libraries(provenance: dict[str, Any]) -> str:
    named = provenance["mpi"].items()
    return ", ".join(f"{mpis.TITLE[name]} {version(words)}" for name, words in named)


def index(machines: list[str]) -> str:
    """The list of all pages, with its marks."""
    lines = [f"- [{name}]({name}.md)" for name in machines] or ["None was measured yet."]
    return "\n".join(["<!-- machines: begin -->", *lines, "<!-- machines: end -->"])


def page(machine: str, found: list[Data]) -> str:
    """The page of a machine: its card, and a section for each benchmark."""
    told = found[0].provenance
    card = [["GPU", told["device"]]] if "device" in told else []
    card += [
        ["CPU", told["cpu"]],
        ["cores that may be used", str(told["cores"])],
        ["kernel", told["kernel"]],
        ["frequency governor", told["governor"] or "unknown"],
        ["transparent huge pages", told["transparent_hugepages"] or "unknown"],
    ]
    lines = [
        f"# Results: {machine}",
        "",
        f"Made by `lacuna bench results` from bench/results/{machine}: do not edit.",
        "",
        *tables.table(["machine", ""], card, texts=2),
    ]
    for data in found:
        lines += ["", f"## {tables.TITLES[data.kind]}", "", *_section(machine, data)]
    return "\n".join(lines) + "\n"


def _section(machine: str, data: Data) -> list[str]:
    told = data.provenance
    made = f"{told['date'][:10]}; lacuna {told['lacuna']}, commit {_commit(told)}; "
    if data.kind == "gpu":
        made += f"CUDA runtime {_cuda(told['cuda_runtime'])}, driver {_cuda(told['cuda_driver'])}."
    else:
        made += f"{_libraries(told)}; benchmark compiled by {_compiler(told)}."
    return [
        *tables.prose(made),
        "",
        f"    {_command(told)}",
        "",
        *tables.SECTIONS[data.kind](data),
        "",
        f"![{tables.TITLES[data.kind]}: how far below the peak]({machine}-{data.kind}.svg)",
    ]


def readme(machine: str, data: Data) -> str:
    """The README's table, with its marks."""
    found = tables.Transposes(data.rows)
    orders = {n for _, n in found.keys}
    order = _ORDER if _ORDER in orders else max(orders)
    rows = []
    for mpi in tables.names(data.rows):
        name = f"{mpis.TITLE[mpi]} {version(data.provenance['mpi'][mpi])}"
        ratios = [
            *(found.faster(mpi, order, rival) for rival in ("native", "by_hand", "contiguous")),
            found.faster(mpi, order, "pack_native", "pack_lacuna"),
        ]
        first, *others, last = map(tables.times, ratios)
        rows.append([name, f"**{first}**", *others, f"**{last}**"])
    told = data.provenance
    source = (
        f"[{machine}](docs/results/{machine}.md): {told['cpu']}, {told['cores']} cores; "
        f"commit {_commit(told)}; `{_command(told)}`; "
        "[where it falls short](docs/internals/performance.md#where-it-falls-short)."
    )
    what = (
        f"A {order} x {order} matrix of doubles sent transposed between two ranks of a node. "
        "How many times as fast lacuna is (1.0: equal):"
    )
    head = ["lacuna against", "the library's datatypes", "packing by hand", "contiguous data"]
    return "\n".join(
        [
            readme_begin(machine),
            *tables.prose(what),
            "",
            *tables.table([*head, "the library's `MPI_Pack`"], rows),
            "",
            *tables.prose(source),
            README_END,
        ]
    )
