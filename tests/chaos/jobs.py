# SPDX-License-Identifier: BSD-3-Clause
"""One launch of chaos programs: what it is started with, how it is watched, where its ranks are."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from lacuna.base import paths
from lacuna.base.errors import LacunaError
from lacuna.launch import doctor, mpis, run

BLOCK = 100  # programs of one launch, unless --block says otherwise
_PAGE = struct.Struct("=iiQQQii400s400s")  # page.hpp
_RANKS = [2, 2, 3, 3, 3, 4, 4, 5, 6]


@dataclass(frozen=True)
class Settings:
    """The options of a block."""

    ranks: int
    stops: bool
    pauses: int  # per thousand calls
    refuse: int  # one in so many allocations fails; 0: none
    threads: bool
    starve: bool
    options: tuple[tuple[str, str], ...]  # LACUNA_*
    verbose: bool = False

    def told(self) -> str:
        words = [f"{self.ranks} ranks"]
        words += ["stops"] if self.stops else []
        words += [f"pauses {self.pauses}"] if self.pauses else []
        words += [f"refusing one of {self.refuse}"] if self.refuse else []
        words += ["threads"] if self.threads else []
        words += ["starved"] if self.starve else []
        return ", ".join([*words, *(f"{name}={value}" for name, value in self.options)])


@dataclass(frozen=True)
class Asked:
    """What the command line said."""

    target: mpis.Installed
    build: Path
    fixed: dict[str, object]
    options: dict[str, str]
    without: list[str]
    leave_out: str
    patience: float
    keep: Path | None
    steady: bool = False
    plant: str = ""
    block: int = BLOCK
    devices: bool = False  # half of the memory is of the fake CUDA device

    @property
    def fake_device(self) -> Path:
        """The folder of the fake driver, and of the preload libraries beside the fake mover."""
        return self.build / "tests" / "interpose" / "device"


def settings_of(seed: int, asked: Asked) -> Settings:
    """The options of the seed's block; the command line has precedence."""
    rng = Random(f"block {seed // asked.block}")
    ranks = rng.choice(_RANKS)
    stops, pauses = rng.random() < 0.6, rng.choice([0, 0, 5, 30])
    refuse = rng.choice([0, 0, 0, 0, 3, 20, 200])
    # Intel MPI's threads hang and corrupt memory by themselves.
    threads = rng.random() < 0.12 and asked.target.kind != "intelmpi"
    starve = rng.random() < 0.2
    options = {"LACUNA_ALWAYS": rng.choice(["1", "1", "1", "0"])}
    options["LACUNA_DIRECT"] = rng.choice(["1", "1", "1", "1", "1", "0"])
    if starve or rng.random() < 0.2:
        options["LACUNA_ARENA_MB"] = "1"
    if rng.random() < 0.15:
        options["LACUNA_DISTANCE"] = rng.choice(["far", "turns"])
    if rng.random() < 0.15:
        options["LACUNA_READ_PEERS"] = "0"
    if rng.random() < 0.1:
        options["LACUNA_POOL_MB"] = "1"
    if asked.devices:
        rng = Random(f"devices {seed // asked.block}")
        options["LACUNA_GPU_IPC"] = rng.choice(["0", "1"])
        options["LACUNA_GPU_STAGING"] = rng.choice(["host", "device"])
    options |= asked.options
    settings = Settings(
        ranks, stops, pauses, refuse, threads, starve, tuple(sorted(options.items()))
    )
    return replace(settings, **asked.fixed)


class Job:
    """Programs first to last - 1, natively or under lacuna, from start to end."""

    def __init__(
        self, asked: Asked, first: int, last: int, settings: Settings, native: bool, calm: bool
    ):
        self.asked, self.first, self.last = asked, first, last
        self.settings, self.native, self.calm = settings, native, calm
        self.folder = Path(tempfile.mkdtemp(prefix="lacuna-chaos-"))
        self.hung = False
        self.places = ""  # where ranks were
        self.process: subprocess.Popen[bytes] | None = None
        self.disturber: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Job:
        settings, asked = self.settings, self.asked
        family = paths.family_of(asked.target.name)
        program = [str(asked.build / "bin" / f"chaos_{family}")]
        program += [str(self.folder), str(self.first), str(self.last)]
        program += ["--threads"] if settings.threads else []
        program += ["--starve"] if settings.starve else []
        program += ["--verbose"] if settings.verbose else []
        for step in asked.without:
            program += ["--without", step]
        program += ["--leave-out", asked.leave_out] if asked.leave_out else []
        if not self.calm:
            program += ["--pauses", str(settings.pauses), "--refuse", str(settings.refuse)]
            program += ["--plant", asked.plant] if asked.plant else []
        environment = dict(os.environ) | asked.target.environment() | self._library()
        if asked.devices:
            program += ["--devices"]
            environment["LACUNA_TEST_CUDA"] = str(asked.fake_device / "driver" / "libcuda.so.1")
            environment["LACUNA_TEST_CUDA_IS_OPEN"] = "1"
        environment["TMPDIR"] = str(self.folder)  # a launcher that is killed leaves files there
        words = asked.target.command(settings.ranks, program)
        if not self.native:
            environment |= dict(settings.options)
            words, environment = run.build(words, asked.target.name, environment)
        self.output = (self.folder / "output").open("wb")
        self.process = subprocess.Popen(
            words,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=self.folder,
        )
        if settings.stops and not self.calm:
            self.disturber = subprocess.Popen(
                [
                    str(asked.build / "bin" / "chaos_disturb"),
                    str(self.folder),
                    str(settings.ranks),
                    str(self.first),
                ],
                stdin=subprocess.PIPE,
            )
        return self

    def _library(self) -> dict[str, str]:
        """The environment in which tests start the MPI libraries (cmake/mpi.cmake)."""
        found = {"LACUNA_PROFILE": "none", "LACUNA_TABLE": "none"}
        kind = self.asked.target.kind
        if kind == "openmpi":
            found |= {
                "OMPI_MCA_btl": "^ofi",
                "OMPI_MCA_pml": "ob1",
                "OMPI_MCA_mpi_yield_when_idle": "1",
                "OMPI_MCA_rmaps_default_mapping_policy": ":oversubscribe",
                "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
                "PRTE_MCA_hwloc_default_binding_policy": "none",
            }
        if kind == "intelmpi":
            found |= {"I_MPI_PIN": "off"}
        if kind in ("mpich", "mpiabi") and self.settings.ranks > 2:
            for collective in ("BARRIER", "BCAST", "REDUCE", "ALLREDUCE"):
                found[f"MPIR_CVAR_{collective}_POSIX_INTRA_ALGORITHM"] = "mpir"
        return found

    def pages(self) -> list[tuple]:
        """(pid, rank, ticks, seeds, steps, texts) of each rank that has started."""
        found = []
        for rank in range(self.settings.ranks):
            with contextlib.suppress(OSError, struct.error):
                data = (self.folder / f"state.{rank}").read_bytes()
                pid, number, ticks, seed0, seed1, step0, step1, text0, text1 = _PAGE.unpack(data)
                if pid <= 1:
                    continue
                texts = [t.split(b"\0")[0].decode(errors="replace") for t in (text0, text1)]
                found.append((pid, number, ticks, (seed0, seed1), (step0, step1), texts))
        return found

    def wait(self) -> None:
        """Waits until the job has ended, or no rank has advanced for `patience` seconds."""
        assert self.process is not None
        last_seen: object = None
        moved = time.monotonic()
        pause = 0.01
        while self.process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(pause)
            pause = min(0.25, pause * 1.3)
            seen = [page[2] for page in self.pages()], [p[5] for p in self.pages()]
            if seen != last_seen:
                last_seen, moved = seen, time.monotonic()
            elif time.monotonic() - moved > self.asked.patience:
                self.hung = True
                self._end_disturber()
                time.sleep(1)  # all ranks are continued now: does one advance?
                again = [page[2] for page in self.pages()], [p[5] for p in self.pages()]
                if again != last_seen or self.process.poll() is not None:
                    self.hung, moved = False, time.monotonic()
                    continue
                for page in self.pages():  # a debugger that attaches might end the hang
                    with contextlib.suppress(OSError):
                        os.kill(page[0], signal.SIGSTOP)
                self.places = self._where()
                break

    def _where(self) -> str:
        lines = []
        for pid, rank, _, seeds, steps, texts in self.pages():
            for thread in range(2 if self.settings.threads else 1):
                lines.append(
                    f"  rank {rank}, process {pid}: seed {seeds[thread]}, step {steps[thread]}: "
                    f"{texts[thread]}"
                )
            with contextlib.suppress(LacunaError):
                found = doctor.look(pid)
                lines += [f"      {line}" for line in doctor.lines([found] if found else [])]
            lines += [f"      {line}" for line in _stack(pid)]
        return "\n".join(lines)

    def _end_disturber(self) -> None:
        if self.disturber is not None:
            assert self.disturber.stdin is not None
            self.disturber.stdin.close()
            self.disturber.wait()
            self.disturber = None

    def __exit__(self, *_: object) -> None:
        assert self.process is not None
        self._end_disturber()
        if self.process.poll() is None:
            pids = [page[0] for page in self.pages()]
            for pid in [*pids, self.process.pid]:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.output.close()
        if self.asked.keep:
            name = f"{self.first}-{'calm' if self.calm else 'native' if self.native else 'lacuna'}"
            shutil.copytree(self.folder, self.asked.keep / name, dirs_exist_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def lines(self) -> dict[tuple[str, int], str]:
        """What each rank logged for each program (and thread), and at the end."""
        found = {}
        for rank in range(self.settings.ranks):
            with contextlib.suppress(OSError):
                for line in (self.folder / f"log.{rank}").read_text().splitlines():
                    words = line.split(" ", 3)
                    if words[0] == "p":
                        found[(f"{words[1]}.{words[2]}", rank)] = words[3]
                    elif words[0] == "end":
                        found[("end", rank)] = words[1]
                    elif line.startswith("# check"):
                        found[("checks", rank)] = line
        return found

    def said(self) -> str:
        """The ranks' logs in a verbose run."""
        texts = []
        for rank in range(self.settings.ranks):
            with contextlib.suppress(OSError):
                text = (self.folder / f"log.{rank}").read_text()
                texts.append(f"rank {rank}:\n{text}")
        return "\n".join(texts)

    def complaint(self) -> str:
        self.output.flush()
        text = (self.folder / "output").read_text(errors="replace")
        return "\n".join("    " + line for line in text.strip().splitlines()[:12])


def _stack(pid: int) -> list[str]:
    """The stack of each thread if there is a gdb; else its wait channel and system call."""
    if shutil.which("gdb"):
        done = subprocess.run(
            ["gdb", "-batch", "-nx", "-p", str(pid), "-ex", "thread apply all bt 14"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
        )
        frames = [line for line in done.stdout.splitlines() if line.startswith("#")]
        if frames:
            return [frame[:150] for frame in frames]
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*"):
        for name in ("wchan", "syscall"):
            with contextlib.suppress(OSError):
                found.append(f"{task.name} {name}: {(task / name).read_text().strip()}")
    return found
