# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench results`: docs/results and the README's table, made of files of results."""
