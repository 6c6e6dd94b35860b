# SPDX-License-Identifier: BSD-3-Clause
"""The version, kept equal to the C library's (a test compares them)."""

VERSION = "0.1.0"
