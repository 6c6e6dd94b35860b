// SPDX-License-Identifier: BSD-3-Clause
//
// Finds the tree of constructors behind a handle. A handle denotes one type until it is freed, so
// the pass follows values, not variables.
#ifndef LACUNA_OPTIMIZER_PASS_TYPES_RESOLVE_HPP_
#define LACUNA_OPTIMIZER_PASS_TYPES_RESOLVE_HPP_

#include <llvm/ADT/SmallPtrSet.h>

#include <deque>
#include <string>

#include "optimizer/pass/types/type.hpp"

namespace lacuna::pass {

class Resolver {
 public:
  explicit Resolver(const Library& library) : library_(library) {}

  // The tree of a handle; nullptr where it is not known, with the reason in why().
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

}  // namespace lacuna::pass

#endif  // LACUNA_OPTIMIZER_PASS_TYPES_RESOLVE_HPP_
