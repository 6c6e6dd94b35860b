// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/arena/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <mutex>
#include <string_view>

#include "interpose/memory/limits.hpp"
#include "machine/machine.hpp"

namespace lacuna::direct {
namespace {

// At most so many regions are reserved at once, sorted by address. More are seldom needed, and a
// search among more would cost more than the copy of a short message.
constexpr int kMostReserved = 256;

// Each message takes the space behind the one before, round and round in the first `round_of()`
// bytes. The lines of a region that was just read are still in the receiver's cache, and are slow
// to write again. Where the L3 is a victim cache, a round of twice the L2 lets both cores evict a
// line before it is reused, and the L3 returns it in half the time. Longer rounds cost TLB misses.
// Numbers: docs/experiments/2026-11-27-arena-rounds.md.
constexpr int64_t kRound = int64_t{1} << 20;
constexpr int64_t kMostRound = int64_t{4} << 20;
int64_t round_of(const Machine& host) noexcept {
  return depends_on_distance(host) ? std::clamp(2 * host.l2_bytes, kRound, kMostRound) : kRound;
}

// Pages before this offset are kept once they are allocated: half of an arena of the default size.
// Messages that need more are rare; they page-fault, which takes a tenth of their time.
constexpr int64_t kKept = kKeptPagesBytes;
constexpr int64_t kPage = 4096;  // with larger pages the system refuses to free single ones

constexpr char kName[] = "lacuna-arena";  // shown in /proc; the file cannot be opened by it

struct Span {
  int64_t begin;
  int64_t end;
};

constinit std::mutex g_arena_mutex;
constinit std::byte* g_base = nullptr;
constinit int64_t g_bytes = 0;
constinit int64_t g_open = 0;    // bytes that are mapped with access
constinit int64_t g_backed = 0;  // of the kept pages: bytes whose pages are allocated
constinit int g_descriptor = -1;
constinit bool g_needs_descriptor = false;  // MADV_POPULATE_WRITE is missing; fallocate() needs it
constinit Span g_reserved[kMostReserved] = {};
constinit int g_count = 0;
constinit int64_t g_round = kRound;
constinit int64_t g_next = kFrontBytes;  // where the next region is looked for

Region* region_at(int64_t offset) { return reinterpret_cast<Region*>(g_base + offset); }

// Start of the first free gap of `bytes`, searched from `from` on. May be too close to the end of
// the arena: the caller checks.
int64_t find_gap(int64_t from, int64_t bytes) noexcept {
  int64_t begin = from;
  for (int i = 0; i < g_count && g_reserved[i].begin - begin < bytes; ++i)
    begin = std::max(begin, g_reserved[i].end);
  return begin;
}

// Drops regions that receivers have marked done, and records the distance that the mark carries.
void sweep() noexcept {
  int kept = 0;
  for (int i = 0; i < g_count; ++i) {
    const Region* region = region_at(g_reserved[i].begin);
    const uint32_t done = region->done.load(std::memory_order_acquire);
    if (done == 0) {
      g_reserved[kept++] = g_reserved[i];
    } else if (done != kDone) {
      record_reported(region->token.id, distance_in(done));
    }
  }
  g_count = kept;
}

// Rounds `end` up to 1 MiB, so that fewer system calls are made.
int64_t whole_steps(int64_t end, int64_t arena_bytes) noexcept {
  constexpr int64_t kStep = int64_t{1} << 20;
  return std::min(arena_bytes, (end + kStep - 1) / kStep * kStep);
}

// Fills the page tables for the range in one call, where each page fault would cost more
// (docs/experiments/2026-11-27-arena-rounds.md). An error number. EINVAL: the system lacks
// MADV_POPULATE_WRITE, and page faults will do it.
int enter_pages(std::byte* begin, int64_t bytes) noexcept {
#if defined(MADV_POPULATE_WRITE)
  return madvise(begin, static_cast<size_t>(bytes), MADV_POPULATE_WRITE) == 0 ? 0 : errno;
#else
  (void)begin, (void)bytes;
  return EINVAL;
#endif
}

constinit bool g_shows_page = false;

bool allow_access(std::byte* begin, int64_t bytes) noexcept {
  return mprotect(begin, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE) == 0;
}

// Allocates pages now: out of memory at first use would be a signal.
bool get_pages(int64_t begin, int64_t end) noexcept {
  if (end > g_open) {
    const int64_t wanted = whole_steps(end, g_bytes);
    if (!allow_access(g_base + g_open, wanted - g_open)) return false;
    g_open = wanted;
  }
  const int refused = enter_pages(g_base + begin, end - begin);
  g_needs_descriptor = g_needs_descriptor || refused == EINVAL;
  return refused == 0 || (refused == EINVAL && g_descriptor >= 0 &&
                          fallocate(g_descriptor, 0, begin, end - begin) == 0);
}

// Pages behind kKept are freed with their region, so they are allocated for each.
bool allocate_pages(int64_t begin, int64_t end) noexcept {
  const int64_t stays = std::min(end, kKept);
  if (stays > g_backed) {
    const int64_t wanted = whole_steps(stays, g_bytes);
    if (!get_pages(g_backed, wanted)) return false;
    g_backed = wanted;
  }
  return end <= kKept || get_pages(std::max(begin / kPage * kPage, kKept), end);
}

// Checks the link before it is opened: opening another kind of file may have an effect.
bool is_an_arena(const char* path) noexcept {
  constexpr std::string_view kPrefix = "/memfd:";
  char target[64];
  const ssize_t length = readlink(path, target, sizeof(target));
  if (length < 0) return false;
  const std::string_view name(target, static_cast<size_t>(length));
  return name.starts_with(kPrefix) && name.substr(kPrefix.size()).starts_with(kName);
}

// Maps an arena with access to its front pages only. munlock() undoes mlockall(MCL_FUTURE), which
// was not meant for this and would count the whole arena as locked.
std::byte* map(int descriptor, int64_t bytes) noexcept {
  const auto length = static_cast<size_t>(bytes);
  void* const found = mmap(nullptr, length, PROT_NONE, MAP_SHARED, descriptor, 0);
  if (found == MAP_FAILED) return nullptr;
  munlock(found, length);
  madvise(found, length, MADV_DONTDUMP);
  auto* const base = static_cast<std::byte*>(found);
  if (allow_access(base, kFrontBytes)) return base;
  munmap(found, length);
  return nullptr;
}

}  // namespace

int above_standard_streams(int descriptor) noexcept {
  if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
  const int other = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(descriptor);
  return other;
}

constinit TokenPage g_token_page = {};
constinit uint64_t g_settled_word = 0;

bool shows_token_page() noexcept { return g_shows_page; }

int64_t most_arena_bytes(int64_t wanted, int ranks) noexcept {
  constexpr int64_t kUnit = int64_t{1} << 20;
  int64_t most = most_shared_bytes() / std::max(ranks, 1);
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < static_cast<rlim_t>(most))
    most = static_cast<int64_t>(limit.rlim_cur);
  return wanted <= most ? wanted : most / kUnit * kUnit;
}

bool make_arena(int64_t bytes) noexcept {
  if (bytes <= kFrontBytes) return false;
  const int descriptor = above_standard_streams(memfd_create(kName, MFD_CLOEXEC));
  if (descriptor < 0) return false;
  std::byte* const base = ftruncate(descriptor, bytes) == 0 ? map(descriptor, bytes) : nullptr;
  if (base == nullptr) {
    close(descriptor);
    return false;
  }
  g_base = base;
  g_bytes = bytes;
  g_open = kFrontBytes;
  g_round = round_of(machine());
  g_descriptor = descriptor;
  if (!allocate_pages(0, kFrontBytes)) return false;
  // With pages larger than 4 KiB this mapping fails. Then the word differs from g_settled_word for
  // ever, so receives always ask for a status.
  if (mmap(&g_token_page, sizeof(g_token_page), PROT_READ, MAP_SHARED | MAP_FIXED, descriptor,
           kVotePageBytes) == MAP_FAILED) {
    g_token_page.word.store(1, std::memory_order_relaxed);
  } else {
    g_shows_page = true;
  }
  return true;
}

std::byte* own_arena() noexcept { return g_base; }

int64_t arena_bytes() noexcept { return g_bytes; }

int arena_descriptor() noexcept { return g_descriptor; }

void close_arena() noexcept {
  if (g_needs_descriptor || g_descriptor < 0) return;
  close(g_descriptor);
  g_descriptor = -1;
}

void drop_arena() noexcept {
  g_needs_descriptor = false;
  close_arena();
  if (g_base == nullptr) return;
  munmap(g_base, static_cast<size_t>(g_bytes));
  g_base = nullptr;
  g_bytes = g_open = g_backed = 0;
  if (!g_shows_page) return;
  g_shows_page = false;
  mmap(&g_token_page, sizeof(g_token_page), PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

std::byte* open_arena(int32_t pid, int descriptor, int64_t bytes, const Secret& owner) noexcept {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, descriptor);
  if (!is_an_arena(path)) return nullptr;
  const int found = open(path, O_RDWR | O_CLOEXEC);
  if (found < 0) return nullptr;
  struct stat status{};
  const bool whole = fstat(found, &status) == 0 && status.st_size == bytes;
  std::byte* const base = whole ? map(found, bytes) : nullptr;
  close(found);
  if (base == nullptr || token_page(base).owner == owner) return base;
  munmap(base, static_cast<size_t>(bytes));
  return nullptr;
}

Region* enter_region(const OpenArena& arena, int64_t offset, int64_t bytes) noexcept {
  const int64_t end = offset + static_cast<int64_t>(sizeof(Region)) + bytes;
  const int64_t entered = arena.entered.load(std::memory_order_acquire);
  if (end > entered) {
    const int64_t from = std::max(entered, offset / kPage * kPage);
    const int64_t to = whole_steps(end, arena.bytes);
    if (!allow_access(arena.begin + entered, to - entered)) return nullptr;
    enter_pages(arena.begin + from, to - from);
    arena.entered.store(to, std::memory_order_release);
  }
  return reinterpret_cast<Region*>(arena.begin + offset);
}

bool populate(const OpenArena& arena, int64_t bytes) noexcept {
  if (bytes > std::min(arena.bytes, kKept) || !allow_access(arena.begin, bytes)) return false;
  const int refused = enter_pages(arena.begin, bytes);
  if (refused != 0 && refused != EINVAL) return false;
  if (bytes > arena.entered.load(std::memory_order_acquire))
    arena.entered.store(bytes, std::memory_order_release);
  return true;
}

bool populate_own(int64_t bytes) noexcept {
  const std::lock_guard<std::mutex> lock(g_arena_mutex);
  return bytes <= std::min(g_bytes, kKept) && allocate_pages(0, bytes);
}

Region* reserve(int64_t payload_bytes) noexcept {
  int64_t bytes = 0;
  if (payload_bytes > g_bytes - kFrontBytes - static_cast<int64_t>(sizeof(Region)) - kLine)
    return nullptr;
  bytes = (static_cast<int64_t>(sizeof(Region)) + payload_bytes + kLine - 1) / kLine * kLine;
  const std::lock_guard<std::mutex> lock(g_arena_mutex);
  sweep();
  if (g_count == kMostReserved) return nullptr;
  int64_t begin = find_gap(g_next + bytes <= g_round ? g_next : kFrontBytes, bytes);
  if (g_bytes - begin < bytes) begin = find_gap(kFrontBytes, bytes);
  if (g_bytes - begin < bytes || !allocate_pages(begin, begin + bytes)) return nullptr;
  g_next = begin + bytes;
  int at = g_count++;
  for (; at > 0 && g_reserved[at - 1].begin > begin; --at) g_reserved[at] = g_reserved[at - 1];
  g_reserved[at] = {begin, begin + bytes};
  Region* region = region_at(begin);
  // First: a receiver that meets an old token of this memory (is_outstanding() in receive.cpp) must
  // not take it for outstanding.
  region->id.store(0, std::memory_order_relaxed);
  region->published.store(0, std::memory_order_relaxed);
  region->ring_end.store(0, std::memory_order_relaxed);
  region->consumed.store(0, std::memory_order_relaxed);
  region->window = 0;
  const int64_t kept = std::max(begin + static_cast<int64_t>(sizeof(Region)), kKept) + kPage - 1;
  region->bytes = bytes - static_cast<int64_t>(sizeof(Region));
  region->idle_from = kept / kPage * kPage - begin;
  region->idle_bytes = (begin + bytes) / kPage * kPage - begin - region->idle_from;
  region->done.store(0, std::memory_order_release);
  return region;
}

void release(Region* region, uint32_t mark) noexcept {
  if (region->idle_bytes > 0) {
    madvise(reinterpret_cast<std::byte*>(region) + region->idle_from,
            static_cast<size_t>(region->idle_bytes), MADV_REMOVE);
  }
  region->done.store(mark, std::memory_order_release);
}

int64_t offset_of(const Region* region) noexcept {
  return reinterpret_cast<const std::byte*>(region) - g_base;
}

}  // namespace lacuna::direct
