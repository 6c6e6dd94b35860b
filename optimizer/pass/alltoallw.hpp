// SPDX-License-Identifier: BSD-3-Clause
//
// Alltoallw, whose types come in arrays as long as there are ranks. Where the program puts a known
// type into such an array, the call becomes one of a template that packs all that is of this type,
// if, when it runs, all of the array is (optimizer/templates/alltoallw.cpp).
#ifndef LACUNA_OPTIMIZER_PASS_ALLTOALLW_HPP_
#define LACUNA_OPTIMIZER_PASS_ALLTOALLW_HPP_

#include "optimizer/pass/register.hpp"

namespace lacuna {

// Whether a call of the function was specialized; what is new is added to `made`.
bool specialize_alltoallw(llvm::Function& function, const Library& library, Resolver& resolver,
                          llvm::OptimizationRemarkEmitter& remarks, Made& made);

}  // namespace lacuna

#endif  // LACUNA_OPTIMIZER_PASS_ALLTOALLW_HPP_
