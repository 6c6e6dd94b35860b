// SPDX-License-Identifier: BSD-3-Clause
//
// Remarks on pairs of messages: two sends to one rank, directly after one another, could be one
// message if their receives became one, too. No compiler can prove that
// (docs/internals/optimizer.md), so the messages are sent as they are, and each pair gets a remark
// with the reason.
#ifndef LACUNA_OPTIMIZER_PASS_REMARKS_PAIR_REMARKS_HPP_
#define LACUNA_OPTIMIZER_PASS_REMARKS_PAIR_REMARKS_HPP_

#include <llvm/Analysis/OptimizationRemarkEmitter.h>

#include "optimizer/pass/base/library.hpp"

namespace lacuna::pass {

// Before anything is specialized.
void remark_on_pairs(llvm::Function& function, const Library& library,
                     llvm::OptimizationRemarkEmitter& remarks);

}  // namespace lacuna::pass

#endif  // LACUNA_OPTIMIZER_PASS_REMARKS_PAIR_REMARKS_HPP_
