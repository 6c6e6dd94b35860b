// SPDX-License-Identifier: BSD-3-Clause
//
// Calls that move data of a derived type by functions for which there is no template: each is told
// of, with the reason, and stays as it is. Of C only; Fortran's are not raised.
#ifndef LACUNA_OPTIMIZER_PASS_OTHERS_HPP_
#define LACUNA_OPTIMIZER_PASS_OTHERS_HPP_

#include <llvm/Analysis/OptimizationRemarkEmitter.h>

#include "optimizer/pass/type.hpp"

namespace lacuna {

// Before anything is specialized.
void tell_of_others(llvm::Function& function, const Library& library, Resolver& resolver,
                    llvm::OptimizationRemarkEmitter& remarks);

}  // namespace lacuna

#endif  // LACUNA_OPTIMIZER_PASS_OTHERS_HPP_
