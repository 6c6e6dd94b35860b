# SPDX-License-Identifier: BSD-3-Clause
"""There is one version: python/lacuna/version.py has it, CMake reads it there, and so does pip."""

import os
import re
import subprocess
import sys
from pathlib import Path

from lacuna import VERSION

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("LACUNA_BUILD_DIR", ROOT / "build" / "release"))


def test_cmake_reads_it():
    """The build has it, and the header that programs are compiled with."""
    cache = (BUILD / "CMakeCache.txt").read_text(encoding="utf-8")
    assert f"CMAKE_PROJECT_VERSION:STATIC={VERSION}\n" in cache
    assert "project(lacuna VERSION ${" in (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    header = (ROOT / "include" / "lacuna" / "lacuna.h").read_text(encoding="utf-8")
    parts = re.findall(
        r"^#define LACUNA_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header, re.MULTILINE
    )
    assert ".".join(parts) == VERSION


def test_pip_reads_it():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '\ndynamic = ["version"]\n' in project
    assert '\ninput = "python/lacuna/version.py"\n' in project


def test_the_library_says_it():
    call = "from lacuna import engine; print(engine.version())"
    environment = os.environ | {"LACUNA_LIBRARY_DIR": str(BUILD / "lib")}
    told = subprocess.check_output([sys.executable, "-c", call], env=environment, text=True)
    assert told == f"{VERSION}\n"


def test_every_place_has_it():
    """What `make release-check` compares, and sets by --set."""
    sys.path.insert(0, str(ROOT / "packaging"))
    import release_check

    assert release_check.version_faults(ROOT) == []
