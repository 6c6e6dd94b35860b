// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/types/compiled.hpp"

#include <link.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <string>

#include "base/hash.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/types/record.hpp"
#include "mpi/header.hpp"
#include "type/text/text.hpp"

namespace lacuna {
namespace {

// The limit of optimizer/pass/calls/registry.cpp.
constexpr size_t kMostNumbers = 8;
using Numbers = std::array<int64_t, kMostNumbers>;

struct Registered {
  uintptr_t handle = 0;  // 0: none
  const char* structure = nullptr;
  CompiledMoves::Fn* pack = nullptr;
  CompiledMoves::Fn* unpack = nullptr;
  size_t value_count = 0;
  size_t number_count = 0;
  Numbers values{};   // for the places in `structure`
  Numbers numbers{};  // for the functions
};

// If two handles share a slot, the newer one has it. A type is analysed in its commit (then again
// here), soon after it, or never.
constexpr unsigned kSlotBits = 8;
constinit std::mutex g_kernels_mutex;  // no other lock is taken under it
constinit Registered g_registered[size_t{1} << kSlotBits] = {};

constinit std::atomic<int64_t> g_count{0};
constinit std::atomic<int64_t> g_used{0};
constinit std::atomic<int64_t> g_others{0};
constinit std::atomic<int64_t> g_moves{0};

Registered& slot_of(uintptr_t handle) { return g_registered[hash_slot(handle, kSlotBits)]; }

// Whether the address is in the program itself: a library may be unloaded while its types live.
bool is_of_program(const void* address) noexcept {
  struct Question {
    uintptr_t address;
    bool answer;
  } question{reinterpret_cast<uintptr_t>(address), false};
  // dl_iterate_phdr() visits the program first.
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* data) {
        auto* asked = static_cast<Question*>(data);
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr)& part = object->dlpi_phdr[i];
          const uintptr_t begin = object->dlpi_addr + part.p_vaddr;
          asked->answer =
              asked->answer || (part.p_type == PT_LOAD && asked->address - begin < part.p_memsz);
        }
        return 1;
      },
      &question);
  return question.answer;
}

// The type as text (docs/user/types.md): the structure, with a value for each "?".
std::string text_of(const Registered& registered) {
  std::string text;
  size_t next = 0;
  for (const char* letter = registered.structure; *letter != 0; ++letter) {
    if (*letter != '?') {
      text += *letter;
    } else if (next < registered.value_count) {
      text += std::to_string(registered.values[next++]);
    }
  }
  return text;
}

}  // namespace

PlanPtr plan_with_registered(uintptr_t handle, const Type& decoded, const PlanPtr& plan) {
  if (g_count.load(std::memory_order_acquire) == 0) return nullptr;
  Registered found;
  {
    const std::lock_guard<std::mutex> lock(g_kernels_mutex);
    Registered& slot = slot_of(handle);
    if (slot.handle != handle) return nullptr;
    found = slot;
    slot.handle = 0;
  }
  const Result<TypePtr> type = parse_type(text_of(found));
  if (!type || !equal(**type, decoded)) {
    g_others.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  const auto* numbers = found.numbers.data();
  PlanPtr made = with_compiled_moves(
      *plan, {found.pack, found.unpack, {numbers, numbers + found.number_count}});
  if (made != nullptr) g_used.fetch_add(1, std::memory_order_relaxed);
  return made;
}

void count_compiled_move() noexcept { g_moves.fetch_add(1, std::memory_order_relaxed); }

CompiledCounts compiled_counts() noexcept { return {g_count, g_used, g_others, g_moves}; }

}  // namespace lacuna

using namespace lacuna;

// For compiled code (optimizer/templates/preload_kernels.cpp), which has just committed the type.
extern "C" LACUNA_EXPORT void lacuna_interposed_register(MPI_Datatype type, const char* structure,
                                                         const int64_t* values, int64_t value_count,
                                                         CompiledMoves::Fn* pack,
                                                         CompiledMoves::Fn* unpack,
                                                         const int64_t* numbers,
                                                         int64_t number_count) {
  constexpr auto kMost = static_cast<uint64_t>(kMostNumbers);
  if (structure == nullptr || static_cast<uint64_t>(value_count) > kMost ||
      static_cast<uint64_t>(number_count) > kMost ||
      !is_of_program(reinterpret_cast<const void*>(pack)) ||
      !is_of_program(reinterpret_cast<const void*>(unpack)) || !is_of_program(structure)) {
    return;
  }
  Registered made{handle_bits(type),
                  structure,
                  pack,
                  unpack,
                  static_cast<size_t>(value_count),
                  static_cast<size_t>(number_count),
                  {},
                  {}};
  std::copy_n(values, value_count, made.values.begin());
  std::copy_n(numbers, number_count, made.numbers.begin());
  {
    const std::lock_guard<std::mutex> lock(g_kernels_mutex);
    slot_of(made.handle) = made;
  }
  g_count.fetch_add(1, std::memory_order_release);
  analyse_again(type);
}
