# SPDX-License-Identifier: BSD-3-Clause
"""lacuna: MPI derived datatypes as fast as plain copies. The command line and its parts."""

from lacuna.version import VERSION

__all__ = ["VERSION"]
