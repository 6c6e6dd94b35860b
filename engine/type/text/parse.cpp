// SPDX-License-Identifier: BSD-3-Clause
//
// Parses a type by recursive descent over the table in grammar.hpp, and calls the constructors of
// type.hpp, which check the arguments. An error shows what is wrong, the text, and a caret under
// the place.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/spelling.hpp"
#include "type/text/grammar.hpp"
#include "type/text/text.hpp"

namespace lacuna {
namespace {

using detail::Constructor;
using detail::Parameter;
using detail::ParameterKind;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_word(char c) { return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z') || c == '_'; }

std::string quoted(std::string_view text) { return std::string("'").append(text).append("'"); }

// vector(count, blocklength, stride, oldtype)
std::string usage(const Constructor& constructor) {
  std::string text(constructor.name);
  std::string separator = "(";
  for (const Parameter& parameter : constructor.parameters) {
    if (parameter.kind == ParameterKind::kNone) break;
    const bool optional = parameter.kind == ParameterKind::kRepresentation;
    text += optional ? "[" + separator : separator;
    text += parameter.name;
    if (optional) text += "]";
    separator = ", ";
  }
  return text + ")";
}

const Constructor* find_constructor(std::string_view name) {
  for (const Constructor& constructor : detail::kConstructors) {
    if (constructor.name == name) return &constructor;
  }
  return nullptr;
}

// A lower-case word without MPI's prefix: MPI_Type_create_hvector -> hvector, MPI_DOUBLE -> double.
std::string plain_name(std::string_view word) {
  std::string name(word);
  std::transform(name.begin(), name.end(), name.begin(), lower);
  const auto strip = [&name](std::string_view prefix) {
    if (!name.starts_with(prefix)) return false;
    name.erase(0, prefix.size());
    return true;
  };
  if (strip("mpi_type_")) {
    if (!strip("create_")) strip("get_");
    if (name.ends_with("_c")) name.erase(name.size() - 2);  // the large-count form
  } else {
    strip("mpi_");
  }
  return name;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<TypePtr> parse() {
    TypePtr type = parse_type(0);
    if (type && found() != kEnd) type = fail_expecting("the end of the text");
    if (!type) return *std::move(error_);
    return type;
  }

 private:
  static constexpr std::string_view kEnd = "the end of the text";

  // ---- the text ----

  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  // The word at the current place; empty where there is none.
  std::string_view word() {
    skip_space();
    size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }

  bool take(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  // ---- errors: the first one stays ----

  std::nullptr_t fail(lacuna_status status, const std::string& message, size_t at) {
    if (!error_) error_ = Error{status, message + "\n" + picture(at)};
    return nullptr;
  }
  std::nullptr_t fail(const std::string& message) { return fail(LACUNA_PARSE_ERROR, message, at_); }
  std::nullptr_t fail_expecting(const std::string& what) {
    return fail("expected " + what + ", found " + found());
  }

  std::string found() {
    skip_space();
    if (at_ == text_.size()) return std::string(kEnd);
    size_t end = at_ + 1;
    if (is_word(text_[at_]) || text_[at_] == '-') {
      while (end < text_.size() && end < at_ + 40 && is_word(text_[end])) ++end;
    }
    return quoted(printable(text_.substr(at_, end - at_)));
  }

  // One column a byte, so that the caret is under the right one.
  static std::string printable(std::string_view text) {
    std::string result(text);
    for (char& c : result) {
      if (is_space(c)) c = ' ';
      if (c < ' ' || c > '~') c = '?';
    }
    return result;
  }

  // The text, or the part around `at` where it is long, and a caret under `at`.
  std::string picture(size_t at) const {
    constexpr size_t kWidth = 90;
    const size_t begin = text_.size() <= kWidth || at <= kWidth / 2
                             ? 0
                             : std::min(at - kWidth / 2, text_.size() - kWidth);
    const size_t end = std::min(text_.size(), begin + kWidth);
    const std::string_view before = begin > 0 ? "..." : "";
    const std::string_view after = end < text_.size() ? "..." : "";
    return std::string(before) + printable(text_.substr(begin, end - begin)) + std::string(after) +
           "\n" + std::string(before.size() + at - begin, ' ') + "^";
  }

  // ---- types ----

  TypePtr parse_type(int depth) {
    const std::string_view name = word();
    const size_t name_at = at_;
    if (std::all_of(name.begin(), name.end(), is_digit)) {  // or there is none
      return fail_expecting("a type, such as double or vector(3, 1, 4, double)");
    }
    const std::string plain = plain_name(name);
    at_ += name.size();
    const Constructor* constructor = find_constructor(plain);
    skip_space();
    const bool called = at_ < text_.size() && text_[at_] == '(';
    if (constructor && called) {
      if (depth == kMaxDepth) {
        at_ = name_at;
        return fail("nested deeper than " + std::to_string(kMaxDepth) + " constructors");
      }
      return parse_call(*constructor, name_at, depth);
    }
    if (const Basic* basic = constructor ? nullptr : find_basic(name)) {
      if (called) return fail(quoted(name) + " is a predefined type, which takes no arguments");
      return make_named(*basic);
    }
    at_ = name_at;
    if (constructor) return fail(quoted(name) + " needs its arguments: " + usage(*constructor));
    if (plain == "lb" || plain == "ub") {
      return fail(quoted(name) + " is not in MPI since 3.0; write resized(lb, extent, type)");
    }
    NearestName nearest(plain, std::max<size_t>(plain.size(), 3) / 3);
    for (const Constructor& other : detail::kConstructors) nearest.offer(other.name);
    if (!called) {
      for (const Basic& other : all_basics()) nearest.offer(other.name);
    }
    return fail("unknown " + std::string(called ? "constructor " : "type ") +
                quoted(name.substr(0, 40)) +
                (nearest.name().empty() ? "" : "; did you mean " + quoted(nearest.name()) + "?"));
  }

  TypePtr parse_call(const Constructor& constructor, size_t name_at, int depth) {
    constructor_ = &constructor;
    Type fields;
    fields.combiner = constructor.combiner;
    take('(');
    for (const Parameter& parameter : constructor.parameters) {
      if (parameter.kind == ParameterKind::kNone) break;
      const bool first = &parameter == &constructor.parameters[0];
      if (!first && !take(',')) {
        if (parameter.kind == ParameterKind::kRepresentation) break;
        return fail_expecting_in("',' and then " + std::string(parameter.name));
      }
      if (!parse_argument(parameter, &fields, depth)) return nullptr;
    }
    if (!take(')')) return fail_expecting_in("')'");
    Result<TypePtr> type = make_from_fields(fields);
    if (!type) return fail(type.error().status, type.error().message, name_at);
    return *std::move(type);
  }

  std::nullptr_t fail_expecting_in(const std::string& what) {
    return fail("expected " + what + " in " + usage(*constructor_) + ", found " + found());
  }

  // ---- arguments: false after an error ----

  bool parse_argument(const Parameter& parameter, Type* fields, int depth) {
    const std::string name(parameter.name);
    switch (parameter.kind) {
      case ParameterKind::kNone:
        return true;
      case ParameterKind::kInteger:
        return parse_integer(name, &(fields->*parameter.integer));
      case ParameterKind::kDigits:
        return take_word(detail::kUndefinedWord, kUndefined, &(fields->*parameter.integer)) ||
               parse_integer(name, &(fields->*parameter.integer));
      case ParameterKind::kIntegers:
        return parse_list(name, [&] {
          return parse_integer(name, &(fields->*parameter.integers).emplace_back());
        });
      case ParameterKind::kDargs:
        return parse_list(name, [&] {
          int64_t* darg = &(fields->*parameter.integers).emplace_back();
          return take_word(detail::kDefaultWord, kDefaultDarg, darg) ||
                 take_word("distribute_dflt_darg", kDefaultDarg, darg) || parse_integer(name, darg);
        });
      case ParameterKind::kDistributions:
        return parse_list(name, [&] { return parse_distribution(&fields->distribs); });
      case ParameterKind::kOrder:
        return parse_order(&fields->order);
      case ParameterKind::kType:
        return parse_child(fields, depth);
      case ParameterKind::kTypes:
        return parse_list(name, [&] { return parse_child(fields, depth); });
      case ParameterKind::kRepresentation:
        fields->basic = find_basic(word());
        if (!fields->basic) fail_expecting_in("a predefined type");
        at_ += word().size();
        return fields->basic != nullptr;
    }
    return false;
  }

  bool parse_child(Type* fields, int depth) {
    const Constructor* parent = constructor_;
    TypePtr child = parse_type(depth + 1);
    constructor_ = parent;
    if (!child) return false;
    fields->children.push_back(std::move(child));
    return true;
  }

  template <typename ParseEntry>
  bool parse_list(const std::string& name, ParseEntry parse_entry) {
    if (!take('[')) {
      fail_expecting_in("'[' of the list " + name);
      return false;
    }
    if (take(']')) return true;
    while (true) {
      if (!parse_entry()) return false;
      if (take(']')) return true;
      if (take(',')) continue;
      fail_expecting_in("',' or ']' in the list " + name);
      return false;
    }
  }

  // Takes the word, with or without MPI's prefix, as a value.
  template <typename Value>
  bool take_word(std::string_view expected, Value value, Value* result) {
    const std::string_view next = word();
    if (next.empty() || plain_name(next) != expected) return false;
    at_ += next.size();
    *result = value;
    return true;
  }

  bool parse_order(Order* order) {
    for (const Order value : {Order::kC, Order::kFortran}) {
      const std::string_view name = detail::kOrderWords[static_cast<size_t>(value)];
      if (take_word(name, value, order)) return true;
      if (take_word("order_" + std::string(name), value, order)) return true;
    }
    fail_expecting_in("the order, c or fortran,");
    return false;
  }

  bool parse_distribution(std::vector<Distribution>* distributions) {
    Distribution* result = &distributions->emplace_back();
    for (const Distribution value :
         {Distribution::kNone, Distribution::kBlock, Distribution::kCyclic}) {
      const std::string_view name = detail::kDistributionWords[static_cast<size_t>(value)];
      if (take_word(name, value, result)) return true;
      if (take_word("distribute_" + std::string(name), value, result)) return true;
    }
    fail_expecting_in("a distribution, block, cyclic or none,");
    return false;
  }

  // -?[0-9]+, with single underscores between digits.
  bool parse_integer(const std::string& name, int64_t* result) {
    skip_space();
    const size_t begin = at_;
    const bool negative = take('-');
    const std::string_view digits = at_ < text_.size() && is_word(text_[at_]) ? word() : "";
    bool good = !digits.empty();
    Checked value = 0;
    for (size_t i = 0; i < digits.size(); ++i) {
      const bool digit = is_digit(digits[i]);
      const bool separator = digits[i] == '_' && i > 0 && i + 1 < digits.size() &&
                             is_digit(digits[i - 1]) && is_digit(digits[i + 1]);
      good = good && (digit || separator);
      // Negative numbers are built by subtraction: INT64_MIN has no positive counterpart.
      if (digit) value = value * 10 + (negative ? '0' - digits[i] : digits[i] - '0');
    }
    if (good && value.ok()) {
      at_ += digits.size();
      *result = value.value();
      return true;
    }
    at_ = begin;
    if (good) {
      fail(name + " does not fit into 64 bits, " + std::to_string(INT64_MIN) + " to " +
           std::to_string(INT64_MAX));
    } else {
      fail_expecting_in("an integer, " + name + ",");
    }
    return false;
  }

  std::string_view text_;
  size_t at_ = 0;
  const Constructor* constructor_ = nullptr;  // whose arguments are being read
  std::optional<Error> error_;
};

}  // namespace

Result<TypePtr> parse_type(std::string_view text) { return Parser(text).parse(); }

}  // namespace lacuna
