// SPDX-License-Identifier: BSD-3-Clause
//
// Fortran: calls of the binding that `mpif.h` and `use mpi` declare (mpi_send_ and the like), where
// every argument is an address. They are raised to functions of the values that MPI would read
// there, so that the rest of the pass sees them as C's calls. Handles are Fortran's integers. What
// is not specialized is lowered to the same call again.
//
// Addresses in the common blocks of mpif.h stand for MPI_BOTTOM, MPI_IN_PLACE and
// MPI_STATUS_IGNORE. A module without these common blocks is left alone, since the pass could not
// tell them.
#ifndef LACUNA_OPTIMIZER_PASS_HANDLES_FORTRAN_HPP_
#define LACUNA_OPTIMIZER_PASS_HANDLES_FORTRAN_HPP_

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>

#include "optimizer/pass/base/functions.hpp"
#include "optimizer/pass/base/library.hpp"

namespace lacuna::pass {

constexpr llvm::StringLiteral kFortran = "lacuna.fortran.";

// Whether a raised call was Fortran's.
bool is_fortran(const llvm::CallBase& call);

// The C name of the MPI function that is called, also by a raised call of Fortran's; "" if none is.
llvm::StringRef mpi_name(const llvm::CallBase& call);
const Mover* mover(const llvm::CallBase& call);

// Whether a call has the form of the binding: `arguments` addresses, ierror's being the last.
bool is_of_binding(const llvm::CallBase& call, size_t arguments);

// Whether the module calls the binding.
bool uses_fortran(const llvm::Module& module);

// Raises all calls of the binding in a function; whether there were any. Arrays stay in memory,
// until raise() expands them.
bool raise_fortran(llvm::Function& function, const Library& library);

// Replaces a raised call by the binding's call.
void lower_fortran(llvm::CallBase& call);

// Makes a raised call with other arguments: for a template's fallback, and for waits.
llvm::CallBase* fortran_call(llvm::StringRef name, llvm::ArrayRef<llvm::Value*> args,
                             llvm::CallBase& beside, llvm::IRBuilder<>& builder);

// Whether an address stands for MPI_STATUS_IGNORE or MPI_STATUSES_IGNORE.
llvm::Value* is_ignored(llvm::Value* status, const Library& library, llvm::IRBuilder<>& builder);

// Converts Fortran's handles to C's.
llvm::Value* c_comm(llvm::Value* comm, const Library& library, llvm::IRBuilder<>& builder);
llvm::Value* c_type(llvm::Value* type, const Library& library, llvm::IRBuilder<>& builder);

// Whether a buffer of a raised call is MPI_BOTTOM or MPI_IN_PLACE.
llvm::Value* has_special_buffer(const llvm::CallBase& call, const Library& library,
                                llvm::IRBuilder<>& builder);
// Whether the address of a buffer stands for MPI_BOTTOM or MPI_IN_PLACE.
llvm::Value* is_special_buffer(llvm::Value* buffer, const Library& library,
                               llvm::IRBuilder<>& builder);

// The arguments of a raised call as the C function takes them. If a buffer is MPI_BOTTOM or
// MPI_IN_PLACE, all buffers are NULL, so that the template makes its fallback, which is Fortran's
// call. `is_left_out`: triples whose type is NULL, as it is not needed. For Open MPI, C's request
// is a variable of its own.
llvm::SmallVector<llvm::Value*, 16> c_arguments(llvm::CallBase& call, const Mover& row,
                                                llvm::ArrayRef<bool> is_left_out,
                                                const Library& library, llvm::IRBuilder<>& builder);

// After a nonblocking call of Open MPI's C function without an error: converts its request and
// stores it to Fortran's.
void give_request(llvm::CallBase& made, llvm::Value* request, llvm::Value* given,
                  const Library& library);

}  // namespace lacuna::pass

#endif  // LACUNA_OPTIMIZER_PASS_HANDLES_FORTRAN_HPP_
