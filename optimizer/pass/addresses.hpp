// SPDX-License-Identifier: BSD-3-Clause
//
// Addresses that are given to MPI and may be NULL, which is an error that MPI tells of. A raised
// call reads and writes there itself, so that LLVM would take it for proof that there is something.
// Instead another place is taken for NULL, and the raised call has whether it was, as a bundle of
// operands. Where a function is inlined and the address becomes a variable's, all of this folds.
#ifndef LACUNA_OPTIMIZER_PASS_ADDRESSES_HPP_
#define LACUNA_OPTIMIZER_PASS_ADDRESSES_HPP_

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstrTypes.h>

#include <optional>

namespace lacuna {

struct Address {
  llvm::Value* place;    // to read and write
  llvm::Value* is_null;  // an i1: what the program gave
};

// Of one function, whose blocks stay as they are meanwhile.
class Addresses {
 public:
  explicit Addresses(llvm::Function& function) : function_(function) {}

  // For what a call is given; an array is only read.
  Address of(llvm::CallBase& call, llvm::Value* given, bool is_array);

 private:
  llvm::Function& function_;
  std::optional<llvm::DominatorTree> tree_;
  llvm::DenseMap<llvm::Value*, Address> arrays_, others_;
};

// What goes with a raised call: for each parameter that was an address, whether it was NULL;
// nothing where none can be.
llvm::SmallVector<llvm::OperandBundleDef, 1> bundle_of(llvm::ArrayRef<llvm::Value*> are_null);

// Of the index-th such parameter of a raised call; nullptr: it was not.
llvm::Value* was_null(const llvm::CallBase& call, unsigned index);

// Whether all were variables.
bool are_places(const llvm::CallBase& call);

}  // namespace lacuna

#endif  // LACUNA_OPTIMIZER_PASS_ADDRESSES_HPP_
