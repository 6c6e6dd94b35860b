// SPDX-License-Identifier: BSD-3-Clause
//
// A call of the MPI library with counts that may be larger than an int.
#ifndef LACUNA_INTERPOSE_LIBRARY_CALL_FITTING_HPP_
#define LACUNA_INTERPOSE_LIBRARY_CALL_FITTING_HPP_

#include <type_traits>

#include "interpose/library/next.hpp"

namespace lacuna {
namespace detail {

// Whether a parameter of the int form holds the argument of the large-count form.
template <typename Small, typename Large>
bool holds(Large argument) {
  if constexpr (std::is_same_v<Small, Large>)
    return true;
  else
    return fits_int(argument);
}

}  // namespace detail

// Calls the int form if all counts fit, else the large-count form: only libraries of MPI 4.0 have
// that.
template <typename... Small, typename... Large>
int call_fitting(int (*Next::*small)(Small...), int (*Next::*large)(Large...),
                 std::type_identity_t<Large>... arguments) {
  const Next& next = next_functions();
  return (detail::holds<Small, Large>(arguments) && ...)
             ? (next.*small)(static_cast<Small>(arguments)...)
             : (next.*large)(arguments...);
}

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_LIBRARY_CALL_FITTING_HPP_
