// SPDX-License-Identifier: BSD-3-Clause
//
// Prints a type by the table in grammar.hpp, in canonical form: lower case, no MPI prefix, one
// blank after a comma, words for values that have one.
#include <string>

#include "type/text/grammar.hpp"
#include "type/text/text.hpp"

namespace lacuna {
namespace {

using detail::Parameter;
using detail::ParameterKind;

class Printer {
 public:
  explicit Printer(size_t most) : most_(most) {}
  std::string take() && { return std::move(text_); }

  void type(const Type& type) {
    if (type.combiner == Combiner::kNamed) {
      text_ += type.basic->name;
      return;
    }
    if (is_full()) {
      text_ += "...";
      return;
    }
    for (const detail::Constructor& constructor : detail::kConstructors) {
      if (constructor.combiner == type.combiner) return call(constructor, type);
    }
  }

 private:
  void call(const detail::Constructor& constructor, const Type& type) {
    text_ += constructor.name;
    text_ += '(';
    size_t child = 0;
    for (const Parameter& parameter : constructor.parameters) {
      if (parameter.kind == ParameterKind::kNone) break;
      if (parameter.kind == ParameterKind::kRepresentation && has_default_basic(type)) break;
      if (&parameter != &constructor.parameters[0]) text_ += ", ";
      argument(parameter, type, &child);
    }
    text_ += ')';
  }

  void argument(const Parameter& parameter, const Type& of, size_t* child) {
    const auto number = [this](int64_t value) { text_ += std::to_string(value); };
    switch (parameter.kind) {
      case ParameterKind::kNone:
        return;
      case ParameterKind::kInteger:
        return number(of.*parameter.integer);
      case ParameterKind::kDigits:
        if (of.*parameter.integer != kUndefined) return number(of.*parameter.integer);
        text_ += detail::kUndefinedWord;
        return;
      case ParameterKind::kIntegers:
        return list(of.*parameter.integers, number);
      case ParameterKind::kDargs:
        return list(of.*parameter.integers, [&](int64_t darg) {
          if (darg != kDefaultDarg) return number(darg);
          text_ += detail::kDefaultWord;
        });
      case ParameterKind::kDistributions:
        return list(of.distribs, [this](Distribution distribution) {
          text_ += detail::kDistributionWords[static_cast<size_t>(distribution)];
        });
      case ParameterKind::kOrder:
        text_ += detail::kOrderWords[static_cast<size_t>(of.order)];
        return;
      case ParameterKind::kType:
        return type(*of.children[(*child)++]);
      case ParameterKind::kTypes:
        return list(of.children, [this](const TypePtr& entry) { type(*entry); });
      case ParameterKind::kRepresentation:
        text_ += of.basic->name;
        return;
    }
  }

  template <typename List, typename Print>
  void list(const List& entries, Print print) {
    text_ += '[';
    bool first = true;
    for (const auto& entry : entries) {
      if (!first) text_ += ", ";
      if (is_full()) {
        text_ += "... " + std::to_string(entries.size()) + " entries";
        break;
      }
      first = false;
      print(entry);
    }
    text_ += ']';
  }

  // Whether an f90_* type has the default representation of its precision and range.
  static bool has_default_basic(const Type& type) {
    Type fields;
    fields.combiner = type.combiner;
    fields.precision = type.precision;
    fields.range = type.range;
    const Result<TypePtr> unasked = make_from_fields(fields);
    return unasked.ok() && (*unasked)->basic == type.basic;
  }

  bool is_full() const { return text_.size() >= most_; }

  size_t most_;
  std::string text_;
};

}  // namespace

std::string print_type(const Type& type, size_t most_bytes) {
  Printer printer(most_bytes);
  printer.type(type);
  return std::move(printer).take();
}

}  // namespace lacuna
