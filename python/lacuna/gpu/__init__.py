# SPDX-License-Identifier: BSD-3-Clause
"""What commands tell about a CUDA device: its numbers, and the predicted time of a plan there."""
