// SPDX-License-Identifier: BSD-3-Clause
//
// Gate: the first test of every wrapper, in a few instructions: is lacuna on for this family of
// functions, and can this call concern it at all? A call that does not pass the gate is one load
// and two tests slower than without lacuna.
#ifndef LACUNA_INTERPOSE_LIBRARY_GATE_HPP_
#define LACUNA_INTERPOSE_LIBRARY_GATE_HPP_

#include <atomic>
#include <cstdint>

#include "interpose/library/next.hpp"

namespace lacuna {

// Bits of Gate::open.
inline constexpr uint32_t kPackSwitch = 1;
inline constexpr uint32_t kP2pSwitch = 2;
inline constexpr uint32_t kCollectiveSwitch = 4;
inline constexpr uint32_t kFileSwitch = 8;
inline constexpr uint32_t kRmaSwitch = 16;
// Not a family: messages of peers may be tokens (direct/arena/region.hpp), whatever families are
// off.
inline constexpr uint32_t kDirectSwitch = 1U << 31;
// Not a family: calls on predefined types pass the gate, too, because they are timed (kCosted).
inline constexpr uint32_t kCostsSwitch = 1U << 30;
// Not a family: fragments that the library moves are lacuna's (inside/inside.hpp).
inline constexpr uint32_t kInsideSwitch = 1U << 29;
// Bits of Gate::watched.
inline constexpr uint32_t kLogged = 1;
inline constexpr uint32_t kReported = 2;
inline constexpr uint32_t kVerified = 4;
inline constexpr uint32_t kCosted = 8;  // and kReported
// CUDA's driver is loaded, and data may be in a device's memory (interpose/device). It is kept with
// these bits because what is observed leaves the fast paths at the same places.
inline constexpr uint32_t kDevices = 16;
inline constexpr uint32_t kAnyWatched = kLogged | kReported | kVerified;

struct Gate {
  // The families that are on. 0 before MPI_Init, from MPI_Finalize on, and after MPI_Pcontrol(0).
  std::atomic<uint32_t> open{0};
  // Requests that lacuna must see completed, those that the program has freed included.
  std::atomic<int64_t> pending{0};
  // MPI_THREAD_MULTIPLE: state of ours needs locks. Set before the gate opens.
  bool threads = false;
  MPI_Request request_null{};  // as runtime() has it
  // Messages that a probe took out of the library's queue and that no receive has matched yet
  // (direct/messages/probe.hpp), and requests that the program has freed before they were complete
  // (requests/freed.hpp).
  std::atomic<int> held_back{0};
  std::atomic<int> freed{0};
  // The sum of both, one for threads, and kDirectClosed and kTimed (requests/table.hpp). While it
  // is not 0, receives do not use the fast path (messages/fast_receive.hpp).
  std::atomic<int> irregular{0};
  // Persistent requests of lacuna's, active or not.
  std::atomic<int64_t> persistent{0};
  // Split collectives on files that lacuna has begun (files.hpp).
  std::atomic<int64_t> split{0};
  // One-sided operations that a synchronisation will complete for lacuna, too.
  std::atomic<int64_t> held{0};
  // What the user wants observed: kLogged and the other bits above. Set in MPI_Init; changed later
  // only by lacuna_interposed_switch(), and where CUDA's driver is found to be loaded.
  std::atomic<uint32_t> watched{0};
  // New types are analysed at their first use (LACUNA_ALWAYS, and where data may be on a device).
  // Not atomic, which costs MPI_Type_commit an instruction: a thread may see the change late.
  bool learns_at_once = false;
  // Open MPI's ABI: the data segments that hold the predefined types, libmpi's and, for copy
  // relocations, the program's. Set before the gate opens.
  struct Span {
    uintptr_t begin = 0;
    uintptr_t bytes = 0;
    bool holds(uintptr_t address) const noexcept { return address - begin < bytes; }
  };
  Span library_data;
  Span program_data;
};
LACUNA_HIDDEN extern constinit Gate g_gate;

// True of most predefined types, without a table. The others (pair types, copy relocations) are
// recognised later.
inline bool plainly_predefined(MPI_Datatype datatype) noexcept {
#if defined(LACUNA_MPI_FAMILY_MPICH)
  // The two upper bits of a handle are its kind; 1 is built-in. As signed numbers, only those
  // handles are at least 1 << 30.
  return static_cast<int32_t>(handle_bits(datatype)) >= 1 << 30;
#elif defined(LACUNA_MPI_FAMILY_MPIABI)
  return handle_bits(datatype) < 4096;  // MPI 5.0, 20.3: predefined handles lie in the zero page
#else
  const uintptr_t bits = handle_bits(datatype);
  return g_gate.program_data.holds(bits) ||
         g_gate.library_data.holds(bits);  // derived types are on the heap
#endif
}

inline bool is_open(uint32_t family) noexcept {
  return (g_gate.open.load(std::memory_order_acquire) & family) != 0;
}

inline bool open_to(uint32_t family, MPI_Datatype datatype) noexcept {
  const uint32_t open = g_gate.open.load(std::memory_order_acquire);
  return (open & family) != 0 && (!plainly_predefined(datatype) || (open & kCostsSwitch) != 0);
}

// While the direct path is open, a receive of any type may match a token.
inline bool receives_direct(uint32_t open) noexcept { return (open & kDirectSwitch) != 0; }
inline bool receives_direct() noexcept {
  return receives_direct(g_gate.open.load(std::memory_order_acquire));
}

inline bool open_to(uint32_t family, MPI_Datatype one, MPI_Datatype other) noexcept {
  const uint32_t open = g_gate.open.load(std::memory_order_acquire);
  return (open & family) != 0 &&
         (!(plainly_predefined(one) && plainly_predefined(other)) || (open & kCostsSwitch) != 0);
}

inline bool is_watched(uint32_t by) noexcept {
  return (g_gate.watched.load(std::memory_order_relaxed) & by) != 0;
}

inline bool anything_pending() noexcept {
  return g_gate.pending.load(std::memory_order_relaxed) != 0;
}

inline bool anything_irregular() noexcept {
  return g_gate.irregular.load(std::memory_order_acquire) != 0;
}

inline void count_held_back(int change) noexcept {
  g_gate.held_back.fetch_add(change, std::memory_order_release);
  g_gate.irregular.fetch_add(change, std::memory_order_release);
}

// Release: a thread that reads the smaller number also sees the data of the requests that ended.
inline void count_freed(int change) noexcept {
  g_gate.freed.fetch_add(change, std::memory_order_release);
  g_gate.irregular.fetch_add(change, std::memory_order_release);
}

inline bool anything_held() noexcept { return g_gate.held.load(std::memory_order_acquire) != 0; }

inline bool anything_persistent() noexcept {
  return g_gate.persistent.load(std::memory_order_relaxed) != 0;
}

inline bool any_split() noexcept { return g_gate.split.load(std::memory_order_relaxed) != 0; }

}  // namespace lacuna

#define LACUNA_EXPORT __attribute__((visibility("default")))

// Who has called a wrapper, for the functions that it jumps to: it is their own return address.
// Clang does not jump where arguments are on the stack, so there the wrapper keeps it for them.
#if defined(__clang__)
namespace lacuna::detail {
extern constinit thread_local const void* t_caller_of_wrapper
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
}
#define LACUNA_KEEP_CALLER() (lacuna::detail::t_caller_of_wrapper = __builtin_return_address(0))
#define LACUNA_CALLER() lacuna::detail::t_caller_of_wrapper
#else
#define LACUNA_KEEP_CALLER() static_cast<void>(0)
#define LACUNA_CALLER() __builtin_return_address(0)
#endif

#endif  // LACUNA_INTERPOSE_LIBRARY_GATE_HPP_
