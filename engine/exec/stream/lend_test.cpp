// SPDX-License-Identifier: BSD-3-Clause
//
// Pieces that a stream lends, compared with the typemap: orders, lengths, buffers, threads. Random
// types are in tests/property/engine_property.cpp, wrong calls in api/api_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "exec/exec.hpp"
#include "exec/stream/stream.hpp"
#include "type/text/text.hpp"
#include "type/typemap.hpp"

namespace lacuna {
namespace {

constexpr int64_t kCap = int64_t{1} << 30;
constexpr int64_t kKeep = int64_t{16} << 20;

enum class Order { kForth, kBack, kRandom };

// Types whose groups differ: columns with and without padding in the buffer, of whole lines and
// not; columns of lines and of bytes; several nests; lists of columns, of long runs and of single
// elements; structs; one run.
const char* const kTexts[] = {
    "contiguous(300, resized(0, 8, vector(504, 1, 301, double)))",
    "contiguous(129, resized(0, 8, vector(1024, 1, 129, double)))",
    "contiguous(301, resized(0, 3, vector(500, 3, 1000, char)))",
    "contiguous(3, resized(0, 400000, contiguous(40, resized(0, 4, vector(1000, 1, 99, int)))))",
    ("struct([1, 3, 1], [16, 1000000, 2000000], [contiguous(200, resized(0, 8, vector(400, 1, 256, "
     "double))), int, contiguous(100, resized(0, 16, vector(300, 2, 210, double)))])"),
    "hindexed_block(1, [1000000, 0], contiguous(40, resized(0, 8, vector(500, 1, 41, double))))",
    "indexed([9000, 20000, 5000], [30000, 0, 24000], char)",
    "indexed_block(1, [5, 3, 900, 17, 41, 6], resized(0, 4000, vector(90, 3, 7, float)))",
    "contiguous(2000, resized(0, 40, struct([1, 3, 4], [0, 8, 32], [int, double, char])))",
    "vector(4000, 1, 3, double)",
    "contiguous(90000, char)",
};

struct Message {
  explicit Message(const std::string& text, int64_t elements = 1) : count(elements) {
    auto type = parse_type(text);
    EXPECT_TRUE(type.ok()) << text;
    auto entries = typemap(**type, count);
    EXPECT_TRUE(entries.ok()) << text;
    map = std::move(entries).value();
    int64_t end = 0;
    for (const TypemapEntry& entry : map) {
      total += entry.size_bytes;
      end = std::max(end, entry.offset_bytes + entry.size_bytes);
    }
    plan = make_plan(std::move(type).value());
    mem.resize(static_cast<size_t>(end));
    fill(mem, 1);
    for (const TypemapEntry& entry : map) {
      const auto from = mem.begin() + entry.offset_bytes;
      packed.insert(packed.end(), from, from + entry.size_bytes);
    }
  }

  static void fill(std::vector<std::byte>& bytes, unsigned seed) {
    for (std::byte& value : bytes) {
      seed = seed * 1664525U + 1013904223U;
      value = static_cast<std::byte>(seed >> 24);
    }
  }

  // The result of unpacking `from` into memory that was all `gap`.
  std::vector<std::byte> unpacked(const std::vector<std::byte>& from, std::byte gap) const {
    std::vector<std::byte> want(mem.size(), gap);
    size_t at = 0;
    for (const TypemapEntry& entry : map) {
      std::memcpy(want.data() + entry.offset_bytes, from.data() + at,
                  static_cast<size_t>(entry.size_bytes));
      at += static_cast<size_t>(entry.size_bytes);
    }
    return want;
  }

  // The begins of pieces whose lengths cycle through `lengths`.
  std::vector<int64_t> begins(const std::vector<int64_t>& lengths, Order order) const {
    std::vector<int64_t> found;
    for (int64_t at = 0; at < total; at += lengths[(found.size() - 1) % lengths.size()])
      found.push_back(at);
    if (order == Order::kBack) std::reverse(found.begin(), found.end());
    uint64_t state = 5;
    for (size_t i = order == Order::kRandom ? found.size() : 0; i > 1; --i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      std::swap(found[i - 1], found[(state >> 33) % i]);
    }
    return found;
  }

  PlanPtr plan;
  int64_t count;
  int64_t total = 0;
  std::vector<TypemapEntry> map;
  std::vector<std::byte> mem;
  std::vector<std::byte> packed;
};

// Moves a message in lent pieces of `lengths`, in `order`, both ways, and compares with the
// typemap.
void expect_lent(Message& m, const std::vector<int64_t>& lengths, Order order, int64_t keep_bytes) {
  std::vector<int64_t> begins = m.begins(lengths, order);
  std::vector<int64_t> sorted = begins;
  std::sort(sorted.begin(), sorted.end());
  sorted.push_back(m.total);
  std::vector<std::byte> got(m.packed.size());
  std::vector<std::byte> back(m.mem.size(), std::byte{9});
  std::vector<std::byte> packed(m.packed.size());
  Message::fill(packed, 2);
  Stream<true> packing(m.plan, m.mem.data(), m.count, kCap, keep_bytes);
  Stream<false> unpacking(m.plan, back.data(), m.count, kCap, keep_bytes);
  for (const int64_t begin : begins) {
    const int64_t bytes = *std::upper_bound(sorted.begin(), sorted.end(), begin) - begin;
    if (order != Order::kForth) packing.seek(begin);
    const std::byte* const from = packing.lend(bytes);
    ASSERT_NE(from, nullptr);
    std::memcpy(got.data() + begin, from, static_cast<size_t>(bytes));
    ASSERT_EQ(packing.left(), m.total - begin - bytes);
    if (order != Order::kForth) unpacking.seek(begin);
    std::byte* const to = unpacking.lend(bytes);
    ASSERT_NE(to, nullptr);
    ASSERT_EQ(unpacking.left(), m.total - begin);
    ASSERT_EQ(unpacking.lent(), bytes);
    std::memcpy(to, packed.data() + begin, static_cast<size_t>(bytes));
    unpacking.filled(bytes);
    ASSERT_EQ(unpacking.left(), m.total - begin - bytes);
    ASSERT_EQ(unpacking.lent(), Stream<false>::kNone);
  }
  EXPECT_EQ(got, m.packed);
  if (order != Order::kForth) unpacking.flush();
  EXPECT_EQ(back, m.unpacked(packed, std::byte{9}));
}

TEST(Lend, IsTheMessage) {
  for (const char* const text : kTexts) {
    SCOPED_TRACE(text);
    Message m(text);
    for (const Order order : {Order::kForth, Order::kBack, Order::kRandom}) {
      for (const int64_t keep_bytes : {int64_t{0}, int64_t{1} << 20, kKeep}) {
        expect_lent(m, {8192}, order, keep_bytes);
        expect_lent(m, {1, 100000, 77, 4096, 300001}, order, keep_bytes);
      }
      expect_lent(m, {1999}, order, kKeep);  // more ranges in a group than ReceivedRanges holds
    }
  }
}

TEST(Lend, IsTheMessageByteByByte) {
  for (const char* const text :
       {"contiguous(9, resized(0, 8, vector(200, 1, 9, double)))",
        "struct([1, 2, 1], [0, 8, 9000], [int, double, vector(9, 3, 7, char)])",
        "hindexed_block(1, [9000, 0], contiguous(5000, char))"}) {
    SCOPED_TRACE(text);
    Message m(text);
    for (const Order order : {Order::kForth, Order::kBack, Order::kRandom})
      expect_lent(m, {1}, order, kKeep);
  }
}

TEST(Lend, SeveralElements) {
  Message m("resized(0, 1300000, contiguous(300, resized(0, 8, vector(504, 1, 301, double))))", 3);
  for (const Order order : {Order::kForth, Order::kRandom}) expect_lent(m, {8192}, order, kKeep);
}

// Columns of which one line's worth exceeds the share of the L2 for a group.
TEST(Lend, LongColumns) {
  Message m("contiguous(24, resized(0, 8, vector(20000, 1, 24, double)))");
  for (const Order order : {Order::kForth, Order::kRandom}) expect_lent(m, {8192}, order, kKeep);
}

TEST(Lend, OneRunIsWhereItLies) {
  Message m("struct([1, 5000], [0, 16], [int, double])");
  Stream<true> packing(m.plan, m.mem.data(), 1, kCap, kKeep);
  packing.seek(804);
  EXPECT_EQ(packing.lend(8192), m.mem.data() + 816);
  Stream<false> unpacking(m.plan, m.mem.data(), 1, kCap, kKeep);
  unpacking.seek(20004);
  EXPECT_EQ(unpacking.lend(20000), m.mem.data() + 20016);
  unpacking.filled(20000);
}

// More of the place was written than filled() says; nothing else changes.
TEST(Lend, LessMayBeFilledThanLent) {
  for (const char* const text : kTexts) {
    SCOPED_TRACE(text);
    Message m(text);
    std::vector<std::byte> back(m.mem.size(), std::byte{9});
    Stream<false> stream(m.plan, back.data(), m.count, kCap, kKeep);
    for (int64_t at = 0; at < m.total;) {
      const int64_t bytes = std::min<int64_t>(8192, m.total - at);
      std::byte* const place = stream.lend(bytes);
      ASSERT_NE(place, nullptr);
      const int64_t came = (bytes + 1) / 2;
      std::memset(place, 0x77, static_cast<size_t>(bytes));
      std::memcpy(place, m.packed.data() + at, static_cast<size_t>(came));
      stream.filled(came);
      at += came;
    }
    EXPECT_EQ(back, m.unpacked(m.packed, std::byte{9}));
  }
}

TEST(Lend, WhatIsNotTakenBackNeverCame) {
  for (const char* const text : kTexts) {
    SCOPED_TRACE(text);
    Message m(text);
    std::vector<std::byte> back(m.mem.size(), std::byte{9});
    {
      Stream<false> stream(m.plan, back.data(), 1, kCap, kKeep);
      std::memset(stream.lend(100), 1, 100);
      stream.filled(100);
      if (std::byte* const place = stream.lend(100); place < back.data() || place > &back.back())
        std::memset(place, 2, 100);
    }
    EXPECT_EQ(std::count(back.begin(), back.end(), std::byte{1}), 100);
    EXPECT_EQ(std::count(back.begin(), back.end(), std::byte{2}), 0);
  }
}

// Small pieces of structs wait in a buffer, but not longer than the contract says.
TEST(Lend, WhatCameIsInMemoryAtAFlushAndAtTheEnd) {
  Message m(kTexts[8]);
  std::vector<std::byte> back(m.mem.size(), std::byte{9});
  Stream<false> stream(m.plan, back.data(), 1, kCap, kKeep);
  const auto came = [&](int64_t bytes) {
    std::memcpy(stream.lend(bytes), m.packed.data() + (stream.total() - stream.left()),
                static_cast<size_t>(bytes));
    stream.filled(bytes);
  };
  const auto differs = [&](int64_t bytes) {
    std::vector<std::byte> got(static_cast<size_t>(bytes));
    pack_slice(*m.plan, back.data(), 1, 0, bytes, got.data());
    return std::memcmp(got.data(), m.packed.data(), got.size());
  };
  came(32);
  came(64);
  stream.flush();
  EXPECT_EQ(differs(96), 0);
  came(32);
  stream.next(m.packed.data() + 128, 32);
  EXPECT_EQ(differs(160), 0);
  came(64);
  stream.seek(320);
  EXPECT_EQ(differs(224), 0);
  stream.seek(224);
  while (stream.left() > 0) came(32);
  EXPECT_EQ(back, m.unpacked(m.packed, std::byte{9}));

  // What waits comes before what is moved after it.
  Stream<false> again(m.plan, back.data(), 1, kCap, kKeep);
  std::memset(again.lend(96), 7, 96);
  again.filled(96);
  again.seek(0);
  again.next(m.packed.data(), 96);
  again.flush();
  EXPECT_EQ(differs(m.total), 0);
}

TEST(Lend, WithoutMemoryThereIsNoPlaceAndNothingChanges) {
  trim_buffers();
  Message m(kTexts[0]);
  std::vector<std::byte> got(m.packed.size());
  Stream<true> packing(m.plan, m.mem.data(), 1, 0, kKeep);
  EXPECT_EQ(packing.lend(8192), nullptr);
  EXPECT_EQ(packing.left(), m.total);
  packing.next(got.data(), m.total);
  EXPECT_EQ(got, m.packed);
  std::vector<std::byte> back(m.mem.size(), std::byte{9});
  Stream<false> unpacking(m.plan, back.data(), 1, 0, kKeep);
  EXPECT_EQ(unpacking.lend(8192), nullptr);
  EXPECT_EQ(unpacking.lent(), Stream<false>::kNone);
  unpacking.next(m.packed.data(), m.total);
  EXPECT_EQ(back, m.unpacked(m.packed, std::byte{9}));
}

TEST(Lend, StreamsOfSeveralThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      Message m(kTexts[i % 3]);
      for (int turn = 0; turn < 3; ++turn) expect_lent(m, {8192}, Order::kRandom, kKeep);
      expect_lent(m, {8191}, Order::kForth, kKeep);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace lacuna
