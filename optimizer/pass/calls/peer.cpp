// SPDX-License-Identifier: BSD-3-Clause
//
// Peer: who is at the other end.
#include "optimizer/pass/calls/peer.hpp"

#include <llvm/IR/PatternMatch.h>

#include "optimizer/pass/handles/raise.hpp"
#include "optimizer/pass/types/shape.hpp"

namespace lacuna::pass {

namespace {

using namespace llvm::PatternMatch;

// Whether the value is this process's rank in the communicator.
bool is_own_rank(llvm::Value* value, const llvm::Value* comm) {
  auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(value);
  if (extract == nullptr || extract->getIndices()[0] != 0) return false;
  const Producer* row = raised(extract->getAggregateOperand());
  return row != nullptr && row->name == "MPI_Comm_rank" &&
         llvm::cast<llvm::CallBase>(extract->getAggregateOperand())->getArgOperand(0) == comm;
}

}  // namespace

const char* words(Peer peer) {
  switch (peer) {
    case Peer::kSelf:
      return "this process";
    case Peer::kProcNull:
      return "MPI_PROC_NULL";
    case Peer::kOther:
      return "another process";
    case Peer::kUnknown:
      return "unknown";
    case Peer::kNone:
      break;
  }
  return "none";
}

Peer peer_of(const llvm::CallBase& call, const Mover& row, const Library& library) {
  if (row.peer < 0) return Peer::kNone;
  llvm::Value* peer = call.getArgOperand(unsigned(row.peer));
  const llvm::Value* comm = call.getArgOperand(unsigned(row.comm));
  if (is(peer, library.proc_null)) return Peer::kProcNull;
  if (library.is_comm_self(comm) && is(peer, 0)) return Peer::kSelf;
  if (is_own_rank(peer, comm)) return Peer::kSelf;
  llvm::Value* rank = nullptr;
  const llvm::APInt* difference = nullptr;
  if ((match(peer, m_Add(m_Value(rank), m_APInt(difference))) ||
       match(peer, m_Xor(m_Value(rank), m_APInt(difference)))) &&
      !difference->isZero() && is_own_rank(rank, comm)) {
    return Peer::kOther;
  }
  return Peer::kUnknown;
}

}  // namespace lacuna::pass
