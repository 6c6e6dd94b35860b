// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/types/received_type.hpp"

#include <utility>

#include "interpose/direct/arena/region.hpp"
#include "interpose/library/next.hpp"
#include "type/typemap.hpp"

namespace lacuna {

ReceivedType::ReceivedType(ReceivedType&& other) noexcept
    : handle_(other.handle_), is_own_(std::exchange(other.is_own_, false)) {}

ReceivedType& ReceivedType::operator=(ReceivedType&& other) noexcept {
  if (this == &other) return *this;
  reset();
  handle_ = other.handle_;
  is_own_ = std::exchange(other.is_own_, false);
  return *this;
}

void ReceivedType::keep() noexcept {
  const Next& next = next_functions();
  MPI_Datatype own;
  if (is_own_ || next.MPI_Type_contiguous(1, handle_, &own) != MPI_SUCCESS) return;
  if (next.MPI_Type_commit(&own) != MPI_SUCCESS) {
    next.MPI_Type_free(&own);
    return;
  }
  handle_ = own;
  is_own_ = true;
}

void ReceivedType::reset() noexcept {
  if (is_own_) next_functions().MPI_Type_free(&handle_);
  is_own_ = false;
}

bool ends_within_element(const Type& type, int64_t size) {
  constexpr int64_t kMostEntries = 4096;
  const auto entries = typemap(type, (direct::kTokenBytes + size - 1) / size, kMostEntries);
  if (!entries) return true;
  int64_t end = 0;
  for (const TypemapEntry& entry : *entries) {
    end += entry.size_bytes;
    if (end >= direct::kTokenBytes) break;
  }
  return end != direct::kTokenBytes;
}

}  // namespace lacuna
