# SPDX-License-Identifier: BSD-3-Clause
"""`make release-check`: each of its checks finds what is wrong, and passes where nothing is."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lacuna import VERSION

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))

import release_check  # noqa: E402

SLOW = [word for name in ("build", "docs", "results", "wheel") for word in ("--skip", name)]


def git(root, *words):
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    command = ["git", "-C", str(root), *identity, *words]
    subprocess.run(command, check=True, capture_output=True)


def replace(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.fixture
def checkout(tmp_path):
    """The files that have the version, committed, and a changelog that is ready."""
    root = tmp_path / "checkout"
    names = {name for name, _ in release_check.PLACES}
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    log = (
        f"# Changelog\n\n## {VERSION}, 2026-12-01\n\n- Faster.\n\n## 0.0.1, 2026-01-01\n\n- New.\n"
    )
    (root / "CHANGELOG.md").write_text(log, encoding="utf-8")
    citation = root / "CITATION.cff"
    lines = citation.read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if not line.startswith("date-released:")]
    lines += ["date-released: 2026-12-01", ""]
    citation.write_text("\n".join(lines), encoding="utf-8")
    git(root, "init", "--quiet")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "all")
    return root


def faults(root, capsys):
    """Name of the check -> its line, for those that fail; the exit code says whether any does."""
    code = release_check.main(["--root", str(root), *SLOW])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("lacuna ")
    found = {line.split()[1].rstrip(":"): line for line in lines if line.startswith("fault ")}
    assert code == bool(found)
    assert all("; remedy: " in line for line in found.values())
    return found


def test_all_is_well(checkout, capsys):
    assert faults(checkout, capsys) == {}


def test_what_is_not_committed(checkout, capsys):
    (checkout / "new.txt").touch()
    found = faults(checkout, capsys)
    assert list(found) == ["tree"] and "new.txt" in found["tree"]


def test_a_tag_that_exists(checkout, capsys):
    git(checkout, "tag", f"v{VERSION}")
    assert list(faults(checkout, capsys)) == ["tag"]


@pytest.mark.parametrize("place", release_check.PLACES[1:], ids=lambda place: place[0])
def test_a_place_with_another_version(checkout, place):
    name, pattern = place
    text = (checkout / name).read_text(encoding="utf-8")
    begin, end = next(release_check.re.finditer(pattern, text, release_check.re.M)).span(1)
    (checkout / name).write_text(text[:begin] + "9.8.7"[: end - begin] + text[end:], "utf-8")
    (fault,) = release_check.version_faults(checkout)
    assert fault.what.startswith(f"{name}:")
    assert "--set" in fault.remedy


def test_a_place_that_is_gone(checkout):
    replace(checkout / "CITATION.cff", f"\nversion: {VERSION}\n", "\n")
    (fault,) = release_check.version_faults(checkout)
    assert "not where it was" in fault.what


def test_the_changelog(checkout):
    path = checkout / "CHANGELOG.md"
    ready = path.read_text(encoding="utf-8")
    for old, new, told in (
        (f"## {VERSION}, 2026-12-01", "## 0.0.2, 2026-12-01", "has no section"),
        ("- Faster.\n", "", "is empty"),
        (f"## {VERSION}, 2026-12-01", f"## {VERSION}, unreleased", "has no date"),
        (f"## {VERSION}, 2026-12-01", f"## {VERSION}, 2026-12-02", "has not the date"),
    ):
        path.write_text(ready.replace(old, new), encoding="utf-8")
        (fault,) = release_check.changelog_faults(checkout)
        assert told in fault.what


def test_setting_a_version(checkout, capsys):
    before = {name: (checkout / name).read_text("utf-8") for name, _ in release_check.PLACES}
    assert release_check.main(["--root", str(checkout), "--set", "12.34.56"]) == 0
    assert set(capsys.readouterr().out.split()) == set(before)
    assert release_check.read_version(checkout) == "12.34.56"
    assert release_check.version_faults(checkout) == []
    assert "#define LACUNA_VERSION_MINOR 34\n" in (checkout / "include/lacuna/lacuna.h").read_text()
    assert "find_package(lacuna 12.34)" in (checkout / "docs/user/install.md").read_text()
    release_check.main(["--root", str(checkout), "--set", VERSION])
    assert before == {name: (checkout / name).read_text("utf-8") for name in before}


def test_a_version_is_three_numbers(checkout):
    with pytest.raises(SystemExit):
        release_check.main(["--root", str(checkout), "--set", "1.2"])


def test_commands_that_fail(tmp_path):
    good = [sys.executable, "-c", "pass"]
    assert release_check.command_faults(tmp_path, good, "none") == []
    bad = [sys.executable, "-c", "import sys; print('one'); sys.exit('two')"]
    assert release_check.command_faults(tmp_path, bad, "mend") == [("two", "mend")]
