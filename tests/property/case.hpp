// SPDX-License-Identifier: BSD-3-Clause
//
// One random case: a type, a count, and what its bytes must become according to the typemap. Shared
// by the engine's property test and by the differential test against MPI libraries.
#ifndef LACUNA_TESTS_PROPERTY_CASE_HPP_
#define LACUNA_TESTS_PROPERTY_CASE_HPP_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "property/guarded.hpp"
#include "type/type.hpp"
#include "type/typemap.hpp"

namespace lacuna::testing {

struct Case {
  uint64_t seed = 0;
  TypePtr type;
  int64_t count = 1;
  bool receivable = true;  // no two entries share a byte
};

// The case of a seed; and the same with another type (for shrinking).
Case make_case(uint64_t seed);
Case with_type(const Case& c, TypePtr type);

// "seed 17, count 3: vector(...)": enough to repeat it.
std::string repro(const Case& c);

// A small deterministic generator for choices inside a check.
class Choices {
 public:
  explicit Choices(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  uint64_t next();
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(next() % static_cast<uint64_t>(bound));
  }

 private:
  uint64_t state_;
};

// The buffers of a case: memory that holds exactly the span of its bytes, and what packing must
// give.
class Expected {
 public:
  explicit Expected(const Case& c);

  const std::vector<TypemapEntry>& entries() const { return entries_; }
  int64_t packed_bytes() const { return static_cast<int64_t>(packed_.size()); }
  // The address to hand to MPI or the engine for this memory.
  std::byte* buffer(const Guarded& mem) const { return mem.data() - low_; }
  int64_t low() const { return low_; }
  size_t span() const { return static_cast<size_t>(high_ - low_); }

  // Random bytes, the same for the same case. The salt is 1 or 2.
  void fill(std::byte* p, size_t bytes, uint64_t salt) const;
  // The packed stream of memory filled with salt 1.
  const std::vector<std::byte>& packed() const { return packed_; }
  // The memory (its whole span) after that stream, or another of the same size, was unpacked into
  // memory filled with salt 2.
  std::vector<std::byte> unpacked() const { return unpacked(packed_); }
  std::vector<std::byte> unpacked(const std::vector<std::byte>& stream) const;

 private:
  uint64_t seed_;
  std::vector<TypemapEntry> entries_;
  int64_t low_ = 0;
  int64_t high_ = 0;
  std::vector<std::byte> packed_;
  // By salt: a case fills its memory dozens of times, which took more than half of its time.
  mutable std::array<std::vector<std::byte>, 3> made_;
};

// "" where bytes agree, else what differs first.
std::string differ(const char* what, const std::byte* got, const std::byte* want, size_t bytes);

// Runs `check` (it answers "" or what is wrong) on seeds [first, first + seeds); on a failure
// shrinks the type, prints both, and goes on; the exit code of a test program. Progress goes to
// stderr.
int run_seeds(int argc, char** argv, const char* program,
              const std::function<std::string(const Case&)>& check);

}  // namespace lacuna::testing

#endif  // LACUNA_TESTS_PROPERTY_CASE_HPP_
