// SPDX-License-Identifier: BSD-3-Clause
//
// Meeting: how the ranks of a job on one node find each other and exchange what the agreement
// needs, without the MPI library. A rank without lacuna would not join a collective of the library,
// or would match it with one of the program's.
//
// The first rank binds an abstract socket that is named after the job: it is the host. The others
// (guests) connect to it. Only the host has a time limit: it waits for all ranks that the launcher
// has started on the node. If one does not come in time, it closes the sockets, which the guests
// notice. So there is one decision. A rank that comes later finds no host, and gives up, too. The
// socket ends with its process.
#ifndef LACUNA_INTERPOSE_DIRECT_AGREEMENT_MEETING_HPP_
#define LACUNA_INTERPOSE_DIRECT_AGREEMENT_MEETING_HPP_

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "interpose/direct/agreement/card.hpp"

namespace lacuna::direct {

class Meeting {
 public:
  using Clock = std::chrono::steady_clock;

  struct Rules {
    uint64_t job;  // job_id()
    int rank;      // of this process in the job
    int ranks;     // on this node
    Clock::duration limit;
    void (*report)(const char* sentence);  // reports to the user that a rank is late
  };

  explicit Meeting(const Rules& rules);
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
  ~Meeting();

  // Whether all have come.
  bool begin() noexcept;
  // Index of this rank among those of the node, which are sorted by their ranks.
  int index() const noexcept { return index_; }
  // Exchanges `bytes` bytes of each rank: `all` gets those of all ranks in their order. False: a
  // rank has left, or has not answered in time; then the meeting is over for all.
  bool exchange(const void* own, void* all, size_t bytes) noexcept;
  // After begin().
  bool is_host() const noexcept { return host_ < 0; }
  // The ranks of this node, in their order. For the host, which alone knows them.
  int rank_at(int index) noexcept { return guests_.data()[index].rank; }
  // The host tells the guests, as late as it likes. False, in a guest: the host has died.
  bool tell(void* data, size_t bytes) noexcept;

 private:
  struct Guest {
    int socket;
    int32_t rank;
    int32_t pid;
  };

  bool find_others() noexcept;
  bool receive_guests() noexcept;
  bool wait_for_guest(Clock::time_point limit) noexcept;
  bool accept_guest() noexcept;
  void read_guest(Guest* guest) noexcept;
  bool request_index() noexcept;
  bool wait_for_host(void* data, size_t bytes) noexcept;
  void end() noexcept;
  void report_who_came() noexcept;
  void report_who_is_silent(const Guest& guest) noexcept;

  const Rules rules_;
  PerRank<Guest> guests_;  // kept by the host, which is one of them
  int count_ = 0;
  // Connected, but have not yet said who they are. Most do so at once.
  static constexpr int kMostSilent = 16;
  Guest silent_[kMostSilent] = {};
  int silent_count_ = 0;
  int index_ = 0;
  int listener_ = -1;
  int host_ = -1;  // a guest's socket to it
  int32_t host_pid_ = 0;
};

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_AGREEMENT_MEETING_HPP_
