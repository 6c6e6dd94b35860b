// SPDX-License-Identifier: BSD-3-Clause
//
// The constructors as the text form knows them: names, parameters in order, and the field of Type
// that holds each. The one table behind parsing, printing and the messages that say what a
// constructor takes. Private to engine/type.
#ifndef LACUNA_ENGINE_TYPE_TEXT_GRAMMAR_HPP_
#define LACUNA_ENGINE_TYPE_TEXT_GRAMMAR_HPP_

#include <array>
#include <string_view>

#include "type/type.hpp"

namespace lacuna::detail {

enum class ParameterKind : uint8_t {
  kNone,            // no further parameter
  kInteger,         // 12
  kDigits,          // 12 or undefined
  kIntegers,        // [1, 2]
  kDargs,           // [4, default]
  kDistributions,   // [block, cyclic, none]
  kOrder,           // c or fortran
  kType,            // a type, appended to the children
  kTypes,           // [int, dup(double)]
  kRepresentation,  // a predefined type, which may be left out
};

struct Parameter {
  std::string_view name;
  ParameterKind kind = ParameterKind::kNone;
  int64_t Type::* integer = nullptr;
  std::vector<int64_t> Type::* integers = nullptr;
};

struct Constructor {
  std::string_view name;
  Combiner combiner;
  std::array<Parameter, 8> parameters;
};

constexpr Parameter integer(std::string_view name, int64_t Type::* field) {
  return {name, ParameterKind::kInteger, field, nullptr};
}
constexpr Parameter integers(std::string_view name, std::vector<int64_t> Type::* field) {
  return {name, ParameterKind::kIntegers, nullptr, field};
}

inline constexpr Parameter kOldtype = {"oldtype", ParameterKind::kType};
inline constexpr Parameter kOrder = {"order", ParameterKind::kOrder};
inline constexpr Parameter kCount = integer("count", &Type::count);
inline constexpr Parameter kBlocklength = integer("blocklength", &Type::blocklength);
inline constexpr Parameter kStride = integer("stride", &Type::stride);
inline constexpr Parameter kBlocklengths = integers("blocklengths", &Type::blocklengths);
inline constexpr Parameter kDisplacements = integers("displacements", &Type::displacements);
inline constexpr Parameter kPrecision = {"precision", ParameterKind::kDigits, &Type::precision};
inline constexpr Parameter kRange = {"range", ParameterKind::kDigits, &Type::range};
inline constexpr Parameter kRepresentation = {"representation", ParameterKind::kRepresentation};

inline constexpr Constructor kConstructors[] = {
    {"dup", Combiner::kDup, {kOldtype}},
    {"contiguous", Combiner::kContiguous, {kCount, kOldtype}},
    {"vector", Combiner::kVector, {kCount, kBlocklength, kStride, kOldtype}},
    {"hvector", Combiner::kHvector, {kCount, kBlocklength, kStride, kOldtype}},
    {"indexed", Combiner::kIndexed, {kBlocklengths, kDisplacements, kOldtype}},
    {"hindexed", Combiner::kHindexed, {kBlocklengths, kDisplacements, kOldtype}},
    {"indexed_block", Combiner::kIndexedBlock, {kBlocklength, kDisplacements, kOldtype}},
    {"hindexed_block", Combiner::kHindexedBlock, {kBlocklength, kDisplacements, kOldtype}},
    {"struct",
     Combiner::kStruct,
     {kBlocklengths, kDisplacements, Parameter{"oldtypes", ParameterKind::kTypes}}},
    {"subarray",
     Combiner::kSubarray,
     {integers("sizes", &Type::sizes), integers("subsizes", &Type::subsizes),
      integers("starts", &Type::starts), kOrder, kOldtype}},
    {"darray",
     Combiner::kDarray,
     {integer("size", &Type::darray_size), integer("rank", &Type::darray_rank),
      integers("gsizes", &Type::sizes), Parameter{"distribs", ParameterKind::kDistributions},
      Parameter{"dargs", ParameterKind::kDargs, nullptr, &Type::dargs},
      integers("psizes", &Type::psizes), kOrder, kOldtype}},
    {"resized",
     Combiner::kResized,
     {integer("lb", &Type::resized_lb), integer("extent", &Type::resized_extent), kOldtype}},
    {"value_index",
     Combiner::kValueIndex,
     {Parameter{"value", ParameterKind::kType}, Parameter{"index", ParameterKind::kType}}},
    {"f90_real", Combiner::kF90Real, {kPrecision, kRange, kRepresentation}},
    {"f90_complex", Combiner::kF90Complex, {kPrecision, kRange, kRepresentation}},
    {"f90_integer", Combiner::kF90Integer, {integer("range", &Type::range), kRepresentation}},
};

inline constexpr std::string_view kDefaultWord = "default";
inline constexpr std::string_view kUndefinedWord = "undefined";

// Indexed by the enums' values.
inline constexpr std::string_view kOrderWords[] = {"c", "fortran"};
inline constexpr std::string_view kDistributionWords[] = {"none", "block", "cyclic"};

}  // namespace lacuna::detail

#endif  // LACUNA_ENGINE_TYPE_TEXT_GRAMMAR_HPP_
