// SPDX-License-Identifier: BSD-3-Clause
//
// The predefined datatypes that can carry data, with the sizes and alignments of C and gfortran on
// LP64 machines (x86-64, aarch64), and the constructors whose result is itself predefined in MPI:
// named, value_index and the f90_* family. Where an MPI library has other sizes, mpi/decode.cpp
// declines; nothing else in the engine knows the size of a C type.
#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "type/bounds.hpp"
#include "type/type.hpp"

namespace lacuna {
namespace {

constexpr Basic scalar(std::string_view name, int64_t size, int64_t alignment) {
  return Basic{name, size, size, alignment, {{0, size}, {0, 0}}, 1};
}

// Most types are aligned to their size.
constexpr Basic scalar(std::string_view name, int64_t size) { return scalar(name, size, size); }

constexpr int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// The layout of the C struct { value; index; }.
struct PairShape {
  int64_t index_offset;
  int64_t extent;
  int64_t alignment;
};

constexpr PairShape shape_of(const Basic& value, const Basic& index) {
  const int64_t alignment = std::max(value.alignment_bytes, index.alignment_bytes);
  const int64_t index_offset = round_up(value.size_bytes, index.alignment_bytes);
  return {index_offset, round_up(index_offset + index.size_bytes, alignment), alignment};
}

constexpr Basic pair(std::string_view name, const Basic& value, const Basic& index) {
  const PairShape shape = shape_of(value, index);
  return Basic{name,
               value.size_bytes + index.size_bytes,
               shape.extent,
               shape.alignment,
               {{0, value.size_bytes}, {shape.index_offset, index.size_bytes}},
               2};
}

constexpr Basic kInt = scalar("int", 4);
constexpr Basic kShort = scalar("short", 2);
constexpr Basic kLong = scalar("long", 8);
constexpr Basic kFloat = scalar("float", 4);
constexpr Basic kDouble = scalar("double", 8);
constexpr Basic kLongDouble = scalar("long_double", 16);
constexpr Basic kInteger = scalar("integer", 4);
constexpr Basic kReal = scalar("real", 4);
constexpr Basic kDoublePrecision = scalar("double_precision", 8);
constexpr Basic kComplex = scalar("complex", 8, 4);
constexpr Basic kDoubleComplex = scalar("double_complex", 16, 8);

constexpr Basic kBasics[] = {
    // C
    scalar("char", 1),
    scalar("signed_char", 1),
    scalar("unsigned_char", 1),
    scalar("byte", 1),
    scalar("wchar", 4),
    kShort,
    scalar("unsigned_short", 2),
    kInt,
    scalar("unsigned", 4),
    kLong,
    scalar("unsigned_long", 8),
    scalar("long_long_int", 8),
    scalar("unsigned_long_long", 8),
    kFloat,
    kDouble,
    kLongDouble,
    scalar("int8_t", 1),
    scalar("int16_t", 2),
    scalar("int32_t", 4),
    scalar("int64_t", 8),
    scalar("uint8_t", 1),
    scalar("uint16_t", 2),
    scalar("uint32_t", 4),
    scalar("uint64_t", 8),
    scalar("aint", 8),
    scalar("count", 8),
    scalar("offset", 8),
    scalar("c_bool", 1),
    scalar("c_complex", 8, 4),
    scalar("c_double_complex", 16, 8),
    scalar("c_long_double_complex", 32, 16),
    // C++
    scalar("cxx_bool", 1),
    scalar("cxx_float_complex", 8, 4),
    scalar("cxx_double_complex", 16, 8),
    scalar("cxx_long_double_complex", 32, 16),
    // What MPI_Pack wrote
    scalar("packed", 1),
    // Fortran
    kInteger,
    scalar("logical", 4),
    kReal,
    kDoublePrecision,
    kComplex,
    kDoubleComplex,
    scalar("character", 1),
    scalar("integer1", 1),
    scalar("integer2", 2),
    scalar("integer4", 4),
    scalar("integer8", 8),
    scalar("integer16", 16),
    scalar("real2", 2),
    scalar("real4", 4),
    scalar("real8", 8),
    scalar("real16", 16),
    scalar("complex4", 4, 2),
    scalar("complex8", 8, 4),
    scalar("complex16", 16, 8),
    scalar("complex32", 32, 16),
    scalar("logical1", 1),
    scalar("logical2", 2),
    scalar("logical4", 4),
    scalar("logical8", 8),
    scalar("logical16", 16),
    // A value and an index, for MINLOC and MAXLOC
    pair("float_int", kFloat, kInt),
    pair("double_int", kDouble, kInt),
    pair("long_int", kLong, kInt),
    pair("short_int", kShort, kInt),
    pair("2int", kInt, kInt),
    pair("long_double_int", kLongDouble, kInt),
    pair("2real", kReal, kReal),
    pair("2double_precision", kDoublePrecision, kDoublePrecision),
    pair("2integer", kInteger, kInteger),
    pair("2complex", kComplex, kComplex),
    pair("2double_complex", kDoubleComplex, kDoubleComplex),
};

// MPI's second names for the same type.
struct Alias {
  std::string_view name;
  std::string_view meaning;
};
constexpr Alias kAliases[] = {
    {"long_long", "long_long_int"},
    {"c_float_complex", "c_complex"},
};

struct NamedPair {
  std::string_view value;
  std::string_view index;
  std::string_view name;
};
constexpr NamedPair kNamedPairs[] = {
    {"float", "int", "float_int"},
    {"double", "int", "double_int"},
    {"long", "int", "long_int"},
    {"short", "int", "short_int"},
    {"int", "int", "2int"},
    {"long_double", "int", "long_double_int"},
    {"real", "real", "2real"},
    {"double_precision", "double_precision", "2double_precision"},
    {"integer", "integer", "2integer"},
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

Ref<Type> leaf(Combiner combiner, const Basic& basic) {
  auto type = make_ref<Type>();
  type->combiner = combiner;
  type->basic = &basic;
  type->size_bytes = basic.size_bytes;
  type->ub = basic.extent_bytes;
  const BasicPart& last = basic.parts[basic.part_count - 1];
  type->true_ub = last.offset_bytes + last.size_bytes;
  type->alignment_bytes = basic.alignment_bytes;
  type->signature = {1, &basic};
  return type;
}

Error f90_error(std::string_view constructor, std::string_view argument, int64_t value,
                std::string_view rule) {
  return detail::invalid(constructor, argument, value, rule);
}

// gfortran's selected_real_kind on LP64: kinds 4, 8 and 16, as an index 0, 1, 2; (kind 10 of x86
// takes 16 bytes as well).
Result<int> real_kind(std::string_view constructor, int64_t precision, int64_t range) {
  if (precision == kUndefined && range == kUndefined) {
    return f90_error(constructor, "precision", precision,
                     "precision and range must not both be undefined");
  }
  for (const auto& [argument, value, most] : {std::tuple("precision", precision, int64_t{33}),
                                              std::tuple("range", range, int64_t{4931})}) {
    if (value == kUndefined) continue;
    if (value < 0 || value > most) {
      return f90_error(constructor, argument, value,
                       "it must be undefined or from 0 to " + std::to_string(most) +
                           ", as in gfortran's widest real");
    }
  }
  // kUndefined is negative and below every limit, so the other argument decides.
  if (precision <= 6 && range <= 37) return 0;
  if (precision <= 15 && range <= 307) return 1;
  return 2;
}

Result<TypePtr> f90_leaf(Combiner combiner, std::string_view constructor, int64_t precision,
                         int64_t range, const Basic& basic) {
  if (basic.part_count != 1) {
    return Error{LACUNA_INVALID_ARGUMENT, std::string(constructor) + ": the representation is " +
                                              std::string(basic.name) +
                                              "; it must not be a pair type"};
  }
  auto type = leaf(combiner, basic);
  type->precision = precision;
  type->range = range;
  detail::fingerprint(type.get());
  return TypePtr(std::move(type));
}

}  // namespace

const Basic* find_basic(std::string_view name) {
  constexpr std::string_view kPrefix = "mpi_";
  if (name.size() > kPrefix.size() && same_name(name.substr(0, kPrefix.size()), kPrefix)) {
    name.remove_prefix(kPrefix.size());
  }
  for (const Alias& alias : kAliases) {
    if (same_name(name, alias.name)) name = alias.meaning;
  }
  for (const Basic& basic : kBasics) {
    if (same_name(name, basic.name)) return &basic;
  }
  return nullptr;
}

std::span<const Basic> all_basics() { return kBasics; }

TypePtr make_named(const Basic& basic) {
  // Made once and never destroyed, so that programs may use them to their last instruction.
  static const std::vector<TypePtr>& all = []() -> const std::vector<TypePtr>& {
    auto* types = new std::vector<TypePtr>;
    for (const Basic& one : kBasics) {
      Ref<Type> type = leaf(Combiner::kNamed, one);
      detail::fingerprint(type.get());
      type->tree_bytes = 0;
      types->push_back(std::move(type));
      // Only now: its first owner is counted, and leaves no more.
      const_cast<Type&>(*types->back()).make_immortal();
    }
    return *types;
  }();
  return all[static_cast<size_t>(&basic - kBasics)];
}

Result<TypePtr> make_value_index(TypePtr value, TypePtr index) {
  for (const auto& [argument, type] : {std::pair("value", &value), std::pair("index", &index)}) {
    if (!*type) return detail::null_child("value_index", argument);
    if ((*type)->combiner != Combiner::kNamed || (*type)->basic->part_count != 1) {
      return Error{LACUNA_INVALID_ARGUMENT, std::string("value_index: ") + argument +
                                                " must be a predefined type that is not a pair"};
    }
  }
  const Basic& first = *value->basic;
  const Basic& second = *index->basic;
  auto type = make_ref<Type>();
  type->combiner = Combiner::kValueIndex;
  for (const NamedPair& named : kNamedPairs) {
    if (named.value == first.name && named.index == second.name) {
      type->basic = find_basic(named.name);
    }
  }
  const PairShape shape = shape_of(first, second);
  type->size_bytes = first.size_bytes + second.size_bytes;
  type->ub = shape.extent;
  type->true_ub = shape.index_offset + second.size_bytes;
  type->alignment_bytes = shape.alignment;
  type->depth = 1;
  type->parts = 1;
  if (type->basic) {
    type->signature = {1, type->basic};
  } else {
    type->signature = {2, &first == &second ? &first : nullptr};
  }
  type->children = {std::move(value), std::move(index)};
  detail::fingerprint(type.get());
  return TypePtr(std::move(type));
}

Result<TypePtr> make_f90_real(int64_t precision, int64_t range, const Basic* basic) {
  if (!basic) {
    constexpr std::string_view kNames[] = {"real4", "real8", "real16"};
    const Result<int> kind = real_kind("f90_real", precision, range);
    if (!kind) return kind.error();
    basic = find_basic(kNames[*kind]);
  }
  return f90_leaf(Combiner::kF90Real, "f90_real", precision, range, *basic);
}

Result<TypePtr> make_f90_complex(int64_t precision, int64_t range, const Basic* basic) {
  if (!basic) {
    constexpr std::string_view kNames[] = {"complex8", "complex16", "complex32"};
    const Result<int> kind = real_kind("f90_complex", precision, range);
    if (!kind) return kind.error();
    basic = find_basic(kNames[*kind]);
  }
  return f90_leaf(Combiner::kF90Complex, "f90_complex", precision, range, *basic);
}

Result<TypePtr> make_f90_integer(int64_t range, const Basic* basic) {
  if (!basic) {
    // selected_int_kind: the decimal digits that 1, 2, 4, 8 and 16 bytes hold.
    constexpr std::pair<int64_t, std::string_view> kKinds[] = {
        {2, "integer1"}, {4, "integer2"}, {9, "integer4"}, {18, "integer8"}, {38, "integer16"}};
    for (const auto& [most, name] : kKinds) {
      if (range >= 0 && range <= most && !basic) basic = find_basic(name);
    }
    if (!basic) return f90_error("f90_integer", "range", range, "it must be from 0 to 38");
  }
  return f90_leaf(Combiner::kF90Integer, "f90_integer", 0, range, *basic);
}

}  // namespace lacuna
