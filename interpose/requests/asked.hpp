// SPDX-License-Identifier: BSD-3-Clause
//
// The requests that a call about several asks the library for: the program's array itself, or a
// copy of it where persistent requests have substitutes (persistent.cpp), which stand in their
// places.
//
// Libraries give the first request that is complete. A substitute often is as soon as it is
// started; so that a program which starts it again each time gets its others, too, the copy for a
// call that gives one request has another order: substitutes that had to stand back, the requests
// that are none, then the other substitutes, the longest started first.
#ifndef LACUNA_INTERPOSE_REQUESTS_ASKED_HPP_
#define LACUNA_INTERPOSE_REQUESTS_ASKED_HPP_

#include <cstdint>
#include <cstdlib>

#include "interpose/requests/table.hpp"

namespace lacuna {

// What a call gives: all requests or nothing, those that are complete, or one of them.
enum class Gives : uint8_t { kAll, kSome, kOne };

class Asked {
 public:
  Asked(const Claims& claims, int count, const MPI_Request* requests, Gives gives) noexcept;
  ~Asked() { std::free(memory_); }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

  // False: there is no memory.
  bool ok() const noexcept { return ok_; }
  MPI_Request* get() const noexcept { return requests_; }
  // The place in the program's array of the request that the library has given. The others have
  // stood back.
  int given(int index) const noexcept;
  // What the library has left of each, after a call that ends requests.
  void write_back(MPI_Request* requests) const noexcept;

 private:
  struct Place {
    int index;              // in the program's array
    PendingRequest* entry;  // of a substitute
  };
  static bool comes_before(const Place& one, const Place& other) noexcept;

  static constexpr int kFew = 8;  // on the stack
  MPI_Request few_requests_[kFew];
  Place few_places_[kFew];
  void* memory_ = nullptr;
  int count_;
  MPI_Request* requests_;    // the library's
  Place* places_ = nullptr;  // where each of them is from; null: it is the program's array
  bool ok_ = true;
};

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_REQUESTS_ASKED_HPP_
