# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna explain`: what a type is, what lacuna does with it, and what a compiler run has done."""
