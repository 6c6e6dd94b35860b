# SPDX-License-Identifier: BSD-3-Clause
"""The C++ that is made of the table: wrappers of the functions, and their exports."""

from __future__ import annotations

from textwrap import indent

from generator.counting import COSTED, counted
from generator.table import NOTICE, SWITCHES, Function, fill

# In the texts @name@ is replaced.

WRAPPERS = """\
#include "interpose/functions/bodies.hpp"
#include "interpose/collectives/uniform.hpp"
#include "interpose/direct/rooms/repeat_decline.hpp"
#include "interpose/messages/fast_receive.hpp"
#include "interpose/files/files.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/observe/observe.hpp"
#include "interpose/library/next.hpp"
#include "interpose/report/sampling.hpp"
#include "interpose/requests/freed.hpp"
#include "interpose/types/record.hpp"

using namespace lacuna;

extern "C" {

@wrappers@}  // extern "C"
@linked@"""

# In a static program, the linker finds the next functions.
LINKED = """\

#if defined(LACUNA_STATIC)
namespace lacuna::detail {

void link_@version@(Next* next) {
@fields@}

}  // namespace lacuna::detail
#endif
"""

WATCHED = """\
LACUNA_EXPORT int @shown@(@declaration@) {
  [[maybe_unused]] const Next& next = @next@();
  return @around@;
}

"""

# look_* is out of line, so that a call that passes through saves no registers. It is reached by a
# jump, with the arguments in place, so that its return address is the wrapper's (CMakeLists.txt).
# The library does the call unless the body says that it has.
TAKEN = """\
__attribute__((noinline)) static int look_@shown@(@declaration@) {
  [[maybe_unused]] const void* caller = LACUNA_CALLER();
@refuse@  ObservedCall call(FunctionId::k@symbol@, CallKind::@kind@, caller);
@vote@  const Answer answer = call.record(@handle@);
  if (answer.handled) return answer.code;
  return @next@().@symbol@(@arguments@);
}

@steps@LACUNA_EXPORT int @shown@(@declaration@) {
  LACUNA_KEEP_CALLER();
@ways@  return @otherwise@(@arguments@);
}

"""

# A function's two names: by which table a call is passed on, and whose calls are passed on at once.
# Calls that complete requests are handled under either name, whoever calls. Other calls from the
# library's own code are passed on, and so are calls of PMPI_ names by tools, but not those by
# Fortran bindings. Any receive may match a token, except the library's own.
PLAIN = {
    "prefix": "",
    "next": "next_functions",
    "foreign": "called_by_mpi(caller)",
    "foreign_to_direct": "called_by_mpi(caller)",
}
PROFILING = {
    "prefix": "P",
    "next": "next_profiling",
    "foreign": "!called_by_fortran(caller)",
    "foreign_to_direct": "called_by_mpi(caller) || "
    "!(receives_direct() || called_by_fortran(caller))",
}
REFUSE = """\
  if (@foreign@) return @next@().@symbol@(@arguments@);
"""

# For a collective in which all ranks vote.
VOTE = """\
  if (call.watched() && @plain@) call.count_as_vote();
"""

# A shorter way, tried before look_*.
QUICK = """\
@inline@ static int @here@_@shown@(@declaration@) {
  return @done@;
}

"""
INLINED = "__attribute__((always_inline)) inline"
APART = "__attribute__((noinline))"
# Whether the type needs an examination: out of line, too, as the test takes registers.
WEIGH = """\
__attribute__((noinline)) static int weigh_@shown@(@declaration@) {
  if (@passes@) return @next@().@symbol@(@arguments@);
  return @after@_@shown@(@arguments@);
}

"""
# A collective that is declined as the one before was (direct/rooms/repeat_decline.hpp). Everything
# is inlined, so that it saves few registers.
PASS = """\
__attribute__((noinline, flatten)) static int pass_@shown@(@declaration@) {
  if (direct::repeats_decline({@call@}, comm, @sides@, LACUNA_CALLER()))
    return @next@().@symbol@(@arguments@);
  return look_@shown@(@arguments@);
}

"""
# For a communicator without a room: out of line, as a gate with two types takes registers.
GATED = """\
__attribute__((noinline)) static int gated_@shown@(@declaration@) {
@ways@  return @next@().@symbol@(@arguments@);
}

"""
WAY = """\
  if (__builtin_expect(@gate@, 0)) return @way@_@shown@(@arguments@);
"""

# Reads the gate once.
OPENED = """\
  const uint32_t open = g_gate.open.load(std::memory_order_acquire);
  if (__builtin_expect((open & @family@) != 0, 1)) {
    if (__builtin_expect((open & kCostsSwitch) != 0, 0)) return count_@shown@(@arguments@);
    if (!plainly_predefined(@datatype@)) {
@direct_derived@      return @way@_@shown@(@arguments@);
    }
  }
@direct@"""

EXPORTS = """\
{
  global:
    lacuna_interposed;
    lacuna_interposed_calls;
    lacuna_interposed_device_memory;
    lacuna_interposed_fragments;
    lacuna_interposed_library;
    lacuna_interposed_moves;
    lacuna_interposed_pipelined;
    lacuna_interposed_register;
    lacuna_interposed_switch;
    lacuna_interposed_table;
    lacuna_interposed_table_place;
    lacuna_interposed_waits;
@names@  local: *;
};
"""


def left_alone(type_: str, count: str, operation: str) -> str:
    return f"is_left_alone({type_}, {count}, {operation})"


def room_call(function: Function) -> str:
    """What direct::Call begins with: kind and root."""
    words = function.name.removeprefix("MPI_").split("_")
    kind = "direct::Kind::k" + "".join(word.capitalize() for word in words)
    return f"{kind}, root" if any(p.name == "root" for p in function.parameters) else kind


def wrapper(function: Function, name: dict[str, str]) -> str:
    entry, texts = function.entry, function.texts() | name
    texts["shown"] = name["prefix"] + function.symbol
    if entry["policy"] == "watched":
        return fill(WATCHED, around=entry["around"], **texts)
    types, counts = function.types, [function.count_of(one) for one in function.types]
    refuse, kind = "", "kEnds"
    if {"types", "group"} & set(function.conditions):
        refuse, kind = fill(REFUSE, **texts), "kMoves"
    has_direct, has_quick = entry.get("direct") == "yes", "quick" in entry and not function.large
    has_room = entry.get("direct") == "room"
    passes = vote = ""
    if function.conditions == ["types"]:
        passes = f"is_never_handled({', '.join(types)})"
        if has_room:
            plain = " && ".join(f"plainly_predefined({one})" for one in types)
            vote = fill(VOTE, plain=plain)
        if function.operations:
            kind = "kMovesMany"
            passes = " && ".join(map(left_alone, types, counts, function.operations))
    if has_direct or has_room or function.conditions == ["direct"]:
        refuse = fill(REFUSE, **(texts | {"foreign": name["foreign_to_direct"]}))
    steps = counted(function, texts)
    is_counted, ways = bool(steps), []
    if has_quick and (has_direct or is_counted):
        ways.append(("is_regular()" if has_direct else "is_watching()", "quickly"))
    has_light = "light" in entry and not function.large
    if has_light:
        light = fill(entry["light"], **{"else": f"look_{texts['shown']}"}, **texts)
        steps += fill(QUICK, here="lightly", done=light, inline=APART, **texts)
    if has_quick:
        after = "lightly" if has_light else "look"
        quick = fill(entry["quick"], **{"else": f"{after}_{texts['shown']}"}, **texts)
        steps += fill(QUICK, here="quickly", done=quick, inline=INLINED, **texts)
    if passes:
        weighed = "lightly" if has_light and not has_quick else "look"
        steps += fill(WEIGH, passes=passes, after=weighed, **texts)
    if has_direct:
        ways.append(("receives_direct()", "look"))
    if has_room:
        sides = [f"direct::side({', '.join(pair)})" for pair in zip(types, counts, strict=True)]
        sides += ["direct::side()"] * (2 - len(sides))
        steps += fill(PASS, call=room_call(function), sides=", ".join(sides), **texts)
        ways.append(("receives_direct()", "pass"))
    ways.append((function.gate, "weigh" if passes else "quickly" if has_quick else "look"))
    lines = [fill(WAY, gate=one, way=way, **texts) for one, way in ways]
    if is_counted:
        # If calls are timed, the first way of a quick function is closed.
        first = 1 if has_quick else 0
        if function.conditions == ["types"] and len(types) == 1:
            switch = SWITCHES[entry["group"]]
            opened = {"family": switch, "datatype": types[0], "way": ways[-1][1]}
            direct = fill(WAY, gate="receives_direct(open)", way="look", **texts)
            opened["direct"] = direct if has_direct else ""
            opened["direct_derived"] = indent(opened["direct"], "    ")
            lines[first:] = [fill(OPENED, **opened, **texts)]
        else:
            for way in dict.fromkeys(way for _, way in ways[first:]):
                steps += fill(COSTED, way=way, **texts)
            lines[first:] = [
                fill(WAY, gate=one, way=f"{way}_or_count", **texts) for one, way in ways[first:]
            ]
    texts["handle"] = fill(entry["handle"], **texts)
    texts["otherwise"] = f"{texts['next']}().{function.symbol}"
    if has_room:
        texts["otherwise"] = f"gated_{texts['shown']}"
        steps += fill(GATED, ways="".join(lines[1:]), **texts)
        del lines[1:]
    texts |= {"refuse": refuse, "kind": kind, "steps": steps, "vote": vote}
    texts["ways"] = "".join(lines)
    return fill(TAKEN, **texts)


def wrappers(functions: list[Function], name: dict[str, str], linked: str = "") -> str:
    chosen = [f for f in functions if f.wrapped and f.entry.get("around") != "custom"]
    texts = "".join(wrapper(f, name) for f in chosen)
    return NOTICE + fill(WRAPPERS, wrappers=texts, linked=linked)


def wrappers_sources(functions: list[Function]) -> dict[str, str]:
    """One file for each version of MPI, so that a program that is linked to lacuna asks its library
    for no newer functions than it uses itself."""
    texts = {}
    for version in sorted({f.version for f in functions}):
        chosen = [f for f in functions if f.version == version]
        assigned = [f"  next->{f.symbol} = &P{f.symbol};\n" for f in chosen if f.in_next]
        linked = fill(LINKED, version=version.replace(".", "_"), fields="".join(assigned))
        texts[f"wrappers-{version}.gen.cpp"] = wrappers(chosen, PLAIN, linked)
    return texts


def profiling_source(functions: list[Function]) -> str:
    return wrappers(functions, PROFILING)


# Functions of Open MPI's own that lacuna stands before (inside/open_mpi.cpp).
INSIDE_OPEN_MPI = [
    "opal_convertor_prepare_for_recv",
    "opal_convertor_prepare_for_send",
    "opal_convertor_set_position_nocheck",
]


def exports(functions: list[Function], others: list[str]) -> str:
    names = [n["prefix"] + f.symbol for f in functions if f.wrapped for n in (PLAIN, PROFILING)]
    return fill(EXPORTS, names="".join(f"    {name};\n" for name in names + others))
