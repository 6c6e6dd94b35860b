// SPDX-License-Identifier: BSD-3-Clause
//
// Which form of a function is called: it depends on the counts, and on nothing else.
#include "interpose/library/call_fitting.hpp"

#include <gtest/gtest.h>

#include <climits>

#include "tests/interpose/unit/fake_next.hpp"

namespace lacuna {
namespace {

constexpr MPI_Count kMost = INT_MAX;
constexpr MPI_Aint kFar = MPI_Aint{1} << 40;

struct Called {
  bool large;
  MPI_Count origin, target;
  MPI_Aint place;
};
Called g_called;

Called put(MPI_Count origin, MPI_Count target, MPI_Aint place) {
  test::fake_next().MPI_Put = [](const void*, int one, MPI_Datatype, int, MPI_Aint at, int other,
                                 MPI_Datatype, MPI_Win) {
    g_called = {false, one, other, at};
    return MPI_SUCCESS;
  };
  test::fake_next().MPI_Put_c = [](const void*, MPI_Count one, MPI_Datatype, int, MPI_Aint at,
                                   MPI_Count other, MPI_Datatype, MPI_Win) {
    g_called = {true, one, other, at};
    return MPI_ERR_COUNT;
  };
  const int code = call_fitting(&Next::MPI_Put, &Next::MPI_Put_c, nullptr, origin, MPI_INT, 0,
                                place, target, MPI_INT, MPI_WIN_NULL);
  EXPECT_EQ(code, g_called.large ? MPI_ERR_COUNT : MPI_SUCCESS);
  EXPECT_EQ(g_called.origin, origin);
  EXPECT_EQ(g_called.target, target);
  EXPECT_EQ(g_called.place, place);
  return g_called;
}

TEST(CallFitting, TheIntFormWhereAllCountsFit) {
  EXPECT_FALSE(put(0, 0, 0).large);
  EXPECT_FALSE(put(kMost, kMost, 0).large);
}

TEST(CallFitting, TheLargeCountFormWhereOneDoesNot) {
  EXPECT_TRUE(put(kMost + 1, 1, 0).large);
  EXPECT_TRUE(put(1, kMost + 1, 0).large);
}

TEST(CallFitting, AnAddressIsNoCount) { EXPECT_FALSE(put(1, 1, kFar).large); }

}  // namespace
}  // namespace lacuna
