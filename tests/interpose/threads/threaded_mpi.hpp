// SPDX-License-Identifier: BSD-3-Clause
//
// An MPI library of one rank in one process, as far as lacuna and threaded_test.cpp need it, built
// with ThreadSanitizer. Real libraries are not, so that the sanitizer does not see their locks. It
// has MPICH's ABI, and one lock around everything. Handles are reused at once; callbacks are called
// without the lock. Arguments are not checked.
//
// threaded_mpi.cpp has start, end, communicators and types, threaded_messages.cpp the messages.
#ifndef LACUNA_TESTS_INTERPOSE_THREADS_THREADED_MPI_HPP_
#define LACUNA_TESTS_INTERPOSE_THREADS_THREADED_MPI_HPP_

#include <mpi.h>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace threaded {

extern std::mutex g_mutex;  // held by the callers of all that is declared here
using Lock = std::unique_lock<std::mutex>;

struct Datatype {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Datatype> types;
  std::vector<MPI_Aint> bytes;  // the typemap, byte by byte
  MPI_Aint lb = 0, extent = 0;
  bool committed = false;
  std::map<int, void*> attributes;
};
using TypePtr = std::shared_ptr<Datatype>;

TypePtr type_of(MPI_Datatype handle);
std::vector<char> packed(const void* buffer, int count, const Datatype& type);
void unpack(const std::vector<char>& data, void* buffer, const Datatype& type);

// The lowest handle that is free.
template <typename Map>
int free_handle(const Map& map, unsigned first) {
  int handle = static_cast<int>(first);
  for (const auto& entry : map) {
    if (entry.first != handle) break;
    ++handle;
  }
  return handle;
}

}  // namespace threaded

#endif  // LACUNA_TESTS_INTERPOSE_THREADS_THREADED_MPI_HPP_
