// SPDX-License-Identifier: BSD-3-Clause
//
// The agreement of many ranks in MPI_Init, of which one is out of memory. Threads play the others.
#include "interpose/direct/agreement/agreement.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "interpose/direct/agreement/card.hpp"
#include "interpose/direct/agreement/launched.hpp"
#include "interpose/direct/agreement/meeting.hpp"
#include "interpose/direct/arena/arena.hpp"
#include "tests/interpose/unit/fake_next.hpp"

namespace {

std::atomic<size_t> g_refused{0};  // allocations of this size fail

}  // namespace

// Not inlined: GCC would take malloc and free for a mismatch.
[[gnu::noinline]] void* operator new(size_t bytes) {
  if (bytes != 0 && bytes == g_refused.load()) throw std::bad_alloc();
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace lacuna::direct {
namespace {

constexpr int kRanks = 130;  // more than have a place without an allocation

TEST(Agreement, EndsForAllWhereOneIsOutOfMemory) {
  setenv("PMIX_NAMESPACE", ("agreement-" + std::to_string(getpid())).c_str(), 1);
  setenv("MPI_LOCALNRANKS", std::to_string(kRanks).c_str(), 1);
  test::fake_next().MPI_Get_library_version = [](char* version, int* length) {
    *length = 5;
    std::char_traits<char>::copy(version, "MPICH", 6);
    return MPI_SUCCESS;
  };
  test::fake_next().MPI_Comm_rank = [](MPI_Comm, int* rank) {
    *rank = 0;
    return MPI_SUCCESS;
  };
  std::atomic<int> met{0}, agreed{0};
  std::vector<std::thread> others;
  for (int i = 1; i < kRanks; ++i) {
    others.emplace_back([&, i] {
      Meeting meeting({job_id(), i, kRanks, std::chrono::seconds(60), [](const char*) {}});
      std::vector<Card> told(kRanks + 1);  // of another size than the rank that is refused memory
      if (!meeting.begin()) return;
      ++met;
      const Card own{};
      agreed += meeting.exchange(&own, told.data(), sizeof(own)) ? 1 : 0;
    });
  }
  g_refused = kRanks * sizeof(Card);
  EXPECT_EQ(agree(true, OtherNodes::kNothing).node, Agreement::kRefused);
  g_refused = 0;
  for (std::thread& other : others) other.join();
  EXPECT_EQ(met, kRanks - 1);
  EXPECT_EQ(agreed, 0);
  EXPECT_TRUE(own_arena() == nullptr);
  EXPECT_EQ(arena_descriptor(), -1);
}

}  // namespace
}  // namespace lacuna::direct
