// SPDX-License-Identifier: BSD-3-Clause
//
// lacuna: through the C API of the shared library, as a program uses it, in whole and in slices;
// and by the C++ below it with the kernels of one instruction set, which the C API does not choose.
#include "lacuna/lacuna.h"

#include <algorithm>
#include <numeric>

#include "bench/engine/rival.hpp"
#include "exec/exec.hpp"
#include "plan/plan.hpp"
#include "type/text.hpp"

namespace lacuna::bench {
namespace {

constexpr int64_t kSliceBytes = 8192;

class ThroughApi : public Rival {
 public:
  explicit ThroughApi(std::string name = "lacuna") : Rival(std::move(name)) {}

  bool prepare(const Problem& problem) override {
    lacuna_type* type = nullptr;
    if (lacuna_type_parse(print_type(*problem.type()).c_str(), &type) != LACUNA_OK) return false;
    const bool is_planned = lacuna_plan_create(type, &plan_) == LACUNA_OK;
    lacuna_type_destroy(type);
    count_ = problem.count();
    return is_planned;
  }

  void pack(const std::byte* mem, std::byte* packed, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) (void)!lacuna_pack(plan_, mem, count_, packed);
  }

  void unpack(const std::byte* packed, std::byte* mem, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) (void)!lacuna_unpack(plan_, packed, count_, mem);
  }

  void release() override {
    lacuna_plan_destroy(plan_);
    plan_ = nullptr;
  }

 protected:
  lacuna_plan* plan_ = nullptr;
  int64_t count_ = 0;
};

// As a library does that sends a message in fragments: from its begin to its end, by a stream.
class Streamed : public ThroughApi {
 public:
  Streamed() : ThroughApi("lacuna-slices") {}

  bool prepare(const Problem& problem) override {
    bytes_ = problem.packed_bytes();
    return problem.row().is_sliced && ThroughApi::prepare(problem);
  }

  void pack(const std::byte* mem, std::byte* packed, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) {
      lacuna_pack_stream* stream = nullptr;
      (void)!lacuna_pack_stream_create(plan_, mem, count_, &stream);
      for (int64_t at = 0; at < bytes_; at += kSliceBytes)
        (void)!lacuna_pack_stream_next(stream, std::min(kSliceBytes, bytes_ - at), packed + at);
      lacuna_pack_stream_destroy(stream);
    }
  }

  void unpack(const std::byte* packed, std::byte* mem, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) {
      lacuna_unpack_stream* stream = nullptr;
      (void)!lacuna_unpack_stream_create(plan_, mem, count_, &stream);
      for (int64_t at = 0; at < bytes_; at += kSliceBytes)
        (void)!lacuna_unpack_stream_next(stream, std::min(kSliceBytes, bytes_ - at), packed + at);
      lacuna_unpack_stream_destroy(stream);
    }
  }

 private:
  int64_t bytes_ = 0;
};

// As fragments may arrive: each slice alone, in random order.
class Shuffled : public ThroughApi {
 public:
  explicit Shuffled(std::string name = "lacuna-slices-alone") : ThroughApi(std::move(name)) {}

  bool prepare(const Problem& problem) override {
    if (!problem.row().is_sliced || !ThroughApi::prepare(problem)) return false;
    bytes_ = problem.packed_bytes();
    begins_.clear();
    for (int64_t begin = 0; begin < bytes_; begin += kSliceBytes) begins_.push_back(begin);
    uint64_t state = 1;
    for (size_t i = begins_.size(); i > 1; --i) {
      state = state * 6364136223846793005U + 1442695040888963407U;  // Knuth, MMIX
      std::swap(begins_[i - 1], begins_[(state >> 33) % i]);
    }
    return true;
  }

  void pack(const std::byte* mem, std::byte* packed, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) {
      for (const int64_t begin : begins_) {
        (void)!lacuna_pack_slice(plan_, mem, count_, begin, end_of(begin), packed + begin);
      }
    }
  }

  void unpack(const std::byte* packed, std::byte* mem, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) {
      for (const int64_t begin : begins_) {
        (void)!lacuna_unpack_slice(plan_, packed + begin, count_, begin, end_of(begin), mem);
      }
    }
  }

 protected:
  int64_t end_of(int64_t begin) const { return std::min(begin + kSliceBytes, bytes_); }

  int64_t bytes_ = 0;
  std::vector<int64_t> begins_;
};

// The same order, by a stream that keeps what slices have in common.
class Sought : public Shuffled {
 public:
  Sought() : Shuffled("lacuna-slices-random") {}

  void pack(const std::byte* mem, std::byte* packed, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) {
      lacuna_pack_stream* stream = nullptr;
      (void)!lacuna_pack_stream_create(plan_, mem, count_, &stream);
      for (const int64_t begin : begins_) {
        (void)!lacuna_pack_stream_seek(stream, begin);
        (void)!lacuna_pack_stream_next(stream, end_of(begin) - begin, packed + begin);
      }
      lacuna_pack_stream_destroy(stream);
    }
  }

  void unpack(const std::byte* packed, std::byte* mem, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) {
      lacuna_unpack_stream* stream = nullptr;
      (void)!lacuna_unpack_stream_create(plan_, mem, count_, &stream);
      for (const int64_t begin : begins_) {
        (void)!lacuna_unpack_stream_seek(stream, begin);
        (void)!lacuna_unpack_stream_next(stream, end_of(begin) - begin, packed + begin);
      }
      lacuna_unpack_stream_destroy(stream);
    }
  }
};

class OneIsa : public Rival {
 public:
  explicit OneIsa(const std::string& isa) : Rival("lacuna-" + isa), table_(find_table(isa)) {}

  bool prepare(const Problem& problem) override {
    if (table_ == nullptr) return false;
    plan_ = make_plan(problem.type(), *table_);
    count_ = problem.count();
    return true;
  }

  void pack(const std::byte* mem, std::byte* packed, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) lacuna::pack(*plan_, mem, count_, packed);
  }

  void unpack(const std::byte* packed, std::byte* mem, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) lacuna::unpack(*plan_, packed, count_, mem);
  }

  void release() override { plan_.reset(); }

 private:
  const KernelTable* table_;
  PlanPtr plan_;
  int64_t count_ = 0;
};

}  // namespace

std::unique_ptr<Rival> lacuna_rival() { return std::make_unique<ThroughApi>(); }

std::unique_ptr<Rival> lacuna_slices_rival(Slices slices) {
  if (slices == Slices::kInOrder) return std::make_unique<Streamed>();
  if (slices == Slices::kRandom) return std::make_unique<Sought>();
  return std::make_unique<Shuffled>();
}

std::unique_ptr<Rival> lacuna_isa_rival(const std::string& isa) {
  return std::make_unique<OneIsa>(isa);
}

}  // namespace lacuna::bench
