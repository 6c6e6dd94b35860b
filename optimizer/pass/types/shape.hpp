// SPDX-License-Identifier: BSD-3-Clause
//
// The layout of a type: nested loops over runs of bytes, in typemap order, as [Byna, Gropp, Sun &
// Thakur 2003]. Numbers are 64-bit LLVM values, constants where they are known.
#ifndef LACUNA_OPTIMIZER_PASS_TYPES_SHAPE_HPP_
#define LACUNA_OPTIMIZER_PASS_TYPES_SHAPE_HPP_

#include <llvm/IR/IRBuilder.h>

#include <deque>
#include <string>
#include <vector>

#include "optimizer/pass/base/options.hpp"
#include "optimizer/pass/types/lists.hpp"
#include "optimizer/pass/types/type.hpp"

namespace lacuna::pass {

struct Node {
  enum Kind { kRun, kLoop, kParts, kTable, kList };
  Kind kind = kRun;
  llvm::Value* offset = nullptr;   // bytes from the start of the node above
  bool is_far = false;             // the offset, stride or list may lead to another variable
  llvm::Value* bytes = nullptr;    // packed bytes of the whole node
  llvm::Value* count = nullptr;    // loop, list
  llvm::Value* stride = nullptr;   // loop: bytes between repetitions; list: bytes of one step
  std::vector<const Node*> parts;  // several of kParts; one of kLoop, kTable and kList
  std::vector<int64_t> offsets;    // table: where each repetition of the part begins
  llvm::Value* list = nullptr;     // list: its address as a number; its elements count steps
  unsigned list_bits = 0;          // list: size of an element
};

struct Shape {
  const Node* node = nullptr;
  llvm::Value* one = nullptr;  // set by elements(): packed bytes of one element
  // Both nullptr: not known for sure (padding, empty blocks).
  llvm::Value* lb = nullptr;
  llvm::Value* ub = nullptr;
  bool is_marked = false;  // the bounds were set by resized or subarray
  bool may_be_empty = false;
  bool has_list = false;
  const Basic* unit = nullptr;  // the basic type of all data; packed() where there are several
  int64_t alignment = 1;
  options::Pattern pattern = options::Pattern::kStrided;
};

// Makes shapes, with code for their numbers at one place of the program.
class Shaper {
 public:
  Shaper(const Library& library, Lists& lists, llvm::IRBuilder<>& builder)
      : library_(library), lists_(lists), builder_(builder) {}

  // The shape of `count` elements of a type. `count` has 32 or 64 bits. The node is nullptr where
  // the shape is not known, with the reason in why().
  Shape elements(const Type& type, llvm::Value* count);
  const std::string& why() const { return why_; }
  // Whether the reason is that MPI does not allow such a number.
  bool is_impossible() const { return is_impossible_; }

  llvm::Value* number(int64_t value) { return builder_.getInt64(uint64_t(value)); }
  // The unsigned minimum of a size and 2^31, so that no product of two sizes overflows. A negative
  // size becomes 2^31, too: such a message is too large to be packed first.
  static llvm::Value* held(llvm::Value* bytes, llvm::IRBuilder<>& builder);

 private:
  Shape of(const Type& type);
  Shape constructed(const Type& type);
  Shape basic(const Basic& basic);
  Shape repeated(const Shape& part, llvm::Value* count, llvm::Value* stride, bool is_given = false);
  Shape row(const Shape& part, llvm::Value* count);
  Shape block(const Shape& part, llvm::Value* count);
  Shape strided(const Type& type, bool in_bytes);
  Shape listed(const Type& type, bool one_length, bool in_bytes);
  Shape list(const Type& type, const Shape& part, bool in_bytes);
  Shape fields(const Type& type);
  llvm::Value* is_outside(llvm::Value* size, llvm::Value* subsize, llvm::Value* start);
  Shape subarray(const Type& type);
  Shape resized(const Type& type);
  Shape joined(std::vector<Shape> shapes, std::vector<llvm::Value*> offsets,
               options::Pattern pattern);
  const Node* unless(llvm::Value* holds, const Node& node);
  Shape no(const char* reason);
  Shape impossible(const char* reason);

  Node* node(Node::Kind kind, llvm::Value* offset, llvm::Value* bytes);
  const Node* moved(const Node* node, llvm::Value* by, bool is_given = false);
  llvm::Value* wide(llvm::Value* number) {
    return builder_.CreateSExt(number, builder_.getInt64Ty());
  }
  llvm::Value* sum(llvm::Value* a, llvm::Value* b) { return builder_.CreateAdd(a, b); }
  llvm::Value* product(llvm::Value* a, llvm::Value* b) { return builder_.CreateMul(a, b); }
  llvm::Value* least(llvm::Value* a, llvm::Value* b) {
    return a == b ? a : builder_.CreateSelect(builder_.CreateICmpSLT(a, b), a, b);
  }
  llvm::Value* greatest(llvm::Value* a, llvm::Value* b) {
    return a == b ? a : builder_.CreateSelect(builder_.CreateICmpSGT(a, b), a, b);
  }
  llvm::Value* held(llvm::Value* bytes) { return held(bytes, builder_); }

  const Library& library_;
  Lists& lists_;
  llvm::IRBuilder<>& builder_;
  std::deque<Node> nodes_;
  llvm::DenseMap<llvm::CallBase*, llvm::Value*> copies_;  // addresses of the copies of lists
  std::string why_;
  bool is_impossible_ = false;
};

// The value as a constant; nullptr if it is none.
inline const llvm::ConstantInt* constant(const llvm::Value* value) {
  return llvm::dyn_cast_or_null<llvm::ConstantInt>(value);
}
inline bool is_negative(const llvm::Value* value) {
  return constant(value) != nullptr && constant(value)->isNegative();
}
inline bool is(const llvm::Value* value, int64_t number) {
  const auto* known = constant(value);
  return known != nullptr && known->getSExtValue() == number;
}

}  // namespace lacuna::pass

#endif  // LACUNA_OPTIMIZER_PASS_TYPES_SHAPE_HPP_
