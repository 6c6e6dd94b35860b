// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/requests/table.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/interpose/unit/fake_next.hpp"

namespace lacuna {
namespace {

PendingRequest* pending(MPI_Request request) {
  PendingRequest* entry = new_pending();
  if (entry != nullptr) add_pending(entry, request);
  return entry;
}

TEST(Requests, AClaimedEntryIsFoundByNobodyElse) {
  PendingRequest* entry = pending(7);
  EXPECT_EQ(claim_pending(8), nullptr);
  EXPECT_EQ(claim_pending(7), entry);
  EXPECT_EQ(claim_pending(7), nullptr);
  put_back(entry);
  EXPECT_EQ(claim_pending(7), entry);
  EXPECT_EQ(finish_pending(entry, nullptr), MPI_SUCCESS);
  EXPECT_EQ(claim_pending(7), nullptr);
  EXPECT_EQ(g_gate.pending.load(), 0);
}

// The library has completed a request whose entry is claimed, and has reused its handle.
TEST(Requests, AHandleMayBeUsedAgainBeforeItsEntryIsFinished) {
  PendingRequest* first = pending(7);
  EXPECT_EQ(claim_pending(7), first);
  PendingRequest* second = pending(7);
  EXPECT_EQ(claim_pending(7), second);
  EXPECT_TRUE(cancelling_of(7).has_effect);
  finish_pending(first, nullptr);
  finish_pending(second, nullptr);
  EXPECT_EQ(g_gate.pending.load(), 0);
}

TEST(Requests, ManyShareABucket) {
  std::vector<PendingRequest*> entries;
  constexpr MPI_Request kApart = 1 << detail::kBucketBits;
  for (MPI_Request i = 0; i < 100; ++i) entries.push_back(pending(3 + i * kApart));
  for (MPI_Request i = 99; i >= 0; --i) {
    PendingRequest* entry = claim_pending(3 + i * kApart);
    EXPECT_EQ(entry, entries[static_cast<size_t>(i)]);
    finish_pending(entry, nullptr);
  }
  EXPECT_EQ(g_gate.pending.load(), 0);
}

TEST(Requests, APersistentOneIsClaimedWhileItIsActive) {
  PendingRequest* entry = new_pending();
  add_persistent(entry, 9);
  EXPECT_EQ(find_persistent(9), entry);
  EXPECT_EQ(claim_pending(9), nullptr);
  for (int start = 0; start < 3; ++start) {
    activate(entry);
    activate(entry);  // counted once
    EXPECT_EQ(g_gate.pending.load(), 1);
    EXPECT_EQ(claim_pending(9), entry);
    EXPECT_TRUE(outlives_call(entry, 9));
    finish_pending(entry, nullptr);
    EXPECT_EQ(claim_pending(9), nullptr);
  }
  remove_persistent(entry);
  EXPECT_EQ(find_persistent(9), nullptr);
  drop_pending(entry);
}

// Open MPI 4.1.4 frees a persistent request that has ended with an error.
TEST(Requests, APersistentOneThatIsGoneIsOneNoMore) {
  PendingRequest* entry = new_pending();
  add_persistent(entry, 9);
  activate(entry);
  EXPECT_EQ(claim_pending(9), entry);
  EXPECT_FALSE(outlives_call(entry, MPI_REQUEST_NULL));
  EXPECT_TRUE(is_gone(*entry, MPI_REQUEST_NULL));
  finish_pending(entry, nullptr);
  EXPECT_EQ(find_persistent(9), nullptr);
  EXPECT_EQ(g_gate.persistent.load(), 0);
}

TEST(Requests, ClaimsAreInTheOrderOfTheArray) {
  PendingRequest* one = pending(11);
  PendingRequest* two = pending(12);
  const MPI_Request requests[] = {12, MPI_REQUEST_NULL, 99, 11};
  Claims claims(4, requests);
  EXPECT_EQ(claims.first(), two);
  EXPECT_EQ(two->index, 0);
  EXPECT_EQ(two->next_claimed, one);
  EXPECT_EQ(one->index, 3);
  EXPECT_EQ(one->next_claimed, nullptr);
  claims.put_all_back();
  EXPECT_TRUE(claims.empty());
  for (PendingRequest* entry : {one, two}) {
    EXPECT_EQ(claim_pending(entry->request), entry);
    finish_pending(entry, nullptr);
  }
}

}  // namespace
}  // namespace lacuna
