// SPDX-License-Identifier: BSD-3-Clause
//
// Words: the few moves of 16, 8, 4, 2 and 1 bytes that an element of short runs is made of, all of
// one element before the next, as a compiler would do it for a struct. For elements that neither
// the tables of fields.hpp nor the permutes of element.hpp serve: a pass for each field reads and
// writes each line once for every field in it.
#ifndef LACUNA_ENGINE_KERNELS_WORDS_HPP_
#define LACUNA_ENGINE_KERNELS_WORDS_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace lacuna {

struct Field;  // fields.hpp

struct ElementWords {
  static constexpr int kMost = 6;
  // Where each word is read and written, from the element's first byte, and how far elements are
  // apart there.
  struct Way {
    int64_t from[kMost] = {};
    int64_t to[kMost] = {};
    int64_t src_step = 0;
    int64_t dst_step = 0;
  };
  // `ahead`: so many bytes on in the destination lines are asked for; 0: none.
  using Fn = void (*)(const Way& way, const std::byte* src, std::byte* dst, int64_t elements,
                      int64_t ahead) noexcept;
  Way pack;
  Way unpack;
  Fn move = nullptr;
};
using ElementWordsPtr = std::shared_ptr<const ElementWords>;

// Null where runs overlap in memory (of which the last packed one must stay) or lie far apart,
// where there is only one, or where they are more words than there are functions for.
ElementWordsPtr make_words(std::span<const Field> runs, int64_t extent);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_KERNELS_WORDS_HPP_
