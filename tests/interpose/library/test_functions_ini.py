# SPDX-License-Identifier: BSD-3-Clause
"""A mistake in functions.ini ends the generator with a sentence that names the function."""

import importlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "interpose" / "functions"))
table = importlib.import_module("generator.table")

GOOD = {
    "group": "p2p",
    "params": "void* buf, COUNT count, MPI_Datatype datatype, MPI_Comm comm",
    "policy": "handled",
    "types": "datatype",
    "operations": "receive",
    "handle": "handle_it(buf, count, datatype, comm)",
    "why": "as it is",
}


def read(folder: Path, **changes: str | None) -> list:
    """The functions of a file with one entry, which is GOOD but for `changes` (None: left out)."""
    entry = {key: value for key, value in (GOOD | changes).items() if value is not None}
    path = folder / "functions.ini"
    lines = [f"{key} = {value}\n" for key, value in entry.items()]
    path.write_text("[MPI_It]\n" + "".join(lines), encoding="ascii")
    return table.read_table(path)


def test_an_entry_becomes_the_cpp_of_its_gate(tmp_path: Path) -> None:
    (function,) = read(tmp_path)
    assert function.gate == "open_to(kP2pSwitch, datatype)"
    assert function.operations == ["Operation::kReceive"]
    assert function.count_of("datatype") == "count"
    (function,) = read(tmp_path, types=None, operations=None, gate="persistent, timed")
    assert function.gate == "anything_persistent() || is_watched(kCosted)"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"policy": "left"}, "policy must be one of handled, "),
        ({"group": "letters"}, "group must be one of init, "),
        ({"handle": None}, "`handle` is needed where policy is handled"),
        ({"few": "kSend: count"}, "unknown key few; known: params, "),
        ({"types": None, "operations": None}, "either `types` or `gate` is needed"),
        ({"gate": "group"}, "either `types` or `gate` is needed"),
        ({"types": None, "operations": None, "gate": "open"}, "gate must be some of group, "),
        ({"types": None, "operations": None, "gate": "types"}, "gate must be some of group, "),
        ({"types": None, "operations": None, "gate": ""}, "gate must be some of group, "),
        ({"group": "completion"}, "the group completion has no switch"),
        ({"types": "sendtype"}, "types: sendtype is not a datatype of params"),
        ({"types": "count"}, "types: count is not a datatype of params"),
        ({"direct": "no"}, "direct must be yes or room"),
        ({"types": None, "operations": None, "gate": "group", "direct": "room"}, "where direct is"),
        ({"operations": "Receive"}, "operations must be some of pack, "),
        ({"operations": "send, receive"}, "operations must be as many as types"),
        ({"types": None, "gate": "group"}, "operations must be as many as types"),
        ({"params": "void* buf, MPI_Datatype datatype"}, "params has no COUNT before datatype"),
        ({"moves": "some"}, "moves must be packs, unpacks or both"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, changes: dict, sentence: str) -> None:
    with pytest.raises(SystemExit) as failure:
        read(tmp_path, **changes)
    assert "functions.ini: [MPI_It]: " in str(failure.value)
    assert sentence in str(failure.value)
