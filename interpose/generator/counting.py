# SPDX-License-Identifier: BSD-3-Clause
"""The steps of wrappers where calls are timed: most calls are only counted (sampling.hpp)."""

from __future__ import annotations

import re

from generator.table import Function, fill

# Where calls are timed: those of predefined types that need not be, and completions, are counted.
COUNTED = """\
__attribute__((noinline)) static int count_@shown@(@declaration@) {
  [[maybe_unused]] const void* caller = __builtin_return_address(0);
  Lane* lane = lane_of(FunctionId::k@symbol@, caller, @key@);
  if (lane == nullptr@unless@) return choose_@shown@(@arguments@);
  pass(lane, @count@);
@goes@}

"""
# The call of a lane that is to be timed, or of one that is no lane yet.
CHOOSE = """\
__attribute__((noinline)) static int choose_@shown@(@declaration@) {
  [[maybe_unused]] const void* caller = __builtin_return_address(0);
  if (@plain@) choose_lane(FunctionId::k@symbol@, caller, @key@);
  return look_@shown@(@arguments@);
}

"""
COUNTED_QUICKLY = """\
  t_lanes->passing = lane;
  return @done@;
"""
# What it is left with where that was not quickly done.
TAKE_BACK = """\
static int look_after_@shown@(@declaration@) {
  take_back(t_lanes->passing, @count@);
  return look_@shown@(@arguments@);
}

"""
# A step of its own, which saves no registers.
COSTED = """\
__attribute__((noinline)) static int @way@_or_count_@shown@(@declaration@) {
  if (is_watched(kCosted)) return count_@shown@(@arguments@);
  return @way@_@shown@(@arguments@);
}

"""


def counted(function: Function, texts: dict[str, str]) -> str:
    """The way of calls of which some are only counted; none, where what they move is not told by
    one type and one count."""
    entry = function.entry
    parameters = {p.name for p in function.parameters}
    is_quick = "quick" in entry and not function.large
    type_, count, partners = "", "kNoCount", []
    if found := re.fullmatch(r"open_to\(\w+, (\w+)\)", entry["gate"]):
        if "few" not in entry:
            return ""
        type_, count = found[1], entry["few"].partition(": ")[2]
        plain = [f"plainly_predefined({type_})", f"{count} >= 0"]
        partners = sorted(parameters & {"dest", "source", "target_rank"})
        plain += [f"{name} != MPI_PROC_NULL" for name in partners]
        if entry.get("direct") == "yes":
            if not is_quick:
                return ""
            plain.append("!takes_long_way()")  # else it would be no quick one
    elif is_quick and "request" in parameters:
        plain = ["request != nullptr"]
    else:
        return ""
    goes = "  return @next@().@symbol@(@arguments@);\n"
    if is_quick:
        done = fill(entry["quick"], **{"else": f"look_after_{texts['shown']}"}, **texts)
        if type_:
            goes = "  if (!receives_direct()) return @next@().@symbol@(@arguments@);\n"
        goes = (goes if type_ else "") + COUNTED_QUICKLY
        texts = texts | {"done": done}
    texts = texts | {"count": count, "plain": " && ".join(plain)}
    texts["key"] = f"{f'handle_bits({type_})' if type_ else '0'}, {count}"
    unless = [f"{name} == MPI_PROC_NULL" for name in partners]
    if is_quick and type_:
        unless.append("takes_long_way()")
    texts["unless"] = "".join(f" || {condition}" for condition in unless)
    after = fill(TAKE_BACK, **texts) if is_quick else ""
    return after + fill(CHOOSE, **texts) + fill(COUNTED, **(texts | {"goes": fill(goes, **texts)}))
