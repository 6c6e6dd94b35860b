// SPDX-License-Identifier: BSD-3-Clause
//
// The array of requests that a call for several passes to the library: the program's own, or a
// copy. In the copy persistent requests are replaced by their substitutes
// (messages/persistent.cpp), and requests that the call must not complete by MPI_REQUEST_NULL
// (Claims::leave_out_incomplete()).
//
// Libraries return the first request that is complete, and a substitute often is complete at once.
// A program that restarts it each time would never get its other requests. So for calls that return
// one request, the copy is sorted: first substitutes that have been passed over, then requests
// without substitute, then the other substitutes, oldest start first.
#ifndef LACUNA_INTERPOSE_REQUESTS_LIBRARY_REQUESTS_HPP_
#define LACUNA_INTERPOSE_REQUESTS_LIBRARY_REQUESTS_HPP_

#include <cstdint>

#include "interpose/memory/staging.hpp"
#include "interpose/requests/table.hpp"

namespace lacuna {

// What a call completes: all requests or none, those that are complete, or one of them.
enum class Completes : uint8_t { kAll, kSome, kOne };

class LibraryRequests {
 public:
  LibraryRequests(const Claims& claims, int count, const MPI_Request* requests,
                  Completes completes) noexcept;
  LibraryRequests(const LibraryRequests&) = delete;
  LibraryRequests& operator=(const LibraryRequests&) = delete;

  // False: out of memory.
  bool ok() const noexcept { return ok_; }
  MPI_Request* get() const noexcept { return requests_; }
  // Index in the program's array of the request that the library has returned. The other
  // substitutes count as passed over.
  int returned(int index) const noexcept;
  // Copies handles back after a call that completes requests.
  void write_back(MPI_Request* requests) const noexcept;

 private:
  struct Origin {
    int index;              // in the program's array
    PendingRequest* entry;  // of a substitute
    bool is_left_out;
  };
  static bool comes_before(const Origin& one, const Origin& other) noexcept;

  static constexpr int kFew = 8;  // more are in `memory_`
  MPI_Request few_requests_[kFew];
  Origin few_origins_[kFew];
  Staging memory_;
  int count_;
  MPI_Request* requests_;      // passed to the library
  Origin* origins_ = nullptr;  // origin of each; null: requests_ is the program's array
  bool ok_ = true;
};

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_REQUESTS_LIBRARY_REQUESTS_HPP_
