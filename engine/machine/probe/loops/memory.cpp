// SPDX-License-Identifier: BSD-3-Clause
#include "machine/probe/loops/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>

namespace lacuna::probe {
namespace {

constexpr size_t kHugeBytes = size_t{2} << 20;

}  // namespace

Region::Region(size_t bytes, Pages pages) {
  bytes = (bytes + kHugeBytes - 1) / kHugeBytes * kHugeBytes;
  // Maps more and unmaps the ends, so that the region is aligned to a huge page.
  void* const mapped = mmap(nullptr, bytes + kHugeBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t aligned = (begin + kHugeBytes - 1) / kHugeBytes * kHugeBytes;
  if (aligned > begin) munmap(mapped, aligned - begin);
  if (aligned < begin + kHugeBytes)
    munmap(reinterpret_cast<void*>(aligned + bytes), begin + kHugeBytes - aligned);
  data_ = reinterpret_cast<char*>(aligned);
  bytes_ = bytes;
  if (pages == Pages::kSmall) madvise(data_, bytes_, MADV_NOHUGEPAGE);
  if (pages == Pages::kHuge) madvise(data_, bytes_, MADV_HUGEPAGE);

  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const Permutation order(bytes_ / page, 1);
  for (size_t i = 0; i < bytes_ / page; ++i)
    data_[(pages == Pages::kSmall ? order(i) : i) * page] = 1;
}

Region::~Region() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

size_t Region::huge_bytes() const {
  std::ifstream maps("/proc/self/smaps");
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data_);
  bool inside = false;
  size_t kib = 0;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t from = 0;
    uintptr_t to = 0;
    size_t value = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2) {
      inside = from < begin + bytes_ && to > begin;
    } else if (inside && std::sscanf(line.c_str(), "AnonHugePages: %zu kB", &value) == 1) {
      kib += value;
    }
  }
  return kib << 10;
}

Permutation::Permutation(uint64_t n, uint64_t seed)
    : n_(n),
      mask_(std::bit_ceil(n) - 1),
      offset_(seed * 0x2545f4914f6cdd1du + 0x632be59bd9b4e019u) {
  const unsigned bits = static_cast<unsigned>(std::bit_width(mask_));
  shift_ = bits < 2 ? 1 : bits / 2;
}

}  // namespace lacuna::probe
