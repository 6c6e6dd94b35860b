# SPDX-License-Identifier: BSD-3-Clause
"""The C++ that is made of the table: what the library has under each name, or what stands in."""

from __future__ import annotations

from generator.table import NOTICE, Function, fill

# In the texts @name@ is replaced.

NEXT_HEADER = """\
#ifndef LACUNA_INTERPOSE_NEXT_GEN_HPP_
#define LACUNA_INTERPOSE_NEXT_GEN_HPP_

#include "mpi/header.hpp"

namespace lacuna {

// What the MPI library, or the next tool before it, has under each name.
struct Next {
@fields@};

enum class FunctionId : unsigned {
@ids@  kCount
};

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_NEXT_GEN_HPP_
"""

NEXT_SOURCE = """\
#include "interpose/functions/bodies.hpp"
#include "interpose/library/next.hpp"

namespace lacuna {
namespace {

@functions@const NextRow kRows[] = {
@rows@};

const char* const kNames[] = {
@names@};

}  // namespace

namespace detail {

constinit Next g_next = {
@first@};

}  // namespace detail

std::span<const NextRow> next_rows() { return kRows; }

std::span<const char* const> wrapped_names() { return kNames; }

}  // namespace lacuna
"""

TELLING_HEADER = """\
#ifndef LACUNA_INTERPOSE_TELLING_GEN_HPP_
#define LACUNA_INTERPOSE_TELLING_GEN_HPP_

#include "interpose/library/next.hpp"

namespace lacuna {

// Calls `visit` with each function that may tell a program what other processes have done.
template <typename Visit>
void for_each_telling(const Visit& visit) {
@visits@}

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_TELLING_GEN_HPP_
"""

FACTS_HEADER = """\
#ifndef LACUNA_INTERPOSE_FUNCTION_FACTS_GEN_HPP_
#define LACUNA_INTERPOSE_FUNCTION_FACTS_GEN_HPP_

#include "interpose/report/data.hpp"

namespace lacuna {

// All wrapped functions.
inline constexpr FunctionFacts kFunctionFacts[] = {
@rows@};

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_FUNCTION_FACTS_GEN_HPP_
"""

# The first call of any function resolves the table.
FIRST = """\
int first_@symbol@(@declaration@) {
  return detail::resolve().@symbol@(@arguments@);
}

"""

# What stands in for a large-count form that the library lacks: the int form, where the counts fit.
MISSING_LARGE = """\
int missing_@symbol@(@declaration@) {
  if (@misfits@) return kUnsupported;
@before@  const int code = next_functions().@name@(@narrowed@);
@after@  return code;
}

"""

MISSING = """\
int missing_@symbol@(@types@) { return kUnsupported; }

"""

MISSING_BY_HAND = """\
int missing_@symbol@(@declaration@) { return @missing@; }

"""


def next_header(functions: list[Function]) -> str:
    fields = [
        fill("  int (*@symbol@)(@declaration@);\n", **f.texts()) for f in functions if f.in_next
    ]
    ids = [f"  k{f.symbol},\n" for f in functions if f.wrapped]
    return NOTICE + fill(NEXT_HEADER, fields="".join(fields), ids="".join(ids))


def telling_header(functions: list[Function]) -> str:
    groups = ("p2p", "collectives", "files", "rma", "completion")
    telling = [f for f in functions if f.wrapped and f.entry["group"] in groups]
    telling += [f for f in functions if f.name == "MPI_Session_finalize"]
    visit = "  visit.template operator()<&Next::@symbol@>();\n"
    visits = [fill(visit, **f.texts()) for f in telling]
    return NOTICE + fill(TELLING_HEADER, visits="".join(visits))


def facts_header(functions: list[Function]) -> str:
    rows = []
    for f in filter(lambda f: f.wrapped, functions):
        group = "".join(word.capitalize() for word in f.entry["group"].split("_"))
        packs, unpacks = (str(way in f.moves).lower() for way in ("packs", "unpacks"))
        rows.append(f'    {{"{f.symbol}", FunctionGroup::k{group}, {packs}, {unpacks}}},\n')
    return NOTICE + fill(FACTS_HEADER, rows="".join(rows))


def missing(function: Function) -> str:
    if "missing" in function.entry:
        return fill(MISSING_BY_HAND, missing=function.entry["missing"], **function.texts())
    arrays = any(p.type == "const COUNT*" for p in function.parameters)
    if not function.large or arrays:  # how long an array is, only the communicator knows
        return fill(MISSING, **function.texts())
    values = [p.name for p in function.parameters if p.type == "COUNT"]
    pointers = [p.name for p in function.parameters if p.type == "COUNT*"]
    narrowed = []
    for p in function.parameters:
        if p.name in values:
            narrowed.append(f"static_cast<int>({p.name})")
        else:
            narrowed.append(f"&{p.name}_int" if p.name in pointers else p.name)
    misfits = [f"!fits_int({name})" for name in values]
    misfits += [f"{name} == nullptr || !fits_int(*{name})" for name in pointers]
    return fill(
        MISSING_LARGE,
        misfits=" || ".join(misfits),
        before="".join(f"  int {name}_int = static_cast<int>(*{name});\n" for name in pointers),
        narrowed=", ".join(narrowed),
        after="".join(f"  *{name} = {name}_int;\n" for name in pointers),
        **function.texts(),
    )


def next_source(functions: list[Function]) -> str:
    texts, rows, first = [], [], []
    for f in filter(lambda f: f.in_next, functions):
        stand_in = "nullptr"
        if f.wrapped:
            texts += [missing(f), fill(FIRST, **f.texts())]
            stand_in = f"reinterpret_cast<void*>(&missing_{f.symbol})"
        optional = "true" if f.optional else "false"
        rows.append(f'    {{"{f.symbol}", offsetof(Next, {f.symbol}), {stand_in}, {optional}}},\n')
        first.append(f"    {'&first_' + f.symbol if f.wrapped else 'nullptr'},\n")
    return NOTICE + fill(
        NEXT_SOURCE,
        functions="".join(texts),
        rows="".join(rows),
        names="".join(f'    "{f.symbol}",\n' for f in functions if f.wrapped),
        first="".join(first),
    )
