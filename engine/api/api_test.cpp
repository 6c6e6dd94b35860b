// SPDX-License-Identifier: BSD-3-Clause
//
// The C interface: every constructor reaches the engine; every wrong argument gives a status and a
// sentence, and leaves the outputs alone.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "lacuna/lacuna.h"

namespace {

lacuna_type* parsed(const char* text) {
  lacuna_type* type = nullptr;
  EXPECT_EQ(lacuna_type_parse(text, &type), LACUNA_OK) << lacuna_last_error();
  return type;
}

std::string text_of(const lacuna_type* type) {
  size_t needed = 0;
  EXPECT_EQ(lacuna_type_text(type, 0, nullptr, &needed), LACUNA_TRUNCATED);
  std::string text(needed, '?');
  EXPECT_EQ(lacuna_type_text(type, needed, text.data(), nullptr), LACUNA_OK);
  text.resize(needed - 1);
  return text;
}

class Api : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(lacuna_type_named("MPI_DOUBLE", &dbl_), LACUNA_OK); }
  void TearDown() override { lacuna_type_destroy(dbl_); }

  void expect_text(lacuna_status status, lacuna_type** type, const char* text) {
    ASSERT_EQ(status, LACUNA_OK) << lacuna_last_error();
    EXPECT_EQ(text_of(*type), text);
    lacuna_type_destroy(*type);
  }

  // The plan does not need the type, which is destroyed.
  lacuna_plan* planned(const char* text) {
    lacuna_type* type = parsed(text);
    lacuna_plan* plan = nullptr;
    EXPECT_EQ(lacuna_plan_create(type, &plan), LACUNA_OK);
    lacuna_type_destroy(type);
    return plan;
  }

  lacuna_type* dbl_ = nullptr;
};

TEST_F(Api, EveryConstructor) {
  const int64_t ones[] = {1, 2};
  const int64_t places[] = {0, 24};
  const int64_t sizes[] = {4, 6};
  const int64_t subsizes[] = {2, 3};
  const int64_t starts[] = {1, 2};
  const int64_t grid[] = {2, 1};
  const int64_t dargs[] = {LACUNA_DISTRIBUTE_DFLT_DARG, 3};
  const lacuna_distribution distribs[] = {LACUNA_DISTRIBUTE_BLOCK, LACUNA_DISTRIBUTE_CYCLIC};
  const lacuna_type* both[] = {dbl_, dbl_};
  lacuna_type* t = nullptr;
  expect_text(lacuna_type_dup(dbl_, &t), &t, "dup(double)");
  expect_text(lacuna_type_contiguous(3, dbl_, &t), &t, "contiguous(3, double)");
  expect_text(lacuna_type_vector(3, 1, 4, dbl_, &t), &t, "vector(3, 1, 4, double)");
  expect_text(lacuna_type_hvector(3, 1, -4, dbl_, &t), &t, "hvector(3, 1, -4, double)");
  expect_text(lacuna_type_indexed(2, ones, places, dbl_, &t), &t,
              "indexed([1, 2], [0, 24], double)");
  expect_text(lacuna_type_hindexed(2, ones, places, dbl_, &t), &t,
              "hindexed([1, 2], [0, 24], double)");
  expect_text(lacuna_type_indexed_block(2, 5, places, dbl_, &t), &t,
              "indexed_block(5, [0, 24], double)");
  expect_text(lacuna_type_hindexed_block(2, 5, places, dbl_, &t), &t,
              "hindexed_block(5, [0, 24], double)");
  expect_text(lacuna_type_struct(2, ones, places, both, &t), &t,
              "struct([1, 2], [0, 24], [double, double])");
  expect_text(lacuna_type_subarray(2, sizes, subsizes, starts, LACUNA_ORDER_FORTRAN, dbl_, &t), &t,
              "subarray([4, 6], [2, 3], [1, 2], fortran, double)");
  expect_text(lacuna_type_darray(2, 1, 2, sizes, distribs, dargs, grid, LACUNA_ORDER_C, dbl_, &t),
              &t, "darray(2, 1, [4, 6], [block, cyclic], [default, 3], [2, 1], c, double)");
  expect_text(lacuna_type_resized(-8, 32, dbl_, &t), &t, "resized(-8, 32, double)");
  expect_text(lacuna_type_struct(0, nullptr, nullptr, nullptr, &t), &t, "struct([], [], [])");
}

TEST_F(Api, NumbersOfAType) {
  lacuna_type* type = parsed("resized(-8, 64, vector(2, 1, 3, double))");
  int64_t size = 0;
  int64_t lb = 0;
  int64_t extent = 0;
  ASSERT_EQ(lacuna_type_size(type, &size), LACUNA_OK);
  ASSERT_EQ(lacuna_type_extent(type, &lb, &extent), LACUNA_OK);
  EXPECT_EQ(size, 16);
  EXPECT_EQ(lb, -8);
  EXPECT_EQ(extent, 64);
  ASSERT_EQ(lacuna_type_true_extent(type, &lb, &extent), LACUNA_OK);
  EXPECT_EQ(lb, 0);
  EXPECT_EQ(extent, 32);
  lacuna_type_destroy(type);
}

TEST_F(Api, PackUnpackAndSlices) {
  lacuna_plan* plan = planned("vector(3, 1, 2, int)");
  const int mem[] = {1, 2, 3, 4, 5, 6};
  int packed[3] = {};
  int64_t bytes = 0;
  ASSERT_EQ(lacuna_packed_size(plan, 2, &bytes), LACUNA_OK);
  EXPECT_EQ(bytes, 24);
  ASSERT_EQ(lacuna_pack(plan, mem, 1, packed), LACUNA_OK);
  EXPECT_EQ(std::vector<int>(packed, packed + 3), (std::vector<int>{1, 3, 5}));
  ASSERT_EQ(lacuna_pack_slice(plan, mem, 1, 4, 8, packed), LACUNA_OK);
  EXPECT_EQ(packed[0], 3);
  int back[6] = {};
  packed[0] = 1;
  ASSERT_EQ(lacuna_unpack(plan, packed, 1, back), LACUNA_OK);
  EXPECT_EQ(std::vector<int>(back, back + 6), (std::vector<int>{1, 0, 3, 0, 5, 0}));
  const int seven = 7;
  ASSERT_EQ(lacuna_unpack_slice(plan, &seven, 1, 8, 12, back), LACUNA_OK);
  EXPECT_EQ(back[4], 7);
  size_t needed = 0;
  EXPECT_EQ(lacuna_plan_explain(plan, 1, 0, nullptr, &needed), LACUNA_TRUNCATED);
  EXPECT_GT(needed, 100u);
  lacuna_plan_destroy(plan);
}

TEST_F(Api, CopiesFromOneLayoutToAnother) {
  lacuna_type* column = parsed("vector(3, 1, 2, int)");
  lacuna_type* backwards = parsed("vector(3, 1, -1, int)");
  lacuna_plan* from = nullptr;
  lacuna_plan* to = nullptr;
  ASSERT_EQ(lacuna_plan_create(column, &from), LACUNA_OK);
  ASSERT_EQ(lacuna_plan_create(backwards, &to), LACUNA_OK);
  lacuna_type_destroy(column);
  lacuna_type_destroy(backwards);
  const int mem[] = {1, 2, 3, 4, 5};
  int out[3] = {};
  ASSERT_EQ(lacuna_copy(from, mem, 1, to, out + 2, 1), LACUNA_OK);
  EXPECT_EQ(std::vector<int>(out, out + 3), (std::vector<int>{5, 3, 1}));
  EXPECT_EQ(lacuna_copy(from, nullptr, 0, to, nullptr, 0), LACUNA_OK);
  EXPECT_EQ(lacuna_copy(from, mem, 1, to, out, 2), LACUNA_INVALID_ARGUMENT);
  EXPECT_STREQ(lacuna_last_error(), "a has 12 bytes of data and b 24; they must be equal");
  EXPECT_EQ(lacuna_copy(from, nullptr, 1, to, out, 1), LACUNA_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(lacuna_last_error(), "mem_a is NULL"), nullptr);
  EXPECT_EQ(lacuna_copy(from, mem, 1, nullptr, out, 1), LACUNA_INVALID_ARGUMENT);
  lacuna_plan_destroy(from);
  lacuna_plan_destroy(to);
}

void expect_wrong(lacuna_status got, lacuna_status want, const char* part) {
  EXPECT_EQ(got, want);
  EXPECT_NE(std::string(lacuna_last_error()).find(part), std::string::npos) << lacuna_last_error();
}

// A value that a C caller may give.
lacuna_order order_of(int number) { return static_cast<lacuna_order>(number); }

TEST_F(Api, WrongArgumentsAreNamedAndOutputsLeftAlone) {
  lacuna_type* const untouched = reinterpret_cast<lacuna_type*>(0x10);
  lacuna_type* t = untouched;
  const int64_t one[] = {1};
  expect_wrong(lacuna_type_contiguous(-1, dbl_, &t), LACUNA_INVALID_ARGUMENT, "count");
  expect_wrong(lacuna_type_contiguous(1, nullptr, &t), LACUNA_INVALID_ARGUMENT, "oldtype");
  expect_wrong(lacuna_type_contiguous(1, dbl_, nullptr), LACUNA_INVALID_ARGUMENT, "type");
  expect_wrong(lacuna_type_indexed(1, nullptr, one, dbl_, &t), LACUNA_INVALID_ARGUMENT,
               "blocklengths");
  expect_wrong(lacuna_type_indexed(1, one, nullptr, dbl_, &t), LACUNA_INVALID_ARGUMENT,
               "displacements");
  expect_wrong(lacuna_type_indexed(-3, one, one, dbl_, &t), LACUNA_INVALID_ARGUMENT, "count is -3");
  expect_wrong(lacuna_type_named("quadruple", &t), LACUNA_INVALID_ARGUMENT, "quadruple");
  expect_wrong(lacuna_type_parse("vector(1, 2, double)", &t), LACUNA_PARSE_ERROR, "^");
  expect_wrong(lacuna_type_parse(nullptr, &t), LACUNA_INVALID_ARGUMENT, "text");
  expect_wrong(lacuna_type_contiguous(INT64_MAX, dbl_, &t), LACUNA_OVERFLOW, "");
  const lacuna_distribution no_kind[] = {static_cast<lacuna_distribution>(3)};
  const int64_t start[] = {0};
  expect_wrong(lacuna_type_subarray(1, one, one, start, order_of(7), dbl_, &t),
               LACUNA_INVALID_ARGUMENT, "order is 7");
  expect_wrong(lacuna_type_darray(1, 0, 1, one, no_kind, one, one, LACUNA_ORDER_C, dbl_, &t),
               LACUNA_INVALID_ARGUMENT, "distribs[0] is 3");
  const lacuna_type* holes[] = {nullptr};
  expect_wrong(lacuna_type_struct(1, one, one, holes, &t), LACUNA_INVALID_ARGUMENT, "oldtypes[0]");
  EXPECT_EQ(t, untouched);
}

TEST_F(Api, WrongBuffersCountsAndSlices) {
  lacuna_plan* plan = planned("vector(3, 1, 2, int)");
  int mem[6] = {};
  int packed[3] = {};
  expect_wrong(lacuna_pack(nullptr, mem, 1, packed), LACUNA_INVALID_ARGUMENT, "plan");
  expect_wrong(lacuna_pack(plan, mem, -1, packed), LACUNA_INVALID_ARGUMENT, "count");
  expect_wrong(lacuna_pack(plan, nullptr, 1, packed), LACUNA_INVALID_ARGUMENT, "mem");
  expect_wrong(lacuna_pack(plan, mem, 1, nullptr), LACUNA_INVALID_ARGUMENT, "packed");
  expect_wrong(lacuna_pack(plan, mem, INT64_MAX / 2, packed), LACUNA_OVERFLOW, "64 bits");
  expect_wrong(lacuna_pack_slice(plan, mem, 1, 4, 13, packed), LACUNA_INVALID_ARGUMENT, "[4, 13)");
  expect_wrong(lacuna_pack_slice(plan, mem, 1, -1, 3, packed), LACUNA_INVALID_ARGUMENT, "[-1, 3)");
  expect_wrong(lacuna_unpack_slice(plan, packed, 1, 8, 4, mem), LACUNA_INVALID_ARGUMENT, "[8, 4)");
  EXPECT_EQ(lacuna_pack(plan, nullptr, 0, nullptr), LACUNA_OK);
  expect_wrong(lacuna_plan_create(nullptr, &plan), LACUNA_INVALID_ARGUMENT, "type");
  lacuna_plan_destroy(plan);
  lacuna_plan_destroy(nullptr);
  lacuna_type_destroy(nullptr);
}

TEST_F(Api, Streams) {
  lacuna_plan* plan = planned("vector(3, 1, 2, int)");
  const int mem[] = {1, 2, 3, 4, 5, 6};
  int packed[3] = {};
  int back[6] = {};
  lacuna_pack_stream* out = nullptr;
  lacuna_unpack_stream* in = nullptr;
  expect_wrong(lacuna_pack_stream_create(plan, nullptr, 1, &out), LACUNA_INVALID_ARGUMENT, "mem");
  expect_wrong(lacuna_pack_stream_create(nullptr, mem, 1, &out), LACUNA_INVALID_ARGUMENT, "plan");
  expect_wrong(lacuna_pack_stream_create(plan, mem, 1, nullptr), LACUNA_INVALID_ARGUMENT, "stream");
  expect_wrong(lacuna_unpack_stream_create(plan, back, -1, &in), LACUNA_INVALID_ARGUMENT, "count");
  EXPECT_EQ(out, nullptr);
  ASSERT_EQ(lacuna_pack_stream_create(plan, mem, 1, &out), LACUNA_OK);
  ASSERT_EQ(lacuna_unpack_stream_create(plan, back, 1, &in), LACUNA_OK);
  lacuna_plan_destroy(plan);  // the streams keep the plan alive
  ASSERT_EQ(lacuna_pack_stream_next(out, 6, packed), LACUNA_OK);
  expect_wrong(lacuna_pack_stream_next(out, 7, packed), LACUNA_INVALID_ARGUMENT, "6 bytes left");
  expect_wrong(lacuna_pack_stream_next(out, 1, nullptr), LACUNA_INVALID_ARGUMENT, "packed");
  expect_wrong(lacuna_pack_stream_next(nullptr, 1, packed), LACUNA_INVALID_ARGUMENT, "stream");
  expect_wrong(lacuna_pack_stream_seek(out, 13), LACUNA_INVALID_ARGUMENT, "12 bytes");
  expect_wrong(lacuna_unpack_stream_seek(nullptr, 0), LACUNA_INVALID_ARGUMENT, "stream");
  ASSERT_EQ(lacuna_pack_stream_seek(out, 2), LACUNA_OK);
  ASSERT_EQ(lacuna_pack_stream_next(out, 4, reinterpret_cast<char*>(packed) + 2), LACUNA_OK);
  ASSERT_EQ(lacuna_pack_stream_next(out, 6, reinterpret_cast<char*>(packed) + 6), LACUNA_OK);
  EXPECT_EQ(std::vector<int>(packed, packed + 3), (std::vector<int>{1, 3, 5}));
  ASSERT_EQ(lacuna_unpack_stream_next(in, 8, packed), LACUNA_OK);
  ASSERT_EQ(lacuna_unpack_stream_flush(in), LACUNA_OK);
  EXPECT_EQ(std::vector<int>(back, back + 6), (std::vector<int>{1, 0, 3, 0, 0, 0}));
  expect_wrong(lacuna_unpack_stream_flush(nullptr), LACUNA_INVALID_ARGUMENT, "stream");
  lacuna_pack_stream_destroy(out);
  lacuna_pack_stream_destroy(nullptr);
  lacuna_unpack_stream_destroy(in);
  lacuna_unpack_stream_destroy(nullptr);
}

TEST_F(Api, LentPieces) {
  lacuna_plan* plan = planned("vector(3, 1, 2, int)");
  const int mem[] = {1, 2, 3, 4, 5, 6};
  int back[6] = {};
  lacuna_pack_stream* out = nullptr;
  lacuna_unpack_stream* in = nullptr;
  ASSERT_EQ(lacuna_pack_stream_create(plan, mem, 1, &out), LACUNA_OK);
  ASSERT_EQ(lacuna_unpack_stream_create(plan, back, 1, &in), LACUNA_OK);
  const void* from = nullptr;
  void* to = nullptr;
  expect_wrong(lacuna_pack_stream_lend(nullptr, 1, &from), LACUNA_INVALID_ARGUMENT, "stream");
  expect_wrong(lacuna_pack_stream_lend(out, 13, &from), LACUNA_INVALID_ARGUMENT, "12 bytes left");
  expect_wrong(lacuna_pack_stream_lend(out, -1, &from), LACUNA_INVALID_ARGUMENT, "bytes is -1");
  expect_wrong(lacuna_pack_stream_lend(out, 1, nullptr), LACUNA_INVALID_ARGUMENT, "packed");
  EXPECT_EQ(from, nullptr);
  expect_wrong(lacuna_unpack_stream_filled(in, 0), LACUNA_INVALID_ARGUMENT, "no buffer");
  expect_wrong(lacuna_unpack_stream_filled(nullptr, 0), LACUNA_INVALID_ARGUMENT, "stream");
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(lacuna_pack_stream_lend(out, 8, &from), LACUNA_OK);
    EXPECT_EQ(std::memcmp(from, (const int[]){1, 3}, 8), 0);
    ASSERT_EQ(lacuna_pack_stream_seek(out, 0), LACUNA_OK);
  }
  ASSERT_EQ(lacuna_unpack_stream_lend(in, 8, &to), LACUNA_OK);
  std::memcpy(to, (const int[]){7, 8}, 8);
  // While a buffer is lent, other calls are refused and nothing is lost.
  void* second = nullptr;
  const int packed[3] = {4, 4, 4};
  expect_wrong(lacuna_unpack_stream_lend(in, 4, &second), LACUNA_INVALID_ARGUMENT, "is lent");
  expect_wrong(lacuna_unpack_stream_next(in, 4, packed), LACUNA_INVALID_ARGUMENT, "is lent");
  expect_wrong(lacuna_unpack_stream_seek(in, 0), LACUNA_INVALID_ARGUMENT, "is lent");
  expect_wrong(lacuna_unpack_stream_flush(in), LACUNA_INVALID_ARGUMENT, "is lent");
  expect_wrong(lacuna_unpack_stream_filled(in, 9), LACUNA_INVALID_ARGUMENT, "buffer has 8");
  expect_wrong(lacuna_unpack_stream_filled(in, -1), LACUNA_INVALID_ARGUMENT, "buffer has 8");
  EXPECT_EQ(second, nullptr);
  ASSERT_EQ(lacuna_unpack_stream_filled(in, 8), LACUNA_OK);
  expect_wrong(lacuna_unpack_stream_filled(in, 0), LACUNA_INVALID_ARGUMENT, "no buffer");
  ASSERT_EQ(lacuna_unpack_stream_lend(in, 0, &to), LACUNA_OK);
  ASSERT_EQ(lacuna_unpack_stream_filled(in, 0), LACUNA_OK);
  ASSERT_EQ(lacuna_unpack_stream_next(in, 4, packed), LACUNA_OK);
  ASSERT_EQ(lacuna_unpack_stream_flush(in), LACUNA_OK);
  EXPECT_EQ(std::vector<int>(back, back + 6), (std::vector<int>{7, 0, 8, 0, 4, 0}));
  lacuna_pack_stream_destroy(out);
  lacuna_unpack_stream_destroy(in);
  // A piece that does not fit into the pool is refused.
  lacuna_plan_destroy(plan);
  plan = planned("vector(3000000000000, 1, 2, int)");
  ASSERT_EQ(lacuna_pack_stream_create(plan, mem, 1, &out), LACUNA_OK);
  expect_wrong(lacuna_pack_stream_lend(out, int64_t{1} << 43, &from), LACUNA_OUT_OF_MEMORY,
               "LACUNA_POOL_MB");
  lacuna_pack_stream_destroy(out);
  lacuna_plan_destroy(plan);
}

TEST_F(Api, AListLongerThanAnyMemoryIsNoDefect) {
  lacuna_type* oldtype = nullptr;
  lacuna_type* type = nullptr;
  ASSERT_EQ(lacuna_type_named("int", &oldtype), LACUNA_OK);
  const int64_t one = 1;
  expect_wrong(lacuna_type_indexed(INT64_MAX, &one, &one, oldtype, &type), LACUNA_OUT_OF_MEMORY,
               "too many entries");
  expect_wrong(lacuna_type_struct(INT64_MAX, &one, &one, &oldtype, &type), LACUNA_OUT_OF_MEMORY,
               "too many entries");
  EXPECT_EQ(type, nullptr);
  lacuna_type_destroy(oldtype);
}

TEST_F(Api, AbsoluteAddressesHaveANullBuffer) {
  const double value = 3.5;
  const int64_t one = 1;
  const int64_t at = static_cast<int64_t>(reinterpret_cast<intptr_t>(&value));
  lacuna_type* type = nullptr;
  ASSERT_EQ(lacuna_type_hindexed(1, &one, &at, dbl_, &type), LACUNA_OK);
  lacuna_plan* plan = nullptr;
  ASSERT_EQ(lacuna_plan_create(type, &plan), LACUNA_OK);
  double packed = 0;
  EXPECT_EQ(lacuna_pack(plan, nullptr, 1, &packed), LACUNA_OK) << lacuna_last_error();
  EXPECT_EQ(packed, 3.5);
  lacuna_plan_destroy(plan);
  lacuna_type_destroy(type);
}

TEST(ApiMachine, IsOneJsonObject) {
  size_t needed = 0;
  expect_wrong(lacuna_machine_json(0, nullptr, &needed), LACUNA_TRUNCATED, "capacity is 0");
  std::string text(needed, '?');
  ASSERT_EQ(lacuna_machine_json(needed, text.data(), nullptr), LACUNA_OK) << lacuna_last_error();
  text.resize(needed - 1);
  EXPECT_EQ(text.front(), '{');
  EXPECT_EQ(text.back(), '}');
  for (const char* part :
       {"\"numbers\"", "\"tlb_entries\"", "\"memory_copy_bytes_per_ns\"", "\"place\""})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  expect_wrong(lacuna_machine_json(needed, nullptr, nullptr), LACUNA_INVALID_ARGUMENT, "text");
}

TEST_F(Api, CostIsOneJsonObject) {
  lacuna_plan* plan = planned("vector(3, 1, 2, int)");
  size_t needed = 0;
  expect_wrong(lacuna_plan_cost_json(plan, 2, 0, nullptr, &needed), LACUNA_TRUNCATED,
               "capacity is 0");
  std::string text(needed, '?');
  ASSERT_EQ(lacuna_plan_cost_json(plan, 2, needed, text.data(), nullptr), LACUNA_OK);
  text.resize(needed - 1);
  EXPECT_EQ(text.front(), '{');
  EXPECT_EQ(text.back(), '}');
  EXPECT_NE(text.find("\"bytes\": 24"), std::string::npos) << text;
  expect_wrong(lacuna_plan_cost_json(plan, -1, 0, nullptr, &needed), LACUNA_INVALID_ARGUMENT,
               "count is -1");
  expect_wrong(lacuna_plan_cost_json(nullptr, 1, 0, nullptr, &needed), LACUNA_INVALID_ARGUMENT,
               "plan is NULL");
  expect_wrong(lacuna_plan_cost_json(plan, INT64_MAX, 0, nullptr, &needed), LACUNA_OVERFLOW,
               "64 bits");
  lacuna_plan_destroy(plan);
}

// The addresses of such elements are near the limits of 64 bits, and arithmetic on them exceeds
// those.
TEST_F(Api, CostOfWhatIsTooFarApartIsRefused) {
  size_t needed = 0;
  for (const auto& [text, count] : std::vector<std::pair<const char*, int64_t>>{
           {"hvector(2, 1, 9_223_372_036_854_775_000, double)", 1},
           {"hindexed([1, 1], [-4_611_686_018_427_387_904, 4_611_686_018_427_387_000], double)", 1},
           {"hvector(4_000_000_000_000_000_000, 1, 0, char)", 1},
           {"contiguous(9_000_000_000_000_000_000, char)", 1},
           {"resized(0, 1_000_000_000_000_000_000, double)", 5}}) {
    lacuna_plan* plan = planned(text);
    expect_wrong(lacuna_plan_cost_json(plan, count, 0, nullptr, &needed), LACUNA_OVERFLOW,
                 "more than 1152921504606846976 bytes");
    lacuna_plan_destroy(plan);
  }
  lacuna_plan* plan = planned("hvector(2, 1, 1_000_000_000_000_000_000, double)");
  expect_wrong(lacuna_plan_cost_json(plan, 1, 0, nullptr, &needed), LACUNA_TRUNCATED, "capacity");
  lacuna_plan_destroy(plan);
}

TEST_F(Api, Buffers) {
  void* buffer = nullptr;
  ASSERT_EQ(lacuna_buffer_acquire(100000, &buffer), LACUNA_OK);
  std::memset(buffer, 1, 100000);
  void* const first = buffer;
  lacuna_buffer_release(buffer);
  ASSERT_EQ(lacuna_buffer_acquire(99999, &buffer), LACUNA_OK);
  EXPECT_EQ(buffer, first);
  lacuna_buffer_release(buffer);
  lacuna_buffer_release(buffer);  // not a buffer any more: ignored
  lacuna_buffer_release(nullptr);
  lacuna_buffers_trim();
  expect_wrong(lacuna_buffer_acquire(0, &buffer), LACUNA_INVALID_ARGUMENT, "bytes is 0");
  expect_wrong(lacuna_buffer_acquire(1, nullptr), LACUNA_INVALID_ARGUMENT, "buffer is NULL");
  expect_wrong(lacuna_buffer_acquire(INT64_MAX, &buffer), LACUNA_OUT_OF_MEMORY, "LACUNA_POOL_MB");
}

TEST_F(Api, EveryStatusHasASentence) {
  for (int status = LACUNA_OK; status <= LACUNA_INTERNAL; ++status) {
    EXPECT_GT(std::strlen(lacuna_status_message(static_cast<lacuna_status>(status))), 3u);
  }
  const std::string of_header = std::to_string(LACUNA_VERSION_MAJOR) + "." +
                                std::to_string(LACUNA_VERSION_MINOR) + "." +
                                std::to_string(LACUNA_VERSION_PATCH);
  EXPECT_EQ(lacuna_version(), of_header);
}

}  // namespace
