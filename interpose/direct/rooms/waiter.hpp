// SPDX-License-Identifier: BSD-3-Clause
//
// Waiter: the one way in which lacuna waits for what a peer does. Each wait ends, as what is waited
// for comes or as a peer has ended (docs/internals/direct.md lists them). It spins, then gives the
// core away and, where the peer may need an answer of the MPI library first, lets the library work;
// it shows itself to `lacuna doctor`; and it tells the user by LACUNA_PATIENCE.
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
  kReaders,  // of the votes of an earlier call, before the seats are used again
  kData,     // of a collective call that goes through a room
  kPieces,   // of a message whose token has come
};

class Waiter {
 public:
  // For members of a room in such a call; all of them must live.
  Waiter(Wait what, const Room& room, Kind kind) noexcept
      : room_(&room), what_(what), kind_(kind) {}
  // For a sender in the middle of its call, which needs nothing of the library for the rest.
  Waiter(Wait what, const Peer& peer) noexcept : peer_(&peer), what_(what) {}
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter() { reset(); }

  // A round. `late` says which member has not come, where there is a room. False: one that is
  // waited for has ended.
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
  // A part has come.
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
  bool all_live() const noexcept;
  void tell(const Peer& late, int64_t ns) const noexcept;
  void describe(char* text, int bytes) const noexcept;
  void end() noexcept;

  const Room* room_ = nullptr;
  const Peer* peer_ = nullptr;
  WaitRow* row_ = nullptr;
  int64_t since_ns_ = 0;  // 0: not for long
  int64_t asked_ns_ = 0;  // whether all live
  int64_t slept_ns_ = 0;
  int64_t told_ns_ = 0;  // how long it had taken when that was said last
  uint32_t rounds_ = 0;
  Wait what_;
  Kind kind_ = {};
};

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_ROOMS_WAITER_HPP_
