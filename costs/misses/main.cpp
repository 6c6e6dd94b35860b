// SPDX-License-Identifier: BSD-3-Clause
// The program of `lacuna costs misses`: counts the misses of caches and TLB when types are moved.
// Needs no MPI.
//
// Usage: lacuna-misses --rows FILE --out FILE [--l1 BYTES,WAYS,LINE] [--l2 ...] [--l3 ...]
//                      [--tlb PAGES] [--tlb2 PAGES] [--most ACCESSES] [--do simulate|count]
//        lacuna-misses --rows FILE --out FILE --do replay|move|nothing --op pack|unpack --sweep
//        BYTES
// The second form runs under cachegrind. replay: does the simulated accesses, in the functions
// lacuna_replayed_*; move: the engine packs or unpacks; nothing: neither, for comparison.
#include <sys/mman.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/engine/lists.hpp"
#include "bench/engine/problem.hpp"
#include "bench/harness/arguments.hpp"
#include "bench/harness/json_lines.hpp"
#include "costs/misses/accesses.hpp"
#include "costs/misses/counters.hpp"
#include "costs/misses/lru.hpp"
#include "exec/exec.hpp"
#include "machine/machine.hpp"
#include "machine/probe/topology.hpp"
#include "plan/cost/cost.hpp"
#include "type/text/text.hpp"

// Outside of namespaces, so that they have simple names in cachegrind's output.
extern "C" {
[[gnu::noinline]] void lacuna_replayed_read(const std::byte* at, int64_t bytes) {
  for (; bytes >= 8; at += 8, bytes -= 8) {
    int64_t value;
    std::memcpy(&value, at, 8);
    asm volatile("" : : "r"(value));
  }
  for (; bytes > 0; ++at, --bytes) {
    const std::byte value = *at;
    asm volatile("" : : "r"(value));
  }
}
[[gnu::noinline]] void lacuna_replayed_write(std::byte* at, int64_t bytes) {
  for (; bytes >= 8; at += 8, bytes -= 8) {
    constexpr int64_t kZero = 0;
    std::memcpy(at, &kZero, 8);
    asm volatile("" : : : "memory");
  }
  for (; bytes > 0; ++at, --bytes) {
    *at = std::byte{0};
    asm volatile("" : : : "memory");
  }
}
}

namespace lacuna::costs {
namespace {

constexpr int64_t kAlign = int64_t{2} << 20;  // of the memory: cache sets are the same in each run
constexpr int64_t kDefaultWays = 8;           // if hwloc does not say
constexpr int64_t kLeastUnit = 64;            // accesses are cut where these end (accesses.cpp)
constexpr int kCountedRepetitions = 20;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "lacuna-misses: %s\n", what.c_str());
  std::exit(1);
}

struct Options {
  std::string rows;
  std::string out;
  std::string what = "simulate";
  std::string op;
  int64_t sweep_bytes = 0;
  int64_t most_accesses = 4'000'000;
  std::vector<Geometry> caches;  // L1, L2, L3
  std::vector<Geometry> tlbs;
  Machine host;  // the machine's numbers, with the sizes given as options
};

// Associativity as hwloc reports it; sizes from the machine's numbers, which plans use, too.
std::vector<Geometry> caches_here() {
  const probe::Topology topology = probe::ask_hwloc();
  const int64_t bytes[] = {machine().l1_bytes, machine().l2_bytes, machine().l3_bytes};
  std::vector<Geometry> found;
  for (size_t i = 0; i < topology.caches.size(); ++i) {
    const int64_t ways = topology.caches[i].ways;
    found.push_back({bytes[i], ways > 0 ? ways : kDefaultWays, machine().line_bytes});
  }
  return found;
}

std::vector<Geometry> tlbs_here() {
  const int64_t page = machine().page_bytes;
  std::vector<Geometry> found;
  for (const int64_t entries : {machine().tlb_entries, machine().tlb2_entries})
    found.push_back({entries * page, entries, page});
  return found;
}

// "32768,8,64", or "0": there is no such level.
Geometry geometry(const std::string& text) {
  Geometry found;
  if (text == "0") return {0, 1, 64};
  if (std::sscanf(text.c_str(), "%ld,%ld,%ld", &found.bytes, &found.ways, &found.unit) != 3 ||
      found.ways < 1 || found.unit < kLeastUnit || found.unit % kLeastUnit != 0 ||
      found.bytes < found.ways * found.unit) {
    fail("bad cache: " + text);
  }
  return found;
}

bench::Argument integer_argument(const char* name, int64_t& into) {
  return {name, [&into](const std::string& value) { into = std::atoll(value.c_str()); }};
}

Options parse(int argc, char** argv) {
  Options options;
  options.host = machine();
  options.caches = caches_here();
  options.tlbs = tlbs_here();
  const auto cache = [&](const char* name, size_t level, int64_t& bytes) {
    return bench::Argument{name, [&options, &bytes, level](const std::string& text) {
                             options.caches[level] = geometry(text);
                             bytes = options.caches[level].bytes;
                           }};
  };
  const auto tlb = [&](const char* name, size_t level, int64_t& entries) {
    return bench::Argument{name, [&options, &entries, level](const std::string& text) {
                             entries = std::max(1LL, std::atoll(text.c_str()));
                             Geometry& one = options.tlbs[level];
                             one = {entries * one.unit, entries, one.unit};
                           }};
  };
  Machine& host = options.host;
  bench::read_arguments(
      argc, argv,
      {bench::text_argument("--rows", options.rows), bench::text_argument("--out", options.out),
       cache("--l1", 0, host.l1_bytes), cache("--l2", 1, host.l2_bytes),
       cache("--l3", 2, host.l3_bytes), tlb("--tlb", 0, host.tlb_entries),
       tlb("--tlb2", 1, host.tlb2_entries), integer_argument("--most", options.most_accesses),
       bench::text_argument("--do", options.what), bench::text_argument("--op", options.op),
       integer_argument("--sweep", options.sweep_bytes)},
      fail);
  if (options.rows.empty() || options.out.empty()) fail("--rows FILE and --out FILE are needed");
  // For the cost model, a missing level is as large as the one before it.
  if (host.l2_bytes == 0) host.l2_bytes = host.l1_bytes;
  if (host.l3_bytes == 0) host.l3_bytes = host.l2_bytes;
  std::erase_if(options.caches, [](const Geometry& one) { return one.bytes == 0; });
  return options;
}

// Memory for a message: its data from a multiple of kAlign on, the packed data from the next page
// on. With is_real = false only addresses, which must not be accessed.
class Buffers {
 public:
  Buffers(const Plan& plan, int64_t count, bool is_real) {
    const int64_t bytes = count * plan.size();
    const DataSpan data = data_span(plan.type(), count);
    const int64_t first = data.low & ~int64_t{63};
    const int64_t page = machine().page_bytes;
    const int64_t span = (data.high - first + page - 1) / page * page;
    bytes_ = static_cast<size_t>(span + bytes + 2 * kAlign);
    const int access = is_real ? PROT_READ | PROT_WRITE : PROT_NONE;
    at_ = mmap(nullptr, bytes_, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at_ == MAP_FAILED) fail("no memory for " + std::to_string(bytes_) + " bytes");
    auto* const begin = reinterpret_cast<std::byte*>(
        (reinterpret_cast<uintptr_t>(at_) + kAlign - 1) & ~uintptr_t{kAlign - 1});
    mem = begin - first;
    packed = begin + span;
    if (is_real) std::memset(begin, 1, static_cast<size_t>(span + bytes));
  }
  ~Buffers() { munmap(at_, bytes_); }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  std::byte* mem;  // the buffer argument that a program would pass to MPI
  std::byte* packed;

 private:
  void* at_;
  size_t bytes_;
};

class Simulation : public Accesses {
 public:
  explicit Simulation(const Options& options) : caches(options.caches), tlbs(options.tlbs) {}
  void read(const std::byte* at, int64_t) override { use(at, false); }
  void write(std::byte* at, int64_t) override { use(at, true); }
  void write_non_temporal(std::byte* at, int64_t) override {
    caches.evict(reinterpret_cast<uintptr_t>(at));
    tlbs.use(reinterpret_cast<uintptr_t>(at), true);
    ++accesses;
  }

  Levels caches;
  Levels tlbs;
  int64_t accesses = 0;

 private:
  void use(const std::byte* at, bool is_write) {
    const auto address = reinterpret_cast<uintptr_t>(at);
    caches.use(address, is_write);
    tlbs.use(address, is_write);
    ++accesses;
  }
};

class Replay : public Accesses {
 public:
  void read(const std::byte* at, int64_t bytes) override { lacuna_replayed_read(at, bytes); }
  void write(std::byte* at, int64_t bytes) override { lacuna_replayed_write(at, bytes); }
  void write_non_temporal(std::byte* at, int64_t bytes) override {
    lacuna_replayed_write(at, bytes);
  }
};

std::string json(const Levels& levels, const char* const* names) {
  std::string text;
  for (const Misses& one : levels.misses()) {
    text += (text.empty() ? "" : ", ") + bench::json_string(*names) +
            ": {\"reads\": " + std::to_string(one.reads) +
            ", \"writes\": " + std::to_string(one.writes) + "}";
    ++names;
  }
  return text;
}

std::string simulated(const Plan& plan, const bench::Row& row, bool is_pack,
                      const Options& options) {
  static constexpr const char* kCaches[] = {"l1", "l2", "l3"};
  static constexpr const char* kTlbs[] = {"tlb", "tlb2"};
  const Buffers buffers(plan, row.count, false);
  Simulation simulation(options);
  std::string text;
  for (const char* state : {"cold", "warm"}) {
    simulation.accesses = 0;
    simulation.caches.reset_misses();
    simulation.tlbs.reset_misses();
    follow(plan, is_pack, buffers.mem, row.count, buffers.packed, simulation);
    text += std::string(", \"") + state + "\": {" + json(simulation.caches, kCaches) + ", " +
            json(simulation.tlbs, kTlbs) + "}";
  }
  return "\"accesses\": " + std::to_string(simulation.accesses) + text;
}

// Misses by the analytic model (docs/internals/cost.md).
std::string modelled(const Plan& plan, const bench::Row& row, bool is_pack) {
  std::string text;
  for (const Warmth warmth : {Warmth::kCold, Warmth::kWarm}) {
    const Cost cost =
        predict(plan, row.count, is_pack ? Direction::kPack : Direction::kUnpack, warmth);
    char line[256];
    std::snprintf(line, sizeof line,
                  "%s{\"l1\": %.6g, \"l2\": %.6g, \"l3\": %.6g, \"tlb\": %.6g, \"tlb2\": %.6g}",
                  warmth == Warmth::kCold ? "\"cold\": " : ", \"warm\": ", cost.level_misses[0],
                  cost.level_misses[1], cost.level_misses[2], cost.tlb_misses[0],
                  cost.tlb_misses[1]);
    text += line;
  }
  return text;
}

std::string counted(const Plan& plan, const bench::Row& row, bool is_pack) {
  const Buffers buffers(plan, row.count, true);
  std::string text = "\"counted\": {";
  std::string why = "\"not_counted\": {";
  const auto work = [&] {
    is_pack ? pack(plan, buffers.mem, row.count, buffers.packed)
            : unpack(plan, buffers.packed, row.count, buffers.mem);
  };
  work();
  for (const Counted& one : count(kCountedRepetitions, work)) {
    std::string& into = one.why.empty() ? text : why;
    const bool is_first = into.back() == '{';
    char value[32];
    std::snprintf(value, sizeof value, "%.6g", one.value);
    into += (is_first ? "" : ", ") + bench::json_string(one.name) + ": " +
            (one.why.empty() ? value : bench::json_string(one.why));
  }
  return text + "}, " + why + "}";
}

// Whether there are at most about `most` accesses: two for each run, or for each line of long runs.
bool is_small(const Plan& plan, int64_t count, int64_t most) {
  const double bytes = static_cast<double>(plan.size()) * static_cast<double>(count);
  if (plan.size() == 0) return true;
  return bytes / std::min(plan.mean_run_bytes(), 64.0) * 2 <= static_cast<double>(most);
}

TypePtr type_of(const bench::Row& row) {
  const auto text = bench::expand_lists(row.text);
  if (!text) fail(row.id + ": " + text.error().message);
  const auto type = parse_type(*text);
  if (!type) fail(row.id + ": " + type.error().message);
  return *type;
}

void describe(const bench::Row& row, const Options& options, bench::JsonLines& out) {
  const TypePtr type = type_of(row);
  const PlanPtr recording = make_recording_plan(type, options.host);
  const PlanPtr plan = make_plan(type, default_kernels(), options.host);
  const bool small = is_small(*plan, row.count, options.most_accesses);
  for (const bool is_pack : {true, false}) {
    std::string text = "{\"kind\": \"misses\", \"id\": " + bench::json_string(row.id) +
                       ", \"op\": " + (is_pack ? "\"pack\"" : "\"unpack\"") +
                       ", \"bytes\": " + std::to_string(row.count * plan->size());
    if (options.what == "simulate" && small)
      text += ", \"simulated\": {" + simulated(*recording, row, is_pack, options) + "}";
    text += ", \"model\": {" + modelled(*plan, row, is_pack) + "}, " + counted(*plan, row, is_pack);
    out.write(text + "}");
  }
}

// Fills all caches with other data.
void sweep(int64_t bytes) {
  std::vector<std::byte> other(static_cast<size_t>(bytes), std::byte{1});
  for (size_t i = 0; i < other.size(); i += 64) asm volatile("" : : "r"(other[i]));
}

void perform(const bench::Row& row, const Options& options) {
  const TypePtr type = type_of(row);
  const PlanPtr recording = make_recording_plan(type, options.host);
  const PlanPtr plan = make_plan(type, default_kernels(), options.host);
  const bool is_pack = options.op != "unpack";
  const Buffers buffers(*plan, row.count, true);
  Replay replay;
  sweep(options.sweep_bytes);
  if (options.what == "replay") {
    follow(*recording, is_pack, buffers.mem, row.count, buffers.packed, replay);
  } else if (options.what == "move") {
    is_pack ? pack(*plan, buffers.mem, row.count, buffers.packed)
            : unpack(*plan, buffers.packed, row.count, buffers.mem);
  }
}

std::string header(const Options& options, size_t rows) {
  std::string text = "{\"kind\": \"header\", \"rows\": " + std::to_string(2 * rows) +
                     ", \"compiler\": " + bench::json_string(__VERSION__);
  const char* const names[] = {"l1", "l2", "l3"};
  for (size_t i = 0; i < options.caches.size(); ++i) {
    const Geometry& one = options.caches[i];
    text += std::string(", \"") + names[i] + "\": {\"bytes\": " + std::to_string(one.bytes) +
            ", \"ways\": " + std::to_string(one.ways) + ", \"line\": " + std::to_string(one.unit) +
            "}";
  }
  text += ", \"tlb\": " + std::to_string(options.tlbs[0].ways) +
          ", \"tlb2\": " + std::to_string(options.tlbs[1].ways);
  return text + "}";
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const auto rows = bench::read_rows(options.rows);
  if (!rows) fail(rows.error().message);
  bench::JsonLines out;
  if (!out.open(options.out)) fail("cannot write " + options.out + ": " + std::strerror(errno));
  out.write(header(options, rows->size()));
  for (const bench::Row& row : *rows) {
    if (options.what == "simulate" || options.what == "count") {
      describe(row, options, out);
    } else {
      perform(row, options);
    }
  }
  out.write("{\"kind\": \"end\"}");
  return 0;
}

}  // namespace lacuna::costs

int main(int argc, char** argv) { return lacuna::costs::main(argc, argv); }
