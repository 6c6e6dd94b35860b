// SPDX-License-Identifier: BSD-3-Clause
//
// lacuna in slices of 8 KiB, as a library moves a message in fragments: copied into a packed
// buffer, or lent, without a packed buffer.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "bench/engine/rivals/through_api.hpp"

namespace lacuna::bench {
namespace {

constexpr int64_t kSliceBytes = 8192;

class Sliced : public ThroughApi {
 public:
  Sliced(std::string name, bool is_shuffled)
      : ThroughApi(std::move(name)), is_shuffled_(is_shuffled) {}

  bool prepare(const Problem& problem) override {
    if (!problem.row().is_sliced || !ThroughApi::prepare(problem)) return false;
    bytes_ = problem.packed_bytes();
    begins_.clear();
    for (int64_t begin = 0; begin < bytes_; begin += kSliceBytes) begins_.push_back(begin);
    uint64_t state = 1;
    for (size_t i = is_shuffled_ ? begins_.size() : 0; i > 1; --i) {
      state = state * 6364136223846793005U + 1442695040888963407U;  // Knuth, MMIX
      std::swap(begins_[i - 1], begins_[(state >> 33) % i]);
    }
    return true;
  }

 protected:
  int64_t length(int64_t begin) const { return std::min(kSliceBytes, bytes_ - begin); }

  // Calls step(stream, begin, bytes) for each slice, after a seek if the order requires it.
  template <typename Step>
  void packing(const std::byte* mem, Step step) {
    lacuna_pack_stream* stream = nullptr;
    (void)!lacuna_pack_stream_create(plan_, mem, count_, &stream);
    for (const int64_t begin : begins_) {
      if (is_shuffled_) (void)!lacuna_pack_stream_seek(stream, begin);
      step(stream, begin, length(begin));
    }
    lacuna_pack_stream_destroy(stream);
  }

  template <typename Step>
  void unpacking(std::byte* mem, Step step) {
    lacuna_unpack_stream* stream = nullptr;
    (void)!lacuna_unpack_stream_create(plan_, mem, count_, &stream);
    for (const int64_t begin : begins_) {
      if (is_shuffled_) (void)!lacuna_unpack_stream_seek(stream, begin);
      step(stream, begin, length(begin));
    }
    lacuna_unpack_stream_destroy(stream);
  }

  const bool is_shuffled_;
  int64_t bytes_ = 0;
  std::vector<int64_t> begins_;
};

// By a stream: from begin to end, or in random order.
class Copied : public Sliced {
 public:
  using Sliced::Sliced;

  void pack(const std::byte* mem, std::byte* packed, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) {
      packing(mem, [&](lacuna_pack_stream* stream, int64_t begin, int64_t bytes) {
        (void)!lacuna_pack_stream_next(stream, bytes, packed + begin);
      });
    }
  }

  void unpack(const std::byte* packed, std::byte* mem, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) {
      unpacking(mem, [&](lacuna_unpack_stream* stream, int64_t begin, int64_t bytes) {
        (void)!lacuna_unpack_stream_next(stream, bytes, packed + begin);
      });
    }
  }
};

// Each slice by itself, without a stream.
class Alone : public Sliced {
 public:
  using Sliced::Sliced;

  void pack(const std::byte* mem, std::byte* packed, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) {
      for (const int64_t begin : begins_) {
        (void)!lacuna_pack_slice(plan_, mem, count_, begin, begin + length(begin), packed + begin);
      }
    }
  }

  void unpack(const std::byte* packed, std::byte* mem, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) {
      for (const int64_t begin : begins_) {
        (void)!lacuna_unpack_slice(plan_, packed + begin, count_, begin, begin + length(begin),
                                   mem);
      }
    }
  }
};

// A consumer (packing) or a producer (unpacking) that touches every byte of a slice: it copies
// between the slice and one cell of 8 KiB, which stays in L1.
class Cell {
 public:
  void take(const std::byte* from, int64_t bytes) {
    std::memcpy(bytes_.data(), from, static_cast<size_t>(bytes));
    keep(bytes_.data());
  }
  void give(std::byte* to, int64_t bytes) {
    keep(bytes_.data());
    std::memcpy(to, bytes_.data(), static_cast<size_t>(bytes));
  }

 private:
  alignas(64) std::array<std::byte, kSliceBytes> bytes_{};
};

// Lent by a stream: the slices are not touched (as if a device read them), or copied by the cell.
class Lent : public Sliced {
 public:
  Lent(std::string name, bool is_shuffled, bool is_touched)
      : Sliced(std::move(name), is_shuffled), is_touched_(is_touched) {}

  void pack(const std::byte* mem, std::byte*, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) {
      lend_out(mem, [&](const std::byte* place, int64_t, int64_t bytes) {
        if (is_touched_) cell_.take(place, bytes);
        keep(place);
      });
    }
  }

  void unpack(const std::byte*, std::byte* mem, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) {
      lend_in(mem, [&](std::byte* place, int64_t, int64_t bytes) {
        if (is_touched_) cell_.give(place, bytes);
        keep(place);
      });
    }
  }

  void pack_checked(const std::byte* mem, std::byte* packed) override {
    lend_out(mem, [&](const std::byte* place, int64_t begin, int64_t bytes) {
      std::memcpy(packed + begin, place, static_cast<size_t>(bytes));
    });
  }

  void unpack_checked(const std::byte* packed, std::byte* mem) override {
    lend_in(mem, [&](std::byte* place, int64_t begin, int64_t bytes) {
      std::memcpy(place, packed + begin, static_cast<size_t>(bytes));
    });
  }

 private:
  template <typename Take>
  void lend_out(const std::byte* mem, Take take) {
    packing(mem, [&](lacuna_pack_stream* stream, int64_t begin, int64_t bytes) {
      const void* place = nullptr;
      (void)!lacuna_pack_stream_lend(stream, bytes, &place);
      take(static_cast<const std::byte*>(place), begin, bytes);
    });
  }

  template <typename Give>
  void lend_in(std::byte* mem, Give give) {
    unpacking(mem, [&](lacuna_unpack_stream* stream, int64_t begin, int64_t bytes) {
      void* place = nullptr;
      (void)!lacuna_unpack_stream_lend(stream, bytes, &place);
      give(static_cast<std::byte*>(place), begin, bytes);
      (void)!lacuna_unpack_stream_filled(stream, bytes);
    });
  }

  const bool is_touched_;
  Cell cell_;
};

// For comparison with a touched `Lent`: the whole message is packed, and then each slice of the
// packed buffer is copied by the same cell.
class WholeTouched : public Sliced {
 public:
  using Sliced::Sliced;

  void pack(const std::byte* mem, std::byte* packed, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) {
      ThroughApi::pack(mem, packed, 1);
      for (const int64_t begin : begins_) cell_.take(packed + begin, length(begin));
    }
  }

  void unpack(const std::byte* packed, std::byte* mem, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) {
      // The buffer is the problem's, and not constant.
      for (const int64_t begin : begins_)
        cell_.give(const_cast<std::byte*>(packed) + begin, length(begin));
      ThroughApi::unpack(packed, mem, 1);
    }
  }

  void unpack_checked(const std::byte* packed, std::byte* mem) override {
    ThroughApi::unpack(packed, mem, 1);
  }

 private:
  Cell cell_;
};

}  // namespace

Rivals lacuna_slices_rivals() {
  Rivals rivals;
  rivals.push_back(std::make_unique<Copied>("lacuna-slices", false));
  rivals.push_back(std::make_unique<Copied>("lacuna-slices-random", true));
  rivals.push_back(std::make_unique<Alone>("lacuna-slices-alone", true));
  rivals.push_back(std::make_unique<Lent>("lacuna-lent", false, false));
  rivals.push_back(std::make_unique<Lent>("lacuna-lent-random", true, false));
  rivals.push_back(std::make_unique<Lent>("lacuna-touched-lent", false, true));
  rivals.push_back(std::make_unique<Lent>("lacuna-touched-lent-random", true, true));
  rivals.push_back(std::make_unique<WholeTouched>("lacuna-touched-whole", false));
  return rivals;
}

}  // namespace lacuna::bench
