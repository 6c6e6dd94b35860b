// SPDX-License-Identifier: BSD-3-Clause
//
// From a rule that chooses a strategy for one size to the regimes of all sizes.
#ifndef LACUNA_ENGINE_PLAN_STRATEGY_REGIMES_HPP_
#define LACUNA_ENGINE_PLAN_STRATEGY_REGIMES_HPP_

#include <cstdint>

#include "machine/machine.hpp"
#include "plan/step.hpp"

namespace lacuna::strategy {

// What a message is moved by: a kernel of this strategy and width, with these hints.
struct Choice {
  Strategy strategy = Strategy::kStrided;
  int64_t width = 0;
  Hints hints;

  bool operator==(const Choice&) const = default;
};

// Sizes at which a choice may change, in packed bytes.
class Cuts {
 public:
  void add(int64_t bytes);
  int count() const { return count_; }
  // Where interval i of the sizes ends, of count() + 1.
  int64_t end_of(int i) const { return i < count_ ? sizes_[i] : Regime::kNoEnd; }

 private:
  static constexpr int kMost = 24;
  int64_t sizes_[kMost];
  int count_ = 0;
};

// Messages of at least `from` packed bytes, of which fewer than `below` are written now. The
// default holds for none.
struct Sizes {
  int64_t from = Regime::kNoEnd;
  int64_t below = Regime::kNoEnd;
  bool hold(int64_t message, int64_t output) const { return message >= from && output < below; }
  bool operator==(const Sizes&) const = default;
};

// A rule: which strategy moves a message of so many packed bytes, of which `output` are written
// now.
class Rule {
 public:
  virtual Choice choose(int64_t message, int64_t output) const = 0;
  virtual void cut(Cuts& messages, Cuts& outputs) const = 0;

 protected:
  ~Rule() = default;
};

// O(cuts of messages * cuts of outputs) choices.
Regimes make_regimes(const Rule& rule, const KernelTable& kernels);

// How many runs or records a kernel call has, by the size of the message. `is_open`: the count of
// the open loop is known only with the message (a plan's root for many elements).
class CallSize {
 public:
  CallSize(const Step& step, bool is_open);
  bool operator==(const CallSize&) const = default;

  int64_t in_row(int64_t message) const { return opens_row_ ? message / width_ : in_row_; }
  int64_t runs(int64_t message) const { return opens_calls_ ? message / (width_ * calls_) : runs_; }
  // Whether a call has several rows.
  bool has_rows() const { return has_rows_; }
  // From which size on a call or a row has so many runs, if that depends on the size.
  void cut_at_runs(int64_t runs, Cuts& cuts) const;
  void cut_at_row(int64_t runs, Cuts& cuts) const;

 private:
  int64_t width_;
  int64_t in_row_;
  int64_t runs_;
  int64_t calls_ = 1;
  bool opens_row_ = false;
  bool opens_calls_ = false;
  bool has_rows_ = false;
};

}  // namespace lacuna::strategy

#endif  // LACUNA_ENGINE_PLAN_STRATEGY_REGIMES_HPP_
