// SPDX-License-Identifier: BSD-3-Clause
#include "bench/engine/lists.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <numeric>
#include <vector>

namespace lacuna::bench {
namespace {

constexpr int64_t kMostEntries = int64_t{1} << 26;

using List = std::vector<int64_t>;

// SplitMix64 (Steele, Lea & Flood 2014). The standard library's distributions and shuffle may
// differ between libraries; these lists must not.
class Draw {
 public:
  explicit Draw(int64_t seed) : state_(static_cast<uint64_t>(seed)) {}

  // Uniform in [0, bound) up to a bias of bound / 2^64.
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(next() % static_cast<uint64_t>(bound));
  }

  template <typename T>
  void shuffle(std::vector<T>& values) {
    for (size_t i = values.size(); i > 1; --i) {
      std::swap(values[i - 1], values[static_cast<size_t>(below(static_cast<int64_t>(i)))]);
    }
  }

 private:
  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

// `n` different numbers of [0, range), ascending, by selection sampling (Knuth, algorithm 3.4.2 S).
List choose(int64_t n, int64_t range, Draw& draw) {
  List chosen;
  chosen.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < range && n > 0; ++i) {
    if (draw.below(range - i) < n) {
      chosen.push_back(i);
      --n;
    }
  }
  return chosen;
}

void scale(List& list, int64_t factor) {
  for (int64_t& value : list) value *= factor;
}

List lengths(int64_t n, int64_t least, int64_t most, int64_t seed) {
  Draw draw(seed);
  List list(static_cast<size_t>(n));
  for (int64_t& value : list) value = least + draw.below(most - least + 1);
  return list;
}

struct Kind {
  std::string_view name;
  size_t least_arguments;
  size_t most_arguments;
  bool (*is_valid)(const List& a);
  List (*make)(const List& a);
};

bool is_choice(const List& a) { return a[0] <= a[1]; }

const Kind kKinds[] = {
    {"sorted", 3, 4, is_choice,
     [](const List& a) {
       Draw draw(a[2]);
       List list = choose(a[0], a[1], draw);
       if (a.size() > 3) scale(list, a[3]);
       return list;
     }},
    {"random", 3, 4, is_choice,
     [](const List& a) {
       Draw draw(a[2]);
       List list = choose(a[0], a[1], draw);
       draw.shuffle(list);
       if (a.size() > 3) scale(list, a[3]);
       return list;
     }},
    {"clustered", 4, 5, [](const List& a) { return a[3] > 0 && a[0] / a[3] + 1 <= a[1] / a[3]; },
     [](const List& a) {
       Draw draw(a[2]);
       List runs = choose((a[0] + a[3] - 1) / a[3], a[1] / a[3], draw);
       draw.shuffle(runs);
       List list;
       for (const int64_t run : runs) {
         for (int64_t i = 0; i < a[3] && static_cast<int64_t>(list.size()) < a[0]; ++i) {
           list.push_back(run * a[3] + i);
         }
       }
       if (a.size() > 4) scale(list, a[4]);
       return list;
     }},
    {"lengths", 4, 4, [](const List& a) { return a[1] >= 0 && a[1] <= a[2]; },
     [](const List& a) { return lengths(a[0], a[1], a[2], a[3]); }},
    {"starts", 5, 5, [](const List& a) { return a[1] >= 0 && a[1] <= a[2] && a[3] > 0; },
     [](const List& a) {
       Draw gaps(a[4] + 1);
       int64_t at = 0;
       List list = lengths(a[0], a[1], a[2], a[4]);
       for (int64_t& value : list) {
         const int64_t length = value;
         value = at;
         at += length + 1 + gaps.below(a[3]);
       }
       return list;
     }},
};

bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

// The numbers between the parentheses; empty if it is not a list of numbers.
std::optional<List> arguments(std::string_view text) {
  List found;
  while (true) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    int64_t value = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (wrong != std::errc() || value < 0) return std::nullopt;
    found.push_back(value);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty()) return found;
    if (text.front() != ',') return std::nullopt;
    text.remove_prefix(1);
  }
}

std::string printed(const List& list) {
  std::string text = "[";
  char digits[24];
  for (const int64_t value : list) {
    if (text.size() > 1) text += ", ";
    text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  }
  return text + ']';
}

}  // namespace

Result<std::string> expand_lists(std::string_view text) {
  std::string expanded;
  size_t at = 0;
  while (at < text.size()) {
    size_t end = at;
    while (end < text.size() && is_letter(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                    [&](const Kind& k) { return k.name == word; });
    if (word.empty() || kind == std::end(kKinds)) {
      if (word.empty()) ++end;
      expanded += text.substr(at, end - at);
      at = end;
      continue;
    }
    const size_t close = text.find(')', end);
    const std::string_view call = text.substr(at, close == text.npos ? text.npos : close + 1 - at);
    std::optional<List> given;
    if (close != text.npos && text[end] == '(') {
      given = arguments(text.substr(end + 1, close - end - 1));
    }
    if (!given || given->size() < kind->least_arguments || given->size() > kind->most_arguments ||
        given->front() > kMostEntries || !kind->is_valid(*given)) {
      return Error{LACUNA_PARSE_ERROR, "wrong list: " + std::string(call) +
                                           "; bench/engine/lists.hpp has their arguments"};
    }
    expanded += printed(kind->make(*given));
    at = close + 1;
  }
  return expanded;
}

}  // namespace lacuna::bench
