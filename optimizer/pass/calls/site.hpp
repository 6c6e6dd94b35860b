// SPDX-License-Identifier: BSD-3-Clause
//
// One call that moves data: what the pass knows about it, and its replacement by a template. The
// classes of sizes are those of [Ogawa & Matsuoka 1996 section 3.2], and one more, shape-static:
// the tree of the type is known, its numbers are not. That is the most frequent one.
#ifndef LACUNA_OPTIMIZER_PASS_CALLS_SITE_HPP_
#define LACUNA_OPTIMIZER_PASS_CALLS_SITE_HPP_

#include <llvm/Analysis/OptimizationRemarkEmitter.h>

#include "optimizer/pass/calls/completion.hpp"
#include "optimizer/pass/calls/peer.hpp"
#include "optimizer/pass/types/kernel.hpp"
#include "optimizer/pass/types/resolve.hpp"

namespace lacuna::pass {

enum class CommSize { kStaticShort, kStaticLong, kShapeStatic, kDynamic };

// The length of the runs of a shape in bytes: the mean of a struct's fields; otherwise the length
// of the first run.
llvm::Value* run_of(const Node& node, llvm::IRBuilder<>& builder);
// Whether the tables give a message to that handler, as a value of the run time;
// nullptr: they give it no message of this pattern.
llvm::Value* is_handled_by(options::Pattern pattern, options::Side side, options::Handler handler,
                           llvm::Value* bytes, llvm::Value* run, llvm::IRBuilder<>& builder);

const char* words(CommSize size);

// Specializes the calls of one function.
class Specializer {
 public:
  // `may_look_up`: whether calls whose types are not known may look them up (lookup.cpp).
  Specializer(Library& library, Resolver& resolver, llvm::OptimizationRemarkEmitter& remarks,
              bool may_look_up)
      : library_(library),
        resolver_(resolver),
        remarks_(remarks),
        may_look_up_(may_look_up),
        lists_(library) {}

  // Finds the waits of a nonblocking call. Called for all calls before any is replaced.
  void prove(llvm::CallBase& call, const Mover& row);
  // Replaces the call by its template, inlined; whether it did. Emits a remark either way.
  bool specialize(llvm::CallBase& call, const Mover& row);
  // Inserts what nonblocking calls need at their waits. Called after all calls are specialized.
  bool finish() { return pending_.rewrite(library_); }

 private:
  struct Known {
    const Type* type = nullptr;  // nullptr: buffer, count and type stay as they are
    llvm::Value* elements = nullptr;
    Shape shape;       // of all elements
    int64_t most = 0;  // the most bytes that are packed first
    // Flags of the run time; nullptr: never.
    llvm::Value* is_librarys = nullptr;  // the library moves the program's type as fast
    llvm::Value* is_preloads = nullptr;  // the preload moves it faster, if it is there
    llvm::Value* with_gap = nullptr;     // packed data are sent with a gap
  };
  // Finds the type and its shape, and whether to pack first; false, with `why`, if not.
  bool examine(llvm::CallBase& call, const Mover& row, size_t triple, Shaper& shaper, Known& known,
               std::string& why);
  bool choose_handlers(llvm::CallBase& call, const Mover& row, options::Side side, Known& known,
                       std::string& why);
  // A BufferArg in the frame, filled for one triple.
  llvm::Value* buffer_arg(llvm::CallBase& call, const Triple& triple, const Known& known,
                          llvm::IRBuilder<>& builder, bool is_kept);
  llvm::StructType* buffer_arg_type() const;
  // Gives it the members of a nonblocking call, which its waits read: `pending` and `held`.
  void add_pending(llvm::AllocaInst* arg, llvm::IRBuilder<>& entry) const;
  // A BufferArg for a nonblocking call that looks its type up.
  llvm::AllocaInst* lookup_buffer_arg(llvm::CallBase& call, const Mover& row);
  // Replaces the call by one that looks its types up when it runs; whether it did.
  bool look_up(llvm::CallBase& call, const Mover& row, llvm::StringRef why);
  void look_up_fortran(llvm::CallBase& call, const Mover& row, llvm::Function& body,
                       llvm::ArrayRef<llvm::Value*> kept);
  // With LACUNA_CHECK=1: adds a check before the call.
  void check_lookup(llvm::CallBase& call, const Mover& row, llvm::IRBuilder<>& builder);
  // Truncates MPI_Counts to the template's ints; what does not fit is left to the library.
  static void narrow(const Mover& row, llvm::MutableArrayRef<Known> known,
                     llvm::MutableArrayRef<llvm::Value*> args, llvm::IRBuilder<>& builder);
  // The same with the types that are known here. `args`: the arguments of C's function.
  void check(llvm::CallBase& call, const Mover& row, const Triple& triple, const Known& known,
             llvm::ArrayRef<llvm::Value*> args, llvm::IRBuilder<>& builder);

  Library& library_;
  Resolver& resolver_;
  llvm::OptimizationRemarkEmitter& remarks_;
  const bool may_look_up_;
  llvm::SmallVector<llvm::AllocaInst*, 8> slots_;  // whose lifetime ends with the current call
  llvm::DenseMap<llvm::CallBase*, Completion> completions_;
  int64_t kept_room_ = 0;  // bytes in the frame for nonblocking messages
  Pending pending_;
  Lists lists_;
};

// Emits the remark that the call stays as it is, and why; `kind` is the remark's name.
void remark_left(llvm::CallBase& call, llvm::StringRef function, llvm::StringRef why,
                 llvm::StringRef kind, llvm::OptimizationRemarkEmitter& remarks);
// Text for people: `what`, with the file and line of the call.
std::string place_of(const llvm::CallBase& call, llvm::StringRef what);

// Replaces a template's call of lacuna_original_NAME by the program's own call, with the arguments
// that it gave.
void restore(llvm::CallBase& original, const Mover& row, bool of_fortran,
             llvm::ArrayRef<llvm::Value*> given);

}  // namespace lacuna::pass

#endif  // LACUNA_OPTIMIZER_PASS_CALLS_SITE_HPP_
