// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/node/arena.hpp"

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

#include "interpose/library/limits.hpp"
#include "machine/machine.hpp"

namespace lacuna::direct {
namespace {

// What is out, in the order of addresses. More than these are seldom out at once, and a search
// among more would cost more than a copy of a short message.
//
// Looking for marks of receivers only where 16 are out or one is in the way, and asking for the
// next region's first lines to be written, gained nothing from afar (16 KiB 2.7 us, 64 KiB 5.5).
constexpr int kMostOut = 256;

// Each message takes the room behind the one before, round and round in the first MiB: the lines of
// a region that was just read are still in the receiver's cache and come back slowly. Microseconds
// of a message of 512-byte runs on Granite Rapids, the first room that fits / round 256 KiB, 1, 4
// and 16 MiB: 16 KiB 4.6 / 3.2, 3.0, 3.7, 3.9; 64 KiB 15.1 / 8.1, 7.4, 9.2, 21; 256 KiB 22 / 23,
// 24, 26, -.
//
// Where a third level takes what leaves the second, a round is long enough for both cores to have
// lost a line before it is written again, and then it comes from there in half the time; longer, it
// is lost to the TLB and to others that share the cache. Microseconds of two
// copies through a region, a ping-pong of two threads between close cores of Zen 4 (1 MiB of second
// level), round 256 KiB, 1, 2, 4 and 8 MiB: 16 KiB 2.0 / 1.3 / 0.9 / 1.4 / 1.7; 64 KiB 8.2 / 4.8 /
// 2.4 / 2.4 / 3.5. Messages with Intel MPI, 1 / 1.5 / 2 / 3 MiB: 64 KiB in runs of 1 KiB 5.4 / 3.0
// / 2.8 / -, to the side first 5.4 / - / 3.3 / 3.5; 256 KiB in runs of 2 KiB 18 / - / 11.5 / 12; 39
// KiB in runs of 40 bytes 3.6 / 2.8 / 2.7 / 2.9. Between far cores it makes no difference.
constexpr int64_t kRound = int64_t{1} << 20;
constexpr int64_t kMostRound = int64_t{4} << 20;
int64_t round_of(const Machine& host) noexcept {
  return minds_distance(host) ? std::clamp(2 * host.l2_bytes, kRound, kMostRound) : kRound;
}

// Pages that stay: half of an arena, unless it is larger. Messages that need more are of a size
// that few programs send; they find fresh pages, which take a tenth of their time.
constexpr int64_t kKept = int64_t{64} << 20;
constexpr int64_t kPage = 4096;  // where they are larger, the system refuses to take such back

constexpr char kName[] = "lacuna-arena";  // in /proc; not one to open it by

struct Span {
  int64_t begin;
  int64_t end;
};

constinit std::mutex g_mutex;
constinit std::byte* g_base = nullptr;
constinit int64_t g_bytes = 0;
constinit int64_t g_open = 0;    // bytes that may be accessed
constinit int64_t g_backed = 0;  // of those that stay, bytes that the system has given pages for
constinit int g_descriptor = -1;
constinit bool g_needs_descriptor = false;  // to have pages
constinit Span g_out[kMostOut] = {};
constinit int g_count = 0;
constinit int64_t g_round = kRound;
constinit int64_t g_next = kFrontBytes;  // where the next region is looked for

Region* region_at(int64_t offset) { return reinterpret_cast<Region*>(g_base + offset); }

// Where the first gap of so many bytes begins, from `from` on; behind the end if there is none.
int64_t find_gap(int64_t from, int64_t bytes) noexcept {
  int64_t begin = from;
  for (int i = 0; i < g_count && g_out[i].begin - begin < bytes; ++i)
    begin = std::max(begin, g_out[i].end);
  return begin;
}

// Forgets what receivers have finished with, and hears what they say.
void sweep() noexcept {
  int kept = 0;
  for (int i = 0; i < g_count; ++i) {
    const Region* region = region_at(g_out[i].begin);
    const uint32_t done = region->done.load(std::memory_order_acquire);
    if (done == 0) {
      g_out[kept++] = g_out[i];
    } else if (done != kDone) {
      hear(region->token.id, said_by(done));
    }
  }
  g_count = kept;
}

// In steps, as a call of the system takes long.
int64_t whole_steps(int64_t end, int64_t arena_bytes) noexcept {
  constexpr int64_t kStep = int64_t{1} << 20;
  return std::min(arena_bytes, (end + kStep - 1) / kStep * kStep);
}

// Pages that are there are entered here at once, which takes less than one by one: the first 500
// messages of 1300 bytes took 3.3 to 6.6 us each, and take 2.4 to 2.7. An error number; EINVAL: the
// system cannot, and will do so at their first use.
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

// A page that the system refused at its first use would be a signal.
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

// What does not stay is asked for each time.
bool back(int64_t begin, int64_t end) noexcept {
  const int64_t stays = std::min(end, kKept);
  if (stays > g_backed) {
    const int64_t wanted = whole_steps(stays, g_bytes);
    if (!get_pages(g_backed, wanted)) return false;
    g_backed = wanted;
  }
  return end <= kKept || get_pages(std::max(begin / kPage * kPage, kKept), end);
}

// Where a program has closed its standard streams, it may write to them all the same, and would
// write into the arena.
int out_of_the_way(int descriptor) noexcept {
  if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
  const int other = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(descriptor);
  return other;
}

// Before it is opened, as opening may do something where it is not.
bool is_an_arena(const char* path) noexcept {
  constexpr std::string_view kPrefix = "/memfd:";
  char target[64];
  const ssize_t length = readlink(path, target, sizeof(target));
  if (length < 0) return false;
  const std::string_view name(target, static_cast<size_t>(length));
  return name.starts_with(kPrefix) && name.substr(kPrefix.size()).starts_with(kName);
}

// The first pages may be accessed. A program that has asked for all its future memory to be locked
// has not meant this, and what is locked counts as a whole.
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
  const int descriptor = out_of_the_way(memfd_create(kName, MFD_CLOEXEC));
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
  if (!back(0, kFrontBytes)) return false;
  // Where pages are larger, receives are always asked what they bring.
  if (mmap(&g_token_page, sizeof(g_token_page), PROT_READ, MAP_SHARED | MAP_FIXED, descriptor,
           kSeatBytes) == MAP_FAILED) {
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

Region* reserve(int64_t payload_bytes) noexcept {
  int64_t bytes = 0;
  if (payload_bytes > g_bytes - kFrontBytes - static_cast<int64_t>(sizeof(Region)) - kLine)
    return nullptr;
  bytes = (static_cast<int64_t>(sizeof(Region)) + payload_bytes + kLine - 1) / kLine * kLine;
  const std::lock_guard<std::mutex> lock(g_mutex);
  sweep();
  if (g_count == kMostOut) return nullptr;
  int64_t begin = find_gap(g_next + bytes <= g_round ? g_next : kFrontBytes, bytes);
  if (g_bytes - begin < bytes) begin = find_gap(kFrontBytes, bytes);
  if (g_bytes - begin < bytes || !back(begin, begin + bytes)) return nullptr;
  g_next = begin + bytes;
  int at = g_count++;
  for (; at > 0 && g_out[at - 1].begin > begin; --at) g_out[at] = g_out[at - 1];
  g_out[at] = {begin, begin + bytes};
  Region* region = region_at(begin);
  // Who finds a token that was here before (is_outstanding() in receive.cpp) sees this first.
  region->id.store(0, std::memory_order_relaxed);
  region->published.store(0, std::memory_order_relaxed);
  region->ring_end.store(0, std::memory_order_relaxed);
  region->consumed.store(0, std::memory_order_relaxed);
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
