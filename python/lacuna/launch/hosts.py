# SPDX-License-Identifier: BSD-3-Clause
"""The hosts on which ranks are started: named ones, or network namespaces of this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, NoReturn

from lacuna.base import paths
from lacuna.base.errors import Exit, LacunaError

_SKIPPED = 77  # the exit code of hosts.sh where namespaces cannot be made
_NUMBER = r"[0-9]+(\.[0-9]+)?"
_RATE = re.compile(rf"{_NUMBER}[kmgt]?bit")
_DELAY = re.compile(rf"{_NUMBER}(us|ms)")


@dataclass(frozen=True)
class Hosts:
    """One rank is started on each."""

    names: tuple[str, ...]
    agent: str | None = None  # instead of ssh
    link: str | None = None  # of namespaces: the network interface that all data must pass

    def about(self) -> dict[str, Any]:
        """Members for the header of a result file."""
        found: dict[str, Any] = {"number": len(self.names), "namespaces": self.link is not None}
        if self.link:
            found |= {"rate": os.environ.get(_RATE_NAME), "delay": os.environ.get(_DELAY_NAME)}
        return found

    def title(self) -> str:
        """A title for tables."""
        if not self.link:
            return ", ".join(self.names)
        told = [os.environ.get(_RATE_NAME), os.environ.get(_DELAY_NAME)]
        shaped = ", ".join(one for one in told if one) or "unshaped"
        return f"{len(self.names)} namespaces, {shaped}"


# What hosts.sh reads, and what it sets.
_RATE_NAME, _DELAY_NAME = "LACUNA_LINK_RATE", "LACUNA_LINK_DELAY"
_NAMES, _AGENT, _LINK = "LACUNA_HOST_LIST", "LACUNA_HOST_SHELL", "LACUNA_HOST_LINK"


def named(words: str, agent: str | None) -> Hosts:
    """The hosts that --hosts names; their number must be even."""
    names = tuple(words.split(","))
    if len(names) % 2 or not all(names):
        raise LacunaError(
            Exit.USAGE, f"bad hosts in --hosts: {words}", "give an even number, as in: a,b"
        )
    return Hosts(names, agent)


def namespaces(number: int | None, rate: str | None, delay: str | None) -> Hosts:
    """Network namespaces of this machine (default: 2) as hosts; this process must run in the first.

    Where it does not yet, it starts itself there once more, and this function does not return.
    """
    if number is not None and (number % 2 or not 2 <= number <= 98):
        raise LacunaError(
            Exit.USAGE, f"bad number in --namespaces: {number}", "give an even number, 2 to 98"
        )
    for option, value, form in (("--rate", rate, _RATE), ("--delay", delay, _DELAY)):
        if value is not None and not form.fullmatch(value):
            example = "10gbit" if form is _RATE else "10us"
            raise LacunaError(
                Exit.USAGE, f"bad value in {option}: {value}", f"as in: {option} {example}"
            )
    link = {_RATE_NAME: rate, _DELAY_NAME: delay}
    inside = os.environ.get(_NAMES)
    if inside is None:
        _start_inside(number or 2, link)
    names = tuple(inside.split(","))
    if number not in (None, len(names)) or any(
        value not in (None, os.environ.get(name)) for name, value in link.items()
    ):
        raise LacunaError(
            Exit.USAGE,
            f"{_NAMES} names hosts that are there already, and others than those asked for",
            f"leave out --namespaces, --rate and --delay, or unset {_NAMES}",
        )
    return Hosts(names, os.environ.get(_AGENT), os.environ.get(_LINK))


def _start_inside(number: int, link: dict[str, str | None]) -> NoReturn:
    environment = {name: value for name, value in os.environ.items() if name not in link}
    environment |= {name: value for name, value in link.items() if value}
    script = ["sh", str(paths.hosts_script()), str(number)]
    # Once for nothing, so that what is missing is said in one line.
    tried = subprocess.run(
        [*script, "true"],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if tried.returncode != 0:
        why = " ".join(tried.stderr.split()).removeprefix("hosts.sh: skipped: ")
        raise LacunaError(
            Exit.ENVIRONMENT if tried.returncode == _SKIPPED else Exit.INTERNAL,
            f"no namespaces here: {why}",
            "or name two hosts with --hosts A,B",
        )
    sys.stdout.flush()
    sys.stderr.flush()
    os.execvpe("sh", [*script, sys.executable, *sys.orig_argv[1:]], environment)
