// SPDX-License-Identifier: BSD-3-Clause
//
// Report: with LACUNA_REPORT, what became of the program's calls, by function and by type. Counted
// here, in tables that only their own thread writes; gathered over the ranks at MPI_Finalize
// (gather.cpp) and put into words (text.cpp).
//
// Calls on predefined types are not counted where they do not get past the gate: collectives do,
// for the vote, and types that the linker has copied into the program.
#ifndef LACUNA_INTERPOSE_REPORT_REPORT_HPP_
#define LACUNA_INTERPOSE_REPORT_REPORT_HPP_

#include <cstdint>
#include <functional>
#include <string>

namespace lacuna {

enum class FunctionId : unsigned;
enum class Note : uint8_t;

// A line of the report: equal types share one. There are at most kMostTypes of them, and one for
// all others.
using TypeId = uint16_t;
inline constexpr TypeId kOtherTypes = 0;
inline constexpr TypeId kMostTypes = 255;

// What a movement of data is booked on: the call that has started it and its type.
struct Account {
  uint16_t function = 0;  // FunctionId
  TypeId type = kOtherTypes;
  uint16_t site = 0;    // where the program calls it; 0: not told apart
  uint16_t weight = 1;  // how many calls its time stands for (sampling.hpp); 0: it is not timed
};

// What the report says about a type.
struct TypeFacts {
  uint64_t hash = 0;  // of the whole text: the same in all ranks
  std::string text;   // shortened
  int64_t size_bytes = 0;
  double mean_run_bytes = 0;
  bool transposes = false;  // a plain traversal comes back to each line many times
};

// Of plans that a compiler has registered (types/compiled.hpp).
struct CompiledCounts {
  int64_t registered = 0;
  int64_t used = 0;    // types that have taken theirs
  int64_t others = 0;  // registered for a type of another structure
  int64_t moves = 0;   // by these, as far as the report has seen
};

// A handle was met for the first time, and learning it took so long. `hash` is of the structure, in
// this process; `describe` is asked of the first of equal types.
TypeId report_type(uint64_t hash, int64_t learn_ns,
                   const std::function<TypeFacts()>& describe) noexcept;
// Text of a bounded length.
std::string shortened(const std::string& text);

// The current call (observe/observe.hpp) has come to this.
void report_outcome(TypeId type, Note note, int64_t bytes) noexcept;
// And data of it were moved.
enum class Way : uint8_t { kPack, kUnpack };
// Whether anybody wants to know how long that takes.
bool is_timed(const Account& account) noexcept;
void report_time(const Account& account, Way way, int64_t ns) noexcept;

// The number of a place that calls. There are at most kMostSites of them.
inline constexpr uint16_t kMostSites = 1023;
uint16_t site_of(const void* caller) noexcept;
// Where the next look comes from, if it cannot see that itself.
void called_from(const void* caller) noexcept;

// The account for a type in the current call.
Account account_of(TypeId type) noexcept;

// Whether the current call leaves new types with few data alone.
bool leaves_new_types_alone() noexcept;

// Monotonic.
int64_t now_ns() noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_REPORT_REPORT_HPP_
