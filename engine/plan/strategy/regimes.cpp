// SPDX-License-Identifier: BSD-3-Clause
#include "plan/strategy/regimes.hpp"

#include <algorithm>

namespace lacuna::strategy {

void Cuts::add(int64_t bytes) {
  if (bytes <= 0 || bytes == Regime::kNoEnd || count_ == kMost) return;
  int at = count_;
  while (at > 0 && sizes_[at - 1] > bytes) --at;
  if (at > 0 && sizes_[at - 1] == bytes) return;
  for (int i = count_++; i > at; --i) sizes_[i] = sizes_[i - 1];
  sizes_[at] = bytes;
}

Regimes make_regimes(const Rule& rule, const KernelTable& kernels) {
  constexpr size_t kUsual = 4;
  Cuts messages;
  Cuts outputs;
  rule.cut(messages, outputs);
  Regimes found;
  found.reserve(kUsual);
  Choice last;
  int64_t output = 0;
  for (int o = 0; o <= outputs.count(); ++o) {
    const int64_t output_below = outputs.end_of(o);
    int64_t message = 0;
    bool is_first = true;
    for (int i = 0; i <= messages.count(); ++i) {
      const int64_t message_below = messages.end_of(i);
      // What is written now is not more than the message.
      if (message_below > output) {
        const Choice choice = rule.choose(std::max(message, output), output);
        if (!is_first && choice == last) {
          found.back().message_below = message_below;
        } else {
          found.push_back({message_below, output_below,
                           find_kernel(kernels, choice.strategy, choice.width), choice.hints});
          last = choice;
          is_first = false;
        }
      }
      message = message_below;
    }
    output = output_below;
  }
  return found;
}

CallSize::CallSize(const Step& step, bool is_open)
    : width_(step.width), in_row_(step.inner.count), runs_(0) {
  using OpenLoop = Step::OpenLoop;
  opens_row_ = is_open && step.open_loop == OpenLoop::kInner;
  opens_calls_ = opens_row_ || (is_open && step.open_loop == OpenLoop::kOuter);
  if (step.block_inner > 0 && !opens_row_) in_row_ = std::min(in_row_, step.block_inner);
  runs_ = in_row_ * step.outer.count;
  if (opens_calls_) {
    for (const Loop& loop : step.around) calls_ *= loop.count;
    if (step.block_inner > 0) calls_ *= std::max<int64_t>(1, step.inner.count / in_row_);
  }
  const bool opens_around = is_open && step.open_loop == OpenLoop::kAround;
  const int64_t inside = step.goes_around() ? step.around.back().count : 1;
  has_rows_ = step.outer.count * inside > 1 || (is_open && !opens_row_ && !opens_around) ||
              (opens_around && step.around.size() == 1 && step.goes_around());
}

void CallSize::cut_at_runs(int64_t runs, Cuts& cuts) const {
  int64_t bytes = 0;
  if (opens_calls_ && !__builtin_mul_overflow(runs, width_ * calls_, &bytes)) cuts.add(bytes);
}

void CallSize::cut_at_row(int64_t runs, Cuts& cuts) const {
  int64_t bytes = 0;
  if (opens_row_ && !__builtin_mul_overflow(runs, width_, &bytes)) cuts.add(bytes);
}

}  // namespace lacuna::strategy
