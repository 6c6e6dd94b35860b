// SPDX-License-Identifier: BSD-3-Clause
//
// CommonLoops: two nests of loops over runs, merged into one. Both number the bytes of the same
// packed stream, each with its own digits (run length, then loop counts, innermost first). If the
// digits of one divide those of the other, they are split until they are common; a byte of the
// stream is then one set of loop indices with a stride on each side. The kernels that pack move it
// from memory to memory.
#ifndef LACUNA_ENGINE_EXEC_COPY_COMMON_LOOPS_HPP_
#define LACUNA_ENGINE_EXEC_COPY_COMMON_LOOPS_HPP_

#include <cstddef>
#include <cstdint>

#include "plan/plan.hpp"

namespace lacuna {

// Loops over one run, innermost first; the first "loop" is the run itself, by bytes.
struct RunLoops {
  static constexpr int kMost = 10;  // small, as it is on the stack
  struct Digit {
    int64_t count;
    int64_t stride;
  };
  Digit digits[kMost];
  int size = 0;

  // False where the node is not loops over one run. `iterations`: of the node's own loop, if it has
  // one.
  bool read(const PlanNode& node, int64_t iterations);
};

class CommonLoops {
 public:
  // False where no common digits are found.
  bool join(const RunLoops& source, const RunLoops& target);

  // Moves everything; `message_bytes` decides between cached and non-temporal stores.
  void run(const Plan& plan, std::byte* source, std::byte* target, int64_t message_bytes) const;

 private:
  struct Choice;

  void push(const Dim& loop);
  Choice choose(const Plan& plan, int64_t message_bytes) const;
  void around(const Choice& choice, int level, const std::byte* source, std::byte* target) const;
  // Not inlined, as loops around it recurse.
  [[gnu::noinline]] void move(const Choice& choice, const std::byte* source,
                              std::byte* target) const;

  Dim loops_[2 * RunLoops::kMost];  // innermost first
  int size_ = 0;
  int64_t width_ = 1;
};

}  // namespace lacuna

#endif  // LACUNA_ENGINE_EXEC_COPY_COMMON_LOOPS_HPP_
