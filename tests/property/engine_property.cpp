// SPDX-License-Identifier: BSD-3-Clause
//
// The ladder of oracles, engine part (docs/internals/design.md, typemap): for each random type the
// text form, the typemap, the layout, the reference kernels and each SIMD target in turn agree,
// whole and in random slices, packing, unpacking and copying to another type, between guard pages,
// with every byte of every gap compared afterwards. Each plan is made for this host's caches and
// for a tiny machine, on which the blocked and non-temporal ways start at a few bytes; both with
// the habits of one row of engine/machine/cpus.cpp after the other, or of the one that LACUNA_CPU
// names.
#include <algorithm>
#include <cstring>

#include "base/address.hpp"
#include "exec/copy/copy.hpp"
#include "exec/exec.hpp"
#include "exec/stream/stream.hpp"
#include "machine/profile.hpp"
#include "plan/cache.hpp"
#include "plan/plan.hpp"
#include "property/case.hpp"
#include "type/random/random.hpp"
#include "type/text/text.hpp"

namespace lacuna::testing {
namespace {

Machine tiny_machine(const Cpu& row) {
  Machine m;
  static_cast<CpuHabits&>(m) = row.habits;
  m.l1_bytes = 1024;
  m.l2_bytes = 4096;
  m.l3_bytes = 16384;
  m.tlb_entries = 4;
  m.stream_transpose_bytes = 0;
  m.stream_run_bytes = 0;
  m.parallel_bytes = 128;
  m.conflict_prefetch_level = 2;
  m.early_stores = 8;
  m.conflict_load_cycles = 8;
  m.four_lines_bytes = int64_t{1} << 30;
  m.four_lines_narrow_bytes = int64_t{1} << 30;
  m.fast_memcpy_bytes = 200;
  m.fast_memcpy_scatter_bytes = 200;
  m.learned_run_bytes = 64;
  m.learned_stride_bytes = 1;
  m.vector_bytes = 32;
  return m;
}

struct Row {
  std::string_view name;
  Machine host;
  Machine tiny;
};

std::vector<Row> make_rows() {
  std::vector<Row> rows;
  const CpuChoice& in_force = cpu_in_force();
  for (const Cpu& cpu : cpu_rows()) {
    if (in_force.why == "LACUNA_CPU" && in_force.row != &cpu) continue;
    rows.push_back({cpu.name, told_profile({&cpu, "", ""}).machine, tiny_machine(cpu)});
  }
  return rows;
}

std::string check_text(const Case& c) {
  const std::string text = print_type(*c.type);
  auto parsed = parse_type(text);
  if (!parsed) return "text does not parse: " + parsed.error().message;
  if (!equal(*parsed.value(), *c.type)) return "text parses to " + print_type(*parsed.value());
  return "";
}

// The layout's runs are the typemap's entries, adjacent ones merged.
std::string check_layout(const Case& c) {
  std::vector<TypemapEntry> want;
  auto map = typemap(*c.type, 1);
  for (const TypemapEntry& entry : map.value()) {
    if (!want.empty() && want.back().offset_bytes + want.back().size_bytes == entry.offset_bytes) {
      want.back().size_bytes += entry.size_bytes;
    } else {
      want.push_back(entry);
    }
  }
  std::vector<TypemapEntry> got;
  int64_t packed = 0;
  std::string wrong;
  const Layout layout = lower(*c.type);
  for_each_run(layout.element, [&](int64_t mem, int64_t at, int64_t bytes) {
    if (at != packed && wrong.empty())
      wrong = "packed offset " + std::to_string(at) + ", not " + std::to_string(packed);
    packed += bytes;
    if (!got.empty() && got.back().offset_bytes + got.back().size_bytes == mem) {
      got.back().size_bytes += bytes;
    } else {
      got.push_back({mem, bytes});
    }
  });
  if (!wrong.empty()) return wrong;
  if (got != want) return "the layout's runs are not the typemap's:\n" + dump(layout);
  return "";
}

// Cuts [0, total) at random places and shuffles the pieces.
std::vector<std::pair<int64_t, int64_t>> random_slices(Choices& choices, int64_t total) {
  std::vector<int64_t> cuts = {0, total};
  const int64_t n = std::min<int64_t>(total, choices.below(12));
  for (int64_t i = 0; i < n; ++i) cuts.push_back(choices.below(total + 1));
  std::sort(cuts.begin(), cuts.end());
  std::vector<std::pair<int64_t, int64_t>> slices;
  for (size_t i = 0; i + 1 < cuts.size(); ++i) slices.emplace_back(cuts[i], cuts[i + 1]);
  for (size_t i = slices.size(); i > 1; --i)
    std::swap(slices[i - 1], slices[static_cast<size_t>(choices.below(static_cast<int64_t>(i)))]);
  return slices;
}

using Slices = std::vector<std::pair<int64_t, int64_t>>;

Slices in_order(Slices slices) {
  std::sort(slices.begin(), slices.end());
  return slices;
}

// Now and then a stream that gets no buffer, or little.
int64_t stream_bytes(Choices& choices) { return choices.below(4) == 0 ? 0 : int64_t{1} << 30; }

// A piece of the message at `packed`, copied or lent; of a lent place now and then less is filled,
// and the rest comes by another way.
template <bool kPack>
void piece_through(Stream<kPack>& stream, std::byte* packed, int64_t bytes, Choices& choices) {
  std::byte* const place = choices.below(3) == 0 ? nullptr : stream.lend(bytes);
  if (place == nullptr) return stream.next(packed, bytes);
  if constexpr (kPack) {
    std::memcpy(packed, place, static_cast<size_t>(bytes));
  } else {
    std::memcpy(place, packed, static_cast<size_t>(bytes));
    const int64_t came = choices.below(4) == 0 ? choices.below(bytes + 1) : bytes;
    std::memset(place + came, 0x77, static_cast<size_t>(bytes - came));
    stream.filled(came);
    stream.next(packed + came, bytes - came);
  }
}

// All of the message through the stream, in order or, where it may be, not.
template <bool kPack>
void stream_through(Stream<kPack>& stream, std::byte* packed, int64_t total, bool may_seek,
                    Choices& choices) {
  const bool seeks = choices.below(2) == 0 && may_seek;
  Slices slices = random_slices(choices, total);
  if (!seeks) slices = in_order(std::move(slices));
  for (const auto& [begin, end] : slices) {
    if (seeks) stream.seek(begin);
    piece_through(stream, packed + begin, end - begin, choices);
    if (choices.below(8) == 0) stream.flush();
  }
}

std::string check_pack(const Case& c, const Plan& plan, const Expected& expected,
                       Choices& choices) {
  const size_t bytes = static_cast<size_t>(expected.packed_bytes());
  const Guarded mem(expected.span(), choices.below(2) == 0);
  expected.fill(mem.data(), mem.size(), 1);
  const Guarded packed(bytes, choices.below(2) == 0);
  const void* buffer = expected.buffer(mem);
  std::memset(packed.data(), 0x5A, bytes);
  pack(plan, buffer, c.count, packed.data());
  std::string wrong = differ("pack", packed.data(), expected.packed().data(), bytes);
  if (!wrong.empty()) return wrong;
  std::memset(packed.data(), 0x5A, bytes);
  // The whole as one slice: the kernels' way even where pack has a shorter one.
  pack_slice(plan, buffer, c.count, 0, expected.packed_bytes(), packed.data());
  wrong = differ("pack as one slice", packed.data(), expected.packed().data(), bytes);
  if (!wrong.empty()) return wrong;
  std::memset(packed.data(), 0x5A, bytes);
  for (const auto& [begin, end] : random_slices(choices, expected.packed_bytes())) {
    pack_slice(plan, buffer, c.count, begin, end, packed.data() + begin);
  }
  wrong = differ("pack in slices", packed.data(), expected.packed().data(), bytes);
  if (!wrong.empty()) return wrong;
  std::memset(packed.data(), 0x5A, bytes);
  Stream<true> stream(PlanPtr(&plan), address(buffer, 0), c.count, stream_bytes(choices),
                      stream_bytes(choices));
  stream_through(stream, packed.data(), expected.packed_bytes(), true, choices);
  return differ("pack as a stream", packed.data(), expected.packed().data(), bytes);
}

// Of a byte that is there twice, the last value stays, if slices come in order.
std::string check_unpack(const Case& c, const Plan& plan, const Expected& expected,
                         Choices& choices) {
  const size_t bytes = static_cast<size_t>(expected.packed_bytes());
  const Guarded packed(bytes, choices.below(2) == 0);
  if (bytes > 0) std::memcpy(packed.data(), expected.packed().data(), bytes);
  const Guarded mem(expected.span(), choices.below(2) == 0);
  void* buffer = expected.buffer(mem);
  const std::vector<std::byte> want = expected.unpacked();
  expected.fill(mem.data(), mem.size(), 2);
  unpack(plan, packed.data(), c.count, buffer);
  std::string wrong = differ("unpack", mem.data(), want.data(), want.size());
  if (!wrong.empty()) return wrong;
  expected.fill(mem.data(), mem.size(), 2);
  unpack_slice(plan, packed.data(), c.count, 0, expected.packed_bytes(), buffer);
  wrong = differ("unpack as one slice", mem.data(), want.data(), want.size());
  if (!wrong.empty()) return wrong;
  expected.fill(mem.data(), mem.size(), 2);
  Slices slices = random_slices(choices, expected.packed_bytes());
  if (!c.receivable) slices = in_order(std::move(slices));
  for (const auto& [begin, end] : slices) {
    unpack_slice(plan, packed.data() + begin, c.count, begin, end, buffer);
  }
  wrong = differ("unpack in slices", mem.data(), want.data(), want.size());
  if (!wrong.empty()) return wrong;
  expected.fill(mem.data(), mem.size(), 2);
  Stream<false> stream(PlanPtr(&plan), address(buffer, 0), c.count, stream_bytes(choices),
                       stream_bytes(choices));
  stream_through(stream, packed.data(), expected.packed_bytes(), c.receivable, choices);
  stream.flush();
  return differ("unpack as a stream", mem.data(), want.data(), want.size());
}

// A type of as many bytes as the case has in all: what a copy may go to.
Case copy_target(const Case& c, int64_t bytes, Choices& choices) {
  Case target = c;
  target.seed = c.seed + 7;
  const int64_t way = choices.below(4);
  if (way == 0 || bytes == 0) return target;  // the same again
  target.count = 1;
  const TypePtr byte = parse_type("byte").value();
  if (way == 1) {  // equal runs at a stride: common digits are likely
    int64_t run = 1 + choices.below(std::min<int64_t>(bytes, 256));
    while (bytes % run != 0) --run;
    const int64_t stride = run + choices.below(40);
    target.type =
        make_hvector(bytes / run, run, choices.below(2) == 0 ? stride : -stride, byte).value();
    return target;
  }
  RandomOptions options;
  options.overlap = choices.below(4) == 0;
  options.max_entries = 512;
  const TypePtr other = random_type(choices.next(), options);
  const int64_t most =
      std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, other->signature.length));
  const int64_t n = other->size_bytes == 0 ? 0 : std::min(most, bytes / other->size_bytes);
  const int64_t rest = bytes - n * other->size_bytes;
  const int64_t behind =
      std::max<int64_t>(0, other->true_ub) + std::max<int64_t>(0, n * other->extent()) + 3;
  target.type = make_struct({n, rest}, {0, behind}, {other, byte}).value();
  if (n > 0 && (behind > (int64_t{1} << 23) || -n * other->extent() > (int64_t{1} << 23)))
    target.type = make_contiguous(bytes, byte).value();
  return target;
}

std::string check_copy(const Case& c, const Plan& plan, const Expected& expected,
                       const Case& target_case, const Expected& target,
                       const std::vector<std::byte>& want, Choices& choices) {
  const PlanPtr to = make_plan(target_case.type, plan.kernels(), plan.machine());
  const Guarded from_mem(expected.span(), choices.below(2) == 0);
  expected.fill(from_mem.data(), from_mem.size(), 1);
  const Guarded to_mem(target.span(), choices.below(2) == 0);
  target.fill(to_mem.data(), to_mem.size(), 2);
  copy(plan, expected.buffer(from_mem), c.count, *to, target.buffer(to_mem), target_case.count);
  const std::string wrong = differ("copy", to_mem.data(), want.data(), want.size());
  if (wrong.empty()) return "";
  return wrong + "\n" +
         std::string(copy_way_name(copy_way(plan, c.count, *to, target_case.count))) + " to " +
         repro(target_case);
}

// The same type at absolute addresses, handed over with a null buffer as MPI_BOTTOM is.
std::string check_bottom(const Case& c, const Expected& expected, const KernelTable& kernels,
                         const Machine& host) {
  if (c.count == 0) return "";
  const Guarded mem(expected.span(), true);
  expected.fill(mem.data(), mem.size(), 1);
  const int64_t at = static_cast<int64_t>(reinterpret_cast<uintptr_t>(expected.buffer(mem)));
  auto absolute = make_hindexed({c.count}, {at}, c.type);
  if (!absolute) return "absolute: " + absolute.error().message;
  const PlanPtr plan = make_plan(absolute.value(), kernels, host);
  std::vector<std::byte> packed(expected.packed().size());
  pack(*plan, nullptr, 1, packed.data());
  return differ("pack from MPI_BOTTOM", packed.data(), expected.packed().data(), packed.size());
}

// The plan that a type gets which was made anew, from a cache that is too small for all of them.
PlanPtr cached(const Case& c, const KernelTable& kernels, const Machine& host, std::string* wrong) {
  static PlanCache& cache = *new PlanCache(4, 1 << 20);
  const PlanPtr first = cache.find_or_make(c.type, kernels, host);
  const TypePtr again = parse_type(print_type(*c.type)).value();
  const PlanPtr second = cache.find_or_make(again, kernels, host);
  if (!equal(first->type(), *c.type) || &first->kernels() != &kernels)
    *wrong = "the cached plan is another type's: " + print_type(first->type());
  if (again->hash != c.type->hash) *wrong = "equal types have unequal hashes";
  if (first->memory_bytes() < 4096 && first != second) *wrong = "planned twice";
  return second;
}

std::string check(const Case& c) {
  static const std::vector<Row>& rows = *new std::vector<Row>(make_rows());
  const Row& row = rows[c.seed % rows.size()];
  std::string wrong = check_text(c);
  if (wrong.empty()) wrong = check_layout(c);
  if (!wrong.empty()) return wrong;
  const Expected expected(c);
  Choices choices(c.seed + 1);
  const Case target_case = copy_target(c, expected.packed_bytes(), choices);
  const Expected target(target_case);
  const std::vector<std::byte> copied = target.unpacked(expected.packed());
  for (const KernelTable* kernels : kernel_tables()) {
    for (const Machine* host : {&row.host, &row.tiny}) {
      // Half of all checks are of plans from a cache.
      const PlanPtr plan = host == &row.tiny ? make_plan(c.type, *kernels, *host)
                                             : cached(c, *kernels, *host, &wrong);
      if (!wrong.empty()) return wrong;
      wrong = check_pack(c, *plan, expected, choices);
      if (wrong.empty()) wrong = check_unpack(c, *plan, expected, choices);
      if (wrong.empty())
        wrong = check_copy(c, *plan, expected, target_case, target, copied, choices);
      if (!wrong.empty()) {
        return std::string(kernels->isa) + ", " + std::string(row.name) +
               (host == &row.tiny ? ", tiny machine: " : ": ") + wrong + "\n" +
               explain(*plan, c.count);
      }
    }
    wrong = check_bottom(c, expected, *kernels, row.host);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace
}  // namespace lacuna::testing

int main(int argc, char** argv) {
  return lacuna::testing::run_seeds(argc, argv, argv[0], lacuna::testing::check);
}
