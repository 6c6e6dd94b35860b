# SPDX-License-Identifier: BSD-3-Clause
"""The launchers of MPI programs: how to recognise them, and where the program begins in their
command lines.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lacuna.base.errors import Exit, LacunaError


@dataclass(frozen=True)
class Launcher:
    """One kind of launcher."""

    kind: str
    family: str | None  # of the MPI it belongs to; None if it starts programs of any
    values: dict[str, int]  # options that take values, without dashes, and how many
    has_contexts: bool = True  # several programs, separated by ":"


def _values(one: str, two: str = "") -> dict[str, int]:
    return {name: 1 for name in one.split()} | {name: 2 for name in two.split()}


# MPICH, Intel MPI and MVAPICH (Hydra), and what the MPI standard suggests for any mpiexec.
HYDRA = Launcher(
    "hydra",
    "mpich",
    _values(
        "n np f file host hosts hostfile machine machinefile rankmap wdir path arch soft "
        "configfile maxtime genvlist envlist launcher launcher-exec bootstrap bootstrap-exec "
        "rmk topolib bind-to binding map-by membind demux outfile outfile-pattern errfile "
        "errfile-pattern gpus-per-proc iface localhost nameserver ppn perhost grr "
        "prepend-pattern usize order-nodes memory-alloc-kinds gtool gtoolfile hosts-group s tune "
        "cpu-bind",
        "genv env",
    ),
)
OPEN_MPI = Launcher(
    "openmpi",
    "ompi",
    _values(
        "n np c H host hostfile machinefile default-hostfile map-by bind-to rank-by x wdir wd "
        "path prefix output output-filename report-uri report-pid stdin display am tune app "
        "ppr npernode npersocket N rf rankfile slot-list cpu-set cpu-list timeout dvm dvm-uri "
        "personality preload-files launch-agent max-restarts xterm with-ft forward-signals "
        "runtime-options pset cpus-per-proc cpus-per-rank report-state-on-timeout-file "
        "hetero-nodes-file",
        "mca gmca pmixmca gpmixmca prtemca",
    ),
)
SLURM = Launcher(
    "srun",
    None,
    _values(
        "n N c w x p J t A o e i D m d C L M q G B T r S W R F export ntasks nodes "
        "cpus-per-task nodelist exclude partition job-name time account output error input chdir "
        "distribution dependency constraint licenses clusters qos gpus gres mem mem-per-cpu "
        "ntasks-per-node mpi reservation cpu-bind mem-bind jobid het-group gpus-per-node "
        "gpus-per-task gpu-bind hint threads-per-core cores-per-socket"
    ),
)

_NAMED = {"srun": SLURM, "orterun": OPEN_MPI, "prterun": OPEN_MPI, "mpiexec.gforker": HYDRA}
_ASKED = re.compile(r"(mpirun|mpiexec)([.-].*)?$")
# Launchers that are known but not supported. Treated as programs, they would be preloaded into.
_FOREIGN = set("aprun jsrun ibrun flux prun mpirun_rsh palsrun lrun poe dsrun".split())
# In the answer to --version, in this order.
_ANSWERS = [
    ("Open MPI", OPEN_MPI),
    ("OpenRTE", OPEN_MPI),
    ("open-mpi.org", OPEN_MPI),
    ("PRRTE", OPEN_MPI),
    ("Intel(R) MPI", HYDRA),
    ("HYDRA", HYDRA),
    ("mpiexec -usize", HYDRA),
]
_ASK_SECONDS = 20


def find(word: str) -> Launcher | None:
    """The launcher that the first word of a command is; None: the word is a program."""
    name = Path(word).name
    if name in _FOREIGN:
        raise _unknown(word)
    if name not in _NAMED and not _ASKED.match(name):
        return None
    path = shutil.which(word)
    if path is None:
        raise LacunaError(
            Exit.ENVIRONMENT,
            f"no launcher {word} found in PATH",
            "install an MPI library or load its module, or give the launcher's full path",
        )
    if name in _NAMED:
        return _NAMED[name]
    try:
        answer = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ASK_SECONDS,
            check=False,
            env=os.environ | {"I_MPI_ROOT": os.environ.get("I_MPI_ROOT", _prefix(path))},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LacunaError(
            Exit.ENVIRONMENT,
            f"the launcher {path} does not start: {error}",
            "check its installation",
        ) from error
    told = answer.stdout + answer.stderr
    for words, launcher in _ANSWERS:
        if words in told:
            return launcher
    raise _unknown(word)


def _prefix(path: str) -> str:
    return str(Path(path).resolve().parent.parent)


def _unknown(word: str) -> LacunaError:
    return LacunaError(
        Exit.USAGE,
        f"unknown launcher in the command: {word}",
        "set LD_PRELOAD in the ranks as it wants it, to what `lacuna preload --mpi NAME` prints",
    )


def split_contexts(launcher: Launcher, words: list[str]) -> list[list[str]]:
    """The words of a launcher, split at the ":" between programs."""
    contexts: list[list[str]] = [[]]
    for word in words:
        if word == ":" and launcher.has_contexts:
            contexts.append([])
        else:
            contexts[-1].append(word)
    return contexts


def program_at(launcher: Launcher, words: list[str]) -> int | None:
    """Where the program begins in the words after the launcher; None if there is none."""
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            return at + 1 if at + 1 < len(words) else None
        if not word.startswith("-") or word == "-":
            return at
        name = word.lstrip("-")
        at += 1
        if "=" in name:
            # Hydra's -genv NAME=VALUE has it in the next word, and is taken below.
            continue
        wanted = launcher.values.get(name, 0)
        if wanted == 2 and at < len(words) and "=" in words[at] and launcher is HYDRA:
            wanted = 1
        at += wanted
    return None
