// SPDX-License-Identifier: BSD-3-Clause
//
// What an MPI library says of its own settings: the control variables of the MPI tools interface.
#ifndef LACUNA_COSTS_MACHINE_KNOBS_HPP_
#define LACUNA_COSTS_MACHINE_KNOBS_HPP_

#include <string>

namespace lacuna::costs {

// {"NAME": VALUE, ...} of all that are one integer.
std::string knobs_json();

}  // namespace lacuna::costs

#endif  // LACUNA_COSTS_MACHINE_KNOBS_HPP_
