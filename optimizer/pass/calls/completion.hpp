// SPDX-License-Identifier: BSD-3-Clause
//
// Where the request of a nonblocking call completes. Packed data may be in the function's frame,
// and a receive may be unpacked at its wait, only if every path from the call leads to a Wait or
// Waitall of its request: before the function returns, before the call is made again, and before
// other code can use the request. Exceptions are paths, too. MPI functions between call and wait
// are assumed not to throw: an error handler that throws leaves MPI in an undefined state.
#ifndef LACUNA_OPTIMIZER_PASS_CALLS_COMPLETION_HPP_
#define LACUNA_OPTIMIZER_PASS_CALLS_COMPLETION_HPP_

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SmallVector.h>

#include "optimizer/pass/base/library.hpp"

namespace lacuna::pass {

struct Wait {
  llvm::CallBase* call;
  int64_t number;  // the index of the request among those that it waits for
};

struct Completion {
  llvm::SmallVector<Wait, 2> waits;
  // Whether a function is called in between that may never return to the frame: by a longjmp in
  // another file, or by ending the thread. The request is lost with the frame, but the library goes
  // on with the message. So packed data are then in memory of their own instead of the frame; it is
  // lost if the frame is left.
  bool may_be_left = false;
};

// The waits that complete the request which `call` writes to its argument number `argument`; none
// if that is not proven.
Completion completions(llvm::CallBase& call, unsigned argument, const Library& library);

// The waits of specialized nonblocking calls: there a receive is unpacked, and memory that was
// taken for the packed data is given back.
class Pending {
 public:
  // `buffer` is nullptr for a send.
  void add(const Wait& wait, llvm::Value* arg, llvm::Value* buffer) {
    waits_[wait.call].push_back({wait.number, arg, buffer});
  }
  // Replaces the waits by inlined templates that also unpack; whether there were any.
  bool rewrite(const Library& library);

 private:
  struct One {
    int64_t number;
    llvm::Value* arg;     // the BufferArg in the frame
    llvm::Value* buffer;  // of a receive: a variable with the address of the program's buffer
  };
  llvm::MapVector<llvm::CallBase*, llvm::SmallVector<One, 4>> waits_;
};

}  // namespace lacuna::pass

#endif  // LACUNA_OPTIMIZER_PASS_CALLS_COMPLETION_HPP_
