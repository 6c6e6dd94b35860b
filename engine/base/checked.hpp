// SPDX-License-Identifier: BSD-3-Clause
//
// Checked: an int64 that remembers whether any step on the way to it overflowed. All arithmetic on
// sizes, extents and offsets that come from a user uses it; one ok() at the end checks the whole
// formula.
#ifndef LACUNA_ENGINE_BASE_CHECKED_HPP_
#define LACUNA_ENGINE_BASE_CHECKED_HPP_

#include <cstdint>

namespace lacuna {

class Checked {
 public:
  constexpr Checked(int64_t value) : value_(value) {}  // NOLINT(google-explicit-constructor)

  constexpr bool ok() const { return ok_; }
  // Meaningless unless ok().
  constexpr int64_t value() const { return value_; }

  friend constexpr Checked operator+(Checked a, Checked b) {
    Checked r(0);
    r.ok_ = !__builtin_add_overflow(a.value_, b.value_, &r.value_) && a.ok_ && b.ok_;
    return r;
  }
  friend constexpr Checked operator-(Checked a, Checked b) {
    Checked r(0);
    r.ok_ = !__builtin_sub_overflow(a.value_, b.value_, &r.value_) && a.ok_ && b.ok_;
    return r;
  }
  friend constexpr Checked operator*(Checked a, Checked b) {
    Checked r(0);
    r.ok_ = !__builtin_mul_overflow(a.value_, b.value_, &r.value_) && a.ok_ && b.ok_;
    return r;
  }
  Checked& operator+=(Checked b) { return *this = *this + b; }
  Checked& operator*=(Checked b) { return *this = *this * b; }

 private:
  int64_t value_;
  bool ok_ = true;
};

// Product modulo 2^64, for strides that may be meaningless (a loop of one iteration has any
// stride).
constexpr int64_t wrapping_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace lacuna

#endif  // LACUNA_ENGINE_BASE_CHECKED_HPP_
