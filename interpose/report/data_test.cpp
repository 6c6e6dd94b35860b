// SPDX-License-Identifier: BSD-3-Clause
//
// What the report knows of functions, which functions.ini says.
#include "interpose/report/data.hpp"

#include <gtest/gtest.h>

namespace lacuna {
namespace {

void expect(const char* function, FunctionGroup group, bool packs, bool unpacks) {
  const FunctionFacts& facts = facts_of(function);
  EXPECT_EQ(facts.name, function);
  EXPECT_EQ(facts.group, group) << function;
  EXPECT_EQ(facts.packs, packs) << function;
  EXPECT_EQ(facts.unpacks, unpacks) << function;
}

TEST(FunctionFacts, SayWhatMovesWhichWay) {
  expect("MPI_Isend_c", FunctionGroup::kP2p, true, false);
  expect("MPI_Mrecv", FunctionGroup::kP2p, false, true);
  expect("MPI_Sendrecv_replace", FunctionGroup::kP2p, true, true);
  expect("MPI_Start", FunctionGroup::kP2p, false, false);
  expect("MPI_Pack", FunctionGroup::kPack, true, false);
  expect("MPI_Unpack_c", FunctionGroup::kPack, false, true);
  expect("MPI_Bcast", FunctionGroup::kCollectives, true, true);
  expect("MPI_Neighbor_alltoallw_init", FunctionGroup::kCollectives, true, true);
  expect("MPI_Put", FunctionGroup::kRma, true, false);
  expect("MPI_Rget_accumulate", FunctionGroup::kRma, true, true);
}

// By parts of its name, this one was a message that is sent.
TEST(FunctionFacts, TheEndOfAReadIsNoSend) {
  expect("MPI_File_read_all_end", FunctionGroup::kFiles, false, true);
  expect("MPI_File_iread", FunctionGroup::kFiles, false, true);
  expect("MPI_File_write_ordered_begin", FunctionGroup::kFiles, true, false);
}

TEST(FunctionFacts, OfAFunctionThatIsNotKnown) {
  const FunctionFacts& facts = facts_of("MPI_Of_tomorrow");
  EXPECT_EQ(facts.group, FunctionGroup::kCollectives);
  EXPECT_TRUE(facts.packs && facts.unpacks);
}

}  // namespace
}  // namespace lacuna
