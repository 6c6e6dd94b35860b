// SPDX-License-Identifier: BSD-3-Clause
//
// What the report knows of functions, which functions.ini says.
#include "interpose/report/data.hpp"

#include <gtest/gtest.h>

#include <string>

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

// Messages of several basic types are handled, but for some sizes; collectives never are.
TEST(Advice, OnSeveralBasicTypesFitsTheFunction) {
  Report report;
  report.types.resize(2);
  const auto on = [&](const char* function) {
    ReportRow row;
    row.function = function;
    row.type = 1;
    row.outcomes[static_cast<size_t>(Outcome::kMixed)] = 3;
    std::string all;
    for (const std::string& words : advice(report, row)) all += words;
    return all;
  };
  EXPECT_EQ(on("MPI_Send").find("collectives"), std::string::npos) << on("MPI_Send");
  EXPECT_NE(on("MPI_Send").find("nothing to do"), std::string::npos) << on("MPI_Send");
  EXPECT_NE(on("MPI_Bcast").find("collectives"), std::string::npos) << on("MPI_Bcast");
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

// Of two messages, each of `bytes`.
bool is_told_to_pipeline(const char* function, int64_t bytes, bool may_pipeline) {
  Report report;
  report.may_pipeline = may_pipeline;
  report.types.resize(1);
  ReportRow row;
  row.function = function;
  row.outcomes[static_cast<size_t>(Outcome::kHandled)] = 2;
  row.bytes_handled = 2 * bytes;
  for (const std::string& words : advice(report, row))
    if (words.find("can go in pieces") != std::string::npos) return true;
  return false;
}

TEST(Advice, ToSendLargeMessagesBetweenNodesInPieces) {
  EXPECT_TRUE(is_told_to_pipeline("MPI_Isend", 65536, true));
  EXPECT_FALSE(is_told_to_pipeline("MPI_Isend", 65528, true));
  EXPECT_FALSE(is_told_to_pipeline("MPI_Isend", 65536, false));
  EXPECT_FALSE(is_told_to_pipeline("MPI_Irecv", 65536, true));
  EXPECT_FALSE(is_told_to_pipeline("MPI_Bcast", 65536, true));
}

}  // namespace
}  // namespace lacuna
