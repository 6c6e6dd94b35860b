// SPDX-License-Identifier: BSD-3-Clause
//
// The proof, with a library whose convertors are as they are known, and with others.
#include "interpose/inside/proof.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "interpose/inside/made_up_library.hpp"

namespace lacuna::inside {
namespace {

// As MPI_Pack and MPI_Unpack of a library whose convertor `change` alters after it was prepared.
const char* prove(Direction way, bool has_inner, const std::function<void(Object*)>& change,
                  SetPosition position = own_position) {
  static const ConvertorLayout& layout = *layout_of("Open MPI v4.1.4, package");
  constexpr uintptr_t kHandle = 0x4000;
  Proof proof(layout, position, way, kHandle, has_inner);
  g_offsets.clear();
  for (int i = 0; i < proof.bytes(); ++i)
    g_offsets.push_back(has_inner ? i / 24 * 40 + i % 24 / 8 * 16 + i % 8 : i / 8 * 16 + i % 8);
  Object object{};
  object.flags = kHomogeneous | (way == Direction::kPack ? kSends : kReceives);
  object.local_size = static_cast<uint64_t>(proof.bytes());
  object.desc = kHandle;
  object.count = Proof::kCount;
  object.base = static_cast<std::byte*>(proof.mem());
  object.advance = way == Direction::kPack ? own_advance<true> : own_advance<false>;
  change(&object);
  proof.prepared(&object, way, reinterpret_cast<const void*>(kHandle), Proof::kCount, proof.mem());
  iovec piece{proof.packed(), static_cast<size_t>(proof.bytes())};
  uint32_t count = 1;
  size_t bytes = piece.iov_len;
  object.advance(&object, &piece, &count, &bytes);
  return proof.failure();
}

TEST(Proof, TheKnownLayoutPasses) {
  g_is_wrong = false;
  for (const Direction way : {Direction::kPack, Direction::kUnpack}) {
    for (const bool has_inner : {true, false})
      EXPECT_EQ(prove(way, has_inner, [](Object*) {}), nullptr);
  }
}

TEST(Proof, EachMemberThatIsElsewhereIsFound) {
  const std::function<void(Object*)> changes[] = {
      [](Object* object) { object->flags |= kContiguous; },
      [](Object* object) { object->flags ^= kSends | kReceives; },
      [](Object* object) { object->flags = 0; },
      [](Object* object) { object->local_size += 1; },
      [](Object* object) { object->desc += 8; },
      [](Object* object) { object->count += 1; },
      [](Object* object) { object->base += 8; },
      [](Object* object) { object->converted = 8; },
      // It lies elsewhere: this one is never called.
      [](Object* object) {
        object->advance = [](void*, iovec*, uint32_t* count, size_t* bytes) {
          *count = 1;
          *bytes = 0;
          return 1;
        };
      },
  };
  for (const Direction way : {Direction::kPack, Direction::kUnpack}) {
    for (const auto& change : changes) EXPECT_NE(prove(way, true, change), nullptr);
    g_is_wrong = true;
    EXPECT_NE(prove(way, true, [](Object*) {}), nullptr);
    g_is_wrong = false;
    EXPECT_NE(prove(way, true, [](Object*) {}, [](void*, size_t*) { return 0; }), nullptr);
  }
}

TEST(Proof, OtherVersionsAreNotKnown) {
  EXPECT_NE(layout_of("Open MPI v4.1.4, package"), nullptr);
  EXPECT_NE(layout_of("Open MPI v5.0.11, package"), nullptr);
  for (const char* version : {"Open MPI v6.0.0, package", "Open MPI v4.0.3", "Open MPI v5.1.0",
                              "Open MPI v50.1", "MPICH Version: 5.0.2", ""})
    EXPECT_EQ(layout_of(version), nullptr) << version;
}

}  // namespace
}  // namespace lacuna::inside
