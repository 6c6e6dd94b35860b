// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that are out of the library's queue, in the order in which they came out. A receive
// finds its own among thousands as libraries do, by communicator and source; one from any source
// takes the first that fits.
//
// Nothing here locks.
#ifndef LACUNA_INTERPOSE_DIRECT_MESSAGES_HELD_HPP_
#define LACUNA_INTERPOSE_DIRECT_MESSAGES_HELD_HPP_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "interpose/direct/node/region.hpp"
#include "mpi/header.hpp"

namespace lacuna::direct {

struct Held {
  Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  // Its memory may be the program's next, while the token is still to be landed.
  ~Held() { explicit_bzero(&bytes, sizeof(bytes)); }

  MPI_Comm comm{};
  uint64_t life = 0;      // of it
  MPI_Status status{};    // what a probe tells of it
  bool received = false;  // into `bytes`, as it may be a token
  Token bytes{};
  MPI_Message message{};  // not received: the library's; else what a matched probe has given out
  MPI_Request sent{};     // to this rank itself
  // Its places in two lists (HeldList).
  Held* next = nullptr;
  Held** link = nullptr;
  Held* next_alike = nullptr;
  Held** link_alike = nullptr;
};

bool matches(const Held& held, int source, int tag, MPI_Comm comm) noexcept;

template <Held* Held::* kNext, Held** Held::* kLink>
class HeldList {
 public:
  Held* first() const noexcept { return first_; }
  void append(Held* held) noexcept {
    if (end_ == nullptr) end_ = &first_;
    held->*kNext = nullptr;
    held->*kLink = end_;
    *end_ = held;
    end_ = &(held->*kNext);
  }
  void remove(Held* held) noexcept {
    Held* const next = held->*kNext;
    *(held->*kLink) = next;
    (next != nullptr ? next->*kLink : end_) = held->*kLink;
  }
  template <typename Fits>
  Held* find(const Fits& fits) const noexcept {
    Held* held = first_;
    while (held != nullptr && !fits(*held)) held = held->*kNext;
    return held;
  }

 private:
  Held* first_ = nullptr;
  Held** end_ = nullptr;  // where the next one is hung
};

class HeldMessages {
 public:
  // The first that a receive would match; null: none.
  Held* find(int source, int tag, MPI_Comm comm) const noexcept;
  void add(Held* held) noexcept;
  void remove(Held* held) noexcept;

 private:
  using Alike = HeldList<&Held::next_alike, &Held::link_alike>;
  static size_t bucket_of(MPI_Comm comm, int source) noexcept;

  static constexpr size_t kBuckets = 256;
  HeldList<&Held::next, &Held::link> all_;
  Alike alike_[kBuckets];  // by communicator and source
};

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_MESSAGES_HELD_HPP_
