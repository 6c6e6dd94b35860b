# SPDX-License-Identifier: BSD-3-Clause
"""What all of the command needs: errors, paths, result files, where numbers come from, figures."""
