// SPDX-License-Identifier: BSD-3-Clause
#include "optimizer/pass/types/type.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Constants.h>

#include "optimizer/pass/handles/raise.hpp"

namespace lacuna::pass {

bool Type::is_constant() const {
  return listed_by == nullptr &&
         llvm::all_of(numbers,
                      [](const auto& list) {
                        return llvm::all_of(
                            list, [](auto* value) { return llvm::isa<llvm::ConstantInt>(value); });
                      }) &&
         llvm::all_of(parts, [](const Type* part) { return part->is_constant(); });
}

namespace {

std::string text_of(llvm::Value* number) {
  const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(number);
  return integer == nullptr ? "?" : std::to_string(integer->getSExtValue());
}

constexpr size_t kMostInRemark = 8;  // elements of a list: a remark is one line

template <class List, class Text>
std::string listed(const List& list, size_t most, Text text) {
  std::string result = "[";
  for (size_t i = 0; i < list.size(); ++i) {
    if (i > 0) result += ", ";
    if (i == most && list.size() > most + 1) {
      result += "...";
      break;
    }
    result += text(list[i]);
  }
  return result + "]";
}

}  // namespace

std::string Type::text(llvm::SmallVectorImpl<llvm::Value*>* unknown) const {
  const size_t most = unknown == nullptr ? kMostInRemark : SIZE_MAX - 1;
  const auto written = [unknown](llvm::Value* number) {
    if (unknown != nullptr && !llvm::isa<llvm::ConstantInt>(number)) unknown->push_back(number);
    return text_of(number);
  };
  if (basic != nullptr) return basic->name;
  std::string result = made_by->text.str() + "(";
  const bool has_list = llvm::any_of(made_by->parameters,
                                     [](char letter) { return letter != 'H' && is_array(letter); });
  size_t number = 0;
  bool first = true;
  for (size_t i = 0; i + 1 < made_by->parameters.size(); ++i) {
    const char letter = made_by->parameters[i];
    std::string word;
    if (letter == 'h') {
      if (made_by->text == "resized") continue;  // in the text the type is last
      word = parts[0]->text(unknown);
    } else if (letter == 'H') {
      word = listed(parts, most, [&](const Type* part) { return part->text(unknown); });
    } else {
      const auto& list = numbers[number++];
      if (i == 0 && has_list) continue;  // the lists show the count
      word = is_array(letter) ? listed(list, most, written) : written(list[0]);
      if (made_by->text == "subarray" && letter == 'i') word = order;
      if (listed_by != nullptr && list.empty()) word = "[?]";
    }
    result += (first ? "" : ", ") + word;
    first = false;
  }
  if (made_by->text == "resized") result += ", " + parts[0]->text(unknown);
  return result + ")";
}

bool equal(const Type& one, const Type& other) {
  if (one.basic != other.basic || one.made_by != other.made_by || one.numbers != other.numbers ||
      one.listed_by != other.listed_by || one.parts.size() != other.parts.size()) {
    return false;
  }
  for (size_t i = 0; i < one.parts.size(); ++i) {
    if (!equal(*one.parts[i], *other.parts[i])) return false;
  }
  return true;
}

}  // namespace lacuna::pass
