// SPDX-License-Identifier: BSD-3-Clause
//
// memcpy of as many bytes as the problem has data: the cost of packing without gaps.
#include <algorithm>
#include <cstring>

#include "bench/engine/rival.hpp"

namespace lacuna::bench {
namespace {

class Memcpy : public Rival {
 public:
  Memcpy() : Rival("memcpy") {}

  bool is_checked() const override { return false; }

  bool prepare(const Problem& problem) override {
    bytes_ = static_cast<size_t>(problem.packed_bytes());
    dense_ = problem.dense();
    return true;
  }

  void pack(const std::byte* /*mem*/, std::byte* packed, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) {
      std::memcpy(packed, dense_, bytes_);
      keep(packed);
    }
  }

  void unpack(const std::byte* packed, std::byte* /*mem*/, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) {
      std::memcpy(dense_, packed, bytes_);
      keep(dense_);
    }
  }

 private:
  size_t bytes_ = 0;
  std::byte* dense_ = nullptr;
};

}  // namespace

std::unique_ptr<Rival> memcpy_rival() { return std::make_unique<Memcpy>(); }

}  // namespace lacuna::bench
