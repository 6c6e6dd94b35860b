// SPDX-License-Identifier: BSD-3-Clause
//
// The engine uses little stack, whatever it moves: threads of programs may have 16 KiB of it. With
// each instruction set, in the caches and with non-temporal stores.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "exec/copy/copy.hpp"
#include "exec/exec.hpp"
#include "painted_stack.hpp"
#include "plan/plan.hpp"
#include "type/random/random.hpp"
#include "type/text/text.hpp"

namespace lacuna {
namespace {

using test::PaintedStack;

// The engine's share of the 4 KiB that a call of MPI may take; the rest is for its callers. Clang
// 19 takes up to 3344 bytes (transposes of elements of 3 bytes).
#if defined(__clang__)
constexpr int64_t kMost = 3584;
#else
constexpr int64_t kMost = 3072;
#endif
constexpr int64_t kMostOfPlanning = 3584;
constexpr size_t kStackBytes = size_t{64} << 10;

// Of the second call: in the first one the C library resolves its functions.
template <typename Call>
int64_t depth(PaintedStack& stack, Call call) {
  call();
  return stack.depth_of(call);
}

std::string transpose(int64_t width, int64_t rows, int64_t cols, int64_t pad) {
  const auto number = [](int64_t n) { return std::to_string(n); };
  return "contiguous(" + number(cols) + ", resized(0, " + number(width) + ", vector(" +
         number(rows) + ", 1, " + number(cols + pad) + ", contiguous(" + number(width) +
         ", byte))))";
}

std::vector<std::string> texts() {
  std::vector<std::string> all;
  for (const int64_t width : {1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 48}) {
    for (const int64_t pad : {0, 3}) {
      all.push_back(transpose(width, 24, 20, pad));
      all.push_back(transpose(width, 200, 128, pad));
    }
  }
  all.push_back("vector(1000, 1, 3, double)");
  all.push_back("vector(100, 700, 900, double)");
  all.push_back("contiguous(500, struct([1, 2, 3], [0, 8, 20], [char, int, short]))");
  all.push_back("indexed([1, 2, 1, 3, 2], [0, 9, 30, 44, 70], int)");
  all.push_back("subarray([30, 30, 30], [10, 11, 12], [3, 3, 3], c, double)");
  std::string nested = "int";
  for (int i = 0; i < 4; ++i) nested = "indexed_block(1, [0, 2], dup(" + nested + "))";
  all.push_back("indexed_block(1, [0, 5], " + nested + ")");
  return all;
}

std::vector<TypePtr> types() {
  std::vector<TypePtr> all;
  for (const std::string& text : texts()) {
    auto type = parse_type(text);
    EXPECT_TRUE(type.ok()) << text;
    all.push_back(std::move(type).value());
  }
  RandomOptions options;
  options.overlap = false;
  for (uint64_t seed = 1; seed <= 200; ++seed) all.push_back(random_type(seed, options));
  return all;
}

// Moves a type in all ways, whole and in slices, with `kernels`, and checks how much stack that
// takes.
void check(PaintedStack& stack, const TypePtr& type, const KernelTable& kernels,
           const Machine& host) {
  SCOPED_TRACE(std::string(kernels.isa) + ": " + print_type(*type));
  PlanPtr plan;
  EXPECT_LE(depth(stack, [&] { plan = make_plan(type, kernels, host); }), kMostOfPlanning);
  for (const int64_t count : {1, 3}) {
    const DataSpan span = data_span(*type, count);
    const int64_t total = count * type->size_bytes;
    std::vector<std::byte> from(static_cast<size_t>(span.bytes()));
    std::vector<std::byte> to(from.size());
    std::vector<std::byte> packed(static_cast<size_t>(total));
    std::byte* const source = from.data() - span.low;
    std::byte* const target = to.data() - span.low;
    const auto packs = [&] { pack(*plan, source, count, packed.data()); };
    const auto unpacks = [&] { unpack(*plan, packed.data(), count, target); };
    const auto copies = [&] { copy(*plan, source, count, *plan, target, count); };
    EXPECT_LE(depth(stack, packs), kMost) << "pack";
    EXPECT_LE(depth(stack, unpacks), kMost) << "unpack";
    EXPECT_LE(depth(stack, copies), kMost) << "copy";
    const auto slices = [&] {
      pack_slice(*plan, source, count, total / 5, total / 2, packed.data());
      unpack_slice(*plan, packed.data(), count, total / 5, total / 2, target);
    };
    EXPECT_LE(depth(stack, slices), kMost) << "slice";
  }
}

TEST(Stack, EngineTakesLittle) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
  GTEST_SKIP() << "the frames are not those of the libraries that are installed";
#endif
  Machine tiny;
  tiny.l1_bytes = 1024;
  tiny.stream_transpose_bytes = 0;
  tiny.stream_run_bytes = 0;
  PaintedStack stack(kStackBytes);
  EXPECT_TRUE(stack.run([&] {
    for (const TypePtr& type : types()) {
      for (const KernelTable* kernels : kernel_tables()) {
        check(stack, type, *kernels, machine());
        check(stack, type, *kernels, tiny);
      }
    }
  }));
}

// Layouts without common loops: through a buffer.
TEST(Stack, CopiesOfUnlikeLayoutsTakeLittle) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
  GTEST_SKIP() << "the frames are not those of the libraries that are installed";
#endif
  const auto a = parse_type("indexed([1, 2, 1, 3, 2], [0, 9, 30, 44, 70], int)");
  const auto b = parse_type("vector(3, 3, 7, int)");
  constexpr int64_t kCount = 1000;
  std::vector<std::byte> from(1 << 19);
  std::vector<std::byte> to(1 << 19);
  PaintedStack stack(kStackBytes);
  EXPECT_TRUE(stack.run([&] {
    for (const KernelTable* kernels : kernel_tables()) {
      const PlanPtr source = make_plan(*a, *kernels);
      const PlanPtr target = make_plan(*b, *kernels);
      EXPECT_EQ(copy_way(*source, kCount, *target, kCount), CopyWay::kStaged);
      const auto copies = [&] { copy(*source, from.data(), kCount, *target, to.data(), kCount); };
      EXPECT_LE(depth(stack, copies), kMost);
    }
  }));
}

}  // namespace
}  // namespace lacuna
