# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench engine`: the engine against other ways to pack."""
