# SPDX-License-Identifier: BSD-3-Clause
"""Man pages and shell completion: as the command line is, and as man and the shells want them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MANUAL = ROOT / "packaging" / "manual"
SHARE = MANUAL / "share"
BIN = Path(sys.executable).parent  # the command is there

LINES = [
    ("lacuna ru", ["run"]),
    ("lacuna costs mi", ["misses"]),
    ("lacuna run --dry", ["--dry-run"]),
    ("lacuna run --mpi open", ["openmpi"]),
    ("lacuna run --report job.json --lo", ["--log"]),
    ("lacuna tune --mpi mpich --net", ["--network"]),
    # Another command's options.
    ("lacuna run --mpi openmpi mpirun --dry", []),
    ("lacuna run --report mpirun --dry", []),
    ("lacuna doctor -- mpirun --js", []),
]


def do(*words, **environment):
    """What a command prints, without a colour or an option of whoever runs the tests."""
    own = {"PATH": f"{BIN}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", **environment}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=ROOT / "tests" / "packaging",
        env=os.environ | own,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0 and not done.stderr, (words, done.stdout, done.stderr)
    return done.stdout


def tool(name):
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name} (setup/setup.sh test)")
    return found


def test_what_is_installed_is_as_the_command_line():
    """Else: packaging/manual/generate.py."""
    assert do(sys.executable, MANUAL / "generate.py", "--check") == ""


@pytest.mark.parametrize("page", sorted(SHARE.glob("man/man1/*.1")), ids=lambda page: page.stem)
def test_man_reads_the_pages(page):
    """Without a warning, and finds the one line for `man -k`."""
    shown = do(tool("man"), "--warnings", "-l", page, MANWIDTH="80", MANROFFOPT="-ww -c")
    assert "SYNOPSIS" in shown and max(map(len, shown.splitlines())) <= 80
    if shutil.which("lexgrog"):
        assert f"{page.stem} - " in do("lexgrog", page)


def test_each_command_has_a_page_that_has_its_options():
    sys.path.append(str(MANUAL))
    from tree import commands

    every = list(commands())
    assert len(every) > 15
    for command in every:
        top = "-".join(command.words[:2])
        text = (SHARE / "man/man1" / f"{top}.1").read_text().replace("\\-", "-")
        assert command.name in text
        for names, told in command.options:
            assert names in text and told, (command.name, names)


@pytest.mark.parametrize(("line", "wanted"), LINES, ids=[line for line, _ in LINES])
def test_bash(line, wanted):
    script = f"""
    source {SHARE}/bash-completion/completions/lacuna
    complete -p lacuna >/dev/null
    COMP_WORDS=({line}) COMP_CWORD={len(line.split()) - 1}
    _lacuna_completion lacuna
    printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    assert do("bash", "--norc", "-c", script).split() == wanted


def test_bash_finds_it():
    """bash-completion loads a file of this name from XDG_DATA_DIRS, as from a prefix."""
    library = Path("/usr/share/bash-completion/bash_completion")
    if not library.exists():
        pytest.skip("no bash-completion")
    script = f"source {library}; _completion_loader lacuna; complete -p lacuna"
    found = do("bash", "--norc", "-c", script, XDG_DATA_DIRS=SHARE)
    assert "_lacuna_completion" in found


@pytest.mark.parametrize(("line", "wanted"), LINES, ids=[line for line, _ in LINES])
def test_fish(line, wanted, tmp_path):
    script = f"source {SHARE}/fish/vendor_completions.d/lacuna.fish; complete -C '{line}'"
    shown = do(tool("fish"), "--no-config", "-c", script, HOME=tmp_path)
    assert [row.split("\t")[0] for row in shown.splitlines()] == wanted


def test_zsh(tmp_path):
    """zsh loads the file by its first line, and the function answers at the first TAB."""
    file = SHARE / "zsh/site-functions/_lacuna"
    assert file.read_text().startswith("#compdef lacuna\n")
    script = f"""
    fpath=({file.parent} $fpath)
    autoload -Uz compinit; compinit -u -D
    print -r -- $_comps[lacuna]
    _arguments() {{ print -r -- "$@" }}
    _files() {{ print -r -- files }}
    words=(lacuna ru) CURRENT=2
    _lacuna
    words=(lacuna run x) CURRENT=3
    _lacuna
    """
    shown = do(tool("zsh"), "--no-rcs", "-c", script, HOME=tmp_path).splitlines()
    assert shown[0] == "_lacuna" and "run" in shown[1] and shown[-1] == "files"
