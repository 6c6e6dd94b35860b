// SPDX-License-Identifier: BSD-3-Clause
//
// Memory between two pages that may not be touched: an access one byte outside it stops the
// program, and so does one to memory that is no longer anybody's.
#ifndef LACUNA_TESTS_PROPERTY_GUARDED_HPP_
#define LACUNA_TESTS_PROPERTY_GUARDED_HPP_

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

namespace lacuna::testing {

class Guarded {
 public:
  // `bytes`, all zero, that end at the upper guard, or begin at the lower one.
  Guarded(size_t bytes, bool at_upper) : bytes_(bytes) {
    inside_ = (bytes + page() - 1) / page() * page();
    base_ = taken(inside_);
    data_ = at_upper ? base_ + page() + inside_ - bytes : base_ + page();
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() {
    Kept& kept = mappings();
    // As nobody's, it may not be touched either.
    if (inside_ <= kKeptBytes &&
        (inside_ == 0 || mprotect(base_ + page(), inside_, PROT_NONE) == 0)) {
      if (kept.bytes + inside_ > kKeptBytes) kept.drop();
      kept.free[inside_].push_back(base_);
      kept.bytes += inside_;
    } else {
      munmap(base_, inside_ + 2 * page());
    }
  }

  std::byte* data() const { return data_; }
  size_t size() const { return bytes_; }

 private:
  // Mappings are kept for the next of as many pages: new ones were a third of the property test's
  // time, most of it for pages that the kernel clears one by one.
  static constexpr size_t kKeptBytes = size_t{64} << 20;
  struct Kept {
    std::map<size_t, std::vector<std::byte*>> free;  // by the bytes inside
    size_t bytes = 0;
    void drop() {
      for (const auto& [inside, bases] : free)
        for (std::byte* base : bases) munmap(base, inside + 2 * page());
      free.clear();
      bytes = 0;
    }
  };
  static Kept& mappings() {
    thread_local Kept kept;
    return kept;
  }
  static size_t page() {
    static const size_t kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return kPage;
  }
  static std::byte* map(size_t inside) {
    void* base = mmap(nullptr, inside + 2 * page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) std::abort();
    return static_cast<std::byte*>(base);
  }
  static std::byte* taken(size_t inside) {
    Kept& kept = mappings();
    const auto found = kept.free.find(inside);
    const bool is_kept = found != kept.free.end() && !found->second.empty();
    std::byte* const base = is_kept ? found->second.back() : map(inside);
    if (is_kept) {
      found->second.pop_back();
      kept.bytes -= inside;
    }
    if (inside > 0 && mprotect(base + page(), inside, PROT_READ | PROT_WRITE) != 0) std::abort();
    if (is_kept) std::memset(base + page(), 0, inside);
    return base;
  }

  size_t bytes_;
  size_t inside_ = 0;
  std::byte* base_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace lacuna::testing

#endif  // LACUNA_TESTS_PROPERTY_GUARDED_HPP_
