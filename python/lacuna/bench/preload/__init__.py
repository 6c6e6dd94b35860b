# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench preload`: what the preload costs and wins."""
