# SPDX-License-Identifier: BSD-3-Clause
"""Messages between two ranks: their shapes, the programs that time them, what samples say."""
