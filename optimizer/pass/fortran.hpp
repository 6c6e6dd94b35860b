// SPDX-License-Identifier: BSD-3-Clause
//
// Fortran: calls of the binding that `mpif.h` and `use mpi` give (mpi_send_ and the like), where
// every argument is an address. They are raised to functions of the values that MPI reads there,
// which is what the binding does first, too; so the rest of the pass sees what it sees of C.
// Handles are the binding's integers. What is not specialized is lowered to the call that it was.
//
// In a module that does not have the common blocks of this MPI's mpif.h nothing is raised: their
// addresses stand for MPI_BOTTOM, MPI_IN_PLACE and MPI_STATUS_IGNORE, and have to be known.
#ifndef LACUNA_OPTIMIZER_PASS_FORTRAN_HPP_
#define LACUNA_OPTIMIZER_PASS_FORTRAN_HPP_

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>

#include "optimizer/pass/functions.hpp"
#include "optimizer/pass/library.hpp"

namespace lacuna {

constexpr llvm::StringLiteral kFortran = "lacuna.fortran.";

// Whether a raised call, of a producer or of a function that moves data or waits, was Fortran's.
bool is_fortran(const llvm::CallBase& call);

// The MPI function that is called, by its name in C, in either language; "" if it is none. Of
// Fortran's, only those that are raised.
llvm::StringRef mpi_name(const llvm::CallBase& call);
const Mover* mover(const llvm::CallBase& call);

// Whether a call has the form of the binding: one address for each argument, and ierror's.
bool is_of_binding(const llvm::CallBase& call, size_t arguments);

// Whether the module calls the binding.
bool uses_fortran(const llvm::Module& module);

// Raises all calls of the binding in a function; whether there were any. Arrays stay in memory
// (expand() in raise.hpp).
bool raise_fortran(llvm::Function& function, const Library& library);

// The binding's call again, in place of a raised one.
void lower_fortran(llvm::CallBase& call);

// A raised call again, with other arguments: for the way out of a template, and for waits.
llvm::CallBase* fortran_call(llvm::StringRef name, llvm::ArrayRef<llvm::Value*> args,
                             llvm::CallBase& beside, llvm::IRBuilder<>& builder);

// Whether an address stands for MPI_STATUS_IGNORE or MPI_STATUSES_IGNORE.
llvm::Value* is_ignored(llvm::Value* status, const Library& library, llvm::IRBuilder<>& builder);

// C's handles for Fortran's.
llvm::Value* c_comm(llvm::Value* comm, const Library& library, llvm::IRBuilder<>& builder);
llvm::Value* c_type(llvm::Value* type, const Library& library, llvm::IRBuilder<>& builder);

// Whether a buffer of a raised call is MPI_BOTTOM or MPI_IN_PLACE.
llvm::Value* has_special_buffer(const llvm::CallBase& call, const Library& library,
                                llvm::IRBuilder<>& builder);
// Whether the address of a buffer stands for MPI_BOTTOM or MPI_IN_PLACE.
llvm::Value* is_special_buffer(llvm::Value* buffer, const Library& library,
                               llvm::IRBuilder<>& builder);

// The arguments of a raised call as the C function takes them. All buffers are NULL if one of them
// is MPI_BOTTOM or MPI_IN_PLACE: then a template takes the way out, which is Fortran's call. The
// type of a triple is NULL where `is_left_out` says so. Open MPI's C gets a request of its own.
llvm::SmallVector<llvm::Value*, 16> c_arguments(llvm::CallBase& call, const Mover& row,
                                                llvm::ArrayRef<bool> is_left_out,
                                                const Library& library, llvm::IRBuilder<>& builder);

// After a nonblocking call of C's that was good: its request for Fortran, as Open MPI's binding
// gives it.
void give_request(llvm::CallBase& made, llvm::Value* request, llvm::Value* given,
                  const Library& library);

}  // namespace lacuna

#endif  // LACUNA_OPTIMIZER_PASS_FORTRAN_HPP_
