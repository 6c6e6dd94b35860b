// SPDX-License-Identifier: BSD-3-Clause
//
// Kernels for handles that escape: calls of other files, or by variables that others have, cannot
// be specialized. Where such a type is committed, kernels for any count of it are registered with
// the preload, if the program runs with it (optimizer/templates/register.cpp); and the handle is
// noted, for calls of the program that ask when they run (asks.cpp, optimizer/templates/noted.hpp).
#ifndef LACUNA_OPTIMIZER_PASS_REGISTER_HPP_
#define LACUNA_OPTIMIZER_PASS_REGISTER_HPP_

#include <llvm/Analysis/OptimizationRemarkEmitter.h>

#include "optimizer/pass/shape.hpp"

namespace lacuna {

// Kernels of one type for any count of elements: functions (numbers, mem, count, packed).
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

// Makes them, at the place of the program where the numbers are to be known; what is new is added
// to `made`, and calls kernels that are to be inlined. False, and why, if it cannot be.
bool make_counted(const Type& type, const Library& library, llvm::IRBuilder<>& builder,
                  Counted& result, Made& made, std::string& why);
// The numbers in the frame, as an address; null for none.
llvm::Value* in_frame(llvm::ArrayRef<llvm::Value*> values, llvm::IRBuilder<>& builder);
// With LACUNA_CHECK=1: compares them with the type's own.
void check_counted(llvm::CallBase& call, llvm::Value* type, const Counted& counted,
                   llvm::Value* numbers, const Library& library, llvm::IRBuilder<>& builder);

// Whether handles are noted.
bool notes_types();

// After all calls of the function are specialized and dead types are gone.
void register_kernels(llvm::Function& function, const Library& library, Resolver& resolver,
                      llvm::OptimizationRemarkEmitter& remarks, Made& made);

}  // namespace lacuna

#endif  // LACUNA_OPTIMIZER_PASS_REGISTER_HPP_
