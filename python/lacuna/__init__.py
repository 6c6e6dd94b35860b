# SPDX-License-Identifier: BSD-3-Clause
"""lacuna: MPI derived datatypes, several times as fast. The command line and its parts."""

from lacuna.version import VERSION

__all__ = ["VERSION"]
