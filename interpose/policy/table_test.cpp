// SPDX-License-Identifier: BSD-3-Clause
//
// The table: what is read from a file, which files are refused with which error, and what the rules
// mean.
#include "interpose/policy/table.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "interpose/policy/shipped.hpp"

namespace lacuna {
namespace {

constexpr const char* kLibrary = "Some MPI 1.0";
constexpr const char* kCpu = "a CPU";

std::string book(const std::string& rules) {
  std::string side;
  for (int i = 0; i < kPatterns; ++i) {
    side += std::string(i > 0 ? ", " : "") + "\"" + pattern_name(static_cast<Pattern>(i)) +
            "\": " + rules;
  }
  return "{\"send\": {" + side + "}, \"receive\": {" + side + "}, \"direct\": {" + side + "}}";
}

std::string file(const std::string& members) {
  return "{\"lacuna_table\": 3, \"mpi\": \"Some MPI 1.0\", \"cpu\": \"a CPU\", " + members + "}";
}

DataShape strided(int64_t bytes, double run) { return {bytes, run, Pattern::kStrided}; }

TEST(Table, SaysYesUpToItsSizesAndRuns) {
  const auto table = parse_table(file("\"shared\": " + book("[[1024, 8], [4096, 0], [null, 64]]")),
                                 kLibrary, kCpu);
  ASSERT_TRUE(table) << table.error().message;
  const Rulebook& shared = table->shared;
  for (const Operation side : {Operation::kSend, Operation::kReceive, Operation::kDirect}) {
    EXPECT_TRUE(pays(shared, side, strided(1024, 8)));
    EXPECT_FALSE(pays(shared, side, strided(1024, 9)));
    EXPECT_FALSE(pays(shared, side, strided(1025, 8)));
    EXPECT_FALSE(pays(shared, side, strided(4096, 1)));
    EXPECT_TRUE(pays(shared, side, strided(4097, 64)));
    EXPECT_TRUE(pays(shared, side, strided(int64_t{1} << 40, 64)));
  }
  EXPECT_FALSE(table->network.has_value());
}

TEST(Table, SaysNoBelowTheLeastRun) {
  const auto table =
      parse_table(file("\"shared\": " + book("[[1024, 64, 16], [null, 64]]")), kLibrary, kCpu);
  ASSERT_TRUE(table) << table.error().message;
  const auto says = [](const Rulebook& rules, int64_t bytes, double run) {
    return pays(rules, Operation::kDirect, strided(bytes, run));
  };
  EXPECT_FALSE(says(table->shared, 1024, 15));
  EXPECT_TRUE(says(table->shared, 1024, 16));
  EXPECT_FALSE(says(table->shared, 1024, 65));
  EXPECT_TRUE(says(table->shared, 1025, 8));
}

TEST(Table, SaysOfPiecesWhatItSaysOfAShortMessageWithOpenMpi) {
  const auto table =
      parse_table(file("\"shared\": " + book("[[65536, 8], [null, 0]]")), kLibrary, kCpu);
  ASSERT_TRUE(table) << table.error().message;
  const auto says = [&](Flavour flavour, int64_t bytes, double run) {
    return pays_in_pieces(flavour, table->shared, strided(bytes, run));
  };
  EXPECT_TRUE(says(Flavour::kOpenMpi, int64_t{1} << 30, 8));
  EXPECT_FALSE(says(Flavour::kOpenMpi, int64_t{1} << 30, 9));
  EXPECT_TRUE(says(Flavour::kMpich, int64_t{1} << 30, 9));
  for (const Flavour flavour : {Flavour::kOpenMpi, Flavour::kMpich}) {
    EXPECT_TRUE(says(flavour, kLeastPipelined, 8));
    EXPECT_FALSE(says(flavour, kLeastPipelined - 1, 8));
  }
}

TEST(Table, BetweenNodesBothTransportsMustSayYes) {
  const auto table = parse_table(file("\"shared\": " + book("[[1024, 8], [null, 64]]") +
                                      ", \"network\": " + book("[[2048, 32], [8192, 16]]")),
                                 kLibrary, kCpu);
  ASSERT_TRUE(table) << table.error().message;
  const Rulebook one_node = rules_for(*table, true);
  const Rulebook several = rules_for(*table, false);
  const auto says = [](const Rulebook& rules, int64_t bytes, double run) {
    return pays(rules, Operation::kSend, strided(bytes, run));
  };
  EXPECT_TRUE(says(one_node, 100000, 64));
  EXPECT_FALSE(says(several, 100000, 1));  // nothing was measured there
  EXPECT_TRUE(says(several, 1024, 8));
  EXPECT_FALSE(says(several, 1024, 9));
  EXPECT_TRUE(says(several, 1025, 32));
  EXPECT_FALSE(says(several, 1025, 33));
  EXPECT_TRUE(says(several, 8192, 16));
  EXPECT_FALSE(says(several, 8192, 17));
  // The direct path is between ranks of one node, also where there are several.
  EXPECT_TRUE(pays(several, Operation::kDirect, strided(100000, 64)));
}

// MPICH sends messages that do not fit a cell of 8 KiB by another protocol, many times slower.
// Programs often send just 8 KiB, so the rule must begin at the measured size and not above it.
TEST(Table, SaysFromWhereOnPackedDataLieOnDevices) {
  const std::string shared = "\"shared\": " + book("[]");
  const auto read = [&](const std::string& device) {
    return parse_table(file(shared + ", \"device\": " + device), kLibrary, kCpu);
  };
  const auto table = read("{\"shared\": 65536, \"network\": null}");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->on_device_from_shared, 65536);
  EXPECT_EQ(table->on_device_from_network, kNever);
  EXPECT_EQ(read("{}")->on_device_from_shared, kNever);
  EXPECT_EQ(read("{\"network\": 0}")->on_device_from_network, 0);
  for (const char* wrong : {"1", "{\"shared\": -1}", "{\"network\": \"no\"}", "{\"shared\": 1.5}"})
    EXPECT_FALSE(read(wrong)) << wrong;
}

TEST(Table, WhatIsShippedTakesMeasuredSizesThatWin) {
  const Rulebook rules = rules_for(load_table("MPICH Version: 5.0.2"), true);
  for (const Operation side : {Operation::kSend, Operation::kReceive, Operation::kDirect}) {
    EXPECT_TRUE(pays(rules, side, strided(8192, 8)));
    EXPECT_FALSE(pays(rules, side, strided(8191, 8)));
  }
}

TEST(Table, WhatIsNotOneIsRefusedWithAReason) {
  const std::string good = "\"shared\": " + book("[[null, 8]]");
  const auto reason = [](const std::string& text) {
    const auto table = parse_table(text, kLibrary, kCpu);
    return table ? std::string("accepted") : table.error().message;
  };
  EXPECT_EQ(reason(file(good)), "accepted");
  EXPECT_EQ(reason("not JSON"), "it is not JSON");
  EXPECT_EQ(reason("[]"), "it is not a JSON object");
  EXPECT_EQ(reason("{}"), "it has no member lacuna_table");
  EXPECT_EQ(reason("{\"lacuna_table\": 1}"), "its format is 1, and this version reads 3");
  EXPECT_EQ(
      reason("{\"lacuna_table\": 3, \"mpi\": \"Some MPI 1.1\", \"cpu\": \"a CPU\", " + good + "}"),
      "it was measured for Some MPI 1.1; this library is Some MPI 1.0");
  EXPECT_EQ(
      reason("{\"lacuna_table\": 3, \"mpi\": \"Some MPI 1.0\", \"cpu\": \"b\", " + good + "}"),
      "it was measured on another CPU, \"b\"; this one is \"a CPU\"");
  EXPECT_EQ(reason(file("\"other\": 0")), "it has no member shared");
  const std::string rules =
      "shared.send.strided is not a list of [most bytes, most bytes of a run]";
  for (const char* bad : {"1", "[1]", "[[1]]", "[[1, -1]]", "[[1, \"8\"]]", "[[\"1\", 8]]",
                          "[[1.5, 8]]", "[[2, 8], [1, 8]]", "[[1, 8, -1]]", "[[1, 8, 2, 3]]",
                          "[[null, 8], [1, 8]]", "[[1, 1e300]]", "[[-5, 8]]"}) {
    EXPECT_EQ(reason(file("\"shared\": " + book(bad))).substr(0, rules.size()), rules) << bad;
  }
  EXPECT_EQ(reason(file("\"shared\": 1")).substr(0, rules.size()), rules);
  EXPECT_EQ(reason(file(good + ", \"network\": {}")).substr(0, 20), "network.send.strided");
}

TEST(Table, ThoseThatAreShippedAreWhole) {
  for (const char* version :
       {"MPICH Version: 5.0.2", "Intel(R) MPI Library 2021.19", "Open MPI v5.0.11", "unheard of"}) {
    const Table table = load_table(version);  // LACUNA_TABLE=none
    EXPECT_EQ(table.source.substr(0, 12), "shipped for ");
    EXPECT_EQ(table.complaint, "");
    for (const Rules& rules : table.shared.send) EXPECT_FALSE(rules.empty()) << version;
    for (const Rules& rules : table.shared.receive) EXPECT_FALSE(rules.empty()) << version;
    for (const Rules& rules : table.shared.direct) EXPECT_FALSE(rules.empty()) << version;
  }
}

TEST(Table, NamesOfLibraries) {
  EXPECT_EQ(library_name("MPICH Version:      5.0.2\nMPICH Release date: x"),
            "MPICH Version: 5.0.2");
  EXPECT_EQ(library_name("Open MPI v5.0.11, package: Open MPI"), "Open MPI v5.0.11");
  EXPECT_EQ(library_name("  Intel(R) MPI Library 2021.19 for Linux* OS\n"),
            "Intel(R) MPI Library 2021.19 for Linux* OS");
  EXPECT_EQ(library_name(""), "");
}

}  // namespace
}  // namespace lacuna
