// SPDX-License-Identifier: BSD-3-Clause
//
// How many words of each width an element has is known to the compiler, where they are is in
// registers. Zen 4 without AVX-512, by a pass for each field and so, us: 1024 of 4, 24 and 4 bytes
// packed 2.0 and 1.4, unpacked 2.0 and 1.7, 65536 of them 140 and 88, 140 and 109, 16384 of 24 and
// 4 bytes of 96 35 and 27 both ways, 1000 of two of 16 bytes 1.7 and 1.1. Fields far apart lose (8
// and 4 bytes, 1 KiB apart, of each page: packed 6.6 and 8.1).
#include "kernels/words.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "kernels/fields.hpp"

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
  const int most = counts[3] + counts[4] == 0 ? ElementWords::kMost : kMostOfAny;
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
[[gnu::always_inline]] inline void move_words(const ElementWords::Way& way, const std::byte* src,
                                              std::byte* dst, int64_t elements, int64_t ahead,
                                              std::index_sequence<kWord...> /*all*/) {
  // Here, not in `way`, which would be read again after each store. From the first word on: its two
  // offsets would be the registers that the loop has not got (the counter was kept in memory).
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
  // Two words take as long as counting them: 10000 of 1 and 4 bytes 7.0 us one element at a time.
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
void moved(const ElementWords::Way& way, const std::byte* src, std::byte* dst, int64_t elements,
           int64_t ahead) noexcept {
  move_words<kCounts>(way, src, dst, elements, ahead,
                      std::make_index_sequence<static_cast<size_t>(sum(kCounts))>());
}

// All counts, as digits of a number.
constexpr int kBase = ElementWords::kMost + 1;
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
constexpr std::array<ElementWords::Fn, kServed> movers(std::index_sequence<kIndex...> /*all*/) {
  return {&moved<counts_of(kServedNumbers[kIndex])>...};
}

ElementWords::Fn find_mover(const Counts& counts) {
  static constexpr auto kAll = movers(std::make_index_sequence<kServed>());
  const auto* const at =
      std::lower_bound(kServedNumbers.begin(), kServedNumbers.end(), number_of(counts));
  return kAll[static_cast<size_t>(at - kServedNumbers.begin())];
}

// Whether the runs lie near each other and do not overlap.
bool lie_well(std::span<const Field> runs) {
  std::vector<Field> sorted(runs.begin(), runs.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const Field& a, const Field& b) { return a.mem_offset < b.mem_offset; });
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i - 1].mem_offset + sorted[i - 1].bytes > sorted[i].mem_offset) return false;
  }
  return sorted.back().mem_offset + sorted.back().bytes - sorted.front().mem_offset <= kMostSpan;
}

}  // namespace

ElementWordsPtr make_words(std::span<const Field> runs, int64_t extent) {
  if (runs.size() < 2 || !lie_well(runs)) return nullptr;
  // Words of one width stand together, so that their counts say which word is how wide.
  std::vector<std::pair<int64_t, int64_t>> places[kKinds];  // in memory, packed
  Counts counts{};
  int words = 0;
  int64_t packed = 0;
  for (const Field& run : runs) {
    int64_t at = 0;
    for (size_t kind = 0; at < run.bytes;) {
      if (run.bytes - at < kWidths[kind]) {
        ++kind;
        continue;
      }
      if (++words > ElementWords::kMost) return nullptr;
      places[kind].emplace_back(run.mem_offset + at, packed + at);
      ++counts[kind];
      at += kWidths[kind];
    }
    packed += run.bytes;
  }
  if (!is_served(counts)) return nullptr;
  auto made = std::make_shared<ElementWords>();
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
