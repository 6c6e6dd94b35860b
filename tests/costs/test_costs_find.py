# SPDX-License-Identifier: BSD-3-Clause
"""What `lacuna costs machine` reads from a sweep, with known answers: transports on paper whose
buffers and thresholds are planted at random. LACUNA_COSTS_SEEDS=200 tries many more."""

import os

import numpy as np
import pytest
from synthetic_transport import Policy, Transport, plain, planted

from lacuna.costs import cells as costs_cells
from lacuna.costs import curve as costs_curve
from lacuna.costs import find as costs_find
from lacuna.costs import logp as costs_logp

# Of one in twenty what was planted may be missed: with less it is none.
SEEDS = int(os.environ.get("LACUNA_COSTS_SEEDS", "8"))
MORE = pytest.param(range(SEEDS, 6 * SEEDS), marks=pytest.mark.depth)


def is_found(transport, found):
    """All that was planted, and nothing else."""
    thresholds = [policy.above for policy in transport.policies]
    cells = [transport.cell] if transport.cell else []
    return (
        len(found.steps) == len(thresholds)
        and all(any(step.holds(size) for step in found.steps) for size in thresholds)
        and len(found.cells) == len(cells)
        and all(abs(one.bytes / size - 1) < 0.05 for one in found.cells for size in cells)
    )


@pytest.mark.parametrize("seeds", [range(SEEDS), MORE])
def test_what_is_planted_is_found(seeds):
    missed = []
    for seed in seeds:
        random = np.random.default_rng(seed)
        transport = planted(random)
        if not is_found(transport, costs_find.find(transport.measure(random))):
            missed.append(seed)
    assert len(missed) <= len(seeds) / 20, missed


@pytest.mark.parametrize("seeds", [range(SEEDS), MORE])
def test_nothing_is_invented(seeds):
    for seed in seeds:
        random = np.random.default_rng(seed)
        transport = plain(random)
        found = costs_find.find(transport.measure(random))
        assert not found.steps and not found.cells, (seed, found.thresholds, found.cells)


def test_a_cache_is_a_bend_and_no_step():
    random = np.random.default_rng(5)
    transport = Transport(5e-7, 1e-10, 2, cache=500_000, beyond=1.8, noise=0.02)
    found = costs_find.find(transport.measure(random))
    assert [one.kind for one in found.thresholds] == ["bend"]
    (bend,) = found.thresholds
    assert 400_000 < bend.below < 600_000
    assert bend.per_byte_after_s / bend.per_byte_before_s == pytest.approx(1.8, rel=0.15)


def test_a_threshold_says_what_it_costs_and_how_sure_that_is():
    random = np.random.default_rng(6)
    transport = Transport(1e-6, 1e-10, 2, (Policy(4040, 1e-6, 1),), noise=0.02)
    (step,) = costs_find.find(transport.measure(random)).steps
    assert step.below <= 4040 + 40 and step.above >= 4040 - 40
    assert step.step_s == pytest.approx(1e-6, rel=0.15)
    assert step.confidence > 0.95


def test_copies_are_counted_where_the_line_is_straight():
    random = np.random.default_rng(7)
    transport = Transport(1e-6, 1e-10, 2, noise=0.02)
    memory = Transport(2e-8, 1e-10, 1, noise=0.02)
    sizes = costs_find.sweep_sizes(4096, 1 << 20)
    sent = costs_curve.curve(transport.measure(random)(sizes))
    copied = costs_curve.curve(memory.measure(random)(sizes))
    number, error = costs_find.copies(sent, copied, 4096, 1 << 20)
    assert number == pytest.approx(2, abs=max(0.15, 3 * error))
    assert costs_find.copies(sent, copied, 4096, 4200) is None  # too little to say


def test_what_slows_down_a_whole_round_is_not_the_size():
    slow = [1.0, 1.0, 9.0, 1.0, 1.0]
    found = costs_curve.curve({64: slow, 128: [2 * value for value in slow]})
    assert found.seconds == pytest.approx([1, 2])


def test_confidence_is_low_where_errors_are_few():
    assert costs_find.confidence(1, 20) == 0
    assert costs_find.confidence(20, 20) == 1


def test_cells_know_their_steps():
    cells = costs_cells.Cells(1000, 1000, 0, 10_000, 1e-6, 0.9, 0.9)
    assert list(cells.steps(np.array([500.0, 1000, 1001, 2000, 2001]))) == [0, 0, 1, 1, 2]
    assert cells.explains(1990, 2010, 1e-6)
    assert not cells.explains(1500, 1510, 1e-6)
    assert not cells.explains(1990, 2010, 5e-6)


def test_memory_logp_is_fitted():
    random = np.random.default_rng(8)
    transport = Transport(1e-6, 2e-10, 1, noise=0.02)
    samples = transport.measure(random)(costs_find.sweep_sizes(64, 1 << 20))
    found = costs_logp.parameter("g", "x", samples)
    assert found.start_s == pytest.approx(1e-6, rel=0.05)
    assert found.per_byte_s == pytest.approx(2e-10, rel=0.05)
    assert found.residual < 0.05 and (found.low, found.high) == (64, 1 << 20)
    less = costs_logp.difference(samples, samples)
    assert costs_logp.parameter("l", "x", less) is None  # nothing is left
