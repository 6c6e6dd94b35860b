# SPDX-License-Identifier: BSD-3-Clause
"""What `lacuna doctor` finds about this machine and a launch (README.md)."""
