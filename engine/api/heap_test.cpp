// SPDX-License-Identifier: BSD-3-Clause
//
// How often calls allocate: a small message never, a type made for one message a known number of
// times. Counts all C++ allocations of this program, by thread; the engine makes no others.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <vector>

#include "lacuna/lacuna.h"

namespace {
thread_local int64_t t_allocations = 0;

[[gnu::noinline]] void* counted(std::size_t bytes, std::size_t alignment) {
  ++t_allocations;
  void* p = nullptr;
  if (posix_memalign(&p, alignment, bytes) != 0) throw std::bad_alloc();
  return p;
}

// Not inlined: the compiler would see free() after new, and warn.
[[gnu::noinline]] void released(void* p) { std::free(p); }
}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted(bytes, alignof(std::max_align_t));
}
void operator delete(void* p) noexcept { released(p); }
void operator delete(void* p, std::size_t) noexcept { released(p); }
void operator delete(void* p, std::align_val_t) noexcept { released(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { released(p); }

namespace {

template <typename F>
int64_t allocations(F f) {
  const int64_t before = t_allocations;
  f();
  return t_allocations - before;
}

TEST(Heap, MovingNeverTouchesIt) {
  std::vector<double> mem(20000);
  std::vector<double> packed(20000);
  for (const char* text :
       {"double", "vector(16, 1, 24, double)", "struct([1, 3, 4], [0, 8, 40], [int, double, char])",
        "contiguous(100, resized(0, 8, vector(20, 1, 100, double)))",
        "indexed([1, 2, 3, 1], [0, 7, 90, 200], double)",
        "subarray([20, 20, 20], [8, 9, 10], [1, 2, 3], c, double)", "vector(1000, 1, 2, int)"}) {
    lacuna_type* type = nullptr;
    lacuna_plan* plan = nullptr;
    ASSERT_EQ(lacuna_type_parse(text, &type), LACUNA_OK);
    ASSERT_EQ(lacuna_plan_create(type, &plan), LACUNA_OK);
    int64_t bytes = 0;
    ASSERT_EQ(lacuna_packed_size(plan, 1, &bytes), LACUNA_OK);
    EXPECT_EQ(allocations([&] {
                (void)!lacuna_pack(plan, mem.data(), 1, packed.data());
                (void)!lacuna_unpack(plan, packed.data(), 1, mem.data());
                (void)!lacuna_pack_slice(plan, mem.data(), 1, bytes / 3, bytes, packed.data());
                (void)!lacuna_unpack_slice(plan, packed.data(), 1, bytes / 3, bytes, mem.data());
              }),
              0)
        << text;
    lacuna_plan_destroy(plan);
    lacuna_type_destroy(type);
  }
}

// A type that is made, planned, used and destroyed for each message allocates its node, its lists
// and its children; its plan is cached from the first time.
TEST(Heap, ATypeForOneMessageTouchesItAFewTimes) {
  lacuna_type* dbl = nullptr;
  lacuna_type* integer = nullptr;
  ASSERT_EQ(lacuna_type_named("double", &dbl), LACUNA_OK);
  ASSERT_EQ(lacuna_type_named("int", &integer), LACUNA_OK);
  std::vector<double> mem(1000);
  std::vector<double> packed(1000);
  const auto message = [&](lacuna_status made, lacuna_type* const& type) {
    lacuna_plan* plan = nullptr;
    EXPECT_EQ(made, LACUNA_OK);
    EXPECT_EQ(lacuna_plan_create(type, &plan), LACUNA_OK);
    EXPECT_EQ(lacuna_pack(plan, mem.data(), 1, packed.data()), LACUNA_OK);
    lacuna_plan_destroy(plan);
    lacuna_type_destroy(type);
  };
  const auto vector = [&] {
    lacuna_type* type = nullptr;
    message(lacuna_type_vector(16, 1, 24, dbl, &type), type);
  };
  const auto structure = [&] {
    const int64_t lengths[] = {1, 3};
    const int64_t places[] = {0, 8};
    const lacuna_type* types[] = {integer, dbl};
    lacuna_type* type = nullptr;
    message(lacuna_type_struct(2, lengths, places, types, &type), type);
  };
  const auto subarray = [&] {
    const int64_t sizes[] = {20, 20};
    const int64_t subsizes[] = {4, 5};
    const int64_t starts[] = {2, 3};
    lacuna_type* type = nullptr;
    message(lacuna_type_subarray(2, sizes, subsizes, starts, LACUNA_ORDER_C, dbl, &type), type);
  };
  vector();
  structure();
  subarray();
  EXPECT_EQ(allocations([&] {
              lacuna_type* again = nullptr;
              (void)!lacuna_type_named("int", &again);
              lacuna_type_destroy(again);
            }),
            0);
  EXPECT_LE(allocations(vector), 2);
  EXPECT_LE(allocations(structure), 4);
  EXPECT_LE(allocations(subarray), 5);
  lacuna_type_destroy(dbl);
  lacuna_type_destroy(integer);
}

// The first plan of nested loops: their nodes and steps, no sentences for explain.
TEST(Heap, PlanningTouchesItAFewTimesForEachLoop) {
  int64_t made = 0;
  for (const char* text : {"vector(9, 1, 3, double)",  // finds the machine
                           "subarray([50, 50, 50], [30, 31, 32], [1, 1, 1], c, double)"}) {
    lacuna_type* type = nullptr;
    lacuna_plan* plan = nullptr;
    ASSERT_EQ(lacuna_type_parse(text, &type), LACUNA_OK);
    made = allocations([&] { (void)!lacuna_plan_create(type, &plan); });
    lacuna_plan_destroy(plan);
    lacuna_type_destroy(type);
  }
  EXPECT_LE(made, 36);
}

}  // namespace
