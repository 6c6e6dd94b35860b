// SPDX-License-Identifier: BSD-3-Clause
//
// The memory of calls on files, and the list of split collectives that have begun and not ended. It
// is short, as programs have few files open at a time.
#include "interpose/files/files.hpp"

#include <mutex>
#include <new>

#include "interpose/library/runtime.hpp"
#include "interpose/requests/freed.hpp"

namespace lacuna {
namespace {

constinit std::mutex g_mutex;  // held for a few instructions; no other lock is taken under it
constinit Split* g_splits = nullptr;

Split** link_of(MPI_File fh) {
  Split** link = &g_splits;
  while (*link != nullptr && (*link)->fh != fh) link = &(*link)->next;
  return link;
}

}  // namespace

bool handle_memory(const void* buf, MPI_Count count, MPI_Datatype datatype, bool blocking,
                   Sides* sides) {
  finish_freed_requests();
  sides->of_file = true;
  if (!sides->out.handle(Operation::kFileWrite, buf, count, datatype, 1, {Flow::kOut}, blocking))
    return false;
  sides->pack();
  return true;
}

bool handle_memory(void* buf, MPI_Count count, MPI_Datatype datatype, bool blocking, Sides* sides) {
  finish_freed_requests();
  sides->of_file = true;
  if (!sides->in.handle(Operation::kFileRead, buf, count, datatype, 1, {Flow::kBoth}, blocking))
    return false;
  sides->pack();
  return true;
}

// Intel MPI 2021.19 does a nonblocking read into contiguous memory within the call, and then asks
// for the number of elements. If the file ends within an element, as within a packed form, that is
// MPI_UNDEFINED; it multiplies that by the size of an element, and aborts. (Besides,
// MPI_File_iread_shared reads nothing under the standard ABI.)
bool may_start_on_file(bool reads) {
  const bool is_intel_mpi = runtime().flavour == Flavour::kIntelMpi;
  if (is_intel_mpi && reads) return false;
#if defined(LACUNA_MPI_FAMILY_MPIABI)
  if (is_intel_mpi) return false;
#endif
  return keeps_file_requests(runtime().flavour);
}

Split* new_split(MPI_File fh) { return new (std::nothrow) Split{fh, {}}; }

void add_split(Split* split) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  split->next = g_splits;
  g_splits = split;
  g_gate.split.fetch_add(1, std::memory_order_relaxed);
}

Split* find_split(MPI_File fh) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  return *link_of(fh);
}

void drop_split(Split* split) { delete split; }

void forget_split(MPI_File fh) {
  if (!any_split()) return;
  Split* split = nullptr;
  {
    const std::lock_guard<std::mutex> lock(g_mutex);
    Split** link = link_of(fh);
    split = *link;
    if (split == nullptr) return;
    *link = split->next;
  }
  g_gate.split.fetch_sub(1, std::memory_order_relaxed);
  delete split;
}

// A program may close a file without ending a split collective, and the next file may get the same
// handle.
int around_file_close(const Next& next, MPI_File* fh) {
  const MPI_File closed = fh != nullptr ? *fh : MPI_File{};
  finish_freed_requests();
  const int code = next.MPI_File_close(fh);
  forget_split(closed);
  return code;
}

}  // namespace lacuna
