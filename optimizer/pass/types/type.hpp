// SPDX-License-Identifier: BSD-3-Clause
//
// A type as the tree of MPI constructors behind its handle. The numbers are LLVM values: constants,
// or values that the program computes at run time.
#ifndef LACUNA_OPTIMIZER_PASS_TYPES_TYPE_HPP_
#define LACUNA_OPTIMIZER_PASS_TYPES_TYPE_HPP_

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/InstrTypes.h>

#include <string>
#include <vector>

#include "optimizer/pass/base/functions.hpp"
#include "optimizer/pass/base/library.hpp"

namespace lacuna::pass {

struct Type {
  const Basic* basic = nullptr;       // not null: a predefined type; the rest is empty
  const Producer* made_by = nullptr;  // the constructor
  std::vector<std::vector<llvm::Value*>>
      numbers;                     // for each parameter that is a number or an array of them
  std::vector<const Type*> parts;  // the old types
  std::string order;               // of a subarray: c, fortran or ? (not known)
  bool may_be_null = false;        // the handle may be MPI_DATATYPE_NULL instead
  // Not null: the constructor's call; its displacements are in an array that only the run time
  // knows (lists.hpp), and not in `numbers`.
  llvm::CallBase* listed_by = nullptr;

  bool is_constant() const;
  // As docs/user/types.md writes it, with ? for a number of the run time. With `unknown`, these
  // numbers are appended to it in their order; otherwise long lists are cut.
  std::string text(llvm::SmallVectorImpl<llvm::Value*>* unknown = nullptr) const;
};

bool equal(const Type& one, const Type& other);

}  // namespace lacuna::pass

#endif  // LACUNA_OPTIMIZER_PASS_TYPES_TYPE_HPP_
