// SPDX-License-Identifier: BSD-3-Clause
//
// Remarks on calls with a derived type whose function has no template: each with the reason. Only
// for C's functions, since Fortran's are not raised.
#ifndef LACUNA_OPTIMIZER_PASS_REMARKS_UNSUPPORTED_HPP_
#define LACUNA_OPTIMIZER_PASS_REMARKS_UNSUPPORTED_HPP_

#include <llvm/Analysis/OptimizationRemarkEmitter.h>

#include "optimizer/pass/types/resolve.hpp"

namespace lacuna::pass {

// Before anything is specialized.
void remark_on_unsupported(llvm::Function& function, const Library& library, Resolver& resolver,
                           llvm::OptimizationRemarkEmitter& remarks);

}  // namespace lacuna::pass

#endif  // LACUNA_OPTIMIZER_PASS_REMARKS_UNSUPPORTED_HPP_
