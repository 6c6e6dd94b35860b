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

// The waits that may complete the request which `call` writes through `argument`; none if it is not
// proven.
llvm::SmallVector<Wait, 2> completions(llvm::CallBase& call, unsigned argument,
                                       const Library& library);

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
