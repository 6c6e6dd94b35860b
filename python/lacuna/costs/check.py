# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna costs machine --check-knobs`: changes a setting of the MPI library and checks that the
threshold moves with it.
"""

from __future__ import annotations

from lacuna.base.errors import Exit, LacunaError
from lacuna.base.progress import Progress
from lacuna.costs import find, knobs
from lacuna.costs.find import Threshold
from lacuna.costs.knobs import Knob
from lacuna.costs.machine import Options, targets
from lacuna.costs.transport import MESSAGE, STREAM, Transport
from lacuna.launch import mpis

_ROUNDS = 15
_LEAST, _MOST = 512, 512 << 10
_SAME = 1.15  # times a size: the same threshold


def check(options: Options) -> None:
    """Prints a line for each value of a setting; exit code 1 if a threshold does not move."""
    failed = []
    with Progress() as progress:
        for target in targets(options):
            knob = knobs.movable(target.name)
            if knob is None:
                continue
            values, before = _steps(target, {}, progress)
            for moved in knob.moved:
                holds, words = _check_one(target, knob, moved, values, before, progress)
                print(f"{'PASS' if holds else 'FAIL'}  {mpis.TITLE[target.name]}: {words}")
                if not holds and target.name not in failed:
                    failed.append(target.name)
    if failed:
        raise LacunaError(
            Exit.CHECK_FAILED,
            f"no threshold moved with its setting on {', '.join(failed)}",
            "repeat it on a quiet machine",
        )


def _check_one(
    target: mpis.Installed,
    knob: Knob,
    moved: int,
    values: dict[str, int],
    before: list[Threshold],
    progress: Progress,
) -> tuple[bool, str]:
    moved_values, after = _steps(target, {knob.variable: str(moved)}, progress)
    name = f"{knob.variable} from {values.get(knob.control)} to {moved}"
    gone = [one for one in before if not any(_is_same(one, other) for other in after)]
    new = [one for one in after if not any(_is_same(one, other) for other in before)]
    words = f"{name}: gone {_sizes(gone)}, new {_sizes(new)}"
    # A library may not say where a setting is that nobody has made.
    was = knob.threshold(values) is None or any(
        knob.explains(one.below, one.above, values) for one in before
    )
    is_there = any(knob.explains(one.below, one.above, moved_values) for one in new)
    return was and is_there, words


def _steps(
    target: mpis.Installed, options: dict[str, str], progress: Progress
) -> tuple[dict[str, int], list[Threshold]]:
    found: list[Threshold] = []
    with Transport(target, [], 0, progress, options) as transport:
        values = transport.header()["knobs"]
        for lane in (MESSAGE, STREAM):

            def measure(sizes: list[int], lane: str = lane) -> find.Samples:
                return transport.sweep(sizes, lane, _ROUNDS)[lane]

            for one in find.find(measure, _LEAST, _MOST).steps:
                if not any(_is_same(one, other) for other in found):
                    found.append(one)
    return values, sorted(found, key=lambda one: one.below)


def _is_same(one: Threshold, other: Threshold) -> bool:
    return one.below < _SAME * other.above and other.below < _SAME * one.above


def _sizes(found: list[Threshold]) -> str:
    return ", ".join(f"{one.below} to {one.above}" for one in found) or "none"
