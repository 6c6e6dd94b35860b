// SPDX-License-Identifier: BSD-3-Clause
//
// Which process is at the other end of a message, as far as the compiler can tell. Only reported.
#ifndef LACUNA_OPTIMIZER_PASS_CALLS_PEER_HPP_
#define LACUNA_OPTIMIZER_PASS_CALLS_PEER_HPP_

#include <llvm/IR/InstrTypes.h>

#include "optimizer/pass/base/functions.hpp"
#include "optimizer/pass/base/library.hpp"

namespace lacuna::pass {

enum class Peer { kSelf, kProcNull, kOther, kUnknown, kNone };

const char* words(Peer peer);
Peer peer_of(const llvm::CallBase& call, const Mover& row, const Library& library);

}  // namespace lacuna::pass

#endif  // LACUNA_OPTIMIZER_PASS_CALLS_PEER_HPP_
