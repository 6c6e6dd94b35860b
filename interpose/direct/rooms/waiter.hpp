// SPDX-License-Identifier: BSD-3-Clause
//
// Waiter: all waits of lacuna for a peer. Each ends when the event comes or a peer has died
// (docs/internals/direct-waits.md lists them). It spins, then yields the core and, if the peer may
// need this rank in the MPI library first, lets the library make progress. `lacuna doctor` shows
// it, and after LACUNA_PATIENCE seconds it is logged.
#ifndef LACUNA_INTERPOSE_DIRECT_ROOMS_WAITER_HPP_
#define LACUNA_INTERPOSE_DIRECT_ROOMS_WAITER_HPP_

#include <cstddef>
#include <cstdint>

namespace lacuna::direct {

struct Peer;
struct Room;
struct WaitRow;
enum class Kind : uint8_t;

enum class Wait : uint8_t {
  kVotes,    // of a collective call
  kReaders,  // of the votes of an earlier call, before the slots are used again
  kData,     // of a collective call that goes through a room
  kPieces,   // of a message whose token has come
};

class Waiter {
 public:
  // Waits for the members of a room, in a call of this kind. Ends if any member has died; kData: if
  // the member has died that is waited for, as others may have done their part and ended.
  Waiter(Wait what, const Room& room, Kind kind) noexcept
      : room_(&room), what_(what), kind_(kind) {}
  // Waits for a sender in the middle of its call, which needs nothing of the library.
  Waiter(Wait what, const Peer& peer) noexcept : peer_(&peer), what_(what) {}
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter() { reset(); }

  // One round of waiting. `late()`: index of a member that is waited for, if there is a room.
  // False: a process that is waited for has died.
  template <typename Late>
  bool wait(const Late& late) noexcept {
    if (++rounds_ % kSpins != 0) [[likely]] {
      pause();
      return true;
    }
    return wait_longer(late());
  }
  bool wait() noexcept {
    return wait([] { return size_t{0}; });
  }
  bool is_long() const noexcept { return since_ns_ != 0; }
  // Call when a part has come.
  void reset() noexcept {
    rounds_ = 0;
    if (since_ns_ != 0) [[unlikely]]
      end();
  }

 private:
  static constexpr uint32_t kSpins = 1000;

  static void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  bool wait_longer(size_t late) noexcept;
  const Peer& peer_of(size_t late) const noexcept;
  bool all_live(const Peer& late) const noexcept;
  void log(const Peer& late, int64_t ns) const noexcept;
  void describe(char* text, int bytes) const noexcept;
  void end() noexcept;

  const Room* room_ = nullptr;
  const Peer* peer_ = nullptr;
  WaitRow* row_ = nullptr;
  int64_t since_ns_ = 0;    // start of the wait, once it is long; 0: it is not
  int64_t checked_ns_ = 0;  // last check whether all live
  int64_t slept_ns_ = 0;
  int64_t logged_ns_ = 0;  // length of the wait when it was last logged
  uint32_t rounds_ = 0;
  Wait what_;
  Kind kind_ = {};
};

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_ROOMS_WAITER_HPP_
