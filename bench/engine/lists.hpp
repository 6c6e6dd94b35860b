// SPDX-License-Identifier: BSD-3-Clause
//
// Index lists of the corpus. A list of a million entries is not written out: a row's type text has
// one of these terms instead, which is replaced by its list before the text is parsed. The same
// arguments give the same list on every machine.
//
//   sorted(n, range, seed[, scale])              n different numbers of [0, range), ascending
//   random(n, range, seed[, scale])              the same, in random order
//   clustered(n, range, seed, cluster[, scale])  runs of `cluster` consecutive numbers; the runs,
//                                                which begin at multiples of it, in random order
//   lengths(n, least, most, seed)                n numbers of [least, most]
//   starts(n, least, most, gap, seed)            where blocks of those lengths begin, with 1 to
//                                                `gap` elements between them
//
// `scale` multiplies every number: displacements of blocks of that many elements.
#ifndef LACUNA_BENCH_ENGINE_LISTS_HPP_
#define LACUNA_BENCH_ENGINE_LISTS_HPP_

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace lacuna::bench {

// The text with every list written out. An error names the list that is wrong.
Result<std::string> expand_lists(std::string_view text);

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_ENGINE_LISTS_HPP_
