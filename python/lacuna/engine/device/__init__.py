# SPDX-License-Identifier: BSD-3-Clause
"""Memory of a CUDA device: what lacuna.engine does with arrays there.

driver (libcuda.so) and library (liblacuna-cuda.so) are loaded at the first use; arrays finds where
an array of another package lies; plans moves it. Nothing here needs CuPy, PyTorch or NumPy.
"""
