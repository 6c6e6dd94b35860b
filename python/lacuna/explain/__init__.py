# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna explain`: what a type is, how lacuna moves it, and what lacuna-cc did with the calls of a
file.
"""
