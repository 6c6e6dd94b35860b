// SPDX-License-Identifier: BSD-3-Clause
//
// Votes of a collective call in shared memory, back-off, and the sets of vote slots. The test plays
// the other ranks: it writes their votes where they would.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "interpose/direct/arena/arena.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/direct/rooms/room.hpp"
#include "interpose/direct/rooms/vote_slot.hpp"
#include "interpose/library/gate.hpp"
#include "tests/interpose/unit/fake_next.hpp"
#include "tests/interpose/unit/fake_peers.hpp"

namespace lacuna::direct {
namespace {

constexpr uint32_t kRanks = 3;
constexpr MPI_Comm kComm = MPI_COMM_WORLD;
constexpr Call kGather{Kind::kGather, 1};
constexpr int64_t kMuch = 1 << 20;
constexpr OwnVote kWithGaps{.gaps = true, .enough = true, .offset = 8192};

// What the others answer in MPI_Allgather; the rest is as this rank's.
std::vector<SlotUse> g_others;
int g_allgathers = 0;
bool g_allgather_fails = false;

class Rooms : public testing::Test {
 protected:
  void SetUp() override { start(false); }
  void start(bool threads) {
    ASSERT_TRUE(test::have_peers(kRanks, threads));
    g_others.clear();
    g_allgathers = 0;
    g_allgather_fails = false;
    g_gate.open = kCollectiveSwitch;
    test::fake_next().MPI_Allgather = [](const void* own, int, MPI_Datatype, void* all, int,
                                         MPI_Datatype, MPI_Comm) {
      ++g_allgathers;
      if (g_allgather_fails) return MPI_ERR_OTHER;
      for (uint32_t i = 0; i < kRanks; ++i) {
        static_cast<SlotUse*>(all)[i] =
            i > 0 && i <= g_others.size() ? g_others[i - 1] : *static_cast<const SlotUse*>(own);
      }
      return MPI_SUCCESS;
    };
  }
  void TearDown() override {
    close_room(&room_);
    // The others have read the last votes.
    for (uint32_t i = 1; i < kRanks && room_.number >= 0; ++i)
      say(i, kGather, 0, room_.last_done + 1);
    EXPECT_TRUE(give_up_if_left(&room_));
    g_gate.open = 0;
  }

  static Room made() {
    Room room;
    room.members.resize(kRanks);
    room.slot_uses.resize(kRanks);
    for (uint32_t i = 0; i < kRanks; ++i) room.members[i].peer = i;
    return room;
  }
  // Writes the vote of another rank.
  void say(uint32_t rank, const Call& call, uint64_t flags, uint64_t number) const {
    auto* const rows = reinterpret_cast<VoteSlots*>(test::arena_of(rank));
    VoteSlot& slot = rows[room_.number].slots[number % kVoteSlots];
    slot.offset = 4096 * rank;
    slot.word = vote_word(number, call, flags);
  }
  void all_say(const Call& call, uint64_t flags) const {
    for (uint32_t i = 1; i < kRanks; ++i) say(i, call, flags, room_.call_number);
  }
  Entry enter(const Call& call = kGather, int64_t bytes = kMuch) {
    return enter_room(kComm, &room_, call, bytes);
  }
  bool vote_on(const OwnVote* own, const Call& call = kGather) {
    bool alive = false;
    const bool accepted = vote(&room_, call, own, &alive);
    EXPECT_TRUE(alive);
    return accepted;
  }

  Room room_ = made();
};

TEST_F(Rooms, ACallIsDoneIfAllSayYesAndSomebodyHasEnough) {
  for (const uint64_t others : {kYes, kYes | kGaps, kYes | kGaps | kEnough}) {
    ASSERT_EQ(enter(), Entry::kMustVote);
    all_say(kGather, others);
    EXPECT_TRUE(vote_on(&kWithGaps));
    EXPECT_EQ(room_.members[2].offset, 8192);
    EXPECT_EQ(room_.last_done, room_.call_number);
  }
}

TEST_F(Rooms, NobodyHasGapsOrEnough) {
  const OwnVote without_gaps{.gaps = false, .enough = true};
  ASSERT_EQ(enter(), Entry::kMustVote);
  all_say(kGather, kYes | kEnough);
  EXPECT_FALSE(vote_on(&without_gaps));
  const OwnVote too_few{.gaps = true, .enough = false};
  ASSERT_EQ(enter(), Entry::kMustVote);
  all_say(kGather, kYes | kGaps);
  EXPECT_FALSE(vote_on(&too_few));
  EXPECT_EQ(room_.last_done, 0U);
}

// One no is enough, though the other rank has not voted yet: nobody waits for it.
TEST_F(Rooms, OneNoIsEnough) {
  ASSERT_EQ(enter(), Entry::kMustVote);
  say(2, kGather, 0, room_.call_number);
  EXPECT_FALSE(vote_on(&kWithGaps));
  ASSERT_EQ(enter(), Entry::kMustVote);
  EXPECT_FALSE(vote_on(nullptr));
}

TEST_F(Rooms, RanksInOtherCallsDoNotAgree) {
  for (const Call& other : {Call{Kind::kGather, 2}, Call{Kind::kScatter, 1}}) {
    ASSERT_EQ(enter(), Entry::kMustVote);
    say(1, kGather, kYes, room_.call_number);
    say(2, other, kYes | kGaps | kEnough, room_.call_number);
    EXPECT_FALSE(vote_on(&kWithGaps));
  }
  // A rank that is already in a later call has voted no here, or has seen a no.
  ASSERT_EQ(enter(), Entry::kMustVote);
  say(1, kGather, kYes, room_.call_number);
  say(2, kGather, kYes | kGaps | kEnough, room_.call_number + kVoteSlots);
  EXPECT_FALSE(vote_on(&kWithGaps));
}

TEST_F(Rooms, AVoteIsWaitedFor) {
  ASSERT_EQ(enter(), Entry::kMustVote);
  // What is in the slot belongs to an earlier call.
  if (room_.call_number >= kVoteSlots)
    say(2, kGather, kYes | kGaps | kEnough, room_.call_number - kVoteSlots);
  say(1, kGather, kYes, room_.call_number);
  std::thread late([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    say(2, kGather, kYes, room_.call_number);
  });
  EXPECT_TRUE(vote_on(&kWithGaps));
  late.join();
}

TEST_F(Rooms, ARankThatHasLeftAllRoomsIsNotWaitedFor) {
  ASSERT_EQ(enter(), Entry::kMustVote);
  say(1, kGather, kYes, room_.call_number);
  token_page(test::arena_of(2)).left_rooms = 1;
  EXPECT_FALSE(vote_on(&kWithGaps));
}

// A rank votes no after four votes that led to no call, up to a multiple of 32, then of 64, up to
// 1024: ranks that began to do so at different times vote together again.
TEST_F(Rooms, VotesInVainBackOffUpToCommonCalls) {
  std::vector<uint64_t> voted;
  for (int i = 0; i < 6000; ++i) {
    const Entry entry = enter();
    if (entry != Entry::kMustVote) continue;
    voted.push_back(room_.call_number);
    say(1, kGather, 0, room_.call_number);
    EXPECT_FALSE(vote_on(&kWithGaps));
  }
  ASSERT_GT(voted.size(), 10U);
  EXPECT_EQ(voted[3], voted[0] + 3);
  uint64_t interval = 32;
  for (size_t i = 4; i < voted.size(); ++i) {
    EXPECT_EQ(voted[i] % interval, 0U) << voted[i];
    EXPECT_LE(voted[i], voted[i - 1] + interval);
    interval = std::min<uint64_t>(2 * interval, 1024);
  }
  // A call that is done ends the back-off.
  while (enter() != Entry::kMustVote) {
  }
  all_say(kGather, kYes);
  EXPECT_TRUE(vote_on(&kWithGaps));
  EXPECT_EQ(enter(), Entry::kMustVote);
  EXPECT_FALSE(vote_on(nullptr));
}

TEST_F(Rooms, EachKindBacksOffByItself) {
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(enter(), Entry::kMustVote);
    EXPECT_FALSE(vote_on(nullptr));
  }
  EXPECT_EQ(enter(), Entry::kVotedNo);
  EXPECT_EQ(enter({Kind::kScatter, 1}), Entry::kMustVote);
  EXPECT_EQ(enter({Kind::kGather, 1, true}), Entry::kMustVote);  // predefined types
}

// Calls with an array of types find out without a look at the types that they need no vote.
TEST_F(Rooms, TheLibraryIsAsGoodWhereNobodySaidNoLately) {
  const Call call{Kind::kAlltoallw};
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(enter(call), Entry::kMustVote);
    all_say(call, kYes);
    const OwnVote own;
    EXPECT_FALSE(vote_on(&own, call));
  }
  EXPECT_EQ(enter(call), Entry::kBackedOff);
  const uint64_t word = room_.own->slots[room_.call_number % kVoteSlots].word;
  EXPECT_EQ(word, vote_word(room_.call_number, call, 0));
}

TEST_F(Rooms, FewBytesNeedNoVote) {
  EXPECT_EQ(enter(kGather, 1), Entry::kVotedNo);
  EXPECT_EQ(room_.none_needed_until, UINT64_MAX);
  g_gate.open = 0;
  EXPECT_EQ(enter(), Entry::kVotedNo);
  EXPECT_EQ(room_.none_needed_until, 0U);  // the switch may be turned on again
}

TEST_F(Rooms, ARankThatCannotGoOnSaysSo) {
  ASSERT_EQ(enter(), Entry::kMustVote);
  all_say(kGather, kYes);
  ASSERT_TRUE(vote_on(&kWithGaps));
  EXPECT_FALSE(any_has_given_up(room_));
  say(2, kGather, kYes | kGaveUp, room_.call_number);
  EXPECT_TRUE(has_given_up(room_, room_.members[2]));
  EXPECT_FALSE(has_given_up(room_, room_.members[1]));
  EXPECT_TRUE(any_has_given_up(room_));
  give_up_call(room_);
  EXPECT_TRUE(has_given_up(room_, room_.members[0]));
}

// The votes of a call that was done are not overwritten before all have read them.
TEST_F(Rooms, SlotsAreReusedWhenAllHaveRead) {
  ASSERT_EQ(enter(), Entry::kMustVote);
  all_say(kGather, kYes);
  ASSERT_TRUE(vote_on(&kWithGaps));
  const uint64_t done = room_.call_number;
  for (uint64_t i = 1; i < kVoteSlots; ++i) enter(kGather, 1);
  say(1, kGather, 0, done + 1);
  std::atomic<bool> has_read{false};
  std::thread reader([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    has_read = true;
    say(2, kGather, 0, done + 1);
  });
  enter(kGather, 1);
  EXPECT_TRUE(has_read);
  reader.join();
}

TEST_F(Rooms, TheFirstSetOfSlotsThatIsFreeInAllArenasIsTaken) {
  g_others = {{0b1011, 70}, {0b0001, 99}};
  enter();
  EXPECT_EQ(room_.number, 2);
  EXPECT_EQ(room_.call_number, 100U);  // after all earlier calls of all members
  EXPECT_EQ(g_allgathers, 1);
  enter();
  EXPECT_EQ(g_allgathers, 1);
}

TEST_F(Rooms, WithoutAFreeSetTheLibraryDoesAllCalls) {
  g_others = {{UINT32_MAX, 0}};
  EXPECT_EQ(enter(), Entry::kVotedNo);
  EXPECT_EQ(room_.number, Room::kRefused);
  g_others.clear();
  EXPECT_EQ(enter(), Entry::kVotedNo);
  EXPECT_EQ(g_allgathers, 1);
}

TEST_F(Rooms, MoreRoomsThanSets) {
  std::vector<Room> rooms;
  for (int i = 0; i < 33; ++i) {
    rooms.push_back(made());
    enter_room(kComm, &rooms.back(), kGather, 1);
    EXPECT_EQ(rooms.back().number, i < 32 ? i : Room::kRefused);
  }
  close_room(&rooms[7]);
  EXPECT_TRUE(give_up_if_left(&rooms[7]));
  enter();
  EXPECT_EQ(room_.number, 7);
  for (Room& room : rooms) EXPECT_TRUE(give_up_if_left(&room));
}

// With threads, another thread may take the set meanwhile: in a second round all say whether they
// have it.
TEST_F(Rooms, ALostRaceIsRunAgain) {
  start(true);
  constexpr uint64_t kLost = 0;
  g_others = {{kLost, 0}, {kLost, 0}};
  for (int tries = 1; tries <= 8; ++tries) {
    EXPECT_EQ(enter(), Entry::kVotedNo);
    EXPECT_EQ(g_allgathers, 2 * tries);
    EXPECT_LT(room_.number, Room::kRefused);
  }
  g_others.clear();
  test::fake_next().MPI_Allgather = [](const void* own, int, MPI_Datatype, void* all, int,
                                       MPI_Datatype, MPI_Comm) {
    for (uint32_t i = 0; i < kRanks; ++i)
      static_cast<SlotUse*>(all)[i] = *static_cast<const SlotUse*>(own);
    return MPI_SUCCESS;
  };
  EXPECT_EQ(enter(), Entry::kMustVote);
  EXPECT_EQ(room_.number, 0);
}

TEST_F(Rooms, ACloseWaitsForSlowReaders) {
  ASSERT_EQ(enter(), Entry::kMustVote);
  all_say(kGather, kYes);
  ASSERT_TRUE(vote_on(&kWithGaps));
  close_room(&room_);
  EXPECT_FALSE(give_up_if_left(&room_));
  say(1, kGather, 0, room_.last_done + 1);
  EXPECT_FALSE(give_up_if_left(&room_));
  say(2, kGather, 0, room_.last_done + 1);
  const int number = room_.number;
  EXPECT_TRUE(give_up_if_left(&room_));
  Room next = made();
  enter_room(kComm, &next, kGather, 1);
  EXPECT_EQ(next.number, number);
  EXPECT_TRUE(give_up_if_left(&next));
}

}  // namespace
}  // namespace lacuna::direct
