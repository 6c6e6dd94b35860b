// SPDX-License-Identifier: BSD-3-Clause
#include "optimizer/pass/remarks/unsupported.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include "optimizer/pass/calls/site.hpp"

namespace lacuna::pass {

namespace {

constexpr llvm::StringLiteral kNoTemplate = "there is no template for this function";
constexpr llvm::StringLiteral kStartedLater =
    "its request is started elsewhere, with what the buffer then holds";
constexpr llvm::StringLiteral kArrays =
    "its types come in an array, one for each rank or neighbour, which only the run time knows";
constexpr llvm::StringLiteral kOneSided =
    "the other process takes no part, and cannot unpack what is put or pack what is got";
constexpr llvm::StringLiteral kFile = "a file holds what the type says, not what is packed";

// A function, and which of its arguments are types; `is_array`: arrays of types.
struct Unsupported {
  llvm::StringRef name;
  unsigned parameters;
  unsigned types[2];  // the same twice where there is one
  llvm::StringRef why = kNoTemplate;
  bool is_array = false;
};

constexpr Unsupported kTable[] = {
    {"MPI_Ssend", 6, {2, 2}},
    {"MPI_Bsend", 6, {2, 2}},
    {"MPI_Rsend", 6, {2, 2}},
    {"MPI_Issend", 7, {2, 2}},
    {"MPI_Ibsend", 7, {2, 2}},
    {"MPI_Irsend", 7, {2, 2}},
    {"MPI_Mrecv", 5, {2, 2}},
    {"MPI_Imrecv", 5, {2, 2}},
    {"MPI_Sendrecv_replace", 9, {2, 2}},
    {"MPI_Isendrecv", 12, {2, 7}},
    {"MPI_Send_init", 7, {2, 2}, kStartedLater},
    {"MPI_Ssend_init", 7, {2, 2}, kStartedLater},
    {"MPI_Bsend_init", 7, {2, 2}, kStartedLater},
    {"MPI_Rsend_init", 7, {2, 2}, kStartedLater},
    {"MPI_Recv_init", 7, {2, 2}, kStartedLater},
    {"MPI_Gather", 8, {2, 5}},
    {"MPI_Gatherv", 9, {2, 6}},
    {"MPI_Scatter", 8, {2, 5}},
    {"MPI_Scatterv", 9, {3, 6}},
    {"MPI_Allgather", 7, {2, 5}},
    {"MPI_Allgatherv", 8, {2, 6}},
    {"MPI_Alltoallv", 9, {3, 7}},
    {"MPI_Ibcast", 6, {2, 2}},
    {"MPI_Igather", 9, {2, 5}},
    {"MPI_Iscatter", 9, {2, 5}},
    {"MPI_Iallgather", 8, {2, 5}},
    {"MPI_Ialltoall", 8, {2, 5}},
    {"MPI_Ialltoallv", 10, {3, 7}},
    {"MPI_Ialltoallw", 10, {3, 7}, kArrays, true},
    {"MPI_Neighbor_allgather", 7, {2, 5}},
    {"MPI_Neighbor_alltoall", 7, {2, 5}},
    {"MPI_Neighbor_alltoallv", 9, {3, 7}},
    {"MPI_Neighbor_alltoallw", 9, {3, 7}, kArrays, true},
    {"MPI_Put", 8, {2, 6}, kOneSided},
    {"MPI_Get", 8, {2, 6}, kOneSided},
    {"MPI_Accumulate", 9, {2, 6}, kOneSided},
    {"MPI_File_read", 5, {3, 3}, kFile},
    {"MPI_File_write", 5, {3, 3}, kFile},
    {"MPI_File_read_all", 5, {3, 3}, kFile},
    {"MPI_File_write_all", 5, {3, 3}, kFile},
    {"MPI_File_read_at", 6, {4, 4}, kFile},
    {"MPI_File_write_at", 6, {4, 4}, kFile},
    {"MPI_File_read_at_all", 6, {4, 4}, kFile},
    {"MPI_File_write_at_all", 6, {4, 4}, kFile},
};

const Unsupported* unsupported(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr || !callee->isDeclaration()) return nullptr;
  const auto* found =
      llvm::find_if(kTable, [&](const Unsupported& row) { return row.name == callee->getName(); });
  return found != std::end(kTable) && call.arg_size() == found->parameters ? found : nullptr;
}

}  // namespace

void remark_on_unsupported(llvm::Function& function, const Library& library, Resolver& resolver,
                           llvm::OptimizationRemarkEmitter& remarks) {
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    const Unsupported* row = call == nullptr ? nullptr : unsupported(*call);
    if (row == nullptr) continue;
    std::string why = row->why.str();
    bool has_derived = row->is_array;
    for (const unsigned number : row->types) {
      llvm::Value* handle = call->getArgOperand(number);
      if (has_derived || library.basic(handle) != nullptr) continue;
      has_derived = true;
      if (const Type* type = resolver.resolve(handle)) why += ": " + type->text();
    }
    if (!has_derived) continue;
    remark_left(*call, row->name, why, "NoTemplate", remarks);
  }
}

}  // namespace lacuna::pass
