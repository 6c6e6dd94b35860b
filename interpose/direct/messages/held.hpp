// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that a probe has taken out of the library's queue, in that order. Receives search by
// communicator and source, as libraries do; a receive from any source gets the first that matches.
// Not thread-safe: the caller locks.
#ifndef LACUNA_INTERPOSE_DIRECT_MESSAGES_HELD_HPP_
#define LACUNA_INTERPOSE_DIRECT_MESSAGES_HELD_HPP_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "interpose/direct/arena/region.hpp"
#include "mpi/header.hpp"

namespace lacuna::direct {

struct Held {
  Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  // Wipes the token: the program may get this memory next, while the token is still outstanding.
  ~Held() { explicit_bzero(&bytes, sizeof(bytes)); }

  MPI_Comm comm{};
  uint64_t serial = 0;    // serial_of(comm) when it was held
  MPI_Status status{};    // what a probe reports of it
  bool received = false;  // into `bytes`, as it may be a token
  Token bytes{};
  MPI_Message
      message{};       // if not received: the library's; else what a matched probe gave the program
  MPI_Request sent{};  // the send of `bytes` to this rank itself
  // Links of two lists (HeldList).
  Held* next = nullptr;
  Held** link = nullptr;
  Held* next_of_sender = nullptr;
  Held** link_of_sender = nullptr;
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
  Held** end_ = nullptr;  // the link to append at
};

class HeldMessages {
 public:
  // The first that a receive with these arguments would match. Null: none.
  Held* find(int source, int tag, MPI_Comm comm) const noexcept;
  void add(Held* held) noexcept;
  void remove(Held* held) noexcept;

 private:
  using SameSender = HeldList<&Held::next_of_sender, &Held::link_of_sender>;
  static size_t bucket_of(MPI_Comm comm, int source) noexcept;

  static constexpr size_t kBuckets = 256;
  HeldList<&Held::next, &Held::link> all_;
  SameSender by_sender_[kBuckets];  // by communicator and source
};

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_MESSAGES_HELD_HPP_
