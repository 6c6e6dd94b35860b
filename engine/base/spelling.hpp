// SPDX-License-Identifier: BSD-3-Clause
//
// Finds the name that a misspelt word was meant to be, for "did you mean".
#ifndef LACUNA_ENGINE_BASE_SPELLING_HPP_
#define LACUNA_ENGINE_BASE_SPELLING_HPP_

#include <cstddef>
#include <string_view>

namespace lacuna {

// Keeps the offered name with the fewest edits (insert, delete, replace, swap neighbours) from a
// word, at most `most_edits`. A word of three letters or more that is the beginning of a name
// counts as `most_edits`. The word and the names must outlive this.
class NearestName {
 public:
  NearestName(std::string_view word, size_t most_edits) : word_(word), fewest_(most_edits + 1) {}
  void offer(std::string_view name);
  // Empty: no name is near enough.
  std::string_view name() const { return name_; }

 private:
  std::string_view word_;
  std::string_view name_;
  size_t fewest_;  // edits of the nearest so far; at first one more than allowed
};

}  // namespace lacuna

#endif  // LACUNA_ENGINE_BASE_SPELLING_HPP_
