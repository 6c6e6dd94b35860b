# SPDX-License-Identifier: BSD-3-Clause
"""The parts of the time of a message with gaps: o, l_p, l_m and L of Byna et al. (2003), section 4.

Measured in one round, for the same bytes (docs/internals/costs.md says how):
    copy             a copy of the bytes
    pack, packed     MPI_Pack alone; MPI_Pack and sending the result
    message          sending data without gaps that MPI_Pack has just written, in a lane of its own
    derived          the message whose type is handed to MPI

Computed:
    o    = copy                           copying the bytes once
    l_p  = pack - copy                    what the gaps add to packing
    L    = message - copy                 the message without gaps, minus one copy
    l_m  = derived - packed + copy        what the library adds to packing by hand, whose second
                                          copy belongs to no part
    rest = (packed - pack) - message      the error of the method: parts are measured separately

so that derived = o + l_p + l_m + L + rest.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lacuna.costs.curve import Samples  # numpy is loaded only where needed

PIECES = ("o", "l_p", "l_m", "L")
MODES = ("native", "lacuna")
MOST_REST = 0.05  # of the whole

_SUFFIX = {"native": "", "lacuna": "-lacuna"}


@dataclass(frozen=True)
class Split:
    """The time of a message and of its parts, in seconds: medians as middle() computes them."""

    mpi: str
    id: str
    bytes: int
    mode: str
    seconds: float
    o: float
    l_p: float
    l_m: float
    L: float  # as in the paper
    rest: float
    rest_share: float  # of the whole
    contiguous: float  # a message without gaps whose data stay in the caches
    samples: dict[str, list[float]]

    @property
    def adds_up(self) -> bool:
        """Whether the parts add up to the whole within 5 %."""
        return abs(self.rest_share) <= MOST_REST

    def as_json(self) -> dict[str, Any]:
        """A row of the result file."""
        return {
            "mpi": self.mpi,
            "id": self.id,
            "bytes": self.bytes,
            "method": self.mode,
            "median_s": self.seconds,
            "mad_s": statistics.median(
                abs(value - self.seconds) for value in self.samples["derived"]
            ),
            **{f"{name}_s": getattr(self, name) for name in (*PIECES, "rest")},
            "rest_share": self.rest_share,
            "adds_up": self.adds_up,
            "contiguous_s": self.contiguous,
            "samples_s": self.samples["derived"],
        }


def middle(values: list[float], turns: int) -> float:
    """The mean of the medians of each pass (turn) of a round: times depend on what ran just before
    (costs/machine/split.cpp).
    """
    return statistics.mean(statistics.median(values[turn::turns]) for turn in range(turns))


def splits(mpi: str, row: dict[str, Any]) -> list[Split]:
    """The parts of a message, from a line of the program: one Split for each mode that was
    measured.
    """
    lanes = row["lanes"]
    turns = row.get("turns", 1)
    found = []
    for mode in MODES:
        suffix = _SUFFIX[mode]
        if f"derived{suffix}" not in lanes:
            continue
        rounds = list(
            zip(
                lanes["copied"]["inside"],
                lanes[f"repacked{suffix}"]["inside"],
                lanes[f"repacked{suffix}"]["seconds"],
                lanes[f"packed{suffix}"]["inside"],
                lanes[f"packed{suffix}"]["seconds"],
                lanes[f"derived{suffix}"]["seconds"],
                strict=True,
            )
        )
        samples = {
            "o": [copy for copy, *_ in rounds],
            "l_p": [pack - copy for copy, _, _, pack, _, _ in rounds],
            "l_m": [derived - packed + copy for copy, *_, packed, derived in rounds],
            "L": [repacked - again - copy for copy, again, repacked, *_ in rounds],
            "rest": [
                packed - pack - (repacked - again) for _, again, repacked, pack, packed, _ in rounds
            ],
            "derived": [derived for *_, derived in rounds],
        }
        medians = {name: middle(values, turns) for name, values in samples.items()}
        shares = [
            rest / whole for rest, whole in zip(samples["rest"], samples["derived"], strict=True)
        ]
        found.append(
            Split(
                mpi,
                row["id"],
                row["bytes"],
                mode,
                medians["derived"],
                *(medians[name] for name in (*PIECES, "rest")),
                middle(shares, turns),
                middle(lanes["contiguous"]["seconds"], turns),
                samples,
            )
        )
    return found


def latency(found: list[Split], shape: str, mode: str) -> Samples:
    """Samples of l_p over size, for the fit of Memory-LogP's l."""
    return {
        one.bytes: one.samples["l_p"]
        for one in found
        if one.mode == mode and one.id.partition("/")[0] == shape
    }
