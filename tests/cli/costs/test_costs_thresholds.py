# SPDX-License-Identifier: BSD-3-Clause
"""Where libraries change their way, by counting what they do, not by timing it: the settings that
`lacuna costs machine` names move it, both ways, by as much as they are moved."""

import pytest
from conftest import BUILD, launch_words, run_quietly
from topics import MPIS

from lacuna.costs import knobs as costs_knobs

LEAST, MOST = 256, 1 << 20


def longest(mpi, **options):
    """Bytes of the longest message that is not read out of the sender's memory, and of the longest
    that is over for the sender before it is received; None: no such thing."""
    family = MPIS[mpi]
    command, environment = launch_words(mpi, family)
    program = BUILD / "bin" / f"cli_costs_copies_{family}"
    done = run_quietly(
        [*command, "-n", "2", str(program), str(LEAST), str(MOST)], environment | options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return tuple(int(word) if int(word) >= 0 else None for word in done.stdout.split())


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_the_single_copy_begins_where_the_setting_says(mpi):
    knob = costs_knobs.movable(mpi)
    assert len(knob.moved) == 2 and min(knob.moved) < knob.default < max(knob.moved)
    before = longest(mpi)[0]
    if before is None:
        pytest.skip("no process may read another's memory here (process_vm_readv)")
    assert knob.explains(before, before + 1, {knob.control: knob.default})
    for value in knob.moved:
        after = longest(mpi, **{knob.variable: str(value)})[0]
        assert after - before == value - knob.default, value
        assert knob.explains(after, after + 1, {knob.control: value})
        assert not knob.explains(before, before + 1, {knob.control: value})


def test_mpich_sends_at_once_what_fits_a_cell():
    knob = next(one for one in costs_knobs.KNOBS["mpich"] if "CELL_SIZE" in one.variable)
    out_of_the_way = {costs_knobs.movable("mpich").variable: str(MOST)}
    cell = 8192  # where nobody says otherwise
    before = longest("mpich", **out_of_the_way)[1]
    assert knob.explains(before, before + 1, {knob.control: cell})
    for value in (4096, 16384):
        after = longest("mpich", **out_of_the_way, **{knob.variable: str(value)})[1]
        assert after - before == value - cell, value


def test_intel_mpi_hands_over_from_where_the_setting_says():
    knob = costs_knobs.movable("intelmpi")
    before = longest("intelmpi")[1]
    for value in knob.moved:
        after = longest("intelmpi", **{knob.variable: str(value)})[1]
        assert after == value - 1  # and nothing goes with the data
        assert before is None or before > max(knob.moved)
        assert knob.explains(after, after + 1, {knob.control: value})
