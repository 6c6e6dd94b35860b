# SPDX-License-Identifier: BSD-3-Clause
"""The parts of generate.py: the table, the C++ sources made of it, its page in the docs."""
