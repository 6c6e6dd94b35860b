// SPDX-License-Identifier: BSD-3-Clause
//
// Only touches the cache lines of a problem: one byte of each line of the memory, in the order of
// the typemap, while the packed side is written (packing) or read (unpacking) as a whole. That
// shows what the machine can do for these lines while the rivals are timed; a profile was measured
// at another time.
#include <algorithm>
#include <cstring>
#include <vector>

#include "bench/engine/rival.hpp"

namespace lacuna::bench {
namespace {

constexpr int64_t kLine = 64;
// After so many accesses to the memory's side, the packed side follows.
constexpr int64_t kTogether = 64;

// Accesses at equal steps.
struct Stretch {
  int64_t first;
  int64_t step;
  int64_t count;
};

// The offset of a byte of data in each line; a line that follows itself is listed once. Offset 0
// begins a line.
std::vector<int64_t> visits_of(const Problem& problem) {
  std::vector<int64_t> visits;
  int64_t last_line = INT64_MIN;
  for (const Run& run : problem.in_order()) {
    for (int64_t at = run.offset; at < run.offset + run.bytes;) {
      const int64_t line = at & -kLine;
      if (line != last_line) visits.push_back(at);
      last_line = line;
      at = line + kLine;
    }
  }
  return visits;
}

std::vector<Stretch> stretches_of(const std::vector<int64_t>& visits) {
  std::vector<Stretch> stretches;
  for (const int64_t at : visits) {
    if (!stretches.empty()) {
      Stretch& last = stretches.back();
      const int64_t step = at - (last.first + (last.count - 1) * last.step);
      if (last.count < kTogether && (last.count == 1 || step == last.step)) {
        last.step = step;
        ++last.count;
        continue;
      }
    }
    stretches.push_back({at, 0, 1});
  }
  return stretches;
}

class Lines : public Rival {
 public:
  Lines() : Rival("lines") {}

  bool is_checked() const override { return false; }

  bool prepare(const Problem& problem) override {
    if (!problem.row().is_far) return false;
    const std::vector<int64_t> visits = visits_of(problem);
    visits_ = static_cast<int64_t>(visits.size());
    bytes_ = problem.packed_bytes();
    stretches_ = stretches_of(visits);
    listed_.clear();
    constexpr size_t kLeastMean = 4;
    if (stretches_.size() * kLeastMean > visits.size()) {
      // A list of 4 bytes for each access, as packing reads one, too.
      stretches_.clear();
      for (const int64_t at : visits) {
        if (at != static_cast<int32_t>(at)) return false;
        listed_.push_back(static_cast<int32_t>(at));
      }
    }
    return true;
  }

  void pack(const std::byte* mem, std::byte* packed, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) {
      unsigned sum = 0;
      visit([&](int64_t at) { sum += static_cast<unsigned>(mem[at]); },
            [&](int64_t begin, int64_t end) {
              std::memset(packed + begin, 0, static_cast<size_t>(end - begin));
            });
      asm volatile("" : : "r"(sum));
      keep(packed);
    }
  }

  void unpack(const std::byte* packed, std::byte* mem, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) {
      unsigned sum = 0;
      visit([&](int64_t at) { mem[at] = std::byte{0}; },
            [&](int64_t begin, int64_t end) {
              for (; begin < end; begin += kLine) sum += static_cast<unsigned>(packed[begin]);
            });
      asm volatile("" : : "r"(sum));
      keep(mem);
    }
  }

  void release() override {
    listed_ = {};
    stretches_ = {};
  }

 private:
  // Calls touch(at) for each access, and follow(begin, end) for as much of the packed side, in
  // whole lines.
  template <typename Touch, typename Follow>
  void visit(Touch touch, Follow follow) const {
    int64_t done = 0;
    int64_t visited = 0;
    const double each = static_cast<double>(bytes_) / static_cast<double>(visits_);
    const auto pass = [&](int64_t visits) {
      visited += visits;
      const auto reached = static_cast<int64_t>(static_cast<double>(visited) * each);
      const int64_t end = visited == visits_ ? bytes_ : reached / kLine * kLine;
      if (end > done) follow(done, end);
      done = std::max(done, end);
    };
    for (const Stretch& stretch : stretches_) {
      int64_t at = stretch.first;
      for (int64_t i = 0; i < stretch.count; ++i, at += stretch.step) touch(at);
      pass(stretch.count);
    }
    const auto listed = static_cast<int64_t>(listed_.size());
    for (int64_t first = 0; first < listed; first += kTogether) {
      const int64_t last = std::min(listed, first + kTogether);
      for (int64_t i = first; i < last; ++i) touch(listed_[static_cast<size_t>(i)]);
      pass(last - first);
    }
  }

  int64_t bytes_ = 0;
  int64_t visits_ = 0;
  // One of the two is used.
  std::vector<Stretch> stretches_;
  std::vector<int32_t> listed_;
};

}  // namespace

std::unique_ptr<Rival> lines_rival() { return std::make_unique<Lines>(); }

}  // namespace lacuna::bench
