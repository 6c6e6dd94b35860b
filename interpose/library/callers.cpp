// SPDX-License-Identifier: BSD-3-Clause
//
// The other objects in the process: which of them are the MPI library (its calls are not the
// program's) and its Fortran bindings (whose calls are).
#include <link.h>
#include <unwind.h>

#include <cstring>
#include <span>

#include "base/hash.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/library/locks.hpp"
#include "interpose/library/next.hpp"

namespace lacuna {
namespace {

struct Range {
  uintptr_t begin;
  uintptr_t end;
};

// The executable segments of some objects.
class Code {
 public:
  void add(const dl_phdr_info& info) noexcept {
    int count = count_.load(std::memory_order_relaxed);
    for (int i = 0; i < info.dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = info.dlpi_phdr[i];
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0 || count == kMost) continue;
      const uintptr_t begin = info.dlpi_addr + segment.p_vaddr;
      ranges_[count++] = {begin, begin + segment.p_memsz};
    }
    count_.store(count, std::memory_order_release);
  }
  void clear() noexcept { count_.store(0, std::memory_order_release); }
  bool holds(const void* address) const noexcept {
    const auto place = reinterpret_cast<uintptr_t>(address);
    const int count = count_.load(std::memory_order_acquire);
    for (int i = 0; i < count; ++i) {
      if (place - ranges_[i].begin < ranges_[i].end - ranges_[i].begin) return true;
    }
    return false;
  }

 private:
  static constexpr int kMost = 64;
  Range ranges_[kMost] = {};
  std::atomic<int> count_{0};
};
constinit Code g_mpi_code;
constinit Code g_fortran_code;
constinit Code g_own_code;

// Without the C++ bindings (libmpicxx, libmpichcxx, libmpi_cxx): what their virtual functions call
// counts as the program's.
constexpr const char* kMpiObjects[] = {
    "libmpi.so",   "libmpich.so", "libmpi_abi.so", "libmpi_gnu", "libmpi_intel",
    "libopen-pal", "libopen-rte", "libpmpi.so",    "mca_",       "libmca_",
};
constexpr const char* kFortranObjects[] = {"libmpifort", "libmpichfort", "libmpi_mpifh",
                                           "libmpi_usempi"};

bool is_one_of(std::span<const char* const> prefixes, const char* path) {
  const char* slash = std::strrchr(path, '/');
  const char* name = slash != nullptr ? slash + 1 : path;
  for (const char* prefix : prefixes) {
    if (std::strncmp(name, prefix, std::strlen(prefix)) == 0) return true;
  }
  return false;
}

int add_code(dl_phdr_info* info, size_t, void*) {
  Code one;
  one.add(*info);
  if (one.holds(reinterpret_cast<const void*>(&add_code))) g_own_code.add(*info);
  if (is_one_of(kMpiObjects, info->dlpi_name)) g_mpi_code.add(*info);
  if (is_one_of(kFortranObjects, info->dlpi_name)) g_fortran_code.add(*info);
  return 0;
}

// For each function below lacuna: tell(true) if it is a tool's, tell(false) if it is the library's.
template <typename Tell>
void look_below(const Tell& tell) {
  const Next& next = next_functions();
  for (const NextRow& row : next_rows()) {
    const void* function = nullptr;
    std::memcpy(&function, reinterpret_cast<const char*>(&next) + row.offset, sizeof(function));
    tell(function != nullptr && function != row.stand_in && !g_mpi_code.holds(function));
  }
}

bool library_is_next() {
  bool is_next = true;
  look_below([&](bool is_tool) { is_next = is_next && !is_tool; });
  return is_next;
}

#if defined(LACUNA_MPI_FAMILY_OMPI)
// The writable segments of the program (the first object) and of the library, which holds
// `inside_library`.
struct DataSearch {
  uintptr_t inside_library;
  bool first = true;
};

int find_data(dl_phdr_info* info, size_t, void* data) {
  auto* search = static_cast<DataSearch*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) continue;
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    const bool in_library = search->inside_library - begin < segment.p_memsz;
    if (!search->first && !in_library) continue;
    Gate::Span& span = search->first ? g_gate.program_data : g_gate.library_data;
    span = {begin, segment.p_memsz};
  }
  search->first = false;
  return 0;
}

// No program names this symbol, so it has no copy relocation and lies in the library's data.
void find_predefined_data() {
  DataSearch search{reinterpret_cast<uintptr_t>(mpi_data_symbol("ompi_mpi_cxx_ldblcplex"))};
  dl_iterate_phdr(find_data, &search);
}
#endif

}  // namespace

// Fortran's entry points call C functions that any tool may intercept: MPI_Send (most of MPICH's)
// or PMPI_Send (Open MPI's, and those of MPICH's mpi_f08 without a choice buffer). A tool below
// lacuna would not see the latter, so if there is one, calls from Fortran bindings pass through.
void find_mpi_code() noexcept {
  dl_iterate_phdr(add_code, nullptr);
  for (auto& caller : detail::g_program_callers) caller.store(nullptr, std::memory_order_relaxed);
  if (!library_is_next()) g_fortran_code.clear();
#if defined(LACUNA_MPI_FAMILY_OMPI)
  find_predefined_data();
#endif
}

uint64_t tools_below() noexcept {
  uint64_t hash = kFnvOffset;
  look_below([&](bool is_tool) { hash = (hash ^ (is_tool ? 1U : 0U)) * kFnvPrime; });
  return hash;
}

namespace {

#if defined(__x86_64__)
template <typename T>
T read(const std::byte* place) noexcept {
  T value;
  std::memcpy(&value, place, sizeof(value));
  return value;
}

// The target of an indirect call through memory, whose RIP-relative operand ends at `end`.
const void* at_slot(const std::byte* end) noexcept {
  return read<const void*>(end + read<int32_t>(end - sizeof(int32_t)));
}
#endif

// `return_address` is in the library. True if the library made an indirect call there, and not of
// lacuna: then it was running a callback of the program's. A callback that ends in a tail call of
// MPI jumps to lacuna and leaves no return address of its own.
bool runs_callback(const void* return_address) noexcept {
#if defined(__x86_64__)
  constexpr auto kCall = std::byte{0xe8};
  constexpr uint16_t kCallBySlot = 0x15ff;
  constexpr ptrdiff_t kCallBytes = 5;
  const auto* back = static_cast<const std::byte*>(return_address);
  if (back[-kCallBytes] == kCall) {
    const std::byte* called = back + read<int32_t>(back - sizeof(int32_t));
    if (g_mpi_code.holds(called)) return false;
  }
  if (read<uint16_t>(back - sizeof(int32_t) - sizeof(uint16_t)) == kCallBySlot)
    return !g_own_code.holds(at_slot(back));
  return true;
#else
  (void)return_address;
  return false;
#endif
}

}  // namespace

namespace detail {

constinit std::atomic<const void*> g_program_callers[kCallers] = {};
#if defined(__clang__)
constinit thread_local const void* t_caller_of_wrapper __attribute__((tls_model("initial-exec"))) =
    nullptr;
#endif

bool look_up_caller(const void* return_address) noexcept {
  if (g_mpi_code.holds(return_address) && !runs_callback(return_address)) return true;
  g_program_callers[reinterpret_cast<uintptr_t>(return_address) % kCallers].store(
      return_address, std::memory_order_relaxed);
  return false;
}

}  // namespace detail

bool called_by_fortran(const void* return_address) noexcept {
  return g_fortran_code.holds(return_address);
}

namespace {

_Unwind_Reason_Code look_at_frame(_Unwind_Context* frame, void* found) noexcept {
  const auto* place = reinterpret_cast<const void*>(_Unwind_GetIP(frame));
  if (!g_mpi_code.holds(place)) return _URC_NO_REASON;
  *static_cast<bool*>(found) = true;
  return _URC_END_OF_STACK;
}

}  // namespace

bool in_callback() noexcept {
  bool found = false;
  _Unwind_Backtrace(&look_at_frame, &found);
  return found;
}

}  // namespace lacuna
