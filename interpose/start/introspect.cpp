// SPDX-License-Identifier: BSD-3-Clause
//
// What a program may ask the preload library by dlsym: whether it is loaded, its version, and how
// many calls it handled. For tests and benchmarks, which must know what they measure.
#include <atomic>
#include <cstring>

#include "interpose/device/moves.hpp"
#include "interpose/direct/pipeline/pieces.hpp"
#include "interpose/direct/pipeline/pipeline.hpp"
#include "interpose/inside/convertor.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/observe/observe.hpp"
#include "lacuna/lacuna.h"

namespace lacuna {
namespace {

struct CallCounter {
  std::atomic<int64_t> handled{0};
  std::atomic<int64_t> declined{0};
};
constinit CallCounter g_counters[static_cast<size_t>(FunctionId::kCount)];

}  // namespace

void count_answer(FunctionId function, Answer answer) noexcept {
  CallCounter& counter = g_counters[static_cast<size_t>(function)];
  const bool handled = answer.handled && !answer.watched;
  std::atomic<int64_t>& number = handled ? counter.handled : counter.declined;
  if (g_gate.threads) {
    number.fetch_add(1, std::memory_order_relaxed);
  } else {  // a locked instruction would be measurable in short messages
    number.store(number.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
}

}  // namespace lacuna

using namespace lacuna;

#define LACUNA_STRING(x) #x
#define LACUNA_DOTTED(major, minor, patch) \
  LACUNA_STRING(major) "." LACUNA_STRING(minor) "." LACUNA_STRING(patch)

extern "C" {

// The version of the preload library.
LACUNA_EXPORT extern const char lacuna_interposed[];
const char lacuna_interposed[] =
    LACUNA_DOTTED(LACUNA_VERSION_MAJOR, LACUNA_VERSION_MINOR, LACUNA_VERSION_PATCH);

// How many calls of the function ("MPI_Send") passed the gate and were handled (`handled` != 0) or
// declined. -1: lacuna does not know the function. Calls that did not pass the gate are not
// counted.
LACUNA_EXPORT int64_t lacuna_interposed_calls(const char* function, int handled) {
  const auto names = wrapped_names();
  for (size_t i = 0; i < names.size(); ++i) {
    if (std::strcmp(names[i], function) != 0) continue;
    const CallCounter& counter = g_counters[i];
    return (handled != 0 ? counter.handled : counter.declined).load(std::memory_order_relaxed);
  }
  return -1;
}

// How many fragments lacuna has packed (`sent` != 0) or unpacked inside the library. -1: it is not
// inside.
LACUNA_EXPORT int64_t lacuna_interposed_fragments(int sent) {
  if (inside::g_convertors.layout.load(std::memory_order_acquire) == nullptr) return -1;
  return inside::fragments(sent != 0 ? Direction::kPack : Direction::kUnpack);
}

// The member "mpi" that a table for this library must have, as in "MPICH Version: 5.0.2"; "" before
// MPI_Init.
LACUNA_EXPORT const char* lacuna_interposed_library() {
  const Table* table = runtime().table;
  return table != nullptr ? table->library.c_str() : "";
}

// Which table says where packing first pays: a file, or "shipped for ...". "" before MPI_Init.
LACUNA_EXPORT const char* lacuna_interposed_table() {
  const Table* table = runtime().table;
  return table != nullptr ? table->source.c_str() : "";
}

// Where `lacuna tune` keeps the table of this library and CPU; "" before MPI_Init, or where there
// is no such place.
LACUNA_EXPORT const char* lacuna_interposed_table_place() {
  const Table* table = runtime().table;
  return table != nullptr ? table->place.c_str() : "";
}

// How many messages this process has sent to other nodes in pieces. -1: the ranks have not agreed
// on that.
LACUNA_EXPORT int64_t lacuna_interposed_pipelined() {
  return direct::has_pipeline() ? direct::messages_in_pieces() : -1;
}

// For `lacuna tune --gpu`, while no message is in flight: from so many bytes on, packed data of
// devices lie in their memory. Below 0: never.
LACUNA_EXPORT void lacuna_interposed_device_memory(int64_t from) {
  device::use_device_memory_from(from < 0 ? kNever : from);
}

// For compiled code (optimizer/templates/preload_moves.cpp): whether messages between processes of
// one node are moved in a single copy, so that packing them first would cost more.
LACUNA_EXPORT int lacuna_interposed_moves() {
  constexpr uint32_t kBoth = kP2pSwitch | kDirectSwitch;
  return runtime().on_one_node && (g_gate.open.load(std::memory_order_relaxed) & kBoth) == kBoth;
}

}  // extern "C"
