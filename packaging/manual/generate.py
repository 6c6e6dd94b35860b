#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes man pages and shell completion from the command itself, by the Python of .venv.

packaging/manual/generate.py              into share, here: what is installed
packaging/manual/generate.py --check      names the files that are not as they would be written
"""

import argparse
import sys
from pathlib import Path

from man import page, page_name
from tree import command_line
from typer.completion import get_completion_script

SHARE = Path(__file__).resolve().parent / "share"
# Where each shell looks below a prefix.
COMPLETION = {
    "bash": "bash-completion/completions/lacuna",
    "zsh": "zsh/site-functions/_lacuna",
    "fish": "fish/vendor_completions.d/lacuna.fish",
}
IN_FUNCTION = """if [[ $funcstack[1] == _lacuna ]]; then
  _lacuna_completion "$@"
else
  """


def files() -> dict[Path, str]:
    """All files and what is in them."""
    top = command_line()
    made = {
        SHARE / "man/man1" / f"{page_name(command)}.1": page(command, top)
        for command in [top, *top.inner]
    }
    for shell, name in COMPLETION.items():
        script = get_completion_script(
            prog_name="lacuna", complete_var="_LACUNA_COMPLETE", shell=shell
        )
        if shell == "zsh":  # the file is the body of a function there, unless a user reads it
            script = script.replace("compdef _lacuna", f"{IN_FUNCTION}compdef _lacuna") + "\nfi"
        made[SHARE / name] = script + "\n"
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description="Man pages and shell completion.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 1 if old")
    check = parser.parse_args().check
    wanted = files()
    here = {path for path in SHARE.rglob("*") if path.is_file()}
    old = here - wanted.keys()
    old |= {path for path, text in wanted.items() if path not in here or path.read_text() != text}
    for path in sorted(old):
        print(path.relative_to(SHARE.parents[2]))
        if not check and path in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path], encoding="utf-8")
        elif not check:
            path.unlink()
    return 1 if check and old else 0


if __name__ == "__main__":
    sys.exit(main())
