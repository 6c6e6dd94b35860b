// SPDX-License-Identifier: BSD-3-Clause
//
// Addresses that the program gives to MPI and that may be NULL, which is an error that MPI reports.
// The code around a raised call reads and writes the address itself, from which LLVM would conclude
// that it is not NULL. So NULL is replaced by the address of a variable of lacuna's, and an operand
// bundle of the raised call says whether it was NULL. Where the function is inlined and the address
// is that of a variable, all of this folds away.
#ifndef LACUNA_OPTIMIZER_PASS_HANDLES_ADDRESSES_HPP_
#define LACUNA_OPTIMIZER_PASS_HANDLES_ADDRESSES_HPP_

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstrTypes.h>

#include <optional>

namespace lacuna::pass {

struct Address {
  llvm::Value* place;    // to read and write
  llvm::Value* is_null;  // an i1: what the program gave
};

// For one function, whose basic blocks must not change meanwhile.
class Addresses {
 public:
  explicit Addresses(llvm::Function& function) : function_(function) {}

  // For an argument of a call. An array is only read.
  Address of(llvm::CallBase& call, llvm::Value* given, bool is_array);

 private:
  llvm::Function& function_;
  std::optional<llvm::DominatorTree> tree_;
  llvm::DenseMap<llvm::Value*, Address> arrays_, others_;
};

// The operand bundle of a raised call: for each parameter that was an address, whether it was NULL.
// No bundle where none can be.
llvm::SmallVector<llvm::OperandBundleDef, 1> bundle_of(llvm::ArrayRef<llvm::Value*> are_null);

// Whether the index-th such parameter was NULL, as a value; nullptr: it was not.
llvm::Value* was_null(const llvm::CallBase& call, unsigned index);

// Whether none of them can have been NULL.
bool are_places(const llvm::CallBase& call);

}  // namespace lacuna::pass

#endif  // LACUNA_OPTIMIZER_PASS_HANDLES_ADDRESSES_HPP_
