// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Pack and MPI_Unpack. In homogeneous jobs the packed form of MPICH, Open MPI, Intel MPI and
// their kin is the bytes of the typemap in order, without headers, so buffers packed by lacuna and
// by the library are interchangeable (the differential tests hold both against each other).
#include "interpose/device/moves.hpp"
#include "interpose/functions/bodies.hpp"
#include "interpose/library/device.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/observe/log.hpp"
#include "interpose/types/packing.hpp"
#include "interpose/types/record.hpp"

namespace lacuna {
namespace {

// Packing does not need a communicator, but an invalid one is an error. Two are known to be valid;
// for others the library is asked to pack one byte, and raises the error. `position` shows a
// failure, as the code may be MPI_SUCCESS after an error that the program's handler has seen.
bool is_bad_communicator(MPI_Comm comm, int* code) {
  const Runtime& rt = runtime();
  if (comm == rt.comm_world || comm == rt.comm_self) return false;
  char from = 0, to = 0;
  int position = 0;
  *code = next_functions().MPI_Pack(&from, 1, rt.byte, &to, 1, &position, comm);
  return *code != MPI_SUCCESS || position != 1;
}

bool fits(int64_t bytes, MPI_Count position, MPI_Count space) {
  return position >= 0 && space >= position && space - position >= bytes;
}

// Whether lacuna can move data between the memory of a decision, which was just made, and a buffer
// for packed data that is the program's: not where only the latter is on a device, or both are on
// different ones.
bool reaches(const Decision& decision, const void* packed) {
  if (!is_watched(kDevices)) return true;
  DevicePlace place;
  const Where where = where_is(packed, &place);
  return where == Where::kHost || (where == Where::kDevice && decision.is_on_device() &&
                                   device::prepare_also(place, nullptr, 0));
}

}  // namespace

template <typename Count>
Answer handle_pack(const void* inbuf, MPI_Count incount, MPI_Datatype datatype, void* outbuf,
                   MPI_Count outsize, Count* position, MPI_Comm comm) {
  if (outbuf == nullptr || position == nullptr) return kDeclined;
  Decision decision;
  if (!examine(Operation::kPack, inbuf, incount, datatype, &decision)) return kDeclined;
  const MPI_Count begin = *position;
  if (!fits(decision.bytes, begin, outsize) || !reaches(decision, outbuf)) return kDeclined;
  int code = MPI_SUCCESS;
  if (is_bad_communicator(comm, &code)) return handled(code);
  if (!pack_for(account_of(decision), *decision.record->plan, inbuf, incount,
                static_cast<std::byte*>(outbuf) + begin)) {
    return handled(device::raise_failure(comm));
  }
  *position = static_cast<Count>(begin + decision.bytes);
  log_type(*decision.record, decision.handled(), decision.bytes);
  return handled(MPI_SUCCESS);
}

template <typename Count>
Answer handle_unpack(const void* inbuf, MPI_Count insize, Count* position, void* outbuf,
                     MPI_Count outcount, MPI_Datatype datatype, MPI_Comm comm) {
  if (inbuf == nullptr || position == nullptr) return kDeclined;
  Decision decision;
  if (!examine(Operation::kUnpack, outbuf, outcount, datatype, &decision)) return kDeclined;
  const MPI_Count begin = *position;
  if (!fits(decision.bytes, begin, insize) || !reaches(decision, inbuf)) return kDeclined;
  int code = MPI_SUCCESS;
  if (is_bad_communicator(comm, &code)) return handled(code);
  if (!unpack_for(account_of(decision), *decision.record->plan,
                  static_cast<const std::byte*>(inbuf) + begin, decision.bytes, outcount, outbuf)) {
    return handled(device::raise_failure(comm));
  }
  *position = static_cast<Count>(begin + decision.bytes);
  log_type(*decision.record, decision.handled(), decision.bytes);
  return handled(MPI_SUCCESS);
}

template Answer handle_pack(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, int*, MPI_Comm);
template Answer handle_pack(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Count*,
                            MPI_Comm);
template Answer handle_unpack(const void*, MPI_Count, int*, void*, MPI_Count, MPI_Datatype,
                              MPI_Comm);
template Answer handle_unpack(const void*, MPI_Count, MPI_Count*, void*, MPI_Count, MPI_Datatype,
                              MPI_Comm);

}  // namespace lacuna
