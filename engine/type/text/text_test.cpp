// SPDX-License-Identifier: BSD-3-Clause
//
// The text form: names and round trips.
#include "type/text/text.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "type/random/random.hpp"

namespace lacuna {
namespace {

// The canonical text of what `text` means, or the error.
std::string canonical(std::string_view text) {
  const Result<TypePtr> type = parse_type(text);
  return type ? print_type(**type) : type.error().message;
}

// ---- names of basics ----

TEST(Basics, AreFoundByEverySpelling) {
  std::set<std::string_view> names;
  for (const Basic& basic : all_basics()) {
    EXPECT_TRUE(names.insert(basic.name).second) << basic.name << " twice";
    EXPECT_EQ(find_basic(basic.name), &basic);
    std::string loud = "MPI_";
    for (const char c : basic.name) loud += static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
    EXPECT_EQ(find_basic(loud), &basic) << loud;
  }
  EXPECT_EQ(find_basic("long_long"), find_basic("long_long_int"));
  EXPECT_EQ(find_basic("MPI_C_FLOAT_COMPLEX"), find_basic("c_complex"));
  for (const char* name : {"", "mpi_", "MPI_MPI_INT", "in", "intt", "int ", "vector"}) {
    EXPECT_EQ(find_basic(name), nullptr) << name;
  }
}

TEST(Basics, AllOfMpiAreThere) {
  for (const char* name : {"char",
                           "signed_char",
                           "unsigned_char",
                           "byte",
                           "wchar",
                           "short",
                           "unsigned_short",
                           "int",
                           "unsigned",
                           "long",
                           "unsigned_long",
                           "long_long_int",
                           "long_long",
                           "unsigned_long_long",
                           "float",
                           "double",
                           "long_double",
                           "int8_t",
                           "int16_t",
                           "int32_t",
                           "int64_t",
                           "uint8_t",
                           "uint16_t",
                           "uint32_t",
                           "uint64_t",
                           "aint",
                           "count",
                           "offset",
                           "c_bool",
                           "c_complex",
                           "c_float_complex",
                           "c_double_complex",
                           "c_long_double_complex",
                           "cxx_bool",
                           "cxx_float_complex",
                           "cxx_double_complex",
                           "cxx_long_double_complex",
                           "packed",
                           "integer",
                           "logical",
                           "real",
                           "double_precision",
                           "complex",
                           "double_complex",
                           "character",
                           "integer1",
                           "integer2",
                           "integer4",
                           "integer8",
                           "integer16",
                           "real2",
                           "real4",
                           "real8",
                           "real16",
                           "complex4",
                           "complex8",
                           "complex16",
                           "complex32",
                           "logical1",
                           "logical2",
                           "logical4",
                           "logical8",
                           "logical16",
                           "float_int",
                           "double_int",
                           "long_int",
                           "short_int",
                           "2int",
                           "long_double_int",
                           "2real",
                           "2double_precision",
                           "2integer",
                           "2complex",
                           "2double_complex"}) {
    EXPECT_NE(find_basic(name), nullptr) << name;
  }
}

// ---- printing and reading back ----

// One of each constructor, as docs/user/types.md has them.
constexpr const char* kExamples[] = {
    "dup(double)",
    "contiguous(3, int)",
    "vector(1024, 1, 1024, double)",
    "hvector(4, 2, -24, int)",
    "indexed([1, 2], [0, 4], int)",
    "hindexed([1, 2], [0, 4], int)",
    "indexed_block(2, [0, 5, 9], float)",
    "hindexed_block(2, [0, 12, 40], float)",
    "struct([1, 3], [0, 8], [int, double])",
    "struct([], [], [])",
    "subarray([128, 128, 128], [1, 128, 128], [0, 0, 0], c, double)",
    "subarray([4, 4], [2, 2], [1, 1], fortran, char)",
    "darray(4, 1, [100, 100], [block, cyclic], [default, 4], [2, 2], fortran, float)",
    "darray(2, 0, [7, 5], [none, block], [default, default], [1, 2], c, float)",
    "resized(0, 8, vector(1024, 1, 1024, double))",
    "resized(-9223372036854775808, 9223372036854775807, byte)",
    "value_index(double, int)",
    "f90_real(6, 37)",
    "f90_real(undefined, 37)",
    "f90_real(3, undefined, real2)",
    "f90_complex(15, undefined)",
    "f90_integer(9)",
    "f90_integer(9, integer8)",
    "2double_precision",
};

TEST(Text, CanonicalFormStays) {
  std::set<Combiner> seen;
  for (const char* text : kExamples) {
    EXPECT_EQ(canonical(text), text);
    const Result<TypePtr> type = parse_type(text);
    if (type) seen.insert((*type)->combiner);
  }
  EXPECT_EQ(seen.size(), 17u) << "a constructor has no example";
}

TEST(Text, BasicsPrintTheirName) {
  for (const Basic& basic : all_basics()) EXPECT_EQ(canonical(basic.name), basic.name);
}

TEST(Text, OtherSpellingsMeanTheSame) {
  const std::pair<const char*, const char*> spellings[] = {
      {"MPI_DOUBLE", "double"},
      {"  MPI_Double\n", "double"},
      {"long_long", "long_long_int"},
      {"MPI_2INT", "2int"},
      {"vector(1_000_000,1,-1_0,INT)", "vector(1000000, 1, -10, int)"},
      {"MPI_Type_vector( 3 ,1,\t4,\r\nMPI_INT )", "vector(3, 1, 4, int)"},
      {"mpi_type_create_hvector(3, 1, 4, int)", "hvector(3, 1, 4, int)"},
      {"MPI_TYPE_CREATE_STRUCT([1],[0],[MPI_Type_dup(int)])", "struct([1], [0], [dup(int)])"},
      {"MPI_Type_contiguous_c(3, int)", "contiguous(3, int)"},
      {"MPI_Type_create_indexed_block_c(3, [1], int)", "indexed_block(3, [1], int)"},
      {"MPI_Type_get_value_index(float, int)", "value_index(float, int)"},
      {"MPI_Type_create_f90_real(MPI_UNDEFINED, 30)", "f90_real(undefined, 30)"},
      {"Subarray([2], [1], [0], MPI_ORDER_FORTRAN, int)", "subarray([2], [1], [0], fortran, int)"},
      {"subarray([2], [1], [0], order_c, int)", "subarray([2], [1], [0], c, int)"},
      {"darray(1, 0, [2, 2, 2], [MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE],"
       "[MPI_DISTRIBUTE_DFLT_DARG, -1, DEFAULT], [1, 1, 1], MPI_ORDER_C, int)",
       "darray(1, 0, [2, 2, 2], [block, cyclic, none], [default, default, default], [1, 1, 1], c, "
       "int)"},
      {"f90_real(6, 37, real4)", "f90_real(6, 37)"},
      {"f90_real(6, 37, MPI_FLOAT)", "f90_real(6, 37, float)"},
  };
  for (const auto& [text, meaning] : spellings) EXPECT_EQ(canonical(text), meaning) << text;
}

TEST(Text, RoundTripOfRandomTypes) {
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    const TypePtr type = random_type(seed);
    const std::string text = print_type(*type);
    const Result<TypePtr> again = parse_type(text);
    ASSERT_TRUE(again.ok()) << "seed " << seed << "\n" << again.error().message;
    ASSERT_TRUE(equal(*type, **again)) << "seed " << seed << ": " << text;
    ASSERT_EQ(print_type(**again), text) << "seed " << seed;
    // The text has the arguments only; the derived members must be restored as well.
    ASSERT_EQ((*again)->lb, type->lb) << text;
    ASSERT_EQ((*again)->ub, type->ub) << text;
    ASSERT_EQ(signature_of(**again).hash, signature_of(*type).hash) << text;
  }
}

TEST(Text, EqualTellsTypesApart) {
  const std::vector<const char*> texts(std::begin(kExamples), std::end(kExamples));
  for (const char* a : texts) {
    for (const char* b : texts) {
      EXPECT_EQ(equal(**parse_type(a), **parse_type(b)), a == b) << a << " and " << b;
    }
  }
  // Pairs that differ in one argument, with equal sizes and bounds.
  const std::pair<const char*, const char*> alike[] = {
      {"vector(1, 2, 3, int)", "vector(1, 2, 4, int)"},
      {"hvector(1, 2, 3, int)", "vector(1, 2, 3, int)"},
      {"indexed([1, 0], [0, 1], int)", "indexed([1, 0], [0, 2], int)"},
      {"subarray([1], [1], [0], c, int)", "subarray([1], [1], [0], fortran, int)"},
      {"darray(1, 0, [4], [block], [4], [1], c, int)",
       "darray(1, 0, [4], [block], [5], [1], c, int)"},
      {"darray(1, 0, [4], [block], [4], [1], c, int)",
       "darray(1, 0, [4], [cyclic], [4], [1], c, int)"},
      {"f90_real(5, 30)", "f90_real(6, 30)"},
      {"f90_real(6, 30)", "f90_real(6, 30, float)"},
      {"dup(int)", "dup(unsigned)"},
      {"dup(int)", "contiguous(1, int)"},
  };
  for (const auto& [a, b] : alike) {
    EXPECT_FALSE(equal(**parse_type(a), **parse_type(b))) << a << " and " << b;
  }
}

// For people: long lists are cut, and the number of entries is added.
TEST(Text, LongOnesAreCut) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < 100000; ++i) places.push_back(i * 3);
  const TypePtr type =
      make_indexed_block(1, std::move(places), make_named(*find_basic("int"))).value();
  EXPECT_EQ(print_type(*type, 30), "indexed_block(1, [0, 3, 6, 9, ... 100000 entries], int)");
  EXPECT_LT(print_type(*make_struct({1, 1}, {0, 1 << 20}, {type, type}).value(), 300).size(), 400U);
  const TypePtr small = make_vector(3, 1, 2, make_named(*find_basic("int"))).value();
  EXPECT_EQ(print_type(*small, 300), print_type(*small));
}

}  // namespace
}  // namespace lacuna
