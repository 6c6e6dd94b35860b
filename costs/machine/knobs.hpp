// SPDX-License-Identifier: BSD-3-Clause
//
// The settings of an MPI library: the control variables of the MPI tools interface.
#ifndef LACUNA_COSTS_MACHINE_KNOBS_HPP_
#define LACUNA_COSTS_MACHINE_KNOBS_HPP_

#include <string>

namespace lacuna::costs {

// {"NAME": VALUE, ...} for all variables that are one integer.
std::string knobs_json();

}  // namespace lacuna::costs

#endif  // LACUNA_COSTS_MACHINE_KNOBS_HPP_
