# SPDX-License-Identifier: BSD-3-Clause
"""What a user names to `lacuna doctor`: the MPI library, and an LD_PRELOAD in the command."""

import pytest
from conftest import launch_words, one_line_error, preload, program
from made_up import findings, is_like

from lacuna.launch import launchers, run
from lacuna.launch.check import launch, start
from lacuna.launch.check.finding import FAULT, OK, WARNING

OURS = "/l/liblacuna-mpich.so"


@pytest.mark.parametrize(
    ("launcher", "words"),
    [
        ("OPEN_MPI", f"mpiexec -n 2 -x LD_PRELOAD={OURS} sh"),
        ("OPEN_MPI", f"mpiexec -n 2 --x LD_PRELOAD={OURS} sh : -x A=1 -x LD_PRELOAD={OURS} sh"),
        ("HYDRA", f"mpiexec -genv LD_PRELOAD {OURS} -n 2 sh"),
        ("HYDRA", f"mpiexec -genv LD_PRELOAD={OURS} -n 2 sh"),
        ("HYDRA", f"mpiexec -n 2 -env LD_PRELOAD {OURS} sh"),
        ("HYDRA", f"mpiexec -n 2 --env LD_PRELOAD={OURS} sh"),
        ("HYDRA", f"mpiexec -n 2 env -i LD_PRELOAD={OURS} sh"),
        ("SLURM", f"srun --export=ALL,LD_PRELOAD={OURS},A=1 -n 2 sh"),
        ("SLURM", f"srun --export ALL,LD_PRELOAD={OURS} sh"),
    ],
)
def test_a_preload_that_the_command_names_is_seen(launcher, words):
    found = start.named_preloads(getattr(launchers, launcher), words.split(), {"LD_PRELOAD": "/x"})
    assert found == [("the command", OURS)]


def test_a_preload_of_the_environment_is_seen():
    environment = {"LD_PRELOAD": f"/x.so:{OURS}"}
    of_environment = ("the environment", environment["LD_PRELOAD"])
    words = ["mpiexec", "-x", "LD_PRELOAD", "sh", "-c", "LD_PRELOAD=/y sh"]
    assert start.named_preloads(launchers.OPEN_MPI, words, environment) == [of_environment]
    assert start.named_preloads(None, ["sh"], environment) == [of_environment]
    assert start.named_preloads(None, ["sh"], {}) == []
    assert run.lacuna_in(environment["LD_PRELOAD"]) == [OURS]
    assert launch.named_preload("the command", [OURS], "mpich") is None
    assert launch.named_preload("the command", [], "ompi") is None
    finding = launch.named_preload("the command", [OURS], "ompi")
    is_like(finding, FAULT, "that of the command names", OURS, "name liblacuna-ompi.so there")


@pytest.mark.parametrize(
    ("mpi", "family", "other", "option"),
    [
        ("openmpi", "ompi", "mpich", ["-x", "LD_PRELOAD={}"]),
        ("mpich", "mpich", "ompi", ["-genv", "LD_PRELOAD", "{}"]),
        ("mpich", "mpich", "ompi", []),
    ],
)
def test_a_preload_for_another_mpi_is_a_fault(lacuna, mpi, family, other, option):
    words, environment = launch_words(mpi, family)
    words += [word.format(preload(other)) for word in option]
    if not option:
        environment["LD_PRELOAD"] = str(preload(other))
    result = lacuna("doctor", "--json", "--", *words, "-n", "2", program(family), **environment)
    assert result.returncode == 1, (result.stdout, result.stderr)
    found = findings(result)["LD_PRELOAD"]
    place = "command" if option else "environment"
    assert found["found"].startswith(f"that of the {place} names {preload(other)}, but the program")
    assert f"liblacuna-{family}.so" in found["remedy"]


def test_the_mpi_library_may_be_named(lacuna, script):
    words, environment = launch_words("mpich", "mpich")
    starts = script("start.sh", "#!/bin/sh\n")
    last = "not known whether lacuna is at work, as no probe ran in the ranks"
    # Alone, nothing tells which MPI library the script uses.
    page = lacuna("doctor", "--", starts, **environment)
    assert (page.returncode, page.stdout.splitlines()[-1].startswith(last)) == (0, True)
    for launch_of in (["--mpi", "mpich", "--"], ["--", "lacuna", "run", "--mpi", "mpich"]):
        result = lacuna("doctor", "--json", *launch_of, starts, **environment)
        assert result.returncode == 0, result.stdout
        assert findings(result)["preload"]["level"] == OK
    # Neither is the program's file needed here.
    words = ("doctor", "--json", "--mpi", "mpich", "--", *words, "-n", "2", "./elsewhere")
    result = lacuna(*words, **environment)
    assert (result.returncode, findings(result)["program"]["level"]) == (0, WARNING)
    assert findings(result)["lacuna"]["level"] == OK
    assert "libmpi.so.12" in findings(result)["MPI library"]["found"]
    one_line_error(lacuna("doctor", "--mpi", "x", "--", "sh"), 2, "unknown MPI in --mpi: x")
    one_line_error(lacuna("doctor", "--mpi", "mpich"), 2, "--mpi without a launch")
    for option in (["--mpi", "mpich"], ["--json"]):
        one_line_error(lacuna("doctor", *option, 1), 2, f"{option[0]} with a process", "leave out")
