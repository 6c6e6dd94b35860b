# SPDX-License-Identifier: BSD-3-Clause
"""What all commands need: errors, paths, result files, provenance, figures."""
