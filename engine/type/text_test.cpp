// SPDX-License-Identifier: BSD-3-Clause
//
// The text form: names, round trips, and errors that point at the right place.
#include "type/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "type/random.hpp"

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

// One of each constructor, as docs/types.md has them.
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
    // Text comes from the arguments alone; what follows from them must come back as well.
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
  // Pairs that differ in one argument which no size or bound shows.
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

// ---- errors ----

struct Refusal {
  const char* text;
  lacuna_status status;
  const char* message;  // the first line
  size_t column;        // of the caret
};

// For texts that are shown whole.
void expect_refusal(const Refusal& refusal) {
  SCOPED_TRACE(refusal.text);
  const Result<TypePtr> type = parse_type(refusal.text);
  ASSERT_FALSE(type.ok());
  EXPECT_EQ(type.error().status, refusal.status);
  std::string shown = refusal.text;
  for (char& c : shown) c = c == '\n' || c == '\t' ? ' ' : c < ' ' || c > '~' ? '?' : c;
  EXPECT_EQ(type.error().message, std::string(refusal.message) + "\n" + shown + "\n" +
                                      std::string(refusal.column, ' ') + "^");
}

constexpr lacuna_status kParse = LACUNA_PARSE_ERROR;
#define LACUNA_VECTOR "vector(count, blocklength, stride, oldtype)"
#define LACUNA_A_TYPE "expected a type, such as double or vector(3, 1, 4, double), found "

TEST(TextErrors, PointAtThePlace) {
  const Refusal refusals[] = {
      {"", kParse, LACUNA_A_TYPE "the end of the text", 0},
      {"  ", kParse, LACUNA_A_TYPE "the end of the text", 2},
      {"(int)", kParse, LACUNA_A_TYPE "'('", 0},
      {"dup()", kParse, LACUNA_A_TYPE "')'", 4},
      {"dup(7)", kParse, LACUNA_A_TYPE "'7'", 4},
      {"dup(-x)", kParse, LACUNA_A_TYPE "'-x'", 4},
      {"int double", kParse, "expected the end of the text, found 'double'", 4},
      {"dup(int))", kParse, "expected the end of the text, found ')'", 8},
      {"doubel", kParse, "unknown type 'doubel'; did you mean 'double'?", 0},
      {"vector(3, 1, 4, MPI_DUOBLE)", kParse, "unknown type 'MPI_DUOBLE'; did you mean 'double'?",
       16},
      {"dup(nonsense)", kParse, "unknown type 'nonsense'", 4},
      {"vektor(3, 1, 4, int)", kParse, "unknown constructor 'vektor'; did you mean 'vector'?", 0},
      {"vec(3, 1, 4, int)", kParse, "unknown constructor 'vec'; did you mean 'vector'?", 0},
      {"MPI_Type_create_hindxed([], [], int)", kParse,
       "unknown constructor 'MPI_Type_create_hindxed'; did you mean 'hindexed'?", 0},
      {"quux(int)", kParse, "unknown constructor 'quux'", 0},
      {"double(int)", kParse, "'double' is a predefined type, which takes no arguments", 6},
      {"dup(vector)", kParse, "'vector' needs its arguments: " LACUNA_VECTOR, 4},
      {"vector(3, 1, int)", kParse,
       "expected an integer, stride, in " LACUNA_VECTOR ", found 'int'", 13},
      {"vector(3, 1, - 4, int)", kParse,
       "expected an integer, stride, in " LACUNA_VECTOR ", found '-'", 13},
      {"vector(3, 1__0, 4, int)", kParse,
       "expected an integer, blocklength, in " LACUNA_VECTOR ", found '1__0'", 10},
      {"vector(3, 10_, 4, int)", kParse,
       "expected an integer, blocklength, in " LACUNA_VECTOR ", found '10_'", 10},
      {"vector(3, 1", kParse,
       "expected ',' and then stride in " LACUNA_VECTOR ", found the end of the text", 11},
      {"vector(3, 1.5, 4, int)", kParse,
       "expected ',' and then stride in " LACUNA_VECTOR ", found '.'", 11},
      {"vector(3, 1, 4, int, int)", kParse, "expected ')' in " LACUNA_VECTOR ", found ','", 19},
      {"vector(3, 1, 4, dup(int) 5)", kParse, "expected ')' in " LACUNA_VECTOR ", found '5'", 25},
      {"vector(9223372036854775808, 1, 4, int)", kParse,
       "count does not fit 64 bits, -9223372036854775808 to 9223372036854775807", 7},
      {"vector(1, 1, -9223372036854775809, int)", kParse,
       "stride does not fit 64 bits, -9223372036854775808 to 9223372036854775807", 13},
      {"indexed(1, [0], int)", kParse,
       "expected '[' of the list blocklengths in indexed(blocklengths, displacements, oldtype), "
       "found '1'",
       8},
      {"indexed([1 2], [0], int)", kParse,
       "expected ',' or ']' in the list blocklengths in indexed(blocklengths, displacements, "
       "oldtype), found '2'",
       11},
      {"indexed([1,], [0], int)", kParse,
       "expected an integer, blocklengths, in indexed(blocklengths, displacements, oldtype), found "
       "']'",
       11},
      {"struct([1], [0], int)", kParse,
       "expected '[' of the list oldtypes in struct(blocklengths, displacements, oldtypes), found "
       "'int'",
       17},
      {"subarray([1], [1], [0], row, int)", kParse,
       "expected the order, c or fortran, in subarray(sizes, subsizes, starts, order, oldtype), "
       "found 'row'",
       24},
      {"darray(1, 0, [1], [blok], [1], [1], c, int)", kParse,
       "expected a distribution, block, cyclic or none, in darray(size, rank, gsizes, distribs, "
       "dargs, psizes, order, oldtype), found 'blok'",
       19},
      {"f90_real(6, 37, vector)", kParse,
       "expected a predefined type in f90_real(precision, range[, representation]), found 'vector'",
       16},
      {"\tdup(\n\x01)", kParse, LACUNA_A_TYPE "'?'", 6},
      {"dup(\xc3\xa4)", kParse, LACUNA_A_TYPE "'?'", 4},
      // Arguments that a constructor refuses: its sentence and status, and where it stands.
      {"dup(vector(-3, 1, 4, int))", LACUNA_INVALID_ARGUMENT,
       "vector: count is -3; it must be 0 or more", 4},
      {"contiguous(2, contiguous(9223372036854775807, int))", LACUNA_OVERFLOW,
       "contiguous: the size or a bound of the type does not fit 64 bits (9223372036854775807 "
       "bytes)",
       14},
  };
  for (const Refusal& refusal : refusals) expect_refusal(refusal);
}

std::string nested(int depth) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += "dup(";
  return text + "int" + std::string(static_cast<size_t>(depth), ')');
}

TEST(TextErrors, DepthHasALimit) {
  const Result<TypePtr> deepest = parse_type(nested(kMaxDepth));
  ASSERT_TRUE(deepest.ok());
  EXPECT_EQ(print_type(**deepest), nested(kMaxDepth));
  for (const int depth : {kMaxDepth + 1, 100'000}) {
    const Result<TypePtr> type = parse_type(nested(depth));
    ASSERT_FALSE(type.ok());
    EXPECT_EQ(type.error().status, LACUNA_PARSE_ERROR);
    EXPECT_TRUE(type.error().message.starts_with("nested deeper than 256 constructors\n"));
  }
}

TEST(TextErrors, LongTextsAreShownAroundThePlace) {
  std::string list;
  for (int i = 0; i < 1000; ++i) list += "7, ";
  const std::string text = "hindexed([" + list + "x, " + list + "7], [], int)";
  const Result<TypePtr> type = parse_type(text);
  ASSERT_FALSE(type.ok());
  const std::string& message = type.error().message;
  const size_t first = message.find('\n');
  const size_t second = message.find('\n', first + 1);
  ASSERT_NE(second, std::string::npos);
  const std::string shown = message.substr(first + 1, second - first - 1);
  const std::string caret = message.substr(second + 1);
  EXPECT_EQ(shown.size(), 96u);
  EXPECT_TRUE(shown.starts_with("...") && shown.ends_with("...")) << shown;
  EXPECT_NE(text.find(shown.substr(3, 90)), std::string::npos);
  ASSERT_EQ(caret.back(), '^');
  EXPECT_EQ(shown[caret.size() - 1], 'x');
}

// Any bytes at all: an answer, and a caret inside the text.
TEST(TextErrors, NoTextIsTooStrange) {
  const std::string_view pieces[] = {"(",
                                     ")",
                                     "[",
                                     "]",
                                     ",",
                                     " ",
                                     "-",
                                     "_",
                                     "int",
                                     "c",
                                     "default",
                                     "vector",
                                     "9999999999999999999",
                                     "\xff",
                                     "\n",
                                     "struct([1], "};
  Random random(1);
  int parsed = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    std::string text = print_type(*random_type(seed));
    text.resize(std::min<size_t>(text.size(), 400));
    for (int64_t edits = random.between(0, 3); edits > 0; --edits) {
      const auto at = static_cast<size_t>(random.between(0, static_cast<int64_t>(text.size())));
      const auto piece = pieces[random.between(0, std::ssize(pieces) - 1)];
      text.replace(at, static_cast<size_t>(random.between(0, 4)), piece);
    }
    const Result<TypePtr> type = parse_type(text);
    if (type) {
      ++parsed;
      EXPECT_EQ(canonical(print_type(**type)), print_type(**type)) << text;
      continue;
    }
    const std::string& message = type.error().message;
    ASSERT_EQ(std::count(message.begin(), message.end(), '\n'), 2) << text;
    const size_t last = message.rfind('\n');
    const size_t shown = last - message.rfind('\n', last - 1) - 1;
    ASSERT_EQ(message.find_first_not_of(' ', last + 1), message.size() - 1) << message;
    ASSERT_EQ(message.back(), '^') << message;
    ASSERT_LE(message.size() - last - 2, shown) << message;
  }
  EXPECT_GT(parsed, 300);
  EXPECT_LT(parsed, 2700);
}

}  // namespace
}  // namespace lacuna
