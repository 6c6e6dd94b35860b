// SPDX-License-Identifier: BSD-3-Clause
//
// Report: with LACUNA_REPORT, what became of the program's calls, by function and by type. Counted
// here, in tables that only their own thread writes; gathered over the ranks at MPI_Finalize
// (gather.cpp) and put into words (text.cpp).
//
// Calls on predefined types are counted only if they pass the gate: collectives do, because their
// ranks vote (direct/rooms/room.hpp), and types that are copy relocations in the program.
#ifndef LACUNA_INTERPOSE_REPORT_REPORT_HPP_
#define LACUNA_INTERPOSE_REPORT_REPORT_HPP_

#include <cstdint>
#include <functional>
#include <string>

namespace lacuna {

enum class FunctionId : unsigned;
enum class Outcome : uint8_t;

// A line of the report: equal types share one. There are at most kMostTypes of them, and one for
// all others.
using TypeId = uint16_t;
inline constexpr TypeId kOtherTypes = 0;
inline constexpr TypeId kMostTypes = 255;

// What a movement of data is counted for: the call that has started it and its type.
struct Account {
  uint16_t function = 0;  // FunctionId
  TypeId type = kOtherTypes;
  uint16_t site = 0;           // the call site in the program; 0: unknown
  uint16_t weight : 15 = 1;    // how many calls its time stands for (sampling.hpp); 0: not timed
  uint16_t on_device : 1 = 0;  // the data are a device's: only interpose/device may touch them
};

// What the report says about a type.
struct TypeFacts {
  uint64_t hash = 0;  // of the whole text: the same in all ranks
  std::string text;   // shortened
  int64_t size_bytes = 0;
  double mean_run_bytes = 0;
  bool transposes = false;  // traversed in order, it comes back to each cache line many times
};

// Of plans that a compiler has registered (types/compiled.hpp).
struct CompiledCounts {
  int64_t registered = 0;
  int64_t used = 0;    // types that use theirs
  int64_t others = 0;  // registered for a type of another structure
  int64_t moves = 0;   // packed or unpacked by them, as far as the report has seen
};

// Counts a new handle, whose analysis took `learn_ns`. `hash` is of the structure, and valid in
// this process; `describe` is called only for the first of equal types.
TypeId report_type(uint64_t hash, int64_t learn_ns,
                   const std::function<TypeFacts()>& describe) noexcept;
// At most 200 characters of it, and "..." if there are more.
std::string shortened(const std::string& text);

// Counts this outcome for the current call (observe/observe.hpp).
void report_outcome(TypeId type, Outcome outcome, int64_t bytes) noexcept;
// Adds the time in which data of the account were moved.
enum class Way : uint8_t { kPack, kUnpack };
// Adds data that a device has packed or unpacked.
void report_device_bytes(const Account& account, int64_t bytes) noexcept;
// Whether that time is to be measured.
bool is_timed(const Account& account) noexcept;
void report_time(const Account& account, Way way, int64_t ns) noexcept;

// The number of a call site, by its return address. There are at most kMostSites; more are 0.
inline constexpr uint16_t kMostSites = 1023;
uint16_t site_of(const void* caller) noexcept;
// Sets the call site of the next ObservedCall of this thread, for a call that cannot see it itself.
void called_from(const void* caller) noexcept;

// The account for a type in the current call.
Account account_of(TypeId type) noexcept;

// Whether the current call declines small data of new types (CallKind::kMovesMany).
bool leaves_new_types_alone() noexcept;

// Monotonic.
int64_t now_ns() noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_REPORT_REPORT_HPP_
