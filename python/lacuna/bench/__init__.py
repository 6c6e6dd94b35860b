# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench`: the benchmarks."""
