# SPDX-License-Identifier: BSD-3-Clause
"""Settings of MPI libraries that documents or the library itself name, and that may explain a
threshold.
"""

from __future__ import annotations

from dataclasses import dataclass

_BELOW = 0.93  # of the value: the message's header counts, too
_ABOVE = 1.02


@dataclass(frozen=True)
class Knob:
    """A setting: the environment variable that changes it, and the control variable that
    shows it.
    """

    variable: str
    control: str  # its control variable in the MPI tools interface
    what: str
    part: float = 1.0  # the longest message below the threshold, as a part of the value
    default: int = 0  # the value that the library has without settings; 0: not checked
    moved: tuple[int, ...] = ()  # other values, for --check-knobs

    def threshold(self, values: dict[str, int]) -> int | None:
        """The message size in bytes at which the setting says that something changes; None:
        unknown.
        """
        value = values.get(self.control)
        return None if value is None or value <= 0 else round(value * self.part)

    def explains(self, low: int, high: int, values: dict[str, int]) -> bool:
        """Whether the setting's threshold lies between `low` and `high`."""
        there = self.threshold(values)
        return there is not None and low <= there * _ABOVE and high >= there * _BELOW


_MPICH = "MPIR_CVAR_CH4_"
_OPEN_MPI = "OMPI_MCA_btl_sm_"

# Documented, or in the library's own list of settings.
KNOBS: dict[str, list[Knob]] = {
    "mpich": [
        Knob(
            f"{_MPICH}IPC_CMA_P2P_THRESHOLD",
            f"{_MPICH}IPC_CMA_P2P_THRESHOLD",
            "longer messages: the receiver copies from the sender's memory, after a handshake",
            default=8192,
            moved=(2048, 32768),
        ),
        Knob(
            f"{_MPICH}SHM_POSIX_IQUEUE_CELL_SIZE",
            f"{_MPICH}SHM_POSIX_IQUEUE_CELL_SIZE",
            "cells of the queue in shared memory",
        ),
    ],
    "openmpi": [
        Knob(
            f"{_OPEN_MPI}eager_limit",
            "btl_sm_eager_limit",
            "eager limit in shared memory; longer messages: a handshake first",
            default=4096,
            moved=(2048, 16384),
        ),
        Knob(
            f"{_OPEN_MPI}fbox_size",
            "btl_sm_fbox_size",
            "fast boxes, for messages of up to a quarter of their size",
            default=4096,
            part=0.25,
        ),
        Knob(
            f"{_OPEN_MPI}max_inline_send",
            "btl_sm_max_inline_send",
            "data that travel with the message's own header",
        ),
        Knob(
            f"{_OPEN_MPI}max_send_size",
            "btl_sm_max_send_size",
            "fragments of long messages, where there is no single copy",
        ),
        Knob("OMPI_MCA_btl_tcp_eager_limit", "btl_tcp_eager_limit", "eager limit over TCP"),
    ],
    "intelmpi": [
        # Intel MPI shows a setting only if the user set it. Otherwise it shows -1.
        Knob(
            "I_MPI_SHM_CMA_THRESHOLD",
            "MPIR_CVAR_INTEL_SHM_CMA_THRESHOLD",
            "from there on the receiver copies from the sender's memory, after a handshake",
            moved=(16384, 65536),
        ),
    ],
}
KNOBS["mpiabi"] = KNOBS["mpich"]


def explaining(mpi: str, low: int, high: int, values: dict[str, int]) -> list[Knob]:
    """The settings that explain a threshold; several if they have the same value."""
    return [knob for knob in KNOBS.get(mpi, []) if knob.explains(low, high, values)]


def movable(mpi: str) -> Knob | None:
    """The setting that --check-knobs changes; None: there is none."""
    return next((knob for knob in KNOBS.get(mpi, []) if knob.moved), None)
