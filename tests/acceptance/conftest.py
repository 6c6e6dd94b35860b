# SPDX-License-Identifier: BSD-3-Clause
"""Finds what the tests of the command have made up (tests/cli/made_up.py)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
