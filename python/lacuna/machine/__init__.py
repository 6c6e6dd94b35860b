# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna machine`: the numbers of this machine, and their figure."""
