// SPDX-License-Identifier: BSD-3-Clause
//
// Words: a record of short runs as a few moves of 16, 8, 4, 2 and 1 bytes, all of one record before
// the next, as a compiler copies a struct. For records that neither the tables of record.hpp nor
// the permutes of permutes.hpp serve: a pass for each field would read and write each line once for
// every field in it.
#ifndef LACUNA_ENGINE_KERNELS_RECORD_WORDS_HPP_
#define LACUNA_ENGINE_KERNELS_RECORD_WORDS_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace lacuna {

struct RecordRun;  // record.hpp

struct RecordWords {
  static constexpr int kMost = 6;
  // Offsets at which each word is read and written, and the distance of elements on each side.
  struct Way {
    int64_t from[kMost] = {};
    int64_t to[kMost] = {};
    int64_t src_step = 0;
    int64_t dst_step = 0;
  };
  // `ahead`: prefetch the destination this many bytes on; 0: no prefetch.
  using Fn = void (*)(const Way& way, const std::byte* src, std::byte* dst, int64_t elements,
                      int64_t ahead) noexcept;
  Way pack;
  Way unpack;
  Fn move = nullptr;
};
using RecordWordsPtr = std::shared_ptr<const RecordWords>;

// Null if there is only one run, or runs overlap in memory (the last packed one must stay), lie
// more than 256 bytes apart, or make more words than there are functions for.
RecordWordsPtr make_words(std::span<const RecordRun> runs, int64_t extent);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_KERNELS_RECORD_WORDS_HPP_
