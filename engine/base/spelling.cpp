// SPDX-License-Identifier: BSD-3-Clause
#include "base/spelling.hpp"

#include <algorithm>
#include <vector>

namespace lacuna {
namespace {

size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      const size_t replaced = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

void NearestName::offer(std::string_view name) {
  // Longer words are no misspelt names; comparing them would only take time.
  constexpr size_t kLongest = 64;
  constexpr size_t kLeastCutOff = 3;
  if (word_.size() > kLongest) return;
  size_t edits = edits_between(word_, name);
  if (name_.empty() && word_.size() >= kLeastCutOff && name.starts_with(word_)) {
    edits = std::min(edits, fewest_ - 1);
  }
  if (edits >= fewest_) return;
  fewest_ = edits;
  name_ = name;
}

}  // namespace lacuna
