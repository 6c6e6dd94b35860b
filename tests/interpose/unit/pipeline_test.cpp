// SPDX-License-Identifier: BSD-3-Clause
//
// Which messages of a sender have been received, and how much may be on its way.
#include "interpose/direct/pipeline/pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "interpose/direct/between_nodes/communicator.hpp"
#include "interpose/direct/pipeline/far_rank.hpp"
#include "tests/interpose/unit/fake_next.hpp"

namespace lacuna::direct {
namespace {

TEST(Pipeline, NumbersInOrder) {
  ReceivedNumbers received;
  EXPECT_FALSE(received.has(1));
  received.add(1);
  received.add(2);
  EXPECT_TRUE(received.has(1) && received.has(2));
  EXPECT_FALSE(received.has(3));
}

TEST(Pipeline, NumbersInAnyOrder) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<uint64_t> numbers(40);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = i + 1;
    std::shuffle(numbers.begin(), numbers.end(), random);
    ReceivedNumbers received;
    std::set<uint64_t> expected;
    for (const uint64_t number : numbers) {
      EXPECT_FALSE(received.has(number));
      received.add(number);
      expected.insert(number);
      for (uint64_t each = 1; each <= 41; ++each)
        EXPECT_EQ(received.has(each), expected.count(each) != 0) << each;
    }
  }
}

// All others together send a rank no more than it keeps.
TEST(Pipeline, FirstSharesShrinkWithTheJob) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  EXPECT_EQ(shares_of(2, 64 * kMiB).first, 32 * kMiB);
  EXPECT_EQ(shares_of(5, 64 * kMiB).first, 8 * kMiB);
  EXPECT_EQ(shares_of(129, 64 * kMiB).first, kMiB / 4);
  EXPECT_EQ(shares_of(130, 64 * kMiB).first, 0);
  EXPECT_EQ(shares_of(4, kMiB).first, 0);
  for (const int64_t bytes : {kMiB, 256 * kMiB, 4096 * kMiB}) {
    for (const int ranks : {1, 2, 3, 100, 4097, 1000000}) {
      const Shares shares = shares_of(ranks, bytes);
      EXPECT_LE(shares.first * std::max(ranks - 1, 1) + shares.pool, bytes) << ranks;
      EXPECT_GE(shares.pool, bytes / 2) << ranks;
      EXPECT_LE(shares.first, shares.most) << ranks;
      EXPECT_LE(shares.most, shares.pool) << ranks;
    }
  }
}

// Notes that rank 0 gets from others, and that it sends.
class SharesTest : public testing::Test {
 protected:
  static constexpr int64_t kPool = 1000;
  struct Sent {
    int to;
    Note note;
  };
  static inline std::vector<Sent> sent_;
  static inline std::vector<Sent> coming_;

  SharesTest() {
    sent_.clear();
    Next& next = test::fake_next();
    next.MPI_Wait = [](MPI_Request*, MPI_Status*) { return MPI_SUCCESS; };
    next.MPI_Isend = [](const void* note, int, MPI_Datatype, int to, int, MPI_Comm, MPI_Request*) {
      sent_.push_back({to, *static_cast<const Note*>(note)});
      return MPI_SUCCESS;
    };
    next.MPI_Iprobe = [](int, int, MPI_Comm, int* flag, MPI_Status* status) {
      *flag = coming_.empty() ? 0 : 1;
      if (*flag != 0) status->MPI_SOURCE = coming_.front().to;
      return MPI_SUCCESS;
    };
    next.MPI_Recv = [](void* note, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*) {
      *static_cast<Note*>(note) = coming_.front().note;
      coming_.erase(coming_.begin());
      return MPI_SUCCESS;
    };
    Pipeline agreed{};
    agreed.piece_bytes = 100;
    agreed.shares = {0, kPool, kPool};
    start_pipeline(agreed);
  }
  ~SharesTest() override {
    start_pipeline(Pipeline());
    test::fake_next() = Next{};
  }
  static void come(int from, int64_t wanted, int64_t returned) {
    Note note;
    note.wanted = wanted;
    note.returned = returned;
    coming_.push_back({from, note});
    receive_notes();
  }
};

// What has been received since the last note is a part of the share that the sender would keep for
// ever: it neither sends there nor returns it.
TEST_F(SharesTest, WhoReturnsIsToldWhatHasBeenReceived) {
  come(7, kPool, 0);
  ASSERT_EQ(sent_.size(), 1U);
  EXPECT_EQ(sent_.back().note.granted, kPool);
  note_received(7, &far_rank(7), 20);  // less than a 32nd
  ASSERT_EQ(sent_.size(), 1U);
  come(7, 0, kPool - 20);
  ASSERT_EQ(sent_.size(), 2U);
  EXPECT_EQ(sent_.back().to, 7);
  EXPECT_EQ(sent_.back().note.received_bytes, 20);
  come(7, 0, kPool);
  EXPECT_EQ(sent_.size(), 2U);  // nothing new to tell
  come(8, kPool, 0);
  EXPECT_EQ(sent_.back().to, 8);
  EXPECT_EQ(sent_.back().note.granted, kPool);
  come(7, 100, kPool);  // nothing is left, and nothing has come
  EXPECT_EQ(sent_.back().to, 8);
  note_received(7, &far_rank(7), 0);
  come(8, 0, kPool);
}

// Votes on collective calls take about 1/128 of the time.
TEST(Pipeline, IntervalOfVotes) {
  using std::chrono::microseconds;
  NodesComm::BackOff back_off;
  const std::chrono::steady_clock::time_point start(std::chrono::hours(1));
  back_off.calls = 1;
  EXPECT_EQ(log_of_interval(back_off, start), 0);  // nothing is known yet
  back_off.last_vote = start;
  back_off.vote_time = microseconds(10);
  back_off.calls_then = 1;
  back_off.calls = 11;
  const auto after = [&](int call_time) {
    return 1 << log_of_interval(back_off, start + microseconds(10 * call_time));
  };
  EXPECT_EQ(after(0), 1 << 16);
  EXPECT_EQ(after(1), 1024);
  EXPECT_EQ(after(9), 128);
  EXPECT_EQ(after(100), 8);
  EXPECT_EQ(after(1000), 1);
  EXPECT_EQ(after(1000000), 1);
  back_off.vote_time = microseconds(0);
  EXPECT_EQ(log_of_interval(back_off, start - std::chrono::nanoseconds(10)), 0);
}

TEST(Pipeline, OffsetsOfTokensAreNoneOfRegions) {
  Token token{};
  EXPECT_FALSE(is_pipelined(token));
  token.offset = offset_for(0);
  EXPECT_TRUE(is_pipelined(token));
  EXPECT_NE(offset_for(0), offset_for(1));
}

}  // namespace
}  // namespace lacuna::direct
