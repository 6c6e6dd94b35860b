// SPDX-License-Identifier: BSD-3-Clause
//
// Runs the kernels' bodies on the host and compares them with the typemap. Random types are packed
// and unpacked, whole and in random slices, copied from layout to layout, and moved as many
// messages in one launch, at all word widths, between guard pages. Gap bytes are compared, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "gpu/cases.hpp"
#include "gpu/host_grid.hpp"
#include "gpu/placed_plan.hpp"
#include "type/text/text.hpp"

namespace lacuna::gpu {
namespace {

using testing::Case;
using testing::Choices;
using testing::differ;
using testing::Expected;
using testing::Guarded;

constexpr uint64_t kEnoughForAllWays = 5000;
#if defined(__SANITIZE_ADDRESS__)
constexpr uint64_t kSeedsOfShard = 500;
#else
constexpr uint64_t kSeedsOfShard = 5000;
#endif

TEST(Divisor, DividesAsTheProcessorDoes) {
  Choices choices(1);
  for (int i = 0; i < 200000; ++i) {
    const auto count = static_cast<uint32_t>(1 + (choices.next() >> (34 + choices.below(30))));
    const Divisor divisor = make_divisor(count);
    const uint64_t wide = choices.next() >> (1 + choices.below(60));
    const auto narrow = static_cast<uint32_t>(choices.next() >> (33 + choices.below(30)));
    ASSERT_EQ(quotient(wide, divisor), wide / count);
    ASSERT_EQ(quotient(narrow, divisor), narrow / count);
    const uint64_t edge = wide / count * count;
    if (edge > 0) {
      ASSERT_EQ(quotient(edge - 1, divisor), (edge - 1) / count) << count;
    }
    ASSERT_EQ(quotient(edge, divisor), edge / count) << count;
  }
  for (const uint32_t count : {uint32_t{1} << 30, (uint32_t{1} << 30) - 1, uint32_t{3}}) {
    const Divisor divisor = make_divisor(count);
    for (const uint64_t x : {(uint64_t{1} << 63) - 1, uint64_t{count} * 5 - 1, uint64_t{count} * 5})
      ASSERT_EQ(quotient(x, divisor), x / count);
    ASSERT_EQ(quotient((uint32_t{1} << 31) - 1, divisor), ((uint32_t{1} << 31) - 1) / count);
  }
}

struct Seen {
  std::set<std::string> ways;
  void note(const Launch& launch) {
    static const char* const kNames[] = {"nothing", "run", "words", "bytes", "tiles", "many"};
    std::string name = kNames[static_cast<int>(launch.way)];
    if (launch.way == Launch::Way::kWords || launch.way == Launch::Way::kBytes) {
      name += launch.is_record && launch.tables ? " of listed records "
              : launch.is_record                ? " of records "
              : launch.ranked                   ? " ranked "
              : launch.tables                   ? " listed "
                                                : " strided ";
      name += std::to_string(launch.loops);
      if (launch.words.of_thread == 1) ways.insert("a word a thread");
    }
    if (launch.way == Launch::Way::kTiles) name += launch.parts == 1 ? " of words" : " of parts";
    ways.insert(name);
  }
};

class Check {
 public:
  Check(const Case& c, Seen& seen) : case_(c), expected_(c), choices_(c.seed + 7), seen_(seen) {}

  std::string all() {
    auto made = placed_plan(*case_.type, case_.count);
    if (!made) return made.error().message;
    placed_ = std::move(made).value();
    if (placed_.plan.size != expected_.packed_bytes()) return "its size is wrong";
    std::string wrong = pack();
    if (wrong.empty() && case_.receivable) wrong = unpack();
    if (wrong.empty()) wrong = many();
    if (wrong.empty()) wrong = copy();
    return wrong;
  }

 private:
  // Memory between guard pages, sometimes misaligned.
  struct Buffer {
    Buffer(size_t bytes, Choices& choices)
        : pad(choices.below(3) == 0 ? static_cast<size_t>(choices.below(16)) : 0),
          upper(choices.below(2) == 0),
          guarded(bytes + pad, upper) {}
    std::byte* data() const { return guarded.data() + (upper ? 0 : pad); }
    size_t pad;
    bool upper;
    Guarded guarded;
  };

  int most_log() { return choices_.below(3) == 0 ? static_cast<int>(choices_.below(5)) : 4; }

  // Whole, or cut at random places, half of them at multiples of 16.
  std::vector<std::pair<int64_t, int64_t>> slices(bool whole) {
    const int64_t total = expected_.packed_bytes();
    std::vector<int64_t> cuts = {0, total};
    const int64_t unit = choices_.below(2) == 0 ? 16 : 1;
    for (int64_t i = whole ? 0 : choices_.below(6); i > 0; --i)
      cuts.push_back(choices_.below(total + 1) / unit * unit);
    std::sort(cuts.begin(), cuts.end());
    std::vector<std::pair<int64_t, int64_t>> result;
    for (size_t i = 0; i + 1 < cuts.size(); ++i) result.emplace_back(cuts[i], cuts[i + 1]);
    return result;
  }

  Launch chosen(const Buffer& mem, std::byte* packed, int64_t begin, int64_t end, bool is_pack) {
    const Forced forced = {most_log(), uint64_t{1} << (11 * choices_.below(3))};
    return choose(placed_.plan, mem.data() - expected_.low(), packed, begin, end, is_pack, forced);
  }

  std::string pack() {
    const auto bytes = static_cast<size_t>(expected_.packed_bytes());
    const Buffer mem(expected_.span(), choices_);
    expected_.fill(mem.data(), expected_.span(), 1);
    const Buffer packed(bytes, choices_);
    for (const bool whole : {true, false}) {
      if (bytes > 0) std::memset(packed.data(), 0x5A, bytes);
      for (const auto& [begin, end] : slices(whole)) {
        std::byte* const to = packed.data() + begin;
        const Launch launch = chosen(mem, to, begin, end, true);
        seen_.note(launch);
        run_on_host<true>(placed_.plan, launch, mem.data() - expected_.low(), to, begin, end);
      }
      const std::string wrong = differ(whole ? "pack" : "pack in slices", packed.data(),
                                       expected_.packed().data(), bytes);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  std::string unpack() {
    const auto bytes = static_cast<size_t>(expected_.packed_bytes());
    const Buffer mem(expected_.span(), choices_);
    const Buffer packed(bytes, choices_);
    if (bytes > 0) std::memcpy(packed.data(), expected_.packed().data(), bytes);
    const std::vector<std::byte> want = expected_.unpacked();
    for (const bool whole : {true, false}) {
      expected_.fill(mem.data(), expected_.span(), 2);
      for (const auto& [begin, end] : slices(whole)) {
        std::byte* const from = packed.data() + begin;
        const Launch launch = chosen(mem, from, begin, end, false);
        run_on_host<false>(placed_.plan, launch, mem.data() - expected_.low(), from, begin, end);
      }
      const std::string wrong =
          differ(whole ? "unpack" : "unpack in slices", mem.data(), want.data(), want.size());
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  // The slices of a message as the messages of one launch.
  std::string many() {
    const auto bytes = static_cast<size_t>(expected_.packed_bytes());
    if (bytes == 0) return "";
    const Buffer mem(expected_.span(), choices_);
    expected_.fill(mem.data(), expected_.span(), 1);
    const Buffer packed(bytes, choices_);
    std::vector<Message> messages;
    uint32_t tiles = 0;
    for (const auto& [begin, end] : slices(false)) {
      if (begin == end) continue;
      Message message = message_of(placed_.plan, mem.data() - expected_.low(),
                                   packed.data() + begin, begin, end, most_log());
      message.first_tile = tiles;
      tiles += tiles_of(placed_.plan, message);
      messages.push_back(message);
    }
    many_on_host<true>(messages.data(), static_cast<uint32_t>(messages.size()), tiles);
    std::string wrong = differ("many packed", packed.data(), expected_.packed().data(), bytes);
    if (!wrong.empty() || !case_.receivable) return wrong;
    expected_.fill(mem.data(), expected_.span(), 2);
    const std::vector<std::byte> want = expected_.unpacked();
    many_on_host<false>(messages.data(), static_cast<uint32_t>(messages.size()), tiles);
    return differ("many unpacked", mem.data(), want.data(), want.size());
  }

  // To runs at a stride, or to the same type.
  std::string copy() {
    const int64_t bytes = expected_.packed_bytes();
    if (bytes == 0 || placed_.plan.whole_piece() == nullptr) return "";
    Case other = case_;
    if (!case_.receivable || choices_.below(2) == 0) {
      int64_t run = 1 + choices_.below(std::min<int64_t>(bytes, 256));
      while (bytes % run != 0) --run;
      other.count = 1;
      other.receivable = true;
      other.type =
          make_hvector(bytes / run, run, run + choices_.below(3) * 8, parse_type("byte").value())
              .value();
    }
    const Expected target(other);
    auto to = placed_plan(*other.type, other.count);
    if (!to) return to.error().message;
    if (to.value().plan.whole_piece() == nullptr) return "";
    const Buffer from_mem(expected_.span(), choices_);
    const Buffer to_mem(target.span(), choices_);
    expected_.fill(from_mem.data(), expected_.span(), 1);
    target.fill(to_mem.data(), target.span(), 2);
    int log = 0;
    const Placed placed_to = std::move(to).value();
    const CopyJob job = copy_job(placed_.plan, from_mem.data() - expected_.low(), placed_to.plan,
                                 to_mem.data() - target.low(), &log, most_log());
    with_log(log, HostCopy{job});
    const std::vector<std::byte> want = target.unpacked(expected_.packed());
    return differ("copy", to_mem.data(), want.data(), want.size());
  }

  const Case& case_;
  Expected expected_;
  Choices choices_;
  Seen& seen_;
  Placed placed_;
};

class GpuTypes : public ::testing::TestWithParam<uint64_t> {};

TEST_P(GpuTypes, AreMovedAsTheTypemapSays) {
  Seen seen;
  for (uint64_t i = 0; i < kSeedsOfShard; ++i) {
    const Case c = testing::device_case(GetParam() * kSeedsOfShard + i);
    const std::string wrong = Check(c, seen).all();
    if (wrong.empty()) continue;
    const Placed placed = placed_plan(*c.type, c.count).value();
    FAIL() << testing::repro(c) << "\n" << wrong << "\n" << text_of(placed.plan);
  }
  if (kSeedsOfShard < kEnoughForAllWays) return;
  for (const char* way : {"run",
                          "words strided 1",
                          "words strided 2",
                          "words strided 3",
                          "words strided 6",
                          "words listed 1",
                          "words listed 2",
                          "words ranked 1",
                          "words ranked 6",
                          "bytes strided 1",
                          "bytes strided 3",
                          "bytes listed 1",
                          "bytes ranked 1",
                          "bytes of records 1",
                          "words of records 1",
                          "words of listed records 1",
                          "bytes of listed records 1",
                          "bytes ranked 6",
                          "tiles of words",
                          "many",
                          "a word a thread"})
    EXPECT_TRUE(seen.ways.contains(way)) << way;
}
INSTANTIATE_TEST_SUITE_P(Seeds, GpuTypes, ::testing::Values(0, 1, 2, 3));

}  // namespace
}  // namespace lacuna::gpu
