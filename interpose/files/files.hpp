// SPDX-License-Identifier: BSD-3-Clause
//
// Reading and writing files from memory with gaps: the hand-written halves of the wrappers. Only
// the memory's side of a call changes: the library gets packed data, as the same count of the
// packed form (types/record.hpp). Views, offsets, shared pointers, atomic mode and external32 go by
// bytes and basic types alone and stay the library's; and in a collective call each rank decides
// for itself.
//
// A read packs the memory before the call, and unpacks all of it after it. So what the library did
// not read stays as it was, and no status is needed. (None could be trusted: ROMIO says of
// collective reads, and of reads through a view with gaps, that all was read, even at the end of
// the file.)
//
// A const `buf` is written to the file, another one is read. `where` is the file, and the offset if
// there is one.
#ifndef LACUNA_INTERPOSE_FILES_FILES_HPP_
#define LACUNA_INTERPOSE_FILES_FILES_HPP_

#include <type_traits>

#include "interpose/collectives/side.hpp"
#include "interpose/functions/answer.hpp"
#include "interpose/library/next.hpp"
#include "interpose/requests/table.hpp"

namespace lacuna {

// files.cpp: the memory of a call. False: declined.
bool handle_memory(const void* buf, MPI_Count count, MPI_Datatype datatype, bool blocking,
                   Sides* sides);
bool handle_memory(void* buf, MPI_Count count, MPI_Datatype datatype, bool blocking, Sides* sides);

// The side that the library gets.
template <typename Memory>
const Side& side_of(const Sides& sides) {
  return std::is_const_v<Memory> ? sides.out : sides.in;
}

template <typename Function, typename Memory, typename Count, typename... Where>
Answer handle_file(Function Next::* function, Memory* buf, Count count, MPI_Datatype datatype,
                   MPI_Status* status, Where... where) {
  Sides sides;
  if (!handle_memory(buf, count, datatype, true, &sides)) return kDeclined;
  const Side& side = side_of<Memory>(sides);
  const int code =
      (next_functions().*function)(where..., side.buffer(), count, side.datatype(), status);
  if (code == MPI_SUCCESS) sides.in.unpack_all();
  return handled(code);
}

bool may_start_on_file(bool reads);  // files.cpp

// The request that the program gets is the library's own.
template <typename Function, typename Memory, typename Count, typename... Where>
Answer handle_file_start(Function Next::* function, Memory* buf, Count count, MPI_Datatype datatype,
                         MPI_Request* request, Where... where) {
  constexpr bool kReads = !std::is_const_v<Memory>;
  if (!may_start_on_file(kReads) || !may_start(datatype, request)) return kDeclined;
  Sides sides;
  if (!handle_memory(buf, count, datatype, false, &sides)) return kDeclined;
  PendingRequest* entry = new_pending_sides(&sides);
  if (entry == nullptr) return kDeclined;
  const Side& side = side_of<Memory>(sides_of(*entry));
  MPI_Request started = MPI_REQUEST_NULL;
  const int code =
      (next_functions().*function)(where..., side.buffer(), count, side.datatype(), &started);
  return handled(settle_started(entry, started, request, code));
}

// A split collective between its begin and its end; a file has one at most.
struct Split {
  MPI_File fh;
  Sides sides;
  Split* next = nullptr;
};

// files.cpp. nullptr: no memory.
Split* new_split(MPI_File fh);
void add_split(Split* split);
Split* find_split(MPI_File fh);
void drop_split(Split* split);
// Forgets the split collective of this file, if there is one.
void forget_split(MPI_File fh);

template <typename Function, typename Memory, typename Count, typename... Offset>
Answer handle_file_begin(Function Next::* function, Memory* buf, Count count, MPI_Datatype datatype,
                         MPI_File fh, Offset... offset) {
  const auto begin = next_functions().*function;
  if (find_split(fh) != nullptr) {
    // A mistake of the program's, unless the first one has failed: MPICH 5 returns MPI_SUCCESS
    // after errors that the program's handler has seen.
    const int code = begin(fh, offset..., buf, count, datatype);
    if (code == MPI_SUCCESS) forget_split(fh);
    return watched(code);
  }
  Split* split = new_split(fh);
  if (split == nullptr) return kDeclined;
  if (!handle_memory(buf, count, datatype, false, &split->sides)) {
    drop_split(split);
    return kDeclined;
  }
  const Side& side = side_of<Memory>(split->sides);
  const int code = begin(fh, offset..., side.buffer(), count, side.datatype());
  if (code == MPI_SUCCESS) {
    add_split(split);
  } else {
    drop_split(split);
  }
  return handled(code);
}

template <typename Function, typename Memory>
Answer handle_file_end(Function Next::* function, Memory*, MPI_Status* status, MPI_File fh) {
  Split* split = find_split(fh);
  if (split == nullptr || !side_of<Memory>(split->sides).handled()) return kDeclined;
  const int code = (next_functions().*function)(fh, side_of<Memory>(split->sides).buffer(), status);
  if (code != MPI_SUCCESS) return handled(code);  // it has not ended
  split->sides.in.unpack_all();
  forget_split(fh);
  return handled(code);
}

int around_file_close(const Next& next, MPI_File* fh);

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_FILES_FILES_HPP_
