# SPDX-License-Identifier: BSD-3-Clause
"""Starting programs: MPI libraries, launchers, what a program is linked to, and watching it run."""
