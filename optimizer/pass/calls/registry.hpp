// SPDX-License-Identifier: BSD-3-Clause
//
// Kernels for handles that escape: a call in another file, or by a variable that other code may
// write, cannot be specialized. Where such a type is committed, kernels for any count of it are
// entered into the program's registry, where calls look them up (lookup.hpp,
// optimizer/templates/registry.hpp), and are offered to the preload
// (optimizer/templates/preload_kernels.cpp).
#ifndef LACUNA_OPTIMIZER_PASS_CALLS_REGISTRY_HPP_
#define LACUNA_OPTIMIZER_PASS_CALLS_REGISTRY_HPP_

#include <llvm/Analysis/OptimizationRemarkEmitter.h>

#include "optimizer/pass/types/shape.hpp"

namespace lacuna::pass {

// Kernels of one type for any count of elements: functions of (numbers, mem, count, packed).
struct Counted {
  const Basic* unit = nullptr;   // Shape::unit
  llvm::Value* bytes = nullptr;  // packed, of one element
  llvm::Function* pack = nullptr;
  llvm::Function* unpack = nullptr;
  llvm::Function* prefix = nullptr;            // (numbers, mem, count, packed, bytes)
  llvm::SmallVector<llvm::Value*, 8> numbers;  // of the run time
  llvm::Value *lb = nullptr, *extent = nullptr;
  llvm::Value* run = nullptr;  // run_of
  options::Pattern pattern = options::Pattern::kStrided;
};
using Made = llvm::SmallVector<llvm::Function*, 4>;

// Makes them; the builder stands where the type's numbers are known. New functions are added to
// `made`: they call kernels that are still to be inlined. False, with `why`, if it cannot be done.
bool make_counted(const Type& type, const Library& library, llvm::IRBuilder<>& builder,
                  Counted& result, Made& made, std::string& why);
// Stores the values in an array of the frame; its address, or null for none.
llvm::Value* in_frame(llvm::ArrayRef<llvm::Value*> values, llvm::IRBuilder<>& builder);
// With LACUNA_CHECK=1: adds a call that compares the kernels with MPI_Pack and MPI_Unpack.
void check_counted(llvm::CallBase& call, llvm::Value* type, const Counted& counted,
                   llvm::Value* numbers, const Library& library, llvm::IRBuilder<>& builder);

// Whether types are registered at all (-lacuna-note).
bool uses_registry();

// Called after all calls of the function are specialized and dead types are gone.
void register_kernels(llvm::Function& function, const Library& library, Resolver& resolver,
                      llvm::OptimizationRemarkEmitter& remarks, Made& made);

}  // namespace lacuna::pass

#endif  // LACUNA_OPTIMIZER_PASS_CALLS_REGISTRY_HPP_
