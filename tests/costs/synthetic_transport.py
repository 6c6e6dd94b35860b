# SPDX-License-Identifier: BSD-3-Clause
"""A transport that exists on paper: a time over message size with buffers and thresholds that are
known, and the noise of a shared machine with two processors."""

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Policy:
    """Behind a message of `above` bytes: so much more time at once, and from there on so many
    copies."""

    above: int
    step_s: float
    copies: float


@dataclass(frozen=True)
class Transport:
    """seconds = start + copies * bytes * per_byte, further where a cache ends, and what policies
    and cells add."""

    start_s: float
    per_byte_s: float  # of one copy
    copies: float
    policies: tuple[Policy, ...] = ()
    cell: int = 0
    cell_s: float = 0.0
    cache: int = 0  # behind it copies cost `beyond` times as much
    beyond: float = 1.0
    noise: float = 0.03

    def copy_s(self, size):
        """One copy of so many bytes."""
        further = max(0, size - self.cache) if self.cache else 0
        return self.per_byte_s * (size + (self.beyond - 1) * further)

    def exact_s(self, size):
        """Without noise."""
        copies, total = self.copies, self.start_s
        for policy in self.policies:
            if size > policy.above:
                total += policy.step_s + (copies - policy.copies) * self.copy_s(policy.above)
                copies = policy.copies
        if self.cell:
            total += self.cell_s * math.ceil(size / self.cell)
        return total + copies * self.copy_s(size)

    def measure(self, random, rounds=15):
        """What a program would report: a function from sizes to samples."""

        def samples(sizes):
            manner = np.exp(random.normal(0, self.noise / 6, len(sizes)))  # of each size
            drift = 1.0
            table = {size: [] for size in sizes}
            for _ in range(rounds):
                drift = 1 + 0.7 * (drift - 1) + random.normal(0, self.noise)
                if random.random() < 0.05:
                    drift *= 1.5  # a neighbour wakes up, for a while
                for size, own in zip(sizes, manner, strict=True):
                    factor = own * drift * math.exp(random.normal(0, self.noise))
                    if random.random() < 0.06:
                        factor *= 1 + random.exponential(2.0)  # the rank was put aside
                    table[size].append(self.exact_s(size) * factor + random.exponential(1.5e-8))
            return table

        return samples


def planted(random):
    """A random transport with one to three things to find."""
    start, per_byte = random.uniform(2e-7, 2e-6), 1 / random.uniform(3e9, 2e10)
    copies = float(random.choice([1, 2]))
    policies = []
    above = 0
    exponent = random.uniform(9.5, 13)
    for _ in range(random.integers(1, 3)):
        above = round(2**exponent) - int(random.integers(0, 64))
        so_far = Transport(start, per_byte, copies, tuple(policies)).exact_s(above)
        policies.append(
            Policy(above, so_far * random.uniform(0.15, 1.5), float(random.choice([1, 2])))
        )
        exponent += random.uniform(1.5, 4)
    cell, cell_s = 0, 0.0
    if random.random() < 0.5:
        # Of the size of those that libraries have, and seen in a message of three of them.
        cell = round(2 ** random.uniform(11, 16))
        message = Transport(start, per_byte, copies, tuple(policies)).exact_s(3 * cell)
        cell_s = message * random.uniform(0.08, 0.25)
    cache = round(2 ** random.uniform(17, 21)) if random.random() < 0.5 else 0
    return Transport(
        start,
        per_byte,
        copies,
        tuple(policies),
        cell,
        cell_s,
        cache,
        random.uniform(1.4, 2.0),
        random.uniform(0.01, 0.04),
    )


def plain(random):
    """A random transport without anything but a start, a slope, and perhaps a cache."""
    cache = round(2 ** random.uniform(17, 21)) if random.random() < 0.5 else 0
    return Transport(
        random.uniform(2e-7, 2e-6),
        1 / random.uniform(3e9, 2e10),
        float(random.choice([1, 2])),
        cache=cache,
        beyond=random.uniform(1.4, 2.0),
        noise=random.uniform(0.01, 0.04),
    )
