// SPDX-License-Identifier: BSD-3-Clause
//
// Handles as values. MPI's functions give a handle by writing it where the program says; once an
// address has been given away, the compiler knows nothing of what is there, and no handle would
// ever be seen in SSA form. MPI keeps none of these addresses (its standard lets the program reuse
// them at once). So a call is raised, early, to a function that returns the result, and is lowered,
// late, to the same call with an address of its own:
//
//   MPI_Type_vector(4, 1, 8, MPI_DOUBLE, &t)   ->   r = raised(4, 1, 8, MPI_DOUBLE, t), t =
//   r.result
//
// The arrays of a constructor are read where the call is, element by element. Between raising and
// lowering it is LLVM that follows handles: promotion, inlining, constant propagation (what [Ogawa
// & Matsuoka 1996 section 3.1] calls the first partial evaluation).
#ifndef LACUNA_OPTIMIZER_PASS_RAISE_HPP_
#define LACUNA_OPTIMIZER_PASS_RAISE_HPP_

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <optional>

#include "optimizer/pass/functions.hpp"

namespace lacuna {

constexpr uint64_t kMostElements = 64;  // of an array that becomes arguments

// Whether the letter of a parameter (functions.hpp) is an array's.
inline bool is_array(char letter) {
  return letter == 'I' || letter == 'N' || letter == 'A' || letter == 'H';
}

// Raises all calls of C's producers in a function, and reads the arrays of Fortran's; whether there
// were any.
bool raise(llvm::Function& function, llvm::Type* handle_type);

// Results meet as pairs where InstCombine has found that shorter: takes them apart again.
void split_results(llvm::Function& function);

// Lowers all that are left; whether there were any.
bool lower(llvm::Function& function);

// A raised call of a producer, or nullptr.
const Producer* raised(const llvm::Value* value);

// The length of a raised call's arrays if their elements are arguments.
std::optional<uint64_t> expanded_length(const llvm::CallBase& call);

// Puts what a lowered call gave, and its code, for the pair that the raised one did.
void replace_results(llvm::CallBase& call, llvm::Value* result, llvm::Value* code,
                     llvm::IRBuilder<>& builder);

// The arguments of a raised call for parameter `index` of the producer: one, or the elements of an
// array. False where they are in memory still and not constant there.
bool arguments(llvm::CallBase& call, unsigned index, llvm::SmallVectorImpl<llvm::Value*>& values);

// Makes such a call, from the values for each parameter and the handle that goes in; of that
// language.
llvm::CallBase* raised_call(const Producer& row, bool of_fortran,
                            llvm::ArrayRef<llvm::SmallVector<llvm::Value*, 4>> values,
                            llvm::Value* before, llvm::IRBuilder<>& builder);

// The handle that went in, of a call that takes and gives one.
llvm::Value* previous(llvm::CallBase& call);

// Makes a call beside another one that it is to replace: an invoke for an invoke, with the same
// destinations.
llvm::CallBase* same_kind(llvm::CallBase& call, llvm::FunctionCallee callee,
                          llvm::ArrayRef<llvm::Value*> args, llvm::IRBuilder<>& builder,
                          llvm::ArrayRef<llvm::OperandBundleDef> bundles = {});

// Gives an invoke a normal destination of its own, without phis: before another one takes its
// place.
void split_normal_edge(llvm::CallBase& call);

// The place right after a call; of an invoke, where its normal destination begins.
llvm::Instruction* after(llvm::CallBase& call);

}  // namespace lacuna

#endif  // LACUNA_OPTIMIZER_PASS_RAISE_HPP_
