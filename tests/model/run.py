# SPDX-License-Identifier: BSD-3-Clause
"""Checks the models of the direct path and of requests with spin, and that mistakes are found.

    run.py [--cc CC] [--largest]

--largest checks only the largest sizes, which are left out otherwise.
Exit codes: 0 all hold, 1 one does not, or a mistake is not found, 77 spin is not installed.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Model:
    """A protocol, the sizes at which it must hold, and mistakes with spin's message for each."""

    name: str
    names: tuple[str, ...]
    sizes: list[tuple[int, ...]]
    mistakes: dict[str, tuple[tuple[int, ...], str]]
    long: tuple[tuple[int, ...], ...] = ()  # sizes of millions of states
    largest: tuple[tuple[int, ...], ...] = ()  # those that take longest

    @property
    def path(self):
        return Path(__file__).parent / f"{self.name}.pml"


WRONG = "assertion violated"
STUCK = "invalid end state"
MODELS = [
    Model(
        "meeting",
        ("RANKS", "ABSENT", "DEATHS"),
        [(2, 0, 0), (2, 1, 0), (3, 0, 0), (3, 1, 0), (2, 0, 1), (3, 0, 1), (4, 1, 0)],
        {
            "BREAK_OWN_CLOCK": ((2, 0, 0), WRONG),  # a guest has a limit of its own
            "BREAK_SOME": ((3, 0, 0), WRONG),  # the host begins before all have come
            "BREAK_NO_VOTE": ((2, 0, 0), WRONG),  # the host does not ask for votes
            "BREAK_NO_LIMIT": ((2, 1, 0), STUCK),  # the host waits for a rank that never comes
        },
    ),
    Model(
        "nodes",
        ("NODES", "WITHDRAWN"),
        [(2, 0), (3, 0), (4, 0), (2, 1), (3, 1), (4, 1), (5, 1)],
        {
            "BREAK_BEGUN_LATE": ((2, 0), WRONG),  # the root says that it is there when it has voted
            "BREAK_GONE_FIRST": ((2, 0), WRONG),  # it looks who has gone before it says so
            "BREAK_GONE_UNSEEN": ((2, 0), WRONG),  # it does not look
            "BREAK_NOT_ASKED": ((2, 0), WRONG),  # a node goes without a look for the root
            "BREAK_BEGUN_FIRST": (
                (2, 0),
                WRONG,
            ),  # it looks for the root, then says that it goes
            "BREAK_NO_LIMIT": ((2, 0), STUCK),  # it waits for a root that is not there
            "BREAK_GONE_WITHDRAWN": ((2, 0), WRONG),  # a name is withdrawn that others need
            "BREAK_WITHDRAWN_EARLY": ((2, 1), WRONG),  # a yes is withdrawn before all have read it
            "BREAK_BEGUN_ONCE": ((2, 1), STUCK),  # a node waits for a no that has been withdrawn
        },
        long=((5, 1),),
        largest=((5, 1),),
    ),
    Model(
        "handover",
        ("SENDERS", "MESSAGES", "REGIONS", "PROBES", "CALLS"),
        # One region is too few, three are more than are in use at once. With fewer messages there
        # are probes of another thread, and probed, cancelled and freed receives.
        [
            (2, 2, 1, 0, 0),
            (2, 2, 2, 0, 0),
            (2, 2, 3, 0, 0),
            (1, 4, 2, 0, 0),
            (1, 3, 2, 1, 1),
            (1, 3, 1, 0, 3),
            (1, 2, 1, 1, 3),
            (2, 1, 1, 0, 3),
        ],
        {
            "BREAK_FREE_FIRST": ((2, 2, 2, 0, 0), WRONG),  # freed before it is read
            "BREAK_PUBLISH_FIRST": ((2, 2, 2, 0, 0), WRONG),  # published before it is written
            "BREAK_NO_WAIT": ((2, 2, 2, 0, 0), WRONG),  # read before it is published
            "BREAK_TOLD_LATE": ((1, 1, 1, 0, 0), WRONG),  # the word is set when the token has gone
            "BREAK_COUNTED_LATE": ((1, 2, 2, 0, 0), WRONG),  # a token is counted after the word
            "BREAK_WORD_LAST": ((1, 2, 2, 0, 0), WRONG),  # settled by a word read after the counts
            "BREAK_UNCOUNTED": ((1, 2, 2, 0, 0), WRONG),  # settled while a token is in flight
            "BREAK_NO_LOCK": ((2, 2, 2, 0, 0), WRONG),  # two threads reserve at once
            "BREAK_NEVER_FREE": ((2, 2, 2, 0, 0), WRONG),  # a region is lost
            "BREAK_WAIT_FOR_ROOM": ((2, 2, 2, 0, 0), STUCK),  # a sender waits for a region
            "BREAK_HOLD_ONE": ((1, 3, 2, 1, 0), WRONG),  # a probe leaves earlier messages behind
            "BREAK_LIBRARY_FIRST": ((1, 3, 2, 0, 1), WRONG),  # held messages are searched last
            "BREAK_NO_POSTING": ((1, 2, 1, 1, 0), STUCK),  # taken out just before a receive asks
            "BREAK_CANCELLED": ((1, 3, 2, 0, 2), WRONG),  # a cancelled receive is examined
            "BREAK_FREED_LOST": ((1, 2, 1, 0, 2), WRONG),  # a freed receive is forgotten
        },
        long=((2, 2, 2, 0, 0), (2, 2, 3, 0, 0)),
        largest=((2, 2, 2, 0, 0), (2, 2, 3, 0, 0), (1, 3, 2, 1, 1)),
    ),
    Model(
        "ring",
        ("PIECES", "ROOM", "MESSAGES"),
        [(5, 2, 2), (6, 3, 2), (4, 1, 3), (7, 2, 1)],
        {
            "BREAK_NO_ROOM": ((5, 2, 1), WRONG),  # overwrites a piece that was not read
            "BREAK_END_LATE": ((5, 2, 1), WRONG),  # published before the ring's end is written
            "BREAK_END_FIRST": ((5, 2, 1), WRONG),  # the end is read before what is published
            "BREAK_END_ONCE": ((6, 3, 1), WRONG),  # and not again with what is published later
            "BREAK_CONSUMED_FIRST": ((5, 2, 1), WRONG),  # consumed before it is read
        },
    ),
    Model(
        "stale",
        ("MESSAGES", "REGIONS"),
        [(4, 1), (4, 2), (5, 2)],
        {
            "BREAK_BELIEVED": ((3, 1), WRONG),  # whatever looks like a token is one
            "BREAK_NO_MARK": ((3, 1), WRONG),  # believes one that has been landed
            "BREAK_NO_NUMBER": ((4, 1), WRONG),  # believes one whose region is another message's
            "BREAK_MARK_FIRST": ((4, 1), WRONG),  # the mark is removed before the number
            "BREAK_NUMBER_STAYS": ((4, 1), WRONG),  # the number is overwritten, not removed first
            "BREAK_NUMBER_FIRST": ((4, 1), WRONG),  # the number is read before the mark
            "BREAK_NUMBER_LATE": ((2, 1), WRONG),  # the token goes out before its number is there
            "BREAK_COUNTED_LATE": ((2, 1), WRONG),  # a probe takes a token for data
            "BREAK_NEVER_MARKED": ((3, 1), WRONG),  # landed twice
        },
    ),
    Model(
        "exchange",
        ("MEMBERS", "CALLS", "REGIONS", "PIECES", "ROOTED", "THREADS"),
        [
            (2, 3, 1, 2, 0, 0),
            (2, 3, 2, 2, 0, 0),
            (3, 1, 1, 1, 0, 0),
            (2, 4, 1, 1, 1, 0),
            (3, 1, 1, 1, 1, 0),
            (2, 2, 1, 1, 0, 1),
        ],
        {
            "BREAK_AHEAD": ((2, 3, 1, 2, 0, 0), WRONG),  # a later vote is taken for this one
            # a slow member has not read that the vote was yes
            "BREAK_NO_READERS": ((2, 4, 1, 1, 1, 0), WRONG),
            "BREAK_CALL_FIRST": ((2, 3, 1, 2, 0, 0), WRONG),  # read before it is written
            "BREAK_OWN_VOTE": ((2, 3, 1, 2, 0, 0), WRONG),  # the others' votes do not count
            "BREAK_NO_WINDOW": ((2, 3, 1, 2, 0, 0), WRONG),  # an unread piece is overwritten
            "BREAK_FIRST_READER": ((3, 1, 1, 1, 0, 0), WRONG),  # freed while another one reads
            "BREAK_OWNER_LEAVES": ((2, 2, 1, 1, 0, 1), STUCK),  # freed while its owner reads it
        },
        largest=((3, 1, 1, 1, 0, 0),),
    ),
    Model(
        "pieces",
        (
            "MESSAGES",
            "PIECES",
            "WINDOW",
            "TAGS",
            "NOTE",
            "BOTH",
            "POSTED",
            "STALL",
            "TESTS",
            "SHORT",
        ),
        [
            (3, 2, 3, 3, 1, 0, 0, 0, 0, 0),
            (3, 2, 4, 3, 2, 0, 1, 0, 0, 0),
            (2, 2, 3, 2, 1, 0, 0, 0, 1, 0),
            (1, 4, 4, 2, 1, 0, 0, 0, 2, 0),
            (2, 2, 3, 3, 1, 0, 0, 1, 1, 0),
            (4, 2, 4, 3, 1, 0, 0, 0, 0, 1),
            (2, 2, 3, 2, 1, 1, 1, 0, 0, 0),
            (4, 2, 3, 3, 1, 0, 0, 0, 0, 0),
            (3, 2, 3, 3, 1, 0, 0, 1, 1, 0),
            (2, 3, 4, 3, 1, 0, 0, 1, 2, 0),
        ],
        {
            # two ranks that post receives and then send wait for each other
            "BREAK_RENDEZVOUS": ((1, 1, 1, 2, 1, 1, 1, 0, 0, 0), STUCK),
            "BREAK_NO_WINDOW": ((3, 2, 3, 3, 1, 0, 0, 0, 0, 0), WRONG),  # sent without a look at it
            "BREAK_WAITS_FOR_ROOM": ((3, 2, 3, 3, 1, 0, 0, 0, 0, 0), STUCK),  # a send waits for it
            "BREAK_NO_TAGS": ((3, 2, 3, 2, 1, 0, 0, 0, 0, 0), WRONG),  # two messages have one tag
            "BREAK_NOTED_EARLY": ((3, 2, 3, 3, 1, 0, 0, 0, 0, 0), WRONG),  # before the pieces come
            "BREAK_NOTED_TWICE": ((3, 2, 3, 3, 1, 0, 0, 0, 0, 0), WRONG),  # room given back twice
            # the note tells the largest number, though a smaller one has not come
            "BREAK_NOTED_LARGEST": ((4, 1, 2, 3, 1, 0, 0, 0, 0, 0), WRONG),
            "BREAK_LARGEST": ((2, 2, 3, 3, 1, 0, 0, 0, 0, 0), WRONG),  # no other is remembered
            "BREAK_BELIEVED": ((2, 2, 3, 3, 1, 0, 0, 0, 0, 0), WRONG),  # an old token is one, too
            "BREAK_NOT_WIPED": ((2, 2, 3, 3, 1, 0, 0, 0, 0, 0), WRONG),  # a new one is sent as data
            "BREAK_REST_LEFT": ((3, 2, 3, 3, 1, 0, 0, 0, 0, 0), WRONG),  # what does not fit is left
            "BREAK_ASKED_EARLY": ((1, 4, 4, 2, 1, 0, 0, 0, 0, 0), WRONG),  # into a place in use
            # a test completes the library's request before the last piece has come
            "BREAK_TEST_COMPLETES": ((2, 2, 3, 3, 1, 0, 0, 0, 1, 0), WRONG),
            # or asks the library again, for which a token may have come meanwhile
            "BREAK_TEST_AGAIN": ((2, 2, 3, 3, 1, 0, 0, 0, 1, 0), WRONG),
            "BREAK_TEST_WAITS": ((2, 2, 3, 3, 1, 0, 0, 1, 1, 0), STUCK),  # a test waits for pieces
            "BREAK_NOT_SENT": ((2, 2, 3, 3, 1, 0, 0, 0, 0, 0), STUCK),  # ends before they leave
        },
        long=(
            (2, 2, 3, 2, 1, 1, 1, 0, 0, 0),
            (4, 2, 3, 3, 1, 0, 0, 0, 0, 0),
            (3, 2, 3, 3, 1, 0, 0, 1, 1, 0),
            (2, 3, 4, 3, 1, 0, 0, 1, 2, 0),
        ),
        largest=(
            (4, 2, 3, 3, 1, 0, 0, 0, 0, 0),
            (3, 2, 3, 3, 1, 0, 0, 1, 1, 0),
            (2, 3, 4, 3, 1, 0, 0, 1, 2, 0),
        ),
    ),
    Model(
        "shares",
        ("SENDERS", "FIRST", "POOL", "MOST", "MESSAGES", "RETURNS", "ENDS"),
        [
            (2, 1, 2, 3, 2, 1, 0),
            (2, 0, 2, 2, 2, 1, 0),
            (2, 0, 3, 2, 3, 1, 0),
            (2, 0, 2, 2, 2, 0, 1),
            (2, 1, 2, 3, 2, 1, 1),
            (3, 0, 2, 2, 2, 1, 0),
        ],
        {
            "BREAK_NO_POOL": ((2, 0, 2, 2, 2, 1, 0), WRONG),  # grants more than there is
            "BREAK_RETURNS_ALL": (
                (2, 0, 2, 2, 2, 1, 0),
                WRONG,
            ),  # also what may not be received yet
            "BREAK_SHARE_TOLD": ((2, 0, 2, 2, 3, 1, 0), WRONG),  # a late note revives a share
            "BREAK_NOT_AGAIN": ((2, 0, 2, 2, 2, 1, 0), WRONG),  # who had to wait gets nothing later
            "BREAK_NOT_TOLD": (
                (2, 0, 2, 2, 2, 0, 1),
                STUCK,
            ),  # who returns does not hear what has come
        },
        long=((3, 0, 2, 2, 2, 1, 0),),
        largest=((3, 0, 2, 2, 2, 1, 0), (2, 0, 3, 2, 3, 1, 0)),
    ),
    Model(
        "rooms",
        ("COMMS", "CALLS", "NUMBERS"),
        [(2, 2, 2), (3, 1, 2), (3, 2, 1), (3, 2, 2)],
        {
            "BREAK_AT_ONCE": ((3, 2, 2), WRONG),  # a number is free while a member still reads
            "BREAK_SILENT": ((3, 2, 2), WRONG),  # a member frees without saying that it has read
            "BREAK_FIRST_CALL": ((3, 2, 2), WRONG),  # an earlier room's vote is believed
        },
        long=((3, 2, 2),),
        largest=((3, 2, 2),),
    ),
    Model(
        "freed",
        ("RECEIVES", "THREADS", "END"),
        [(2, 1, 0), (2, 2, 0), (3, 2, 0), (2, 1, 1), (2, 2, 1)],
        {
            "BREAK_SKIP": ((1, 2, 0), WRONG),  # returns while another thread unpacks
            "BREAK_NO_TURN": ((1, 2, 0), WRONG),  # two threads test one request at once
            "BREAK_COUNT_FIRST": ((1, 2, 0), WRONG),  # counted as complete before it is unpacked
            "BREAK_NOT_BEHIND": ((1, 1, 0), WRONG),  # a call returns without testing them
            "BREAK_CALLBACK": ((1, 2, 0), STUCK),  # waits in a callback of the library's
            "BREAK_DISCONNECT": ((1, 1, 0), STUCK),  # not finished before the library waits
            "BREAK_ONCE": ((1, 1, 0), STUCK),  # tested only once before the library waits
            "BREAK_CANCELLED": ((1, 1, 1), STUCK),  # cancelled in MPI_Finalize
            "BREAK_BEGUN": ((1, 1, 1), WRONG),  # received data are overwritten in MPI_Finalize
            "BREAK_LEFT": ((1, 1, 1), WRONG),  # data received in MPI_Finalize are not unpacked
        },
    ),
    Model(
        "promises",
        ("RANKS",),
        [(2,), (3,), (4,)],
        {"BREAK_LOOKS_FIRST": ((2,), STUCK)},  # waits for a payload while its own is not packed
    ),
    Model(
        "fair",
        ("EARLY", "CALLS"),
        [(1, 12), (2, 16), (3, 20)],
        {
            "BREAK_EARLY_FIRST": ((1, 8), WRONG),  # the library is not asked
            "BREAK_LIBRARY_FIRST": ((1, 8), WRONG),  # the library always goes first
            "BREAK_FIRST_EARLY": ((2, 12), WRONG),  # not the one that has waited for longest
        },
    ),
]


def check(cc, folder, model, size, mistake=None):
    """What the checker says; None: nothing is wrong."""
    names = zip(model.names, size, strict=True)
    defines = [f"-D{name}={value}" for name, value in names] + [f"-D{mistake}"] * bool(mistake)
    long = size in model.long and mistake is None
    commands = [
        ["spin", *defines, "-a", str(model.path)],
        # Most searches take less time than an optimised compilation. -O2 compiles twice as long as
        # -O1, and its searches are no faster.
        [cc, "-O1" if long else "-O0", "-w", "-DSAFETY", "-o", "pan", "pan.c"],
        ["./pan", "-m1000000", "-w24" if long else "-w20"],
    ]
    for command in commands:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0 and command[0] != "./pan":
            sys.exit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    errors = re.search(r"errors: (\d+)", done.stdout)
    if errors is None or "max search depth too small" in done.stdout:
        sys.exit(f"spin did not end its search: {done.stdout}{done.stderr}")
    states = re.search(r"(\d+) states, stored", done.stdout)
    print(f"{model.name} {' '.join(defines)}: {states[1]} states, {errors[1]} errors")
    return None if errors[1] == "0" else done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--largest", action="store_true")
    arguments = parser.parse_args()
    missing = [tool for tool in ("spin", arguments.cc) if shutil.which(tool) is None]
    if missing:
        print(f"skipped: no {missing[0]}; remedy: apt-get install -y spin gcc")
        return 77
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for model in MODELS:
            for size in model.sizes:
                if (size in model.largest) != arguments.largest:
                    continue
                if wrong := check(arguments.cc, folder, model, size):
                    print(wrong)
                    good = False
            mistakes = {} if arguments.largest else model.mistakes
            for mistake, (size, words) in mistakes.items():
                found = check(arguments.cc, folder, model, size, mistake)
                if found is None or words not in found:
                    print(f"{mistake} is not found")
                    good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
