# SPDX-License-Identifier: BSD-3-Clause
"""Memory-LogP: the parameters l, o, g and P of Cameron and Sun (2003), fitted to measured times.

Each is a start and a time per byte, with how far the measured times are from that line.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lacuna.costs.curve import Samples, curve, fit


@dataclass(frozen=True)
class Parameter:
    """seconds = start_s + bytes * per_byte_s, for sizes of [low, high]."""

    name: str  # l, o, g, L
    of: str  # what it is measured of: a shape, or the library
    start_s: float
    per_byte_s: float
    residual: float  # root of the mean square of what is off, as a part of the time
    low: int
    high: int

    def seconds(self, size: float) -> float:
        """What it says of a size."""
        return self.start_s + self.per_byte_s * size

    def as_json(self) -> dict[str, Any]:
        """With the units in the names."""
        return asdict(self)


def parameter(name: str, of: str, samples: Samples) -> Parameter | None:
    """The line through the times by size. None: too few sizes, or times that are not above zero."""
    kept = {size: values for size, values in samples.items() if np.median(values) > 0}
    if len(kept) < 3:
        return None
    points = curve(kept)
    # Every size counts alike, so that neither small nor large ones are fitted alone.
    line = fit(type(points)(points.sizes, points.seconds, points.seconds))
    start, slope = line.start_s, line.per_byte_s
    if start < 0:  # there is no message that takes less than nothing
        start = 0.0
        slope = float(np.mean(points.seconds / points.sizes))
    off = (start + slope * points.sizes) / points.seconds - 1
    residual = float(np.sqrt(np.mean(off**2)))
    sizes = points.sizes
    return Parameter(name, of, start, slope, residual, int(sizes[0]), int(sizes[-1]))


def packing_share(pack_s: float, start_s: float, size: int, gbit_per_s: float) -> float:
    """Of a message that is packed, then sent by a network of that rate, whose start takes so long:
    calculated (docs/internals/costs.md)."""
    return pack_s / (pack_s + start_s + 8 * size / (gbit_per_s * 1e9))


def difference(samples: Samples, less: Samples) -> Samples:
    """Round by round, for the sizes that both have."""
    return {
        size: [one - other for one, other in zip(samples[size], less[size], strict=False)]
        for size in samples
        if size in less
    }
