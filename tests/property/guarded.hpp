// SPDX-License-Identifier: BSD-3-Clause
//
// Memory between two pages that may not be touched: an access one byte outside it stops the
// program.
#ifndef LACUNA_TESTS_PROPERTY_GUARDED_HPP_
#define LACUNA_TESTS_PROPERTY_GUARDED_HPP_

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace lacuna::testing {

class Guarded {
 public:
  // `bytes` that end at the upper guard, or begin at the lower one.
  Guarded(size_t bytes, bool at_upper) : bytes_(bytes) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t inside = (bytes + page - 1) / page * page;
    mapped_ = inside + 2 * page;
    void* base = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) std::abort();
    base_ = static_cast<std::byte*>(base);
    if (inside > 0 && mprotect(base_ + page, inside, PROT_READ | PROT_WRITE) != 0) std::abort();
    data_ = at_upper ? base_ + page + inside - bytes : base_ + page;
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { munmap(base_, mapped_); }

  std::byte* data() const { return data_; }
  size_t size() const { return bytes_; }

 private:
  size_t bytes_;
  size_t mapped_ = 0;
  std::byte* base_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace lacuna::testing

#endif  // LACUNA_TESTS_PROPERTY_GUARDED_HPP_
