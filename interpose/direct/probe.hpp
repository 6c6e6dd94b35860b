// SPDX-License-Identifier: BSD-3-Clause
//
// Probing. A probe must tell the size of a payload, which stands in its token: so a message of a
// token's length is taken out of the library's queue and held here. The next receive that it
// matches is led to it: the same call, on a private communicator on which this rank sends the held
// bytes to itself. Order is kept, for a probe holds the first message that matches, a receive looks
// here first, and what is held of one sender, communicator and tag came before what is not.
#ifndef LACUNA_INTERPOSE_DIRECT_PROBE_HPP_
#define LACUNA_INTERPOSE_DIRECT_PROBE_HPP_

#include <atomic>

#include "mpi/header.hpp"

namespace lacuna::direct {

namespace detail {
extern std::atomic<int> g_held;
}  // namespace detail

// Whether anything is held at all.
inline bool any_held() noexcept { return detail::g_held.load(std::memory_order_acquire) != 0; }

// A receive that is led elsewhere. Between start() and finish() the library's call is made with the
// changed arguments; its status is then corrected by source and tag.
class Detour {
 public:
  // Changes the arguments where a held message matches them.
  void start(int* source, int* tag, MPI_Comm* comm) noexcept;
  // Where the message is what a probe has made of a held one.
  void start(const MPI_Message& message) noexcept;
  // After the library has been told of the receive.
  void finish() noexcept;

  bool taken() const noexcept { return taken_; }
  int source() const noexcept { return source_; }
  int tag() const noexcept { return tag_; }

 private:
  bool taken_ = false;
  int source_ = 0;
  int tag_ = 0;
  struct Held* held_ = nullptr;
};

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_PROBE_HPP_
