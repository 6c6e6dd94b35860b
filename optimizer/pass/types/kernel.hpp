// SPDX-License-Identifier: BSD-3-Clause
//
// Emits a function that packs or unpacks one shape. Numbers of the run time come in an array.
// LLVM's own passes then unroll, vectorize and inline it.
#ifndef LACUNA_OPTIMIZER_PASS_TYPES_KERNEL_HPP_
#define LACUNA_OPTIMIZER_PASS_TYPES_KERNEL_HPP_

#include <llvm/ADT/MapVector.h>
#include <llvm/IR/IRBuilder.h>

#include "optimizer/pass/types/shape.hpp"

namespace lacuna::pass {

class Kernel {
 public:
  enum Kind {
    kPack,    // (mem, packed, numbers): memory to packed
    kUnpack,  // the same, packed to memory
    kPrefix   // (mem, packed, numbers, bytes): packed to memory, the first bytes only
  };
  explicit Kernel(const Node& node) : node_(node) { collect(node); }

  // The numbers of the run time, in the order of the array.
  llvm::ArrayRef<llvm::Value*> numbers() const { return numbers_; }
  // The function. Its name spells the shape, so equal shapes share it.
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
  // Emits a loop over [0, count) with the code that `body` emits.
  void loop(llvm::Value* count, llvm::function_ref<void(llvm::Value*)> body);
  llvm::Value* moved(llvm::Value* pointer, llvm::Value* bytes, bool is_far = false);

  const Node& node_;
  llvm::SmallVector<llvm::Value*, 8> numbers_;
  llvm::DenseMap<llvm::Value*, llvm::Value*> loaded_;
  llvm::IRBuilder<>* builder_ = nullptr;
  llvm::Function* function_ = nullptr;
  Kind kind_ = kPack;
};

}  // namespace lacuna::pass

#endif  // LACUNA_OPTIMIZER_PASS_TYPES_KERNEL_HPP_
