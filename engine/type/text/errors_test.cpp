// SPDX-License-Identifier: BSD-3-Clause
//
// Invalid texts: the error says what is wrong and points at the right place.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "type/random/random.hpp"
#include "type/text/text.hpp"

namespace lacuna {
namespace {

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
      {"struct([1, 1], [-8, 0], [MPI_LB, int])", kParse,
       "'MPI_LB' is not in MPI since 3.0; write resized(lb, extent, type)", 25},
      {"ub", kParse, "'ub' is not in MPI since 3.0; write resized(lb, extent, type)", 0},
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
       "count does not fit into 64 bits, -9223372036854775808 to 9223372036854775807", 7},
      {"vector(1, 1, -9223372036854775809, int)", kParse,
       "stride does not fit into 64 bits, -9223372036854775808 to 9223372036854775807", 13},
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
      // Arguments that a constructor rejects: its message and status, and the place of its name.
      {"dup(vector(-3, 1, 4, int))", LACUNA_INVALID_ARGUMENT,
       "vector: count is -3; it must be 0 or more", 4},
      {"contiguous(2, contiguous(9223372036854775807, int))", LACUNA_OVERFLOW,
       "contiguous: the size or a bound of the type does not fit into 64 bits (at most "
       "9223372036854775807 bytes)",
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

// Arbitrary bytes: a type or an error, with the caret inside the text.
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
      const Result<TypePtr> again = parse_type(print_type(**type));
      ASSERT_TRUE(again.ok()) << text;
      EXPECT_EQ(print_type(**again), print_type(**type)) << text;
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
