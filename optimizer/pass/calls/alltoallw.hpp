// SPDX-License-Identifier: BSD-3-Clause
//
// Alltoallw, whose types come in an array with one for each rank. Where the program stores a known
// type into that array, the call becomes one of a template, which compares the whole array with
// that type when it runs, and packs if all are equal (optimizer/templates/calls/alltoallw.cpp).
#ifndef LACUNA_OPTIMIZER_PASS_CALLS_ALLTOALLW_HPP_
#define LACUNA_OPTIMIZER_PASS_CALLS_ALLTOALLW_HPP_

#include "optimizer/pass/calls/registry.hpp"

namespace lacuna::pass {

// Whether a call of the function was specialized; new kernels are added to `made`.
bool specialize_alltoallw(llvm::Function& function, const Library& library, Resolver& resolver,
                          llvm::OptimizationRemarkEmitter& remarks, Made& made);

}  // namespace lacuna::pass

#endif  // LACUNA_OPTIMIZER_PASS_CALLS_ALLTOALLW_HPP_
