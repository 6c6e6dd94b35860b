// SPDX-License-Identifier: BSD-3-Clause
//
// Lists of displacements that are known only at run time, as a program gives them to a constructor.
#ifndef LACUNA_OPTIMIZER_PASS_LISTS_HPP_
#define LACUNA_OPTIMIZER_PASS_LISTS_HPP_

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>

#include "optimizer/pass/library.hpp"

namespace lacuna {

// Copies of lists of displacements, which MPI takes when a type is made and the program may change
// then: one for each constructor, of the type that it made last, which is the one that its handle
// denotes. In the function's frame, or, where that is too small, in memory that goes when the
// function is left: by returning or by an exception that it sees; one that it does not see leaves
// that memory behind, as it leaves MPI's own copy.
class Lists {
 public:
  explicit Lists(const Library& library) : library_(library) {}
  // Where the address of the copy stands, or nullptr: it was not copied.
  llvm::AllocaInst* copy_of(llvm::CallBase& constructor, unsigned bits);

 private:
  const Library& library_;
  llvm::DenseMap<llvm::CallBase*, llvm::AllocaInst*> copies_;
};

}  // namespace lacuna

#endif  // LACUNA_OPTIMIZER_PASS_LISTS_HPP_
