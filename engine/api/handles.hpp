// SPDX-License-Identifier: BSD-3-Clause
//
// What the opaque handles of lacuna.h are, and how errors become statuses. For engine/api and the C
// interface of mpi/ alone.
#ifndef LACUNA_ENGINE_API_HANDLES_HPP_
#define LACUNA_ENGINE_API_HANDLES_HPP_

#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/guarded.hpp"
#include "base/result.hpp"
#include "plan/plan.hpp"
#include "type/type.hpp"

namespace lacuna::api {

// A handle is the address of the object itself, and owns it as a TypePtr or PlanPtr would.
inline const Type& type_of(const lacuna_type* handle) {
  return *reinterpret_cast<const Type*>(handle);
}
inline const Plan& plan_of(const lacuna_plan* handle) {
  return *reinterpret_cast<const Plan*>(handle);
}
inline lacuna_type* handle_of(TypePtr type) {
  return reinterpret_cast<lacuna_type*>(const_cast<Type*>(type.release()));
}
inline lacuna_plan* handle_of(PlanPtr plan) {
  return reinterpret_cast<lacuna_plan*>(const_cast<Plan*>(plan.release()));
}

// Stores the message for lacuna_last_error and returns the status.
lacuna_status fail(lacuna_status status, std::string message) noexcept;

inline lacuna_status invalid(std::string message) {
  return fail(LACUNA_INVALID_ARGUMENT, std::move(message));
}

// Runs `body`, which returns a status; no exception leaves it.
template <typename Body>
lacuna_status guarded(Body body) noexcept {
  return guarded_by(fail, body);
}

// Checks `plan`, `count` and `mem` (plan_api.cpp).
lacuna_status check_elements(const lacuna_plan* plan, const void* mem, int64_t count) noexcept;

// Gives a new type to the caller, or stores the error.
lacuna_status give(Result<TypePtr> made, lacuna_type** type);

// Copies a text with its NUL into out[0, capacity); `needed` may be null.
lacuna_status give_text(const std::string& text, size_t capacity, char* out, size_t* needed);

}  // namespace lacuna::api

#endif  // LACUNA_ENGINE_API_HANDLES_HPP_
