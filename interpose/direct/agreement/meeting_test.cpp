// SPDX-License-Identifier: BSD-3-Clause
//
// Threads play the ranks of a node. The rank that must die is a process.
#include "interpose/direct/agreement/meeting.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace lacuna::direct {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::atomic<int> g_reported{0};
std::mutex g_mutex;
std::string g_sentence;  // the last one
void tell(const char* sentence) {
  ++g_reported;
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_sentence = sentence;
}

// A job number that no other test and no other run has.
uint64_t new_job() {
  static std::atomic<uint64_t> count{0};
  return (static_cast<uint64_t>(getpid()) << 20) + ++count;
}

Meeting::Rules rules(uint64_t job, int rank, int ranks, Meeting::Clock::duration limit) {
  return {job, rank, ranks, limit, &tell};
}

void in_threads(int threads, const std::function<void(int)>& body) {
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(body, i);
  for (std::thread& thread : all) thread.join();
}

TEST(Meeting, AllLearnWhatAllBringInTheOrderOfTheirRanks) {
  for (const int ranks : {2, 3, 8, 130}) {
    const uint64_t job = new_job();
    std::atomic<int> right{0};
    in_threads(ranks, [&](int i) {
      const int rank = 7 * (ranks - i);  // not consecutive: other nodes have the ranks between them
      Meeting meeting(rules(job, rank, ranks, seconds(60)));
      ASSERT_TRUE(meeting.begin());
      EXPECT_EQ(meeting.index(), ranks - i - 1);
      for (int round = 0; round < 3; ++round) {
        const int own = rank + round;
        std::vector<int> all(static_cast<size_t>(ranks));
        ASSERT_TRUE(meeting.exchange(&own, all.data(), sizeof(own)));
        bool ok = true;
        for (int k = 0; k < ranks; ++k)
          ok = ok && all[static_cast<size_t>(k)] == 7 * (k + 1) + round;
        right += ok ? 1 : 0;
      }
    });
    EXPECT_EQ(right, 3 * ranks);
  }
}

TEST(Meeting, EndsForAllWhereOneDoesNotCome) {
  const uint64_t job = new_job();
  g_reported = 0;
  std::atomic<int> begun{0};
  in_threads(3, [&](int i) {
    Meeting meeting(rules(job, i, 4, milliseconds(200)));
    begun += meeting.begin() ? 1 : 0;
  });
  EXPECT_EQ(begun, 0);
  EXPECT_GE(g_reported, 1) << "the user was not told";
  // A rank that comes when the others have gone finds no host, and gives up as they did.
  Meeting late(rules(job, 3, 4, milliseconds(50)));
  EXPECT_FALSE(late.begin());
}

TEST(Meeting, JobsDoNotMeet) {
  const uint64_t jobs[] = {new_job(), new_job()};
  std::atomic<int> right{0};
  in_threads(4, [&](int i) {
    Meeting meeting(rules(jobs[i % 2], i / 2, 2, seconds(60)));
    const int own = i % 2;
    int all[2] = {-1, -1};
    if (meeting.begin() && meeting.exchange(&own, all, sizeof(own)) && all[0] == own &&
        all[1] == own) {
      ++right;
    }
  });
  EXPECT_EQ(right, 4);
}

TEST(Meeting, TwoOfOneRankAreNoJob) {
  const uint64_t job = new_job();
  std::atomic<int> begun{0};
  in_threads(2, [&](int) {
    Meeting meeting(rules(job, 5, 2, seconds(60)));
    begun += meeting.begin() ? 1 : 0;
  });
  EXPECT_EQ(begun, 0);
}

// Connects as a guest does that is stopped before it says who it is, as soon as there is a host.
int connect_silently(uint64_t job) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int chars = std::snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
                                  "lacuna-%u-%016llx", geteuid(), 0ULL + job);
  const size_t length = offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(chars);
  const int made = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  while (connect(made, reinterpret_cast<const sockaddr*>(&address),
                 static_cast<socklen_t>(length)) != 0) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  return made;
}

TEST(Meeting, WhoSaysNothingKeepsNobodyWaiting) {
  const uint64_t job = new_job();
  std::atomic<int> begun{0};
  std::thread host([&] {
    Meeting meeting(rules(job, 0, 3, seconds(60)));
    begun += meeting.begin() ? 1 : 0;
  });
  const int silent = connect_silently(job);
  in_threads(2, [&](int i) {
    Meeting meeting(rules(job, i + 1, 3, seconds(60)));
    begun += meeting.begin() ? 1 : 0;
  });
  host.join();
  close(silent);
  EXPECT_EQ(begun, 3);
}

TEST(Meeting, WhoIsStoppedDoesNotHideThoseBehind) {
  const uint64_t job = new_job();
  std::thread host([&] {
    Meeting meeting(rules(job, 0, 4, milliseconds(1500)));
    EXPECT_FALSE(meeting.begin());
  });
  const int silent = connect_silently(job);
  in_threads(2, [&](int i) {
    Meeting meeting(rules(job, i + 1, 4, seconds(60)));
    EXPECT_FALSE(meeting.begin());
  });
  host.join();
  close(silent);
  const std::lock_guard<std::mutex> lock(g_mutex);
  EXPECT_NE(g_sentence.find("only 3 answered"), std::string::npos) << g_sentence;
  EXPECT_NE(g_sentence.find("process " + std::to_string(getpid())), std::string::npos)
      << g_sentence;
}

// Of thousands of ranks, what all have brought is more than the system takes as one message.
TEST(Meeting, ExchangesMoreThanASocketsBuffer) {
  constexpr size_t kBytes = size_t{1} << 20;
  const uint64_t job = new_job();
  std::atomic<int> right{0};
  in_threads(3, [&](int i) {
    Meeting meeting(rules(job, i, 3, seconds(60)));
    const std::vector<char> own(kBytes, static_cast<char>('a' + i));
    std::vector<char> all(3 * kBytes);
    ASSERT_TRUE(meeting.begin());
    ASSERT_TRUE(meeting.exchange(own.data(), all.data(), kBytes));
    const bool ok = all[0] == 'a' && all[kBytes] == 'b' && all[3 * kBytes - 1] == 'c';
    right += ok ? 1 : 0;
  });
  EXPECT_EQ(right, 3);
}

// The host, or a guest, dies between two rounds: nobody gets a second answer, and all end.
TEST(Meeting, EndsForAllWhereOneDies) {
  for (const bool host_dies : {true, false}) {
    const uint64_t job = new_job();
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const auto die = [&](const char* word) {
      Meeting meeting(rules(job, 9, 3, seconds(60)));
      const bool begun = host_dies ? (write(ready[1], word, 1), meeting.begin()) : meeting.begin();
      int own = 9, all[3];
      _exit(begun && meeting.exchange(&own, all, sizeof(own)) ? 0 : 1);
    };
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) die("x");
    if (host_dies) {  // lets the child bind first, so that it is the host
      char word = 0;
      ASSERT_EQ(read(ready[0], &word, 1), 1);
      std::this_thread::sleep_for(milliseconds(100));
    }
    std::atomic<int> first{0}, second{0};
    in_threads(2, [&](int i) {
      Meeting meeting(rules(job, i, 3, seconds(60)));
      int own = i, all[3];
      if (!meeting.begin() || !meeting.exchange(&own, all, sizeof(own))) return;
      ++first;
      second += meeting.exchange(&own, all, sizeof(own)) ? 1 : 0;
    });
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(first, 2);
    EXPECT_EQ(second, 0);
    close(ready[0]);
    close(ready[1]);
  }
}

}  // namespace
}  // namespace lacuna::direct
