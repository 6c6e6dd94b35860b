# SPDX-License-Identifier: BSD-3-Clause
"""The steps of wrappers where calls are timed: most calls are only counted (sampling.hpp)."""

from __future__ import annotations

from textwrap import indent

from generator.table import CONDITIONS, Function, fill

# With timing on (LACUNA_COSTS), a call is only counted if it need not be timed and is declined
# whatever its data are. Most are counted by this step, which saves no registers.
COUNTED = """\
__attribute__((noinline)) static int count_@shown@(@declaration@) {
  [[maybe_unused]] const void* caller = LACUNA_CALLER();
  if (@unless@!count_like_last(FunctionId::k@symbol@, caller@type@))
    return recount_@shown@(@arguments@);
@goes@}

"""
# Others are counted by this step, or observed.
RECOUNTED = """\
__attribute__((noinline)) static int recount_@shown@(@declaration@) {
  [[maybe_unused]] const void* caller = LACUNA_CALLER();
@observed_again@  if (@plain@) {
    if (count_slowly(FunctionId::k@symbol@, caller@slowly@)) {
@goes@    }
  }
  return look_@shown@(@arguments@);
}

"""
GOES = """\
  return @next@().@symbol@(@arguments@);
"""
LOOKS = """\
  if (is_observed_like_last(FunctionId::k@symbol@, caller)) return look_@shown@(@arguments@);
"""
# What is left of a counted call if the quick way did not do it.
TAKE_BACK = """\
__attribute__((noinline)) static int look_after_@shown@(@declaration@) {
  uncount(FunctionId::k@symbol@, LACUNA_CALLER(), @count@);
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
    """The steps of a function of whose calls some are only counted; empty, if one type and one
    count do not say what it moves."""
    entry = function.entry
    parameters = {p.name for p in function.parameters}
    is_quick = "quick" in entry and not function.large
    type_, count, slowly = "", "kNoCount", ""
    nulls: list[tuple[str, str]] = []  # a call is not counted if a parameter has such a value,
    states: list[str] = []  # or if such a function says so
    if function.conditions == ["types"] and len(function.types) == 1:
        if not function.operations:
            return ""
        datatype = function.types[0]
        count = function.count_of(datatype)
        type_ = f", {datatype}, {count}"
        slowly = f", {datatype}, {count}, {function.operations[0]}"
        partners = sorted(parameters & {"dest", "source", "target_rank"})
        nulls += [(name, "MPI_PROC_NULL") for name in partners]
        if entry.get("direct") == "yes":  # it may match a token
            states.append("needs_full_path()" if is_quick else "receives_direct()")
    elif is_quick and parameters & {"request", "requests"}:
        nulls.append((sorted(parameters & {"request", "requests"})[0], "nullptr"))
    elif function.conditions == ["outstanding"]:
        states.append("anything_outstanding_but_timing()")
    elif "timed" in function.conditions:
        states += [CONDITIONS[one] for one in function.conditions if one != "timed"]
    else:
        return ""
    unless = [f"{name} == {null}" for name, null in nulls] + states
    plain = [f"{name} != {null}" for name, null in nulls] + [f"!{state}" for state in states]
    goes, after = fill(GOES, **texts), ""
    if is_quick:
        done = fill(entry["quick"], **{"else": f"look_after_{texts['shown']}"}, **texts)
        goes_quickly = f"  return {done};\n"
        if slowly:
            plain.append(f"(plainly_predefined({datatype}) || !receives_direct())")
            goes_quickly = f"  if (!receives_direct()) {goes.lstrip()}{goes_quickly}"
        goes, after = goes_quickly, fill(TAKE_BACK, count=count, **texts)
    texts = texts | {"type": type_, "count": count, "slowly": slowly}
    texts["plain"] = " && ".join(plain) if plain else "true"
    texts["observed_again"] = fill(LOOKS, **texts) if slowly else ""
    steps = after
    steps += fill(RECOUNTED, goes=indent(goes, "    "), **texts)
    texts["unless"] = "".join(f"{condition} || " for condition in unless)
    return steps + fill(COUNTED, goes=goes, **texts)
