// SPDX-License-Identifier: BSD-3-Clause
//
// Threads play the nodes, and a table the launcher.
#include "interpose/direct/agreement/nodes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace lacuna::direct {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

class Table : public Notes {
 public:
  bool write(const char* name, const char* text) noexcept override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return keeps_ && (name != std::string("end") || keeps_end_) &&
           notes_.emplace(name, text).second;
  }
  bool read(const char* name, char* text) noexcept override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto note = notes_.find(name);
    if (note == notes_.end()) return false;
    std::snprintf(text, kMostText, "%s", note->second.c_str());
    return true;
  }
  // Of the process that decides, which alone does this here.
  void take_back() noexcept override {
    const std::lock_guard<std::mutex> lock(mutex_);
    notes_.erase("begun");
  }
  void keep_none() { keeps_ = false; }
  void keep_no_end() { keeps_end_ = false; }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> notes_;
  bool keeps_ = true;
  bool keeps_end_ = true;
};

// Ranks of node `node` of `nodes`: in blocks, or in turn.
std::vector<int> ranks_of(int node, int nodes, int each, bool in_turn) {
  std::vector<int> ranks(static_cast<size_t>(each));
  for (int i = 0; i < each; ++i)
    ranks[static_cast<size_t>(i)] = in_turn ? i * nodes + node : node * each + i;
  return ranks;
}

struct Played {
  bool is_there = true;
  bool willing = true;
  uint64_t build = 7;
  uint64_t machine = 0;  // 0: one of its own
  microseconds comes_after{0};
  std::chrono::steady_clock::duration limit = seconds(60);
};

struct Outcome {
  std::vector<AllNodes> of;  // kNotAsked: it was not there
  int absent = -1;           // as the node of rank 0 says
};

Outcome play(const std::vector<Played>& nodes, Table* table, int each = 2, bool in_turn = false) {
  const auto count = static_cast<int>(nodes.size());
  Outcome outcome{std::vector<AllNodes>(nodes.size(), AllNodes::kNotAsked)};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    const Played& node = nodes[static_cast<size_t>(i)];
    if (!node.is_there) continue;
    threads.emplace_back([&outcome, &node, table, i, count, each, in_turn] {
      std::this_thread::sleep_for(node.comes_after);
      const std::vector<int> ranks = ranks_of(i, count, each, in_turn);
      const uint64_t machine = node.machine != 0 ? node.machine : 100U + static_cast<unsigned>(i);
      int absent = -1;
      outcome.of[static_cast<size_t>(i)] = agree_across_nodes(
          {node.willing, node.build, machine, ranks}, {count * each, node.limit}, table, &absent);
      if (i == 0) outcome.absent = absent;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcome;
}

void expect_all(AllNodes expected, const Outcome& outcome) {
  for (const AllNodes found : outcome.of) EXPECT_EQ(found, expected);
}

TEST(Nodes, AllAgreeHoweverTheRanksLie) {
  for (const int count : {1, 2, 3, 8}) {
    for (const int each : {1, 3}) {
      for (const bool in_turn : {false, true}) {
        Table table;
        expect_all(AllNodes::kAgreed,
                   play(std::vector<Played>(static_cast<size_t>(count)), &table, each, in_turn));
      }
    }
  }
}

TEST(Nodes, NoneAgreesWhereOneDoesNotCome) {
  Table table;
  std::vector<Played> nodes(3);
  nodes[2].is_there = false;
  nodes[0].limit = milliseconds(50);
  const Outcome outcome = play(nodes, &table);
  EXPECT_EQ(outcome.of[0], AllNodes::kAbsent);
  EXPECT_EQ(outcome.absent, 4);  // its first rank
  EXPECT_EQ(outcome.of[1], AllNodes::kRefused);
}

TEST(Nodes, NoneWaitsForEverWhereTheFirstDoesNotCome) {
  Table table;
  std::vector<Played> nodes(3);
  nodes[0].is_there = false;
  nodes[1].limit = nodes[2].limit = milliseconds(20);
  const Outcome outcome = play(nodes, &table);
  EXPECT_EQ(outcome.of[1], AllNodes::kAbsent);
  EXPECT_EQ(outcome.of[2], AllNodes::kAbsent);
}

TEST(Nodes, OneThatHasGivenUpIsKnownToALateFirst) {
  Table table;
  std::vector<Played> nodes(2);
  nodes[0].comes_after = milliseconds(200);
  nodes[1].limit = milliseconds(1);
  expect_all(AllNodes::kAbsent, play(nodes, &table));
}

TEST(Nodes, NoneAgreesWhereOneRefusesOrHasAnotherBuild) {
  for (const size_t odd : {size_t{0}, size_t{2}}) {
    Table table;
    std::vector<Played> nodes(3);
    nodes[odd].willing = false;
    expect_all(AllNodes::kRefused, play(nodes, &table));
  }
  Table table;
  std::vector<Played> nodes(3);
  nodes[1].build = 8;
  expect_all(AllNodes::kRefused, play(nodes, &table));
}

TEST(Nodes, ContainersOfOneMachineAreNoNodes) {
  for (const size_t other : {size_t{0}, size_t{1}}) {
    Table table;
    std::vector<Played> nodes(3);
    nodes[2].machine = nodes[other].machine = 5;
    EXPECT_EQ(play(nodes, &table).of[0], AllNodes::kOneMachine);
  }
}

TEST(Nodes, NoneAgreesWhereTheLauncherKeepsNoNotes) {
  Table table;
  table.keep_none();
  expect_all(AllNodes::kNoNotes, play(std::vector<Played>(3), &table));
}

TEST(Nodes, NoneWaitsForEverWhereTheDecisionCannotBeKept) {
  Table table;
  table.keep_no_end();
  std::vector<Played> nodes(3);
  nodes[1].limit = nodes[2].limit = milliseconds(1);
  const Outcome outcome = play(nodes, &table);
  EXPECT_EQ(outcome.of[1], AllNodes::kAbsent);
  EXPECT_EQ(outcome.of[2], AllNodes::kAbsent);
  EXPECT_NE(outcome.of[0], AllNodes::kAgreed);
}

// A job was killed, and left its notes with the launcher. This one has the same name, and its
// second node has no lacuna.
TEST(Nodes, NotesOfAnEarlierJobAreNotBelieved) {
  Table table;
  expect_all(AllNodes::kAgreed, play(std::vector<Played>(2), &table));
  std::vector<Played> nodes(2);
  nodes[1].is_there = false;
  EXPECT_EQ(play(nodes, &table).of[0], AllNodes::kNoNotes);
  expect_all(AllNodes::kNoNotes, play(std::vector<Played>(2), &table));
}

// Limits that end while the others come: all agree, or none.
TEST(Nodes, AllOrNoneAgreeWheneverTheyComeAndGiveUp) {
  std::mt19937 random(20261129);
  std::uniform_int_distribution<int> upto(0, 3000);
  int yes = 0;
  constexpr int kRounds = 300;
  for (int round = 0; round < kRounds; ++round) {
    Table table;
    std::vector<Played> nodes(3);
    for (Played& node : nodes) {
      node.comes_after = microseconds(upto(random));
      node.limit = microseconds(3 * upto(random));
    }
    const Outcome outcome = play(nodes, &table);
    const auto agreed = std::ranges::count(outcome.of, AllNodes::kAgreed);
    EXPECT_TRUE(agreed == 0 || agreed == 3) << "round " << round << ": " << agreed;
    yes += agreed == 3 ? 1 : 0;
  }
  EXPECT_GT(yes, 0);
  EXPECT_LT(yes, kRounds);
}

TEST(Nodes, NotesOfManyRanksAreShort) {
  char text[Notes::kMostText];
  const std::vector<int> block = ranks_of(3, 4, 128, false);
  ASSERT_TRUE(detail::write_note({true, 0xabc, 0xdef, block}, text));
  EXPECT_STREQ(text, "1-abc-def-384.1.128");
  const std::vector<int> turn = ranks_of(1, 4, 128, true);
  ASSERT_TRUE(detail::write_note({false, 1, 2, turn}, text));
  EXPECT_STREQ(text, "0-1-2-1.4.128");
  const std::vector<int> two{5, 6, 7, 20};
  ASSERT_TRUE(detail::write_note({true, 1, 2, two}, text));
  EXPECT_STREQ(text, "1-1-2-5.1.3-20.1.1");
  std::vector<int> odd(100);
  for (int i = 0; i < 100; ++i) odd[static_cast<size_t>(i)] = i * i;
  EXPECT_FALSE(detail::write_note({true, 1, 2, odd}, text));
}

TEST(Nodes, WrongNotesAreRefused) {
  for (const char* wrong :
       {"", "no", "1", "1-1", "1-1-1-", "1-1-1-x", "1-1-1-0.1", "1-1-1-0.1.9", "1-1-1-7.1.2",
        "1-1-1--1.1.1", "1-1-1-0.0.2", "1-1-1-0.1.0", "1-1-1-1.1.2-2.1.1", "1-1-1-0.1.1x"}) {
    bool present[8] = {};
    detail::ReadNote note;
    EXPECT_FALSE(detail::read_note(wrong, present, &note)) << wrong;
  }
  bool present[8] = {};
  detail::ReadNote note;
  EXPECT_TRUE(detail::read_note("1-a-b-1.2.3", present, &note));
  EXPECT_TRUE(note.willing && note.build == 10 && note.machine == 11);
  EXPECT_TRUE(present[1] && present[3] && present[5]);
  EXPECT_EQ(std::count(present, present + 8, true), 3);
}

}  // namespace
}  // namespace lacuna::direct
