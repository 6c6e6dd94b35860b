// SPDX-License-Identifier: BSD-3-Clause
//
// Kernel: a function that packs or unpacks one shape, written for it. Numbers of the run time come
// in an array. LLVM's own passes then unroll, vectorize and place it.
#ifndef LACUNA_OPTIMIZER_PASS_KERNEL_HPP_
#define LACUNA_OPTIMIZER_PASS_KERNEL_HPP_

#include <llvm/ADT/MapVector.h>
#include <llvm/IR/IRBuilder.h>

#include "optimizer/pass/shape.hpp"

namespace lacuna {

class Kernel {
 public:
  enum Kind {
    kPack,    // (mem, packed, numbers): memory to packed
    kUnpack,  // the same, packed to memory
    kPrefix   // (mem, packed, numbers, bytes): packed to memory, the first bytes only
  };
  explicit Kernel(const Node& node) : node_(node) { collect(node); }

  // The numbers of the run time, in the order in which the functions take them.
  llvm::ArrayRef<llvm::Value*> numbers() const { return numbers_; }
  // The function, which one of the same shape may have made already: it is told by its name.
  llvm::Function* emit(llvm::Module& module, Kind kind);

 private:
  std::string name(const Node& node) const;
  std::string name(const llvm::Value* number) const;
  void collect(const Node& node);
  void collect(llvm::Value* number);
  llvm::Value* in_function(llvm::Value* number) const;
  void node(const Node& node, llvm::Value* mem, llvm::Value* packed);
  bool is_rows(const Node& loop) const;
  void rows(const Node& loop, llvm::Value* mem, llvm::Value* packed);
  void run(const Node& node, llvm::Value* mem, llvm::Value* packed);
  void copy(llvm::Value* mem, llvm::Value* packed, llvm::Value* bytes);
  // A loop over [0, count), with what `body` emits for each.
  void loop(llvm::Value* count, llvm::function_ref<void(llvm::Value*)> body);
  llvm::Value* moved(llvm::Value* pointer, llvm::Value* bytes, bool is_far = false);

  const Node& node_;
  llvm::SmallVector<llvm::Value*, 8> numbers_;
  llvm::DenseMap<llvm::Value*, llvm::Value*> loaded_;
  llvm::IRBuilder<>* builder_ = nullptr;
  llvm::Function* function_ = nullptr;
  Kind kind_ = kPack;
};

}  // namespace lacuna

#endif  // LACUNA_OPTIMIZER_PASS_KERNEL_HPP_
