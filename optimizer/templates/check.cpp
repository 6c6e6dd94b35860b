// SPDX-License-Identifier: BSD-3-Clause
//
// Checks: in a program compiled with LACUNA_CHECK=1, each site's kernels are compared with MPI_Pack
// and MPI_Unpack when it is executed first, in memory of their own; a difference is told on stderr.
#include <cstdio>
#include <cstring>

#include "optimizer/templates/noted.hpp"

namespace {

using lacuna::Part;

constexpr int64_t kMostMemory = int64_t(1) << 28;

// With as much again on both sides: Open MPI 5 moves blocks at a stride of minus their length in
// the other direction, and what is looked for here is not to end in a crash.
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

// Where two differ first; -1 where they do not.
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

// Where a type's elements lie, and memory for `elements` of them.
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
  int64_t bytes = 0;  // 0: not known, none, or too much
};

// Elements in memory and packed, for kernels and for MPI.
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

  // Tells where pack(mem, packed) and unpack(mem, packed) differ. Afterwards `expected` is packed.
  // False: MPI could not.
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

// Kernels of any count of elements of a type.
extern "C" [[gnu::noinline, gnu::cold]] void lacuna_template_check_counted(MPI_Datatype type,
                                                                           lacuna::Counted* pack,
                                                                           lacuna::Counted* unpack,
                                                                           const int64_t* numbers,
                                                                           const char* site) {
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

// `elements` of the type, which starts at any buffer; `is_done` belongs to the site.
extern "C" [[gnu::noinline, gnu::cold]] void lacuna_template_check(const Part& part,
                                                                   const void* buffer,
                                                                   int64_t elements,
                                                                   MPI_Datatype type,
                                                                   const char* site, int* is_done) {
  if (!part.takes(buffer) || part.bytes == 0 || elements <= 0 || elements > INT32_MAX ||
      __atomic_exchange_n(is_done, 1, __ATOMIC_RELAXED) != 0) {
    return;
  }
  const Trial trial(type, elements, part.bytes);
  const auto packs = [&](char* mem, char* to) { part.pack(mem, to, part.shape); };
  const auto unpacks = [&](char* mem, char* from) { part.unpack(mem, from, part.shape); };
  if (trial.span.bytes <= 0 || !trial.has_memory() || !trial.compare(site, packs, unpacks)) return;

  // Of a prefix: those bytes are the new ones, and the others are what they were.
  const int bytes = trial.bytes;
  const int64_t some = bytes / 2;
  fill(trial.mine.data, trial.span.bytes, 4);
  std::memcpy(trial.its.data, trial.mine.data, size_t(trial.span.bytes));
  part.unpack_prefix(trial.at_mine(), trial.expected.data, part.shape, some);
  char* const packed = trial.packed.data;
  int at = 0;
  MPI_Pack(trial.at_its(), trial.count, type, packed, bytes, &at, MPI_COMM_SELF);
  std::memcpy(packed, trial.expected.data, size_t(some));
  at = 0;
  MPI_Unpack(packed, bytes, &at, trial.at_its(), trial.count, type, MPI_COMM_SELF);
  trial.tell_difference(site, "the compiled unpack of a prefix");
}

// The same of a type that a call has found when it looked it up, once for each type there; the
// `room` marks of those belong to the call.
extern "C" [[gnu::noinline, gnu::cold]] void lacuna_template_check_asked(
    MPI_Datatype type, int64_t elements, const void* buffer, const char* site, uint64_t* marks,
    int64_t room) {
  const lacuna::Noted* const noted = lacuna::find_noted(type);
  if (noted == nullptr) return;
  auto mark = uint64_t(reinterpret_cast<uintptr_t>(noted->layout.kernels));
  for (const int64_t number : noted->layout.numbers)
    mark = (mark ^ uint64_t(number)) * 0x100000001B3U;
  mark |= 1;
  int64_t at = 0;
  while (at < room && marks[at] != 0 && marks[at] != mark) ++at;
  if (at == room || marks[at] == mark) return;
  marks[at] = mark;
  const lacuna::AskedNow found(type, elements, lacuna::Asked::kNoMessage, lacuna::kMostSent);
  int is_done = 0;
  if (found.is_known) lacuna_template_check(found.part, buffer, elements, type, site, &is_done);
}
