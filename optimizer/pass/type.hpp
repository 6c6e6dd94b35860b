// SPDX-License-Identifier: BSD-3-Clause
//
// Type: the tree of MPI constructors behind a handle. Its numbers are LLVM values: constants, or
// what the program computes at run time (then the tree is known and its numbers are not:
// shape-static).
#ifndef LACUNA_OPTIMIZER_PASS_TYPE_HPP_
#define LACUNA_OPTIMIZER_PASS_TYPE_HPP_

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>

#include <deque>
#include <string>
#include <vector>

#include "optimizer/pass/library.hpp"
#include "optimizer/pass/raise.hpp"

namespace lacuna {

struct Type {
  const Basic* basic = nullptr;       // a predefined type, and nothing else below
  const Producer* made_by = nullptr;  // a constructor
  std::vector<std::vector<llvm::Value*>>
      numbers;                     // for each parameter that is a number or an array of them
  std::vector<const Type*> parts;  // the old types
  std::string order;               // of a subarray: c or fortran
  bool may_be_null = false;        // the handle may be MPI_DATATYPE_NULL instead
  // Its constructor, where displacements are an array of the run time (then they are no numbers).
  llvm::CallBase* listed_by = nullptr;

  bool is_constant() const;
  // As docs/user/types.md writes it, with ? for a number of the run time. Long lists are cut,
  // unless those numbers are asked for, in the order of their places.
  std::string text(llvm::SmallVectorImpl<llvm::Value*>* unknown = nullptr) const;
};

bool equal(const Type& one, const Type& other);

// Finds the trees of handles in one function. Handles are immutable objects, so that a value
// denotes one type until it is freed, and it is values that are followed, not variables.
class Resolver {
 public:
  explicit Resolver(const Library& library) : library_(library) {}

  // The tree of a handle; nullptr where it is not known, and why() says the reason.
  const Type* resolve(llvm::Value* handle);
  const std::string& why() const { return why_; }

 private:
  const Type* find(llvm::Value* handle);
  const Type* result_of(llvm::Value* pair);
  const Type* constructed(llvm::CallBase& call);
  const Type* merged(llvm::ArrayRef<llvm::Value*> values, bool are_pairs);
  const Type* in_global(llvm::GlobalVariable& global);
  const Type* no(const char* reason);

  const Library& library_;
  std::deque<Type> types_;
  llvm::SmallPtrSet<llvm::Value*, 16> under_way_;
  std::string why_;
};

}  // namespace lacuna

#endif  // LACUNA_OPTIMIZER_PASS_TYPE_HPP_
