// SPDX-License-Identifier: BSD-3-Clause
//
// A function for each combination of counts of widths; the offsets of the words are in registers.
// Against a pass for each field: docs/experiments/2026-11-26-kernel-choices.md.
#include "kernels/record/words.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "kernels/record/record.hpp"

namespace lacuna {
namespace {

constexpr int64_t kWidths[] = {16, 8, 4, 2, 1};
constexpr size_t kKinds = std::size(kWidths);
// Up to three words of any widths, up to six where none is narrower than 4 bytes.
constexpr int kMostOfAny = 3;
constexpr int64_t kMostSpan = 256;  // bytes of memory, from an element's first to its last

// How many words there are of each width.
using Counts = std::array<int, kKinds>;

constexpr int sum(const Counts& counts) {
  int all = 0;
  for (const int n : counts) all += n;
  return all;
}

constexpr bool is_served(const Counts& counts) {
  const int most = counts[3] + counts[4] == 0 ? RecordWords::kMost : kMostOfAny;
  return sum(counts) >= 2 && sum(counts) <= most;
}

constexpr int64_t width_of(const Counts& counts, int word) {
  size_t kind = 0;
  while (word >= counts[kind]) word -= counts[kind++];
  return kWidths[kind];
}

template <int64_t kWidth>
[[gnu::always_inline]] inline void copy_word(std::byte* dst, const std::byte* src) {
  std::memcpy(dst, src, static_cast<size_t>(kWidth));
}

template <Counts kCounts, size_t... kWord>
[[gnu::always_inline]] inline void move_words(const RecordWords::Way& way, const std::byte* src,
                                              std::byte* dst, int64_t elements, int64_t ahead,
                                              std::index_sequence<kWord...> /*all*/) {
  // Copies: `way` would be read again after each store. Relative to the first word, which saves the
  // two registers that the loop lacks (its counter was in memory).
  const int64_t from[] = {way.from[kWord] - way.from[0]...};
  const int64_t to[] = {way.to[kWord] - way.to[0]...};
  src += way.from[0];
  dst += way.to[0];
  const int64_t src_step = way.src_step;
  const int64_t dst_step = way.dst_step;
  const auto one = [&]() __attribute__((always_inline)) {
    (copy_word<width_of(kCounts, static_cast<int>(kWord))>(dst + to[kWord], src + from[kWord]),
     ...);
    src += src_step;
    dst += dst_step;
  };
  // Records of two words are unrolled: counting them takes as long as moving them.
  if constexpr (sizeof...(kWord) == 2) {
    for (; elements >= 4 && ahead == 0; elements -= 4) {
      one();
      one();
      one();
      one();
    }
  }
#pragma GCC unroll 1
  for (; elements > 0; --elements) {
    if (ahead != 0) __builtin_prefetch(dst + ahead, 1);
    one();
  }
}

template <Counts kCounts>
void moved(const RecordWords::Way& way, const std::byte* src, std::byte* dst, int64_t elements,
           int64_t ahead) noexcept {
  move_words<kCounts>(way, src, dst, elements, ahead,
                      std::make_index_sequence<static_cast<size_t>(sum(kCounts))>());
}

// Every combination of counts as one number, each count a digit.
constexpr int kBase = RecordWords::kMost + 1;
constexpr size_t kNumbers = size_t{kBase} * kBase * kBase * (kMostOfAny + 1) * (kMostOfAny + 1);

constexpr Counts counts_of(size_t number) {
  Counts counts{};
  for (size_t kind = 0; kind < kKinds; ++kind) {
    const size_t base = kind < 3 ? kBase : kMostOfAny + 1;
    counts[kind] = static_cast<int>(number % base);
    number /= base;
  }
  return counts;
}

constexpr size_t number_of(const Counts& counts) {
  size_t number = 0;
  for (size_t kind = kKinds; kind-- > 0;) {
    number = number * (kind < 3 ? kBase : kMostOfAny + 1) + static_cast<size_t>(counts[kind]);
  }
  return number;
}

constexpr size_t kServed = [] {
  size_t n = 0;
  for (size_t number = 0; number < kNumbers; ++number) {
    if (is_served(counts_of(number))) ++n;
  }
  return n;
}();

constexpr std::array<size_t, kServed> kServedNumbers = [] {
  std::array<size_t, kServed> numbers{};
  size_t n = 0;
  for (size_t number = 0; number < kNumbers; ++number) {
    if (is_served(counts_of(number))) numbers[n++] = number;
  }
  return numbers;
}();

template <size_t... kIndex>
constexpr std::array<RecordWords::Fn, kServed> movers(std::index_sequence<kIndex...> /*all*/) {
  return {&moved<counts_of(kServedNumbers[kIndex])>...};
}

RecordWords::Fn find_mover(const Counts& counts) {
  static constexpr auto kAll = movers(std::make_index_sequence<kServed>());
  const auto* const at =
      std::lower_bound(kServedNumbers.begin(), kServedNumbers.end(), number_of(counts));
  return kAll[static_cast<size_t>(at - kServedNumbers.begin())];
}

// Whether the runs lie near each other and do not overlap.
bool are_near_and_disjoint(std::span<const RecordRun> runs) {
  std::vector<RecordRun> sorted(runs.begin(), runs.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const RecordRun& a, const RecordRun& b) { return a.mem_offset < b.mem_offset; });
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i - 1].mem_offset + sorted[i - 1].bytes > sorted[i].mem_offset) return false;
  }
  return sorted.back().mem_offset + sorted.back().bytes - sorted.front().mem_offset <= kMostSpan;
}

}  // namespace

RecordWordsPtr make_words(std::span<const RecordRun> runs, int64_t extent) {
  if (runs.size() < 2 || !are_near_and_disjoint(runs)) return nullptr;
  // Words are sorted by width, so that the counts alone give the width of each.
  std::vector<std::pair<int64_t, int64_t>> places[kKinds];  // offsets in memory, packed
  Counts counts{};
  int words = 0;
  int64_t packed = 0;
  for (const RecordRun& run : runs) {
    int64_t at = 0;
    for (size_t kind = 0; at < run.bytes;) {
      if (run.bytes - at < kWidths[kind]) {
        ++kind;
        continue;
      }
      if (++words > RecordWords::kMost) return nullptr;
      places[kind].emplace_back(run.mem_offset + at, packed + at);
      ++counts[kind];
      at += kWidths[kind];
    }
    packed += run.bytes;
  }
  if (!is_served(counts)) return nullptr;
  auto made = std::make_shared<RecordWords>();
  made->move = find_mover(counts);
  made->pack.src_step = made->unpack.dst_step = extent;
  made->pack.dst_step = made->unpack.src_step = packed;
  int word = 0;
  for (const auto& of_width : places) {
    for (const auto& [in_memory, in_packed] : of_width) {
      made->pack.from[word] = made->unpack.to[word] = in_memory;
      made->pack.to[word] = made->unpack.from[word] = in_packed;
      ++word;
    }
  }
  return made;
}

}  // namespace lacuna
