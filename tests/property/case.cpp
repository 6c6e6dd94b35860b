// SPDX-License-Identifier: BSD-3-Clause
#include "property/case.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "type/random/random.hpp"
#include "type/text/text.hpp"

namespace lacuna::testing {
namespace {

constexpr int64_t kMaxEntries = 1 << 15;  // of all elements together
constexpr int64_t kMaxSpan = int64_t{1} << 23;

// The memory that `count` elements span, relative to the buffer's address.
void span_of(const Type& type, int64_t count, int64_t* low, int64_t* high) {
  const int64_t last = (count - 1) * type.extent();
  *low = type.true_lb + std::min<int64_t>(0, last);
  *high = type.true_ub + std::max<int64_t>(0, last);
}

// The same several times, closer together than it is long: few random types overlap by themselves.
TypePtr closer(TypePtr type, Choices* choices) {
  if (type->true_extent() < 2) return type;
  int64_t step = choices->below(type->true_extent());
  if (choices->below(4) == 0) step = -step;
  const Result<TypePtr> made = choices->below(3) == 0
                                   ? make_resized(type->lb, step, type)
                                   : make_hvector(2 + choices->below(7), 1, step, type);
  return made ? *made : type;
}

}  // namespace

uint64_t Choices::next() {  // splitmix64
  uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

Case with_type(const Case& c, TypePtr type) {
  Case other = c;
  other.type = std::move(type);
  const Type& t = *other.type;
  const int64_t entries = std::max<int64_t>(1, t.signature.length);
  other.count = std::min(other.count, std::max<int64_t>(1, kMaxEntries / entries));
  if (t.extent() != 0)
    other.count = std::min(other.count, std::max<int64_t>(1, kMaxSpan / std::abs(t.extent())));
  other.receivable = !has_overlap(t, other.count);
  return other;
}

Case make_case(uint64_t seed) {
  Choices choices(seed);
  RandomOptions options;
  options.overlap = choices.below(4) == 0;
  options.max_depth = 1 + static_cast<int>(choices.below(5));
  if (choices.below(8) != 0) options.max_entries = 512;  // many small cases, some large
  static constexpr int64_t kCounts[] = {0, 1, 1, 1, 2, 3, 7, 64, 1000, 20000};
  Case c;
  c.seed = seed;
  c.count = kCounts[choices.below(10)];
  TypePtr type = random_type(seed, options);
  if (options.overlap && choices.below(2) == 0) type = closer(std::move(type), &choices);
  return with_type(c, std::move(type));
}

std::string repro(const Case& c) {
  return "seed " + std::to_string(c.seed) + ", count " + std::to_string(c.count) + ": " +
         print_type(*c.type);
}

Expected::Expected(const Case& c) : seed_(c.seed) {
  auto map = typemap(*c.type, c.count);
  if (!map) {
    std::fprintf(stderr, "typemap: %s\n", map.error().message.c_str());
    std::abort();
  }
  entries_ = std::move(map).value();
  if (!entries_.empty()) span_of(*c.type, c.count, &low_, &high_);
  std::vector<std::byte> mem(span());
  fill(mem.data(), mem.size(), 1);
  for (const TypemapEntry& entry : entries_) {
    const std::byte* at = mem.data() + (entry.offset_bytes - low_);
    packed_.insert(packed_.end(), at, at + entry.size_bytes);
  }
}

void Expected::fill(std::byte* p, size_t bytes, uint64_t salt) const {
  std::vector<std::byte>& made = made_.at(salt);
  if (made.size() < bytes) {
    made.resize(bytes);
    Choices choices(seed_ ^ (salt << 48));
    for (size_t i = 0; i < bytes; i += 8) {
      const uint64_t word = choices.next();
      std::memcpy(made.data() + i, &word, std::min<size_t>(8, bytes - i));
    }
  }
  if (bytes > 0) std::memcpy(p, made.data(), bytes);
}

std::vector<std::byte> Expected::unpacked(const std::vector<std::byte>& stream) const {
  std::vector<std::byte> mem(span());
  fill(mem.data(), mem.size(), 2);
  const std::byte* from = stream.data();
  for (const TypemapEntry& entry : entries_) {
    std::memcpy(mem.data() + (entry.offset_bytes - low_), from,
                static_cast<size_t>(entry.size_bytes));
    from += entry.size_bytes;
  }
  return mem;
}

std::string differ(const char* what, const std::byte* got, const std::byte* want, size_t bytes) {
  if (bytes == 0 || std::memcmp(got, want, bytes) == 0) return "";
  const size_t at = static_cast<size_t>(std::mismatch(got, got + bytes, want).first - got);
  return std::string(what) + ": byte " + std::to_string(at) + " of " + std::to_string(bytes) +
         " is " + std::to_string(std::to_integer<int>(got[at])) + ", not " +
         std::to_string(std::to_integer<int>(want[at]));
}

int run_seeds(int argc, char** argv, const char* program,
              const std::function<std::string(const Case&)>& check) {
  uint64_t first = 0;
  uint64_t seeds = 10000;
  for (int i = 1; i + 1 < argc; i += 2) {
    const uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--seeds") == 0) {
      seeds = value;
    } else if (std::strcmp(argv[i], "--first") == 0) {
      first = value;
    } else {
      std::fprintf(stderr, "%s [--first SEED] [--seeds N]\n", program);
      return 2;
    }
  }
  int failures = 0;
  for (uint64_t seed = first; seed < first + seeds && failures < 5; ++seed) {
    const Case c = make_case(seed);
    const std::string wrong = check(c);
    if (wrong.empty()) continue;
    ++failures;
    std::fprintf(stderr, "FAILED %s\n  %s\n", repro(c).c_str(), wrong.c_str());
    auto still_fails = [&](const TypePtr& type) { return !check(with_type(c, type)).empty(); };
    const Case small = with_type(c, shrink_type(c.type, still_fails, 2000));
    std::fprintf(stderr, "  smallest: %s\n  %s\n  again: %s --first %llu --seeds 1\n",
                 repro(small).c_str(), check(small).c_str(), program,
                 static_cast<unsigned long long>(seed));
  }
  std::fprintf(stderr, "%s: %llu seeds from %llu, %d failures\n", program,
               static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(first),
               failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace lacuna::testing
