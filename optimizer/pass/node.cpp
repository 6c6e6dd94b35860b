// SPDX-License-Identifier: BSD-3-Clause
//
// CommNode: who is at the other end.
#include <llvm/IR/PatternMatch.h>

#include "optimizer/pass/site.hpp"

namespace lacuna {

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

const char* words(CommSize size) {
  switch (size) {
    case CommSize::kStaticShort:
      return "static, short";
    case CommSize::kStaticLong:
      return "static, long";
    case CommSize::kShapeStatic:
      return "shape-static";
    case CommSize::kDynamic:
      break;
  }
  return "dynamic";
}

const char* words(CommNode node) {
  switch (node) {
    case CommNode::kSelf:
      return "this process";
    case CommNode::kProcNull:
      return "MPI_PROC_NULL";
    case CommNode::kOther:
      return "another process";
    case CommNode::kUnknown:
      return "unknown";
    case CommNode::kNone:
      break;
  }
  return "none";
}

CommNode node_of(const llvm::CallBase& call, const Mover& row, const Library& library) {
  if (row.peer < 0) return CommNode::kNone;
  llvm::Value* peer = call.getArgOperand(unsigned(row.peer));
  const llvm::Value* comm = call.getArgOperand(unsigned(row.comm));
  if (is(peer, library.proc_null)) return CommNode::kProcNull;
  if (library.is_comm_self(comm) && is(peer, 0)) return CommNode::kSelf;
  if (is_own_rank(peer, comm)) return CommNode::kSelf;
  llvm::Value* rank = nullptr;
  const llvm::APInt* difference = nullptr;
  if ((match(peer, m_Add(m_Value(rank), m_APInt(difference))) ||
       match(peer, m_Xor(m_Value(rank), m_APInt(difference)))) &&
      !difference->isZero() && is_own_rank(rank, comm)) {
    return CommNode::kOther;
  }
  return CommNode::kUnknown;
}

}  // namespace lacuna
