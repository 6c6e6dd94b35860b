# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna explain --gpu`: how a type is moved in a device's memory, and how long it will take."""

from __future__ import annotations

import json
from typing import Any

from lacuna.base.errors import Exit, LacunaError
from lacuna.base.units import size
from lacuna.engine import Type
from lacuna.engine.device import library
from lacuna.gpu import cost, machine

_KERNELS = {
    "nothing": "nothing to move",
    "run": "one copy by the copy engine: the data have no gaps",
    "words": "the words kernel: a thread moves one word, or four that are adjacent when packed",
    "bytes": "the bytes kernel: a thread assembles 8 packed bytes from unaligned addresses",
    "tiles": "the tiles kernel: a transpose, by tiles in shared memory",
    "many": "the kernel for many pieces: a block finds its piece and moves it by words",
}


def facts(text: str, count: int) -> dict[str, Any]:
    """The facts about `count` elements of a type in device memory, as a dictionary for JSON."""
    if not 0 <= count < 2**63:
        raise LacunaError(Exit.USAGE, f"bad count in --count: {count}", "give 0 to 2^63 - 1")
    datatype = Type(text)
    explained = library.explain(datatype, count)
    numbers = machine.in_force()
    return {
        "type": datatype.text(),
        "count": count,
        **explained,
        "predicted": cost.predict(explained, numbers),
        "numbers": {
            "device": numbers["facts"]["device"],
            "source": numbers["source"],
            "has_device": numbers["has_device"],
        },
    }


def explain(text: str, count: int, as_json: bool) -> None:
    """Prints the explanation on stdout, as text or as JSON."""
    found = facts(text, count)
    if as_json:
        print(json.dumps(found, indent=2))
        return
    for line in _lines(found):
        print(line)


def _lines(found: dict[str, Any]) -> list[str]:
    lines = [
        f"type     {found['type']}, {found['count']} of it",
        f"bytes    {found['bytes']}",
        f"kernel   {_KERNELS[found['kernel']]}",
    ]
    for piece, word in zip(found["pieces"], found["word_bytes"], strict=True):
        words = "" if found["kernel"] == "run" else f", by words of {word} bytes"
        lines.append(f"piece    {piece}{words}")
    if found["bytes"] == 0:
        return lines
    if found["kernel"] != "run":
        shared = f", {found['shared_bytes']} bytes of shared memory"
        launch = f"launch   {found['blocks']} blocks of {found['threads']} threads"
        lines.append(launch + (shared if found["shared_bytes"] else ""))
    if found["table_bytes"]:
        lines.append(f"tables   {found['table_bytes']} bytes on the device")
    sectors = f"{size(found['sector_bytes'])} of sectors hold data"
    lines.append(f"memory   {sectors}, {size(found['partly_bytes'])} of them in part")
    predicted = found["predicted"]
    for op in ("pack", "unpack"):
        us = predicted[op]["us"]
        rate = found["bytes"] / us / 1000
        over = us / predicted["memcpy_us"]
        bound = predicted[op]["bound"]
        lines.append(
            f"{op:8} {us:.4g} us predicted, {rate:.4g} GB/s, {over:.2f} of memcpy, bound: {bound}"
        )
    enqueue = f"{predicted['enqueue_us']:.3g} us on the host"
    lines.append(f"enqueue  {enqueue}; the times above are the device's, which begins afterwards")
    numbers = found["numbers"]
    if numbers["source"] == "measured":
        lines.append(f"numbers  measured on {numbers['device']}")
    elif numbers["has_device"]:
        lines.append("numbers  an H100's: `lacuna machine --gpu --measure` measures this device's")
    else:
        lines.append("numbers  an H100's, as no device is here")
    return lines
