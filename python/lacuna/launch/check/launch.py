# SPDX-License-Identifier: BSD-3-Clause
"""The checks of a launch: each takes what it looks at as arguments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lacuna.launch.check.facts import Program
from lacuna.launch.check.finding import Finding, fault, ok, warning
from lacuna.launch.check.start import Rank, Started

AT_WORK = "lacuna"  # the check that a probe in the ranks answers
_LINK = "link it to lacuna (see lacuna docs run)"
_ABI = {
    "mpich": "MPICH's ABI (MPICH, Intel MPI, MVAPICH)",
    "ompi": "Open MPI's ABI",
    "mpiabi": "the MPI-5 standard ABI",
}
_NAME_IT = "name the MPI library with --mpi, here and to `lacuna run`"
_AS_ROOT = "run as root"
_ALLOW_ROOT = (
    "start it as another user; in a container, set OMPI_ALLOW_RUN_AS_ROOT=1 and "
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 (Open MPI 5: PRTE_ for OMPI_, too)"
)
_ON, _OFF = "on: lacuna ", "off: "
_PATH_OFF = "shared-memory path off: "
_PIECES_OFF = "pipelined messages off: "
_BY_OPTION = "shared-memory path off (LACUNA_DIRECT=0)"
_NOT_ASKED_FOR = "shared-memory path off (LACUNA_DIRECT is not set)"
_ALONE = "no other rank is on this node"
# A word of what the log says of the shared-memory path: the remedy.
_PATH_REMEDIES = (
    ("the launcher does not give", "start the ranks with the MPI library's own launcher"),
    ("did not answer", "start the same program in all ranks, and all of them with lacuna"),
    ("answered", "start the same program in all ranks, and all of them with lacuna"),
    ("no access", "give all ranks of a node the same LACUNA_ options; see memfd_create above"),
    ("LACUNA_VERIFY", "unset LACUNA_VERIFY; put tools behind lacuna in LD_PRELOAD"),
    ("fault tolerance", "none: such a program goes on without it"),
    ("spawned", "none: ranks that were spawned go on without it"),
)


def program(facts: Program, is_named: bool = False) -> Finding:
    """Whether a preload can reach the program's calls. `is_named`: the MPI library is, by --mpi, so
    the program's file is not needed here."""
    name = "program"
    if facts.wrong and is_named:
        return warning(name, facts.wrong, "check that the ranks find it")
    if facts.wrong:
        return fault(name, facts.wrong, facts.remedy)
    if facts.path is None:
        return fault(name, f"no program {facts.word}", "check its path")
    if facts.is_linked_to_us and facts.contains_mpi:
        what = "lacuna is linked into it: it needs no preload; shared memory is not used"
        return ok(name, f"{facts.path} contains the MPI library, and {what}")
    if facts.is_linked_to_us:
        return ok(name, f"{facts.path} is linked to lacuna: it needs no preload")
    if facts.contains_mpi:
        return fault(
            name,
            f"{facts.path} contains the MPI library statically: lacuna cannot see its calls",
            "link it dynamically, or link lacuna in (see lacuna docs run)",
        )
    if facts.unreached:
        return fault(name, f"a preload does not reach {facts.path}: {facts.unreached}", _LINK)
    if facts.opens_mpi:
        return fault(
            name,
            f"{facts.path} opens the MPI library itself (dlopen): lacuna does not see its calls",
            f"{_LINK}, or link it to the MPI library",
        )
    if facts.is_script:
        return warning(
            name,
            f"{facts.path} is a script: what it starts, and with which variables, is not known",
            "check the program that it starts; set LD_PRELOAD in it if it clears the environment",
        )
    if facts.family is None and not is_named:
        return warning(
            name,
            f"{facts.path} is not linked to a known MPI library",
            "check that it is the program that calls MPI (ldd shows what it loads)",
        )
    return ok(name, f"{facts.path}, linked dynamically")


def library(facts: Program, version: str) -> Finding:
    """The MPI library that the program loads."""
    name = "MPI library"
    if facts.family is None:
        if version:
            return warning(
                name,
                f"the program does not tell; the launcher's is {version}",
                _NAME_IT,
            )
        return warning(name, "the program does not tell", _NAME_IT)
    if facts.library is None:
        return fault(
            name,
            f"{facts.soname} is not found",
            "load its module, or add its folder to LD_LIBRARY_PATH",
        )
    return ok(name, f"{version}: {facts.library}" if version else str(facts.library))


def abi(family: str | None, preload: Path | None, remedy: str) -> Finding:
    """The ABI, and so what is preloaded."""
    name = "ABI"
    if family is None:
        return warning(name, "not known", _NAME_IT)
    if preload is None:
        return fault(name, f"{_ABI[family]}: liblacuna-{family}.so is not found", remedy)
    return ok(name, f"{_ABI[family]}: {preload} is preloaded")


def named_preload(place: str, libraries: Sequence[str], family: str) -> Finding | None:
    """Whether the user's own LD_PRELOAD names lacuna for another ABI than the program's; None: it
    does not. `libraries`: those of lacuna in it."""
    wanted = f"liblacuna-{family}.so"
    others = [path for path in libraries if Path(path).name != wanted]
    if not others:
        return None
    return fault(
        "LD_PRELOAD",
        f"that of {place} names {others[0]}, but the program uses {_ABI[family]}: without "
        "`lacuna run` in front, lacuna does not work",
        f"name {wanted} there; or leave LD_PRELOAD out, and start with `lacuna run`",
    )


def launcher(kind: str, path: str, of_launcher: str | None, of_program: str | None) -> Finding:
    """Whether the launcher is that of the program's MPI library."""
    name = "launcher"
    if {of_launcher, of_program} == {"mpich", "ompi"}:
        return fault(
            name,
            f"{path} ({kind}) is not the launcher of the program's MPI library: each rank may run "
            "alone",
            "give the launcher of the program's MPI library",
        )
    return ok(name, f"{path} ({kind})")


def start(started: Started) -> Finding:
    """Whether the launcher started the probe, and MPI in it."""
    name = "start"
    words = " ".join(started.first_words) or "nothing was said"
    failed = [rank for rank in started.ranks if rank.why]
    up = [rank for rank in started.ranks if rank.rank >= 0]
    if failed:
        return fault(
            name,
            f"the MPI library is not opened in the ranks: {failed[0].why}",
            "load its module, or add its folder to LD_LIBRARY_PATH, in the ranks too",
        )
    if started.code is None:
        return fault(
            name,
            f"the ranks did not end in time; {len(up)} of {len(started.ranks)} came through "
            f"MPI_Init: {words}",
            "try it with LACUNA_DISABLE=1: if it still hangs, lacuna is not the reason",
        )
    if not started.ranks and started.code == 0:
        return warning(
            name,
            "the launcher ended well, but no rank's output was seen",
            "leave out options that send the output of ranks elsewhere",
        )
    if not started.ranks and any(_AS_ROOT in line for line in started.first_words):
        return fault(name, "Open MPI's launcher starts nothing as root", _ALLOW_ROOT)
    if len(up) < max(1, len(started.ranks)) or started.code != 0:
        return fault(
            name,
            f"{len(up)} of {len(started.ranks)} ranks came through MPI_Init; exit code "
            f"{started.code}: {'; '.join(started.log) or words}",
            "start a small program without lacuna with the same command first",
        )
    if len(up) > 1 and all(rank.size == 1 for rank in up):
        return fault(
            name,
            f"each of {len(up)} ranks runs alone: the launcher and the MPI library do not match",
            "give the launcher of the program's MPI library",
        )
    hosts = len({rank.host for rank in up})
    what = f"{len(up)} {'rank' if len(up) == 1 else 'ranks'}"
    return ok(
        name, f"{what} on {hosts} {'node' if hosts == 1 else 'nodes'}, in a probe for the program"
    )


def preload(ranks: Sequence[Rank], family: str) -> Finding:
    """Whether lacuna is loaded into the ranks."""
    name = "preload"
    wanted = f"liblacuna-{family}.so"
    without = [r for r in ranks if wanted not in [Path(path).name for path in r.libraries]]
    if not without:
        return ok(name, f"{wanted} is in all ranks")
    where = ", ".join(sorted({rank.host for rank in without}))
    said = f"{wanted} is in {len(ranks) - len(without)} of {len(ranks)} ranks (missing on {where})"
    if all(wanted in rank.preload for rank in without):
        return fault(
            name,
            f"{said}, though LD_PRELOAD names it there",
            "install lacuna where all nodes, and containers, see it under the same path",
        )
    if all("LACUNA_LOG" in rank.options for rank in without):
        return fault(
            name,
            f"{said}: LD_PRELOAD does not reach them, though other variables do",
            "set it in a script that starts the program: LD_PRELOAD=PATH exec ./program; "
            "`lacuna preload --mpi NAME` prints the path",
        )
    return fault(
        name, f"{said}: LD_PRELOAD does not reach them", "set it where the ranks are started"
    )


def environment(ranks: Sequence[Rank]) -> Finding:
    """Whether variables reach the ranks that no option of the launcher names."""
    name = "environment"
    if not all("LACUNA_LOG" in rank.options for rank in ranks):
        return fault(
            name,
            "the launcher does not pass on the variables that its command line names",
            "export LD_PRELOAD and the LACUNA_ variables in a script around the program",
        )
    if all(rank.passed_on for rank in ranks):
        return ok(name, "the launcher passes it on")
    return warning(
        name,
        "the launcher passes on only the variables that its command line names",
        "start with `lacuna run`, which names LD_PRELOAD and all LACUNA_ variables",
    )


def at_work(log: Sequence[str]) -> Finding:
    """Whether lacuna says that it is on."""
    name = AT_WORK
    for line in log:
        if line.startswith(_ON):
            return ok(name, f"on: {line.partition(': ')[2].partition(';')[0]}")
    for line in log:
        if line.startswith(_OFF):
            remedy = "unset it" if "LACUNA_DISABLE" in line else "name the right MPI with --mpi"
            return fault(name, line, remedy)
    for line in log:
        what, _, remedy = line.partition("; remedy: ")
        if remedy:
            return fault(name, what, remedy)
    return fault(
        name,
        "the log has no line that it is on",
        "see the faults above, then lacuna docs questions",
    )


def shared_path(log: Sequence[str], ranks: Sequence[Rank]) -> Finding:
    """Whether messages between ranks of a node go through lacuna's shared memory, and why not."""
    name = "shared-memory path"
    hosts = [rank.host for rank in ranks]
    if all(hosts.count(host) == 1 for host in hosts):
        return ok(name, "off: each node has one rank, so there is nothing to share")
    on = next((line for line in log if line.startswith(_ON)), "")
    if _BY_OPTION in on:
        return warning(name, "off, as LACUNA_DIRECT is set to 0", "unset LACUNA_DIRECT")
    if _NOT_ASKED_FOR in on:
        return warning(
            name,
            "off: `lacuna run` does not see that all ranks run one program that loads MPI",
            "set LACUNA_DIRECT=1 if all ranks of a node have lacuna",
        )
    parts = on.split("; ")
    if "shared-memory path on" in parts:
        return ok(name, "on")
    reasons = [line.removeprefix(_PATH_OFF) for line in log if line.startswith(_PATH_OFF)]
    told = [part for part in parts if part.startswith("shared-memory path off")]
    reasons = reasons or [part.removeprefix(_PATH_OFF) for part in told] or ["the log does not say"]
    if reasons[0].startswith(_ALONE):  # other nodes do not say so
        return ok(name, "off on the node of rank 0, which has one rank")
    remedies = [remedy for words, remedy in _PATH_REMEDIES if words in reasons[0]]
    return warning(name, f"off: {reasons[0]}", [*remedies, "see lacuna docs questions"][0])


def between_nodes(log: Sequence[str], ranks: Sequence[Rank]) -> Finding:
    """Whether large messages between nodes go in pieces, and why not."""
    name = "messages between nodes"
    if len({rank.host for rank in ranks}) <= 1:
        return ok(name, "there are none, as all ranks are on one node")
    on = next((line for line in log if line.startswith(_ON)), "")
    if "messages between nodes pipelined" in on.split("; "):
        return ok(name, "pipelined")
    for line in log:
        if line.startswith(_PIECES_OFF):
            what, _, remedy = line.removeprefix(_PIECES_OFF).partition("; remedy: ")
            return warning(name, f"not pipelined: {what}", remedy or "see lacuna docs tune")
    return warning(name, "not pipelined", "set LACUNA_DIRECT=1; see lacuna docs tune")


def table(log: Sequence[str], version: str) -> Finding:
    """By which table lacuna decides in this launch, and whether it fits."""
    name = "table"
    for line in log:
        if line.startswith("the table "):
            what, _, remedy = line.partition("; remedy: ")
            return warning(name, what, remedy)
    on = next((line for line in log if line.startswith(_ON)), "")
    source = on.partition("; table: ")[2].partition("; ")[0]
    if not source:
        return warning(name, "not known, as lacuna is not on", "see the faults above")
    shipped = source.removeprefix("shipped for ")
    if shipped == source:
        return ok(name, f"{source}; it was measured for this library and CPU")
    is_known = version.startswith((shipped, f"Intel(R) {shipped.removeprefix('Intel ')}"))
    if not is_known:
        return warning(
            name,
            f"the one {source}, which was not measured for {version or 'this library'}",
            "measure one with `lacuna tune`",
        )
    return ok(name, f"the one {source} (`lacuna tune` measures one on this machine)")


def tools(facts: Program, before: Sequence[str], behind: Sequence[str]) -> Finding:
    """Other libraries that wrap MPI functions."""
    name = "tools"
    if before:
        return warning(
            name,
            f"{', '.join(before)} is loaded before lacuna: it may hide receives, so the "
            "shared-memory path stays off",
            "put it behind lacuna in LD_PRELOAD",
        )
    below = [*behind, *facts.tools]
    if below:
        return ok(
            name,
            f"{', '.join(below)} below lacuna: it sees contiguous messages instead of datatypes",
        )
    return ok(name, "no other library wraps MPI functions")


def complaints(log: Sequence[str]) -> list[Finding]:
    """What else lacuna says in the ranks."""
    known = (_ON, _OFF, _PATH_OFF, _PIECES_OFF, "the table ")
    return [
        warning("log", what, remedy or "see lacuna docs options")
        for what, _, remedy in (
            line.partition("; remedy: ") for line in log if not line.startswith(known)
        )
    ]
