# SPDX-License-Identifier: BSD-3-Clause
"""The version. CMake and pip read it here; `make release-check` looks at all that repeats it."""

VERSION = "0.2.0"
