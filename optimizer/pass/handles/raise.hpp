// SPDX-License-Identifier: BSD-3-Clause
//
// Handles as values. MPI's functions write a handle to an address, and LLVM knows nothing about a
// variable whose address was passed to a function: no handle would ever be in SSA form. MPI does
// not keep these addresses (the standard lets the program reuse them at once). So early a call is
// raised to a function that returns its result, and late it is lowered to the same call, with the
// address of a new variable:
//
//   before   MPI_Type_vector(4, 1, 8, MPI_DOUBLE, &t)
//   after    r = raised(4, 1, 8, MPI_DOUBLE, t); t = r.result
//
// The arrays of a constructor become arguments, one for each element. Between raising and lowering
// LLVM itself follows the handles: by promotion to registers, inlining and constant propagation
// (the first partial evaluation of [Ogawa & Matsuoka 1996 section 3.1]).
#ifndef LACUNA_OPTIMIZER_PASS_HANDLES_RAISE_HPP_
#define LACUNA_OPTIMIZER_PASS_HANDLES_RAISE_HPP_

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <optional>

#include "optimizer/pass/base/functions.hpp"

namespace lacuna::pass {

constexpr uint64_t kMostElements = 64;  // of an array that becomes arguments

// Metadata on the MPI calls in an inlined template. A call that is given the program's own type is
// the fallback. The operand is 1 where the fallback is rare: all sizes are constants, and no
// message is left to the preload.
constexpr llvm::StringLiteral kFallback = "lacuna.fallback";

// Whether the letter of a parameter (functions.hpp) is an array's.
inline bool is_array(char letter) {
  return letter == 'I' || letter == 'N' || letter == 'A' || letter == 'H';
}

// Raises all calls of C's producers in a function, and expands the arrays of Fortran's, which are
// raised already; whether there were any.
bool raise(llvm::Function& function, llvm::Type* handle_type);

// InstCombine may merge results as pairs in one phi: makes a phi for each half again.
void split_results(llvm::Function& function);

// Lowers all raised calls that are left; whether there were any.
bool lower(llvm::Function& function);

// The producer that a raised call is of, or nullptr.
const Producer* raised(const llvm::Value* value);

// The length of a raised call's arrays, if their elements are arguments.
std::optional<uint64_t> expanded_length(const llvm::CallBase& call);

// Replaces the pair that a raised call returned by the lowered call's result and error code.
void replace_results(llvm::CallBase& call, llvm::Value* result, llvm::Value* code,
                     llvm::IRBuilder<>& builder);

// The arguments of a raised call for parameter `index` of the producer: one, or the elements of an
// array. False where the array is in memory and not constant.
bool arguments(llvm::CallBase& call, unsigned index, llvm::SmallVectorImpl<llvm::Value*>& values);

// Makes a raised call of C or Fortran, from the values for each parameter; `before` is the handle
// that the result's variable holds before the call.
llvm::CallBase* raised_call(const Producer& row, bool of_fortran,
                            llvm::ArrayRef<llvm::SmallVector<llvm::Value*, 4>> values,
                            llvm::Value* before, llvm::IRBuilder<>& builder);

// The handle that the result's variable held before a raised call.
llvm::Value* previous(llvm::CallBase& call);

// Makes a call that is to replace `call`: an invoke for an invoke, with the same destinations.
llvm::CallBase* same_kind(llvm::CallBase& call, llvm::FunctionCallee callee,
                          llvm::ArrayRef<llvm::Value*> args, llvm::IRBuilder<>& builder,
                          llvm::ArrayRef<llvm::OperandBundleDef> bundles = {});

// Gives an invoke a normal destination without phis that no other block jumps to. Needed before it
// is replaced.
void split_normal_edge(llvm::CallBase& call);

// The place right after a call; of an invoke, where its normal destination begins.
llvm::Instruction* after(llvm::CallBase& call);

}  // namespace lacuna::pass

#endif  // LACUNA_OPTIMIZER_PASS_HANDLES_RAISE_HPP_
