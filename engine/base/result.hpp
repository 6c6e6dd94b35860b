// SPDX-License-Identifier: BSD-3-Clause
//
// Result<T>: a value, or an error with its status and the text a user reads. The engine's only way
// to report failure at plan time; kernels and exec cannot fail. (std::expected is C++23; gcc 12 has
// none.)
#ifndef LACUNA_ENGINE_BASE_RESULT_HPP_
#define LACUNA_ENGINE_BASE_RESULT_HPP_

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "lacuna/lacuna.h"

namespace lacuna {

struct Error {
  lacuna_status status;
  std::string message;  // what, which value, which limit; no trailing newline
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Error error)
      : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  const T& value() const& { return std::get<0>(state_); }
  // By value: a reference into a temporary result would dangle in a range-for.
  T value() && { return std::get<0>(std::move(state_)); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace lacuna

#endif  // LACUNA_ENGINE_BASE_RESULT_HPP_
