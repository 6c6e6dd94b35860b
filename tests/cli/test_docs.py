# SPDX-License-Identifier: BSD-3-Clause
"""The documents say what is so: options, links, commands."""

import re
import subprocess

from conftest import ROOT

TABLE = re.compile(r'\{OptionId::k\w+, "(LACUNA_\w+)"')


SOURCES = (
    "bench cmake costs engine examples include interpose mpi optimizer python setup tests".split()
)


def documents():
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for folder in SOURCES:
        found += sorted((ROOT / folder).rglob("README.md"))
    return found


def test_every_option_is_documented_and_no_other():
    known = set(TABLE.findall((ROOT / "engine/base/options.cpp").read_text()))
    assert known
    for name in ("README.md", "docs/user/options.md"):
        text = (ROOT / name).read_text()
        told = set(re.findall(r"^\| `(LACUNA_\w+)", text, re.MULTILINE))
        assert told == known, name


def test_links_lead_somewhere():
    for document in documents():
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", document.read_text()):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document}: {target}"


def test_setup_refuses_an_unknown_word():
    command = [ROOT / "setup" / "setup.sh", "everything"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    usage = "setup/setup.sh build|test|optimizer [packages], or sources|aarch64"
    assert result.stderr == f"lacuna setup: usage: {usage}\n"


def test_the_tests_of_the_rules_exist():
    sources = [
        path
        for path in (ROOT / "tests").rglob("*")
        if path.suffix in (".cpp", ".F90", ".py", ".txt")
    ]
    text = "\n".join(path.read_text() for path in sources)
    names = {path.name for path in sources}
    topics = set(re.findall(r"^TOPIC\((\w+)\)", text, re.MULTILINE))
    for line in (ROOT / "docs/internals/rules.md").read_text().splitlines():
        if not line.startswith("|") or line.count("|") != 3:
            continue
        for name in re.findall(r"`([a-z_]+(?:\.\w+)?)`", line.split("|")[2]):
            known = name in topics or name in names or name.split(".")[-1] in text
            assert known, name
