// SPDX-License-Identifier: BSD-3-Clause
#ifndef LACUNA_ENGINE_BASE_GUARDED_HPP_
#define LACUNA_ENGINE_BASE_GUARDED_HPP_

#include <new>
#include <stdexcept>
#include <string>

#include "lacuna/lacuna.h"

namespace lacuna {

// Runs the body of a C function, which returns a status; no exception leaves it. `fail` stores the
// sentence and returns the status.
template <typename Fail, typename Body>
lacuna_status guarded_by(const Fail& fail, const Body& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(LACUNA_OUT_OF_MEMORY, std::string());
  } catch (const std::length_error&) {  // a list longer than memory: its count is wrong
    return fail(LACUNA_OUT_OF_MEMORY, "out of memory: a list has too many entries");
  } catch (const std::exception& e) {
    return fail(LACUNA_INTERNAL, e.what());
  } catch (...) {
    return fail(LACUNA_INTERNAL, "unknown exception");
  }
}

}  // namespace lacuna

#endif  // LACUNA_ENGINE_BASE_GUARDED_HPP_
