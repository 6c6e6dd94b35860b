# SPDX-License-Identifier: BSD-3-Clause
"""Memory-LogP: the parameters l, o, g and P of Cameron and Sun (2003), fitted to measured times.

Each is a start in seconds and a time per byte, with the error of the fit.
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
    of: str  # what was measured: a shape, or a part of a message
    start_s: float
    per_byte_s: float
    residual: float  # root of the mean squared relative error
    low: int
    high: int

    def seconds(self, size: float) -> float:
        """The modelled time at a size."""
        return self.start_s + self.per_byte_s * size

    def as_json(self) -> dict[str, Any]:
        """For the result file."""
        return asdict(self)


def parameter(name: str, of: str, samples: Samples) -> Parameter | None:
    """The line through the times over size. None: fewer than three sizes with times above zero."""
    kept = {size: values for size, values in samples.items() if np.median(values) > 0}
    if len(kept) < 3:
        return None
    points = curve(kept)
    # Relative errors: small and large sizes count alike.
    line = fit(type(points)(points.sizes, points.seconds, points.seconds))
    start, slope = line.start_s, line.per_byte_s
    if start < 0:  # a message cannot take negative time
        start = 0.0
        slope = float(np.mean(points.seconds / points.sizes))
    off = (start + slope * points.sizes) / points.seconds - 1
    residual = float(np.sqrt(np.mean(off**2)))
    sizes = points.sizes
    return Parameter(name, of, start, slope, residual, int(sizes[0]), int(sizes[-1]))


def packing_share(pack_s: float, start_s: float, size: int, gbit_per_s: float) -> float:
    """The calculated share of packing in the time of a message that is packed and then sent over a
    network with this start and rate (docs/internals/costs.md).
    """
    return pack_s / (pack_s + start_s + 8 * size / (gbit_per_s * 1e9))


def difference(samples: Samples, less: Samples) -> Samples:
    """The samples minus those of `less`, round by round, for the sizes that both have."""
    return {
        size: [one - other for one, other in zip(samples[size], less[size], strict=False)]
        for size in samples
        if size in less
    }
