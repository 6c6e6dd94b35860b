// SPDX-License-Identifier: BSD-3-Clause
//
// Site: one call that moves data. What is known about it, in the words of [Ogawa & Matsuoka 1996
// section 3.2], with the state that today's programs need most: shape-static, where the type's tree
// is known and its numbers are not (95 of 100 calls; docs/internals/optimizer.md).
#ifndef LACUNA_OPTIMIZER_PASS_SITE_HPP_
#define LACUNA_OPTIMIZER_PASS_SITE_HPP_

#include <llvm/Analysis/OptimizationRemarkEmitter.h>

#include "optimizer/pass/completion.hpp"
#include "optimizer/pass/kernel.hpp"

namespace lacuna {

enum class CommSize { kStaticShort, kStaticLong, kShapeStatic, kDynamic };
enum class CommNode { kSelf, kProcNull, kOther, kUnknown, kNone };

// Marks the calls of MPI functions in an inlined template, with 1 where all sizes are constant (and
// not such that the preload moves them better): what is given the program's type there is the way
// out, which is seldom taken then.
constexpr llvm::StringLiteral kWayOut = "lacuna.way_out";

// Bytes of the runs that a shape is made of: of a struct's fields in the mean, of other parts those
// of the first.
llvm::Value* run_of(const Node& node, llvm::IRBuilder<>& builder);
// Whether a message is one of those that were measured to be another's; nullptr: none is.
llvm::Value* is_left(options::Pattern pattern, options::Side side, options::Taker to_whom,
                     llvm::Value* bytes, llvm::Value* run, llvm::IRBuilder<>& builder);

const char* words(CommSize size);
const char* words(CommNode node);
CommNode node_of(const llvm::CallBase& call, const Mover& row, const Library& library);

// Specializes the calls of one function.
class Specializer {
 public:
  // `asks`: whether calls whose types are not known may ask when they run (asks.cpp).
  Specializer(Library& library, Resolver& resolver, llvm::OptimizationRemarkEmitter& remarks,
              bool asks)
      : library_(library), resolver_(resolver), remarks_(remarks), asks_(asks), lists_(library) {}

  // Looks for the waits of a nonblocking call; before any call is replaced.
  void prove(llvm::CallBase& call, const Mover& row);
  // Replaces the call by its template, inlined; whether it did. Says what it did, or why not.
  bool specialize(llvm::CallBase& call, const Mover& row);
  // Ends nonblocking calls at their waits; after all calls.
  bool finish() { return pending_.rewrite(library_); }

 private:
  struct Known {
    const Type* type = nullptr;  // nullptr: the triple stays as it is
    llvm::Value* elements = nullptr;
    Shape shape;  // of all elements
    int64_t most = 0;
    llvm::Value* is_left = nullptr;      // whether the library's own way is better; nullptr: never
    llvm::Value* is_preloads = nullptr;  // whether the preload's is
    llvm::Value* is_apart = nullptr;     // whether it is sent with a gap
  };
  // Finds the type and its shape, and whether to pack it first; false, and why, if not.
  bool examine(llvm::CallBase& call, const Mover& row, size_t triple, Shaper& shaper, Known& known,
               std::string& why);
  bool weigh(llvm::CallBase& call, const Mover& row, options::Side side, Known& known,
             std::string& why);
  llvm::Value* part(llvm::CallBase& call, const Triple& triple, const Known& known,
                    llvm::IRBuilder<>& builder, bool is_kept);
  // The C++ struct Part of optimizer/templates/part.hpp.
  llvm::StructType* part_type() const;
  // Tells it where a nonblocking call says what it has under way until it completes.
  void keep(llvm::AllocaInst* part, llvm::IRBuilder<>& entry) const;
  llvm::AllocaInst* asked_part(llvm::CallBase& call, const Mover& row);
  // Makes it a call that looks its types up when it runs; whether it did, and says so.
  bool ask(llvm::CallBase& call, const Mover& row, llvm::StringRef why);
  void ask_fortran(llvm::CallBase& call, const Mover& row, llvm::Function& body,
                   llvm::ArrayRef<llvm::Value*> kept);
  // With LACUNA_CHECK=1, before it.
  void check_asked(llvm::CallBase& call, const Mover& row, llvm::IRBuilder<>& builder);
  static void narrow(const Mover& row, llvm::MutableArrayRef<Known> known,
                     llvm::MutableArrayRef<llvm::Value*> args, llvm::IRBuilder<>& builder);
  // `args` as C has them.
  void check(llvm::CallBase& call, const Mover& row, const Triple& triple, const Known& known,
             llvm::ArrayRef<llvm::Value*> args, llvm::IRBuilder<>& builder);

  Library& library_;
  Resolver& resolver_;
  llvm::OptimizationRemarkEmitter& remarks_;
  const bool asks_;
  llvm::SmallVector<llvm::AllocaInst*, 8> slots_;  // of the call at hand
  llvm::DenseMap<llvm::CallBase*, Completion> completions_;
  int64_t kept_room_ = 0;  // bytes in the frame for what is under way
  Pending pending_;
  Lists lists_;
};

// For people: the call stays as it is, and why; `kind` is the remark's name.
void tell_left(llvm::CallBase& call, llvm::StringRef function, llvm::StringRef why,
               llvm::StringRef kind, llvm::OptimizationRemarkEmitter& remarks);
// For people: `what`, and where the call is.
std::string place_of(const llvm::CallBase& call, llvm::StringRef what);

// What the program called, with the arguments that it gave, where a template goes back to it.
void restore(llvm::CallBase& original, const Mover& row, bool of_fortran,
             llvm::ArrayRef<llvm::Value*> given);

}  // namespace lacuna

#endif  // LACUNA_OPTIMIZER_PASS_SITE_HPP_
