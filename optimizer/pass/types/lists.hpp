// SPDX-License-Identifier: BSD-3-Clause
//
// Arrays of displacements that only the run time knows (of indexed_block and hindexed_block).
#ifndef LACUNA_OPTIMIZER_PASS_TYPES_LISTS_HPP_
#define LACUNA_OPTIMIZER_PASS_TYPES_LISTS_HPP_

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>

#include "optimizer/pass/base/library.hpp"

namespace lacuna::pass {

// Copies the array where the type is made, as MPI does, since the program may change it afterwards.
// There is one copy for each constructor call, of the type that it made last. It is in the
// function's frame, or in allocated memory if it is long, which is freed where the function returns
// or an exception passes through one of its handlers. Another exception leaks it.
class Lists {
 public:
  explicit Lists(const Library& library) : library_(library) {}
  // The variable that holds the address of the copy: null at run time if it was not copied.
  llvm::AllocaInst* copy_of(llvm::CallBase& constructor, unsigned bits);

 private:
  const Library& library_;
  llvm::DenseMap<llvm::CallBase*, llvm::AllocaInst*> copies_;
};

}  // namespace lacuna::pass

#endif  // LACUNA_OPTIMIZER_PASS_TYPES_LISTS_HPP_
