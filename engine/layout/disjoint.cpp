// SPDX-License-Identifier: BSD-3-Clause
//
// A layout is a set of pieces: runs, each repeated by digits, which are the loops and lists around
// it. Two offsets of one digit are at least its gap and at most its reach apart. Take a piece's
// digits by ascending gaps: no byte occurs twice if each gap is at least the span of the piece with
// the digits before.
#include "layout/disjoint.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace lacuna {
namespace {

using Kind = LayoutNode::Kind;

// 128 bits: offsets of any count of elements cannot overflow.
__extension__ using Wide = __int128;
using Ranges = std::vector<std::pair<Wide, Wide>>;  // of bytes, [first, second) each

constexpr size_t kMostPieces = 64;
// At most this many runs are compared one by one. Fewer for several elements: types whose extent is
// below their span are mostly sent one at a time, and making a plan should take microseconds.
constexpr int64_t kMostRuns = 4096;
constexpr int64_t kMostRunsOfMany = 256;

struct Digit {
  Wide gap;
  Wide reach;
  const LayoutNode* list;  // null: a loop
  bool operator==(const Digit& other) const { return gap == other.gap && list == other.list; }
};

struct Piece {
  Wide low;
  Wide width;
  std::vector<Digit> digits;  // by ascending gaps
  Wide span = 0;
};
using Pieces = std::vector<Piece>;

Digit digit_of(int64_t count, int64_t stride) {
  const Wide gap = stride < 0 ? -Wide{stride} : Wide{stride};
  return {gap, (count - 1) * gap, nullptr};
}

// The least distance between two offsets; 0 if two are equal.
Wide least_gap(const std::vector<int64_t>& offsets) {
  if (!std::is_sorted(offsets.begin(), offsets.end())) {
    std::vector<int64_t> ascending = offsets;
    std::sort(ascending.begin(), ascending.end());
    return least_gap(ascending);
  }
  Wide gap = std::numeric_limits<int64_t>::max();
  for (size_t i = 1; i < offsets.size(); ++i)
    gap = std::min(gap, Wide{offsets[i]} - offsets[i - 1]);
  return gap;
}

// The copies of the child of a loop or of blocks: their distances, and the offset of the lowest.
struct Copies {
  Digit digit;
  Wide first;
};

Copies copies_of(const LayoutNode& node) {
  if (node.kind == Kind::kLoop) {
    const Digit digit = digit_of(node.loop.count, node.loop.mem_stride);
    return {digit, node.loop.mem_stride < 0 ? -digit.reach : 0};
  }
  const auto [low, high] = std::minmax_element(node.mem_offsets.begin(), node.mem_offsets.end());
  return {{least_gap(node.mem_offsets), Wide{*high} - *low, &node}, *low};
}

// Whether the ranges do not overlap. Sorts them.
bool are_apart(Ranges* spans) {
  if (!std::is_sorted(spans->begin(), spans->end())) std::sort(spans->begin(), spans->end());
  for (size_t i = 1; i < spans->size(); ++i) {
    if ((*spans)[i].first < (*spans)[i - 1].second) return false;
  }
  return true;
}

// Splits a layout into pieces. ok() is false if there are too many, or runs of a list overlap.
class Splitter {
 public:
  explicit Splitter(Pieces* pieces) : pieces_(pieces) {
    constexpr size_t kUsual = 4;
    digits_.reserve(kUsual);
  }

  // What is added after this is repeated so.
  void repeat(const Digit& digit) { digits_.push_back(digit); }

  void add(const LayoutNode& node, Wide at) {
    if (!ok_) return;
    switch (node.kind) {
      case Kind::kRun:
        return add_run(at, node.size);
      case Kind::kRuns:
        return add_runs(node, at);
      case Kind::kSeq:
        for (size_t i = 0; i < node.children.size(); ++i)
          add(*node.children[i], at + node.mem_offsets[i]);
        return;
      case Kind::kLoop:
      case Kind::kBlocks: {
        const Copies copies = copies_of(node);
        digits_.push_back(copies.digit);
        add(node.child(), at + copies.first);
        digits_.pop_back();
        return;
      }
    }
  }
  bool ok() const { return ok_; }

 private:
  void add_run(Wide at, Wide width) {
    if (pieces_->size() == kMostPieces) ok_ = false;
    if (ok_) pieces_->push_back({at, width, digits_});
  }

  // All runs as one piece, from the first to the last byte of any.
  void add_runs(const LayoutNode& node, Wide at) {
    const std::vector<int64_t>& begins = node.mem_offsets;
    // Ends of runs are bounds of the type, which fit 64 bits.
    const auto end_of = [&](size_t i) {
      return begins[i] + (node.packed_offsets[i + 1] - node.packed_offsets[i]);
    };
    size_t in_order = 1;
    while (in_order < begins.size() && begins[in_order] >= end_of(in_order - 1)) ++in_order;
    if (in_order == begins.size())
      return add_run(at + begins.front(), Wide{end_of(in_order - 1)} - begins.front());
    Ranges spans;
    spans.reserve(begins.size());
    for (size_t i = 0; i < begins.size(); ++i) spans.emplace_back(begins[i], end_of(i));
    ok_ = ok_ && are_apart(&spans);
    add_run(at + spans.front().first, spans.back().second - spans.front().first);
  }

  Pieces* pieces_;
  std::vector<Digit> digits_;
  bool ok_ = true;
};

// Whether no byte occurs twice in a piece. Sets its span.
bool is_apart(Piece* piece) {
  piece->span = piece->width;
  std::sort(piece->digits.begin(), piece->digits.end(),
            [](const Digit& a, const Digit& b) { return a.gap < b.gap; });
  for (const Digit& digit : piece->digits) {
    if (digit.gap < piece->span) return false;
    piece->span += digit.reach;
  }
  return true;
}

// Whether each piece is so by itself. Sets their spans.
bool is_each_apart(Pieces* pieces) {
  return std::all_of(pieces->begin(), pieces->end(), [](Piece& piece) { return is_apart(&piece); });
}

bool are_apart(Pieces pieces);

// Pieces with a common digit are disjoint if, without it, they are disjoint and lie within its gap.
// For loops, offsets count modulo the gap, since pieces may begin at different iterations.
bool are_apart_under(const Digit& digit, const Pieces& pieces) {
  Pieces rest;
  Wide low = 0;  // the first piece's
  Wide end = 0;
  for (const Piece& piece : pieces) {
    const auto found = std::find(piece.digits.begin(), piece.digits.end(), digit);
    if (found == piece.digits.end()) return false;
    Piece left = piece;
    left.digits.erase(left.digits.begin() + (found - piece.digits.begin()));
    left.low -= pieces.front().low;
    if (digit.list == nullptr) left.low = (left.low % digit.gap + digit.gap) % digit.gap;
    if (!is_apart(&left)) return false;
    low = std::min(low, left.low);
    end = std::max(end, left.low + left.span);
    rest.push_back(std::move(left));
  }
  return end - low <= digit.gap && are_apart(std::move(rest));
}

// Whether the pieces are disjoint; each is so by itself.
bool are_apart(Pieces pieces) {
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.low < b.low; });
  for (size_t first = 0, last = 0; first < pieces.size(); first = last) {
    // The pieces whose spans overlap.
    Wide end = pieces[first].low + pieces[first].span;
    for (last = first + 1; last < pieces.size() && pieces[last].low < end; ++last)
      end = std::max(end, pieces[last].low + pieces[last].span);
    if (last == first + 1) continue;
    const Pieces mixed(pieces.begin() + static_cast<ptrdiff_t>(first),
                       pieces.begin() + static_cast<ptrdiff_t>(last));
    const std::vector<Digit>& digits = mixed.front().digits;
    if (std::none_of(digits.rbegin(), digits.rend(),
                     [&](const Digit& digit) { return are_apart_under(digit, mixed); })) {
      return false;
    }
  }
  return true;
}

bool are_runs_apart(const Layout& layout, int64_t count) {
  int64_t runs = 0;
  if (__builtin_mul_overflow(layout.element.node->leaf_runs, count, &runs) ||
      runs > (count == 1 ? kMostRuns : kMostRunsOfMany)) {
    return false;
  }
  Ranges spans;
  spans.reserve(static_cast<size_t>(runs));
  for (int64_t i = 0; i < count; ++i) {
    for_each_run(layout.element, [&](int64_t at, int64_t, int64_t bytes) {
      const Wide begin = Wide{i} * layout.extent + at;
      spans.emplace_back(begin, begin + bytes);
    });
  }
  return are_apart(&spans);
}

// Nodes of too many pieces: each child of a sequence is looked at alone, and the spans of the
// children must not overlap.
class Solid {
 public:
  // Whether such a node is disjoint; its bytes lie in [low, end). False also where that is not
  // known.
  bool find_in_parts(const LayoutNode& node, Wide* low, Wide* end) {
    if (node.kind == Kind::kSeq) return find_children(node, low, end);
    if (node.children.empty() || !find(node.child(), low, end)) return false;
    const Copies copies = copies_of(node);
    if (copies.digit.gap < *end - *low) return false;
    *low += copies.first;
    *end += copies.first + copies.digit.reach;
    return true;
  }

 private:
  // Copies of one node are visited each time, so that a small type may be a large tree.
  static constexpr int kMostVisits = 1 << 16;

  // The same for any node.
  bool find(const LayoutNode& node, Wide* low, Wide* end) {
    if (--visits_ < 0) return false;
    Pieces pieces;
    Splitter splitter(&pieces);
    splitter.add(node, 0);
    if (!splitter.ok()) return find_in_parts(node, low, end);
    if (!is_each_apart(&pieces)) return false;
    *low = *end = pieces.front().low;
    for (const Piece& piece : pieces) {
      *low = std::min(*low, piece.low);
      *end = std::max(*end, piece.low + piece.span);
    }
    return are_apart(std::move(pieces));
  }

  bool find_children(const LayoutNode& node, Wide* low, Wide* end) {
    Ranges spans;
    spans.reserve(node.children.size());
    for (size_t i = 0; i < node.children.size(); ++i) {
      if (!find(*node.children[i], low, end)) return false;
      spans.emplace_back(*low + node.mem_offsets[i], *end + node.mem_offsets[i]);
    }
    if (!are_apart(&spans)) return false;
    *low = spans.front().first;
    *end = spans.back().second;
    return true;
  }

  int visits_ = kMostVisits;
};

// Whether `count` elements with these pieces are disjoint. Each piece has the digit `any`, of any
// count of elements.
bool is_disjoint(const Layout& layout, Pieces pieces, const Digit& any, int64_t count) {
  for (Piece& piece : pieces) {
    const auto at = std::find_if(piece.digits.begin(), piece.digits.end(), [&](const Digit& digit) {
      return digit == any && digit.reach == any.reach;
    });
    if (count > 1) {
      *at = digit_of(count, layout.extent);
    } else {
      piece.digits.erase(at);
    }
  }
  const bool found = !pieces.empty() && is_each_apart(&pieces) && are_apart(std::move(pieces));
  return found || are_runs_apart(layout, count);
}

}  // namespace

int64_t most_disjoint(const Layout& layout) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  if (layout.element.empty()) return kAny;
  const Digit any = digit_of(kAny, layout.extent);
  Pieces pieces;
  Splitter splitter(&pieces);
  splitter.repeat(any);
  splitter.add(*layout.element.node, layout.element.offset);
  if (!splitter.ok()) {
    pieces.clear();
    Wide low = 0;
    Wide end = 0;
    if (Solid().find_in_parts(*layout.element.node, &low, &end))
      pieces.push_back({layout.element.offset + low, end - low, {any}});
  }
  if (!pieces.empty() && is_each_apart(&pieces) && (pieces.size() == 1 || are_apart(pieces)))
    return kAny;
  const auto holds = [&](int64_t count) { return is_disjoint(layout, pieces, any, count); };
  if (!holds(1)) return 0;
  int64_t most = 1;
  int64_t beyond = 2;
  while (holds(beyond)) {
    most = beyond;
    if (__builtin_mul_overflow(beyond, 2, &beyond)) return most;
  }
  while (beyond - most > 1) {
    const int64_t middle = most + (beyond - most) / 2;
    (holds(middle) ? most : beyond) = middle;
  }
  return most;
}

}  // namespace lacuna
