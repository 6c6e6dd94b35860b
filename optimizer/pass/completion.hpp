// SPDX-License-Identifier: BSD-3-Clause
//
// Completion: where the request of a nonblocking call completes. Packed data may stand in the
// function's frame, and a receive may be unpacked at its wait, only if every way from the call
// comes to a Wait or Waitall of its request before the function ends, before the call is made
// again, and before anybody else may have seen the request. An exception is a way, too; but MPI's
// functions are taken not to throw between the two: that an error handler throws through them is
// not provided for by MPI, which may be in any state after an error.
#ifndef LACUNA_OPTIMIZER_PASS_COMPLETION_HPP_
#define LACUNA_OPTIMIZER_PASS_COMPLETION_HPP_

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SmallVector.h>

#include "optimizer/pass/library.hpp"

namespace lacuna {

struct Wait {
  llvm::CallBase* call;
  int64_t number;  // of the request among those that it waits for
};

struct Completion {
  llvm::SmallVector<Wait, 2> waits;
  // Whether functions are called in between that may leave the frame without coming back: by a
  // longjmp in another file, or by ending the thread. Nobody can wait for the request then, since
  // it was the frame's; but the library goes on with the message. So packed data do not stand in
  // the frame then: what is taken for them is lost, and the library has it for ever.
  bool may_be_left = false;
};

// The waits that may complete the request which `call` writes through `argument`; none if it is not
// proven.
Completion completions(llvm::CallBase& call, unsigned argument, const Library& library);

// Nonblocking calls, each with the waits that end it: there a receive is unpacked, and what was
// taken for the packed data is given back.
class Pending {
 public:
  // `buffer` is nullptr for a send.
  void add(const Wait& wait, llvm::Value* part, llvm::Value* buffer) {
    waits_[wait.call].push_back({wait.number, part, buffer});
  }
  // Rewrites the waits: templates are inlined that unpack what came. Whether there were any.
  bool rewrite(const Library& library);

 private:
  struct One {
    int64_t number;
    llvm::Value* part;    // the Part in the frame
    llvm::Value* buffer;  // where the frame keeps the program's buffer
  };
  llvm::MapVector<llvm::CallBase*, llvm::SmallVector<One, 4>> waits_;
};

}  // namespace lacuna

#endif  // LACUNA_OPTIMIZER_PASS_COMPLETION_HPP_
