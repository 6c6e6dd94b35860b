// SPDX-License-Identifier: BSD-3-Clause
//
// Remarks about pairs of messages: two sends to one rank, right after one another, could be one
// message if their receives, too, became one. That is never proven here: a receive is in another process, and
// what makes it the receive of these two (no other send to it, no wildcard, no probe, the same
// order in all runs) is not seen from a function. So each such pair is told of, with the reason,
// and sent as it is.
#ifndef LACUNA_OPTIMIZER_PASS_MERGE_HPP_
#define LACUNA_OPTIMIZER_PASS_MERGE_HPP_

#include <llvm/Analysis/OptimizationRemarkEmitter.h>

#include "optimizer/pass/library.hpp"

namespace lacuna {

// Before anything is specialized.
void tell_of_pairs(llvm::Function& function, const Library& library,
                   llvm::OptimizationRemarkEmitter& remarks);

}  // namespace lacuna

#endif  // LACUNA_OPTIMIZER_PASS_MERGE_HPP_
