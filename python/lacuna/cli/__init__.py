# SPDX-License-Identifier: BSD-3-Clause
"""The command lines: options and help of each command."""
