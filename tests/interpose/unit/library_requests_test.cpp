// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/requests/library_requests.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/interpose/unit/fake_next.hpp"

namespace lacuna {
namespace {

constexpr MPI_Request kFirst = 100;   // the program's handles
constexpr MPI_Request kOther = 1000;  // handles of substitutes

// Persistent requests that are active, each perhaps with a substitute.
class AskedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    test::fake_next().MPI_Request_get_status = [](MPI_Request, int*, MPI_Status*) {
      ++progress;
      return MPI_SUCCESS;
    };
    progress = 0;
  }
  void add(uint64_t substituted) {
    PendingRequest* entry = new_pending();
    ASSERT_NE(entry, nullptr);
    const auto at = static_cast<MPI_Request>(requests.size());
    requests.push_back(kFirst + at);
    add_persistent(entry, requests.back());
    activate(entry);
    entry->substituted = substituted;
    entry->substitute = substituted != 0 ? kOther + at : MPI_REQUEST_NULL;
    entries.push_back(entry);
  }
  // One that is not lacuna's.
  void add_foreign() {
    requests.push_back(kFirst + static_cast<MPI_Request>(requests.size()));
    entries.push_back(nullptr);
  }
  int count() const { return static_cast<int>(requests.size()); }
  std::vector<MPI_Request> asked_for(const LibraryRequests& library_requests) const {
    return {library_requests.get(), library_requests.get() + requests.size()};
  }
  void TearDown() override {
    for (PendingRequest* entry : entries) {
      if (entry == nullptr) continue;
      put_back(entry);
      if (entry->active) {
        EXPECT_EQ(claim_pending(entry->request), entry);
        finish_pending(entry, nullptr);
      }
      remove_persistent(entry);
      drop_pending(entry);
    }
    EXPECT_EQ(g_gate.pending.load(), 0);
  }

  static inline int progress = 0;  // how often the library could make progress
  std::vector<MPI_Request> requests;
  std::vector<PendingRequest*> entries;
};

TEST_F(AskedTest, WithoutSubstitutesTheLibraryGetsTheProgramsArray) {
  add(0);
  add_foreign();
  const Claims claims(count(), requests.data());
  const LibraryRequests library_requests(claims, count(), requests.data(), Completes::kOne);
  ASSERT_TRUE(library_requests.ok());
  EXPECT_EQ(library_requests.get(), requests.data());
  EXPECT_EQ(library_requests.returned(1), 1);
}

TEST_F(AskedTest, ASubstituteStandsInItsPlace) {
  add_foreign();
  add(1);
  add(0);
  const std::vector<MPI_Request> before = requests;
  const Claims claims(count(), requests.data());
  const LibraryRequests library_requests(claims, count(), requests.data(), Completes::kAll);
  ASSERT_TRUE(library_requests.ok());
  EXPECT_EQ(asked_for(library_requests),
            (std::vector<MPI_Request>{kFirst, kOther + 1, kFirst + 2}));
  EXPECT_FALSE(is_gone(*entries[1], requests[1]));
  // The library completes the first two.
  library_requests.get()[0] = MPI_REQUEST_NULL;
  library_requests.get()[1] = MPI_REQUEST_NULL;
  library_requests.write_back(requests.data());
  EXPECT_EQ(requests[0], MPI_REQUEST_NULL);
  EXPECT_EQ(requests[1], before[1]);  // persistent
  EXPECT_EQ(requests[2], before[2]);
  EXPECT_TRUE(is_gone(*entries[1], requests[1]));
  EXPECT_FALSE(is_gone(*entries[2], requests[2]));
}

TEST_F(AskedTest, WhoGivesOneGivesEachItsTurn) {
  add(5);
  add_foreign();
  add(3);
  {
    const Claims claims(count(), requests.data());
    const LibraryRequests library_requests(claims, count(), requests.data(), Completes::kOne);
    EXPECT_EQ(asked_for(library_requests),
              (std::vector<MPI_Request>{kFirst + 1, kOther + 2, kOther}));
    EXPECT_EQ(library_requests.returned(1), 2);
    EXPECT_FALSE(entries[0]->passed_over);
    EXPECT_EQ(library_requests.returned(0), 1);
    EXPECT_TRUE(entries[0]->passed_over);
    EXPECT_TRUE(entries[2]->passed_over);
    EXPECT_EQ(library_requests.returned(MPI_UNDEFINED), MPI_UNDEFINED);
  }
  for (PendingRequest* entry : {entries[0], entries[2]}) put_back(entry);
  entries[0]->passed_over = false;  // it was returned, and is started again
  const Claims claims(count(), requests.data());
  const LibraryRequests library_requests(claims, count(), requests.data(), Completes::kOne);
  EXPECT_EQ(asked_for(library_requests),
            (std::vector<MPI_Request>{kOther + 2, kFirst + 1, kOther}));
}

// A substitute is complete at once, and libraries then test no further requests.
TEST_F(AskedTest, OthersMakeProgressBesideASubstitute) {
  add(1);
  add_foreign();
  const Claims claims(count(), requests.data());
  for (const Completes completes : {Completes::kAll, Completes::kSome, Completes::kOne}) {
    const int before = progress;
    const LibraryRequests library_requests(claims, count(), requests.data(), completes);
    EXPECT_EQ(progress - before, completes == Completes::kAll ? 0 : 1);
  }
}

TEST_F(AskedTest, ManyRequests) {
  for (int i = 0; i < 500; ++i) add(i % 3 == 0 ? static_cast<uint64_t>(i) + 1 : 0);
  const std::vector<MPI_Request> before = requests;
  for (const bool sends_one : {false, true}) {
    const Claims claims(count(), requests.data());
    const LibraryRequests library_requests(claims, count(), requests.data(),
                                           sends_one ? Completes::kOne : Completes::kAll);
    ASSERT_TRUE(library_requests.ok());
    for (int i = 0; i < count(); ++i) {
      const int place = sends_one ? library_requests.returned(i) : i;
      const MPI_Request expected = place % 3 == 0 ? kOther + place : kFirst + place;
      EXPECT_EQ(library_requests.get()[i], expected);
      entries[static_cast<size_t>(place)]->passed_over = false;
    }
    library_requests.write_back(requests.data());
    EXPECT_EQ(requests, before);
    for (PendingRequest* entry : entries) put_back(entry);
  }
}

}  // namespace
}  // namespace lacuna
