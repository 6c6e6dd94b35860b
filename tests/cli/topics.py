# SPDX-License-Identifier: BSD-3-Clause
"""Topics of the preload's tests (tests/interpose), run as a user would run a program."""

from conftest import BUILD, launch_words, preload, run_quietly

MPIS = {"mpich": "mpich", "openmpi": "ompi", "intelmpi": "mpich", "mpiabi": "mpiabi"}
TYPE = "vector(32, 1, 32, double)"


def launch(mpi, ranks, tests, *topics, environment=None, without=(), check=True):
    """Runs topics of interpose_`tests` under lacuna; ranks in `without` run without it."""
    family = MPIS[mpi]
    path = str(BUILD / "bin" / f"interpose_{tests}_{family}")
    words, found_by = launch_words(mpi, family)
    environment = {"LACUNA_ALWAYS": "1"} | (environment or {})
    for rank in range(ranks):
        words += [":"] if rank else []
        words += ["-n", "1"]
        if rank not in without:
            words += ["env", f"LD_PRELOAD={preload(family)}"]
        else:
            words += ["env"]
        words += [path, *topics]
    result = run_quietly(words, environment | found_by)
    assert not check or result.returncode == 0, result.stdout + result.stderr
    return result
