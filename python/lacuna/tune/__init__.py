# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna tune`: measures for which messages packing first is faster on this machine, and writes a
table of rules.
"""
