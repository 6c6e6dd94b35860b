# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna tune`: measures what pays on this machine, and keeps it as a table."""
