// SPDX-License-Identifier: BSD-3-Clause
//
// LACUNA_CHECK=1: when a call is executed for the first time, its kernels are compared with
// MPI_Pack and MPI_Unpack, in memory allocated for that. Differences are reported on stderr.
#include <cstdio>
#include <cstring>

#include "optimizer/templates/registry.hpp"

namespace {

using lacuna::compiled::BufferArg;

constexpr int64_t kMostMemory = int64_t(1) << 28;

// With as much again on both sides: Open MPI 5 packs blocks with a stride of minus their length
// from the wrong side, and the check should report that instead of crashing.
struct Memory {
  explicit Memory(int64_t bytes)
      : all(static_cast<char*>(std::malloc(size_t(bytes) * 3 + 1))),
        data(all != nullptr ? all + bytes : nullptr) {}
  ~Memory() { std::free(all); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  char* const all;
  char* const data;
};

void fill(char* data, int64_t bytes, unsigned seed) {
  for (int64_t i = 0; i < bytes; ++i) data[i] = char((unsigned(i) * 2654435761U + seed) >> 13);
}

// The first byte that differs; -1: none does.
int64_t difference(const char* one, const char* other, int64_t bytes) {
  for (int64_t i = 0; i < bytes; ++i) {
    if (one[i] != other[i]) return i;
  }
  return -1;
}

void tell(const char* site, const char* what, int64_t at) {
  std::fprintf(stderr,
               "lacuna check: %s in %s: differs from MPI's own at byte %lld; remedy: compile this "
               "file with -mllvm -lacuna=off, and report its type (-Rpass=lacuna names it)\n",
               what, site, static_cast<long long>(at));
}

// The memory that `elements` of a type span.
struct Span {
  Span(MPI_Datatype type, int64_t elements) {
    MPI_Aint lb = 0, extent = 0, true_lb = 0, true_extent = 0;
    if (MPI_Type_get_extent(type, &lb, &extent) != MPI_SUCCESS ||
        MPI_Type_get_true_extent(type, &true_lb, &true_extent) != MPI_SUCCESS) {
      return;
    }
    const int64_t last = int64_t(extent) * (elements - 1);
    low = true_lb + (last < 0 ? last : 0);
    bytes = true_extent + (last < 0 ? -last : last);
    if (bytes > kMostMemory) bytes = 0;
  }
  int64_t low = 0;
  int64_t bytes = 0;  // 0: not known, none, or more than kMostMemory
};

// Elements of a type, twice: for the kernels (`mine`, `packed`) and for MPI (`its`, `expected`).
struct Trial {
  Trial(MPI_Datatype its_type, int64_t elements, int64_t packed_bytes)
      : type(its_type),
        count(int(elements)),
        bytes(int(packed_bytes)),
        span(its_type, elements),
        mine(span.bytes),
        its(span.bytes),
        packed(packed_bytes),
        expected(packed_bytes) {}

  bool has_memory() const {
    return mine.data != nullptr && its.data != nullptr && packed.data != nullptr &&
           expected.data != nullptr;
  }
  char* at_mine() const { return mine.data - span.low; }
  char* at_its() const { return its.data - span.low; }

  // Reports where pack(mem, packed) and unpack(mem, packed) differ from MPI's. Afterwards
  // `expected` has packed data. False: MPI could not pack.
  template <class Pack, class Unpack>
  bool compare(const char* site, Pack pack, Unpack unpack) const {
    fill(mine.data, span.bytes, 1);
    fill(packed.data, bytes, 2);
    int at = 0;
    if (MPI_Pack(at_mine(), count, type, expected.data, bytes, &at, MPI_COMM_SELF) != MPI_SUCCESS)
      return false;
    pack(at_mine(), packed.data);
    const int64_t in_pack = at == bytes ? difference(packed.data, expected.data, bytes) : at;
    if (in_pack >= 0) tell(site, "the compiled pack", in_pack);
    fill(its.data, span.bytes, 3);
    std::memcpy(mine.data, its.data, size_t(span.bytes));
    at = 0;
    MPI_Unpack(expected.data, bytes, &at, at_its(), count, type, MPI_COMM_SELF);
    unpack(at_mine(), expected.data);
    tell_difference(site, "the compiled unpack");
    return true;
  }
  void tell_difference(const char* site, const char* what) const {
    const int64_t at = difference(mine.data, its.data, span.bytes);
    if (at >= 0) tell(site, what, at);
  }

  MPI_Datatype type;
  int count;
  int bytes;
  Span span;
  Memory mine, its, packed, expected;
};

}  // namespace

// Compares kernels for any count of elements of a type.
extern "C" [[gnu::noinline, gnu::cold]] void lacuna_template_check_counted(
    MPI_Datatype type, lacuna::compiled::Counted* pack, lacuna::compiled::Counted* unpack,
    const int64_t* numbers, const char* site) {
  int size = 0;
  if (MPI_Type_size(type, &size) != MPI_SUCCESS || size <= 0 || size > kMostMemory / 4) return;
  for (int elements = 1; elements <= 3; ++elements) {
    const Trial trial(type, elements, int64_t(size) * elements);
    const auto packs = [&](char* mem, char* to) { pack(numbers, mem, elements, to); };
    const auto unpacks = [&](char* mem, char* from) { unpack(numbers, mem, elements, from); };
    if (trial.span.bytes <= 0 || !trial.has_memory() || !trial.compare(site, packs, unpacks))
      return;
  }
}

// Compares the kernels of one call; `is_done` belongs to that call.
extern "C" [[gnu::noinline, gnu::cold]] void lacuna_template_check(const BufferArg& arg,
                                                                   const void* buffer,
                                                                   int64_t elements,
                                                                   MPI_Datatype type,
                                                                   const char* site, int* is_done) {
  if (!arg.takes(buffer) || arg.bytes == 0 || elements <= 0 || elements > INT32_MAX ||
      __atomic_exchange_n(is_done, 1, __ATOMIC_RELAXED) != 0) {
    return;
  }
  const Trial trial(type, elements, arg.bytes);
  const auto packs = [&](char* mem, char* to) { arg.pack(mem, to, arg.shape); };
  const auto unpacks = [&](char* mem, char* from) { arg.unpack(mem, from, arg.shape); };
  if (trial.span.bytes <= 0 || !trial.has_memory() || !trial.compare(site, packs, unpacks)) return;

  // Unpacking a prefix must change those bytes, and no others.
  const int bytes = trial.bytes;
  const int64_t some = bytes / 2;
  fill(trial.mine.data, trial.span.bytes, 4);
  std::memcpy(trial.its.data, trial.mine.data, size_t(trial.span.bytes));
  arg.unpack_prefix(trial.at_mine(), trial.expected.data, arg.shape, some);
  char* const packed = trial.packed.data;
  int at = 0;
  MPI_Pack(trial.at_its(), trial.count, type, packed, bytes, &at, MPI_COMM_SELF);
  std::memcpy(packed, trial.expected.data, size_t(some));
  at = 0;
  MPI_Unpack(packed, bytes, &at, trial.at_its(), trial.count, type, MPI_COMM_SELF);
  trial.tell_difference(site, "the compiled unpack of a prefix");
}

// Compares the kernels of a type that a call has found in the registry, once for each type.
// `marks`, `room` of them, belong to the call and say which types were compared.
extern "C" [[gnu::noinline, gnu::cold]] void lacuna_template_check_lookup(
    MPI_Datatype type, int64_t elements, const void* buffer, const char* site, uint64_t* marks,
    int64_t room) {
  const lacuna::compiled::Entry* const entry = lacuna::compiled::find_registered(type);
  if (entry == nullptr) return;
  // FNV-1a's prime, by hand for the same reason as in places_of() (registry.hpp).
  auto mark = uint64_t(reinterpret_cast<uintptr_t>(entry->layout.kernels));
  for (const int64_t number : entry->layout.numbers)
    mark = (mark ^ uint64_t(number)) * 0x100000001B3U;
  mark |= 1;
  int64_t at = 0;
  while (at < room && marks[at] != 0 && marks[at] != mark) ++at;
  if (at == room || marks[at] == mark) return;
  marks[at] = mark;
  const lacuna::compiled::CallLookup found(type, elements, lacuna::compiled::Lookup::kNoMessage,
                                           lacuna::compiled::kMostSent);
  int is_done = 0;
  if (found.is_known) lacuna_template_check(found.arg, buffer, elements, type, site, &is_done);
}
