// SPDX-License-Identifier: BSD-3-Clause
//
// Of some names, the one that a misspelt word was to be, for "did you mean".
#ifndef LACUNA_ENGINE_BASE_SPELLING_HPP_
#define LACUNA_ENGINE_BASE_SPELLING_HPP_

#include <cstddef>
#include <string_view>

namespace lacuna {

// Of all names offered, the nearest to a word: the one with the fewest edits (insert, delete,
// replace, swap neighbours), and at most `most_edits`. A word of three letters or more that is a
// name without its end counts as `most_edits`. Names must outlive it.
class NearestName {
 public:
  NearestName(std::string_view word, size_t most_edits) : word_(word), fewest_(most_edits + 1) {}
  void offer(std::string_view name);
  // Empty where none is near.
  std::string_view name() const { return name_; }

 private:
  std::string_view word_;
  std::string_view name_;
  size_t fewest_;  // edits of the nearest so far; one too many before there is any
};

}  // namespace lacuna

#endif  // LACUNA_ENGINE_BASE_SPELLING_HPP_
