// SPDX-License-Identifier: BSD-3-Clause
//
// Convertors of a library that is made up (made_up_library.hpp).
#include "interpose/inside/convertor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "interpose/inside/made_up_library.hpp"
#include "plan/plan.hpp"
#include "type/text/text.hpp"
#include "type/typemap.hpp"

namespace lacuna::inside {
namespace {

class ConvertorTest : public testing::Test {
 protected:
  ConvertorTest() {
    g_convertors.layout.store(layout_of("Open MPI v5.0.9, package"));
    g_convertors.least_bytes = 1;
    g_convertors.own_advance[0][0] = own_advance<true>;
    g_convertors.own_advance[1][0] = own_advance<false>;
    g_is_wrong = false;
    g_own_calls = 0;
    g_complaint.store([](Direction, uintptr_t) { ++s_complaints; });
    s_complaints = 0;
  }
  ~ConvertorTest() override {
    if (handle_ != 0) g_types.remove(handle_);
    g_convertors.layout.store(nullptr);
    g_convertors.least_bytes = kLeastBytes;
  }

  // `count` elements of a type, as data of this message from now on.
  void use(const std::string& text, int64_t count) {
    if (handle_ != 0) g_types.remove(handle_);
    const TypePtr type = *parse_type(text);
    plan_ = make_plan(type);
    count_ = count;
    g_offsets.clear();
    for (const TypemapEntry& entry : *typemap(*type, count)) {
      for (int64_t i = 0; i < entry.size_bytes; ++i) g_offsets.push_back(entry.offset_bytes + i);
    }
    const auto end = *std::max_element(g_offsets.begin(), g_offsets.end()) + 2;
    memory_.resize(static_cast<size_t>(end));
    packed_.assign(g_offsets.size(), std::byte{0});
    for (size_t i = 0; i < memory_.size(); ++i)
      memory_[i] = static_cast<std::byte>(i * 37 + i / 256);
    handle_ = 0x1000 + 64 * ++s_handles;
    type_.reset(plan_, type->hash + s_handles, 1);
    g_types.add(handle_, &type_);
  }
  Object convertor(Direction way) {
    const bool packs = way == Direction::kPack;
    Object object{};
    object.flags = kHomogeneous | (packs ? kSends : kReceives);
    object.local_size = g_offsets.size();
    object.desc = handle_;
    object.count = static_cast<uint64_t>(count_);
    object.base = memory_.data();
    object.advance = packs ? own_advance<true> : own_advance<false>;
    return object;
  }
  // Fragments of these lengths, again and again, until the message is complete.
  void move_all(Object* object, const std::vector<size_t>& lengths) {
    for (size_t i = 0;; ++i) {
      iovec piece{packed_.data() + object->converted, lengths[i % lengths.size()]};
      piece.iov_len = std::min<size_t>(piece.iov_len, packed_.size() - object->converted + 5);
      const uint64_t before = object->converted;
      uint32_t count = 1;
      size_t bytes = 0;
      const int32_t code = object->advance(object, &piece, &count, &bytes);
      ASSERT_GE(code, 0);
      ASSERT_EQ(count, 1U);
      ASSERT_EQ(bytes, piece.iov_len);
      ASSERT_EQ(object->converted, before + bytes);
      ASSERT_EQ(code == 1, object->converted == object->local_size);
      ASSERT_EQ(code == 1, (object->flags & kCompleted) != 0);
      if (code == 1) return;
    }
  }
  std::vector<std::byte> expected() const {
    std::vector<std::byte> bytes;
    for (const int64_t offset : g_offsets) bytes.push_back(memory_[static_cast<size_t>(offset)]);
    return bytes;
  }

  PlanPtr plan_;
  int64_t count_ = 0;
  uintptr_t handle_ = 0;
  MovedType type_;
  std::vector<std::byte> memory_;
  std::vector<std::byte> packed_;
  static inline int s_complaints = 0;
  static inline uint64_t s_handles = 0;
};

constexpr const char* kVector = "vector(100, 3, 7, double)";
constexpr const char* kMixed = "resized(0, 40, struct([1, 3, 4], [0, 8, 32], [int, double, char]))";

TEST_F(ConvertorTest, TheFirstFragmentIsTheLibrarysTheOthersAreLacunas) {
  for (const auto& [text, count] : {std::pair{kVector, 2}, std::pair{kMixed, 90}}) {
    use(text, count);
    g_own_calls = 0;
    Object object = convertor(Direction::kPack);
    take(&object, Direction::kPack);
    move_all(&object, {300, 1, 77});
    EXPECT_EQ(packed_, expected());
    EXPECT_EQ(g_own_calls, 1);
    Object next = convertor(Direction::kPack);
    take(&next, Direction::kPack);
    move_all(&next, {64});
    EXPECT_EQ(g_own_calls, 1);
    EXPECT_EQ(s_complaints, 0);
  }
}

TEST_F(ConvertorTest, WhatIsReceivedLeavesGapsAlone) {
  use(kMixed, 50);
  for (int message = 0; message < 2; ++message) {
    for (size_t i = 0; i < packed_.size(); ++i)
      packed_[i] = static_cast<std::byte>(i * 11 + static_cast<size_t>(message));
    std::vector<std::byte> wanted(memory_.size(), std::byte{0x5a});
    memory_ = wanted;
    for (size_t i = 0; i < packed_.size(); ++i)
      wanted[static_cast<size_t>(g_offsets[i])] = packed_[i];
    Object object = convertor(Direction::kUnpack);
    take(&object, Direction::kUnpack);
    move_all(&object, {257, 3});
    EXPECT_EQ(memory_, wanted);
    EXPECT_EQ(g_own_calls, 1);
  }
}

TEST_F(ConvertorTest, FragmentsComeInAnyOrder) {
  use(kVector, 3);
  Object first = convertor(Direction::kPack);
  take(&first, Direction::kPack);
  move_all(&first, {4096});
  std::mt19937 random(7);
  std::vector<size_t> begins;
  for (size_t begin = 0; begin < packed_.size(); begin += 100) begins.push_back(begin);
  std::shuffle(begins.begin(), begins.end(), random);
  packed_.assign(packed_.size(), std::byte{0});
  Object object = convertor(Direction::kPack);
  take(&object, Direction::kPack);
  for (const size_t begin : begins) {
    size_t position = begin;
    object.flags &= ~kCompleted;  // as opal_convertor_set_position does
    ASSERT_EQ(set_position(&object, &position, own_position), 0);
    iovec piece{packed_.data() + begin, std::min<size_t>(100, packed_.size() - begin)};
    uint32_t count = 1;
    size_t bytes = 0;
    ASSERT_GE(object.advance(&object, &piece, &count, &bytes), 0);
    ASSERT_EQ(bytes, piece.iov_len);
  }
  EXPECT_EQ(packed_, expected());
}

TEST_F(ConvertorTest, SeveralPiecesAtOnce) {
  use(kVector, 1);
  for (int message = 0; message < 2; ++message) {
    Object object = convertor(Direction::kPack);
    take(&object, Direction::kPack);
    packed_.assign(packed_.size(), std::byte{0});
    iovec pieces[4] = {{packed_.data(), 300},
                       {packed_.data() + 300, 5},
                       {packed_.data() + 305, 1 << 20},
                       {packed_.data(), 8}};
    uint32_t count = 4;
    size_t bytes = 0;
    EXPECT_EQ(object.advance(&object, pieces, &count, &bytes), 1);
    EXPECT_EQ(count, 3U);
    EXPECT_EQ(bytes, packed_.size());
    EXPECT_EQ(pieces[2].iov_len, packed_.size() - 305);
    EXPECT_EQ(packed_, expected());
  }
}

TEST_F(ConvertorTest, RoomForMoreThanThereIs) {
  use(kVector, 1);
  for (int message = 0; message < 2; ++message) {
    Object object = convertor(Direction::kPack);
    take(&object, Direction::kPack);
    iovec piece{packed_.data(), SIZE_MAX};
    uint32_t count = 1;
    size_t bytes = SIZE_MAX;
    EXPECT_EQ(object.advance(&object, &piece, &count, &bytes), 1);
    EXPECT_EQ(bytes, packed_.size());
    EXPECT_EQ(packed_, expected());
  }
  EXPECT_EQ(g_own_calls, 1);
}

TEST_F(ConvertorTest, TheLibraryMayLeaveTheLengthOfAPieceThatIsTooLong) {
  g_keeps_lengths = true;
  for (const Direction way : {Direction::kPack, Direction::kUnpack}) {
    use(kVector, 2);
    std::vector<std::byte> room(packed_.size() + 4096, std::byte{0x77});
    Object object = convertor(way);
    take(&object, way);
    iovec piece{room.data(), room.size()};
    uint32_t count = 1;
    size_t bytes = 0;
    EXPECT_EQ(object.advance(&object, &piece, &count, &bytes), 1);
    EXPECT_EQ(type_.trusted(way), Trust::kSame);
  }
  EXPECT_EQ(s_complaints, 0);
  g_keeps_lengths = false;
}

TEST_F(ConvertorTest, SentFragmentsEndWithElements) {
  use(kVector, 1);
  Object first = convertor(Direction::kPack);
  take(&first, Direction::kPack);
  move_all(&first, {4096});
  type_.unit_bytes = 8;
  Object object = convertor(Direction::kPack);
  take(&object, Direction::kPack);
  for (const auto& [asked, moved] : {std::pair{100, 96}, std::pair{7, 7}, std::pair{10, 9}}) {
    iovec piece{packed_.data(), static_cast<size_t>(asked)};
    uint32_t count = 1;
    size_t bytes = 0;
    EXPECT_EQ(object.advance(&object, &piece, &count, &bytes), 0);
    EXPECT_EQ(bytes, static_cast<size_t>(moved));
  }
}

TEST_F(ConvertorTest, TypesWhoseElementsEndAnywhereAreSentByTheLibrary) {
  use(kMixed, 90);
  type_.unit_bytes = 0;
  Object out = convertor(Direction::kPack);
  const Advance own = out.advance;
  take(&out, Direction::kPack);
  EXPECT_EQ(out.advance, own);
  Object in = convertor(Direction::kUnpack);
  const Advance own_in = in.advance;
  take(&in, Direction::kUnpack);
  EXPECT_NE(in.advance, own_in);
}

TEST_F(ConvertorTest, ALibraryThatMovesOtherBytesGoesOnDoingIt) {
  for (const Direction way : {Direction::kPack, Direction::kUnpack}) {
    use(kVector, 2);
    g_is_wrong = true;
    s_complaints = 0;
    g_own_calls = 0;
    Object object = convertor(way);
    take(&object, way);
    move_all(&object, {1000});
    EXPECT_EQ(g_own_calls, 5);
    EXPECT_EQ(s_complaints, 1);
    Object next = convertor(way);
    const Advance own = next.advance;
    take(&next, way);
    EXPECT_EQ(next.advance, own);
  }
}

TEST_F(ConvertorTest, ACopyAndAPersistentRequestGoOn) {
  use(kVector, 2);
  Object persistent = convertor(Direction::kPack);
  take(&persistent, Direction::kPack);
  Object other = convertor(Direction::kPack);
  take(&other, Direction::kPack);
  move_all(&other, {1 << 20});
  EXPECT_EQ(g_own_calls, 1);
  Object copy = persistent;  // as opal_convertor_clone
  size_t position = 1;
  ASSERT_EQ(set_position(&copy, &position, own_position), 0);
  position = 0;
  ASSERT_EQ(set_position(&copy, &position, own_position), 0);
  packed_.assign(packed_.size(), std::byte{0});
  move_all(&copy, {99});
  EXPECT_EQ(packed_, expected());
  EXPECT_EQ(g_own_calls, 1);
}

TEST_F(ConvertorTest, WhatIsNotSureIsLeftToTheLibrary) {
  use(kVector, 2);
  const auto is_left = [&](Direction way, const auto& change) {
    Object object = convertor(way);
    change(&object);
    const Advance own = object.advance;
    take(&object, way);
    return object.advance == own;
  };
  for (const Direction way : {Direction::kPack, Direction::kUnpack}) {
    EXPECT_FALSE(is_left(way, [](Object*) {}));
    for (const uint32_t flag : {kContiguous, kChecksum, kCompleted, 0x00010000U, 0x00400000U,
                                0x00800000U, 0x10000000U, kSends | kReceives}) {
      EXPECT_TRUE(is_left(way, [&](Object* object) { object->flags |= flag; })) << flag;
    }
    EXPECT_TRUE(is_left(way, [](Object* object) { object->flags &= ~kHomogeneous; }));
    EXPECT_TRUE(is_left(way, [](Object* object) { object->desc += 64; }));
    EXPECT_TRUE(is_left(way, [](Object* object) { object->local_size -= 8; }));
    EXPECT_TRUE(is_left(way, [](Object* object) {
      object->advance = [](void*, iovec*, uint32_t*, size_t*) { return -1; };
    }));
  }
  g_convertors.least_bytes = g_offsets.size() + 1;
  EXPECT_TRUE(is_left(Direction::kPack, [](Object*) {}));
}

TEST_F(ConvertorTest, OverlappingElementsAreReceivedByTheLibrary) {
  use("resized(0, 8, vector(2, 1, 2, double))", 3);
  Object out = convertor(Direction::kPack);
  take(&out, Direction::kPack);
  EXPECT_NE(out.advance, static_cast<Advance>(own_advance<true>));
  Object in = convertor(Direction::kUnpack);
  take(&in, Direction::kUnpack);
  EXPECT_EQ(in.advance, static_cast<Advance>(own_advance<false>));
}

TEST_F(ConvertorTest, AddressesInsteadOfCopies) {
  use("resized(0, 32, contiguous(2, double))", 40);
  Object first = convertor(Direction::kPack);
  take(&first, Direction::kPack);
  move_all(&first, {256});
  Object object = convertor(Direction::kPack);
  take(&object, Direction::kPack);
  size_t position = 20;
  ASSERT_EQ(set_position(&object, &position, own_position), 0);
  iovec pieces[2] = {{nullptr, 0}, {nullptr, 0}};
  uint32_t count = 2;
  size_t bytes = 0;
  EXPECT_EQ(object.advance(&object, pieces, &count, &bytes), 0);
  EXPECT_EQ(pieces[0].iov_base, memory_.data() + 36);
  EXPECT_EQ(pieces[0].iov_len, 12U);
  EXPECT_EQ(pieces[1].iov_base, memory_.data() + 64);
  EXPECT_EQ(bytes, 28U);
}

TEST(TypeTable, AHandleIsFoundUntilItIsRemoved) {
  static TypeTable table;
  std::vector<MovedType> types(3000);
  int found = 0;
  for (size_t i = 0; i < types.size(); ++i) table.add(4096 + 352 * i, &types[i]);
  for (size_t i = 0; i < types.size(); ++i) {
    MovedType* type = table.find(4096 + 352 * i);
    EXPECT_TRUE(type == nullptr || type == &types[i]);
    found += type != nullptr;
  }
  EXPECT_GT(found, 2400);  // a few buckets are full
  for (size_t i = 0; i < types.size(); i += 2) table.remove(4096 + 352 * i);
  for (size_t i = 0; i < types.size(); i += 2) EXPECT_EQ(table.find(4096 + 352 * i), nullptr);
  table.add(4096, &types[7]);  // the handle of another type now
  EXPECT_EQ(table.find(4096), &types[7]);
}

}  // namespace
}  // namespace lacuna::inside
