# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench preload`: what the preload adds to calls, and what it gains."""
