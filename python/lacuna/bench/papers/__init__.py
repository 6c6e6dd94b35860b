# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench papers`: the experiments of the papers that lacuna comes from."""
