// SPDX-License-Identifier: BSD-3-Clause
#include "tests/interpose/faults/faulty_below.hpp"

#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#define EXPORT __attribute__((visibility("default")))

extern "C" {

EXPORT int faulty_refusal = kRefuseNothing;
EXPORT int faulty_refused = 0;
EXPORT int faulty_wrong = 0;
EXPORT int faulty_wrongs = 0;

static bool is_lacuna(const void* caller) {
  Dl_info info;
  return dladdr(caller, &info) != 0 && info.dli_fname != nullptr &&
         std::strstr(info.dli_fname, "liblacuna-") != nullptr;
}

static bool refuses(int what, const void* caller) {
  if (faulty_refusal != what || !is_lacuna(caller)) return false;
  ++faulty_refused;
  return true;
}

// Spoils the first data byte that a call has written, if it is long enough to be a message of the
// test.
static void spoil(void* data, int bytes, const void* caller) {
  if (faulty_wrong == 0 || bytes <= 16 || !is_lacuna(caller)) return;
  *static_cast<unsigned char*>(data) ^= 0xff;
  ++faulty_wrongs;
}

#define CALLER __builtin_return_address(0)

EXPORT int MPI_Type_set_attr(MPI_Datatype datatype, int keyval, void* value) {
  if (refuses(kRefuseSetAttr, CALLER)) return MPI_ERR_OTHER;
  return PMPI_Type_set_attr(datatype, keyval, value);
}

EXPORT int MPI_Type_get_attr(MPI_Datatype datatype, int keyval, void* value, int* flag) {
  if (refuses(kRefuseGetAttr, CALLER)) return MPI_ERR_OTHER;
  return PMPI_Type_get_attr(datatype, keyval, value, flag);
}

EXPORT int MPI_Type_get_envelope(MPI_Datatype datatype, int* integers, int* addresses,
                                 int* datatypes, int* combiner) {
  if (refuses(kRefuseEnvelope, CALLER)) return MPI_ERR_OTHER;
  return PMPI_Type_get_envelope(datatype, integers, addresses, datatypes, combiner);
}

EXPORT int MPI_Type_get_contents(MPI_Datatype datatype, int max_integers, int max_addresses,
                                 int max_datatypes, int* integers, MPI_Aint* addresses,
                                 MPI_Datatype* datatypes) {
  if (refuses(kRefuseContents, CALLER)) return MPI_ERR_OTHER;
  return PMPI_Type_get_contents(datatype, max_integers, max_addresses, max_datatypes, integers,
                                addresses, datatypes);
}

#if MPI_VERSION >= 4
EXPORT int MPI_Type_get_envelope_c(MPI_Datatype datatype, MPI_Count* integers, MPI_Count* addresses,
                                   MPI_Count* counts, MPI_Count* datatypes, int* combiner) {
  if (refuses(kRefuseEnvelope, CALLER)) return MPI_ERR_OTHER;
  return PMPI_Type_get_envelope_c(datatype, integers, addresses, counts, datatypes, combiner);
}

EXPORT int MPI_Type_get_contents_c(MPI_Datatype datatype, MPI_Count max_integers,
                                   MPI_Count max_addresses, MPI_Count max_counts,
                                   MPI_Count max_datatypes, int* integers, MPI_Aint* addresses,
                                   MPI_Count* counts, MPI_Datatype* datatypes) {
  if (refuses(kRefuseContents, CALLER)) return MPI_ERR_OTHER;
  return PMPI_Type_get_contents_c(datatype, max_integers, max_addresses, max_counts, max_datatypes,
                                  integers, addresses, counts, datatypes);
}
#endif

EXPORT int MPI_Type_contiguous(int count, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  if (refuses(kRefuseContiguous, CALLER)) return MPI_ERR_OTHER;
  return PMPI_Type_contiguous(count, oldtype, newtype);
}

EXPORT int MPI_Type_create_hindexed(int count, const int* lengths, const MPI_Aint* displacements,
                                    MPI_Datatype oldtype, MPI_Datatype* newtype) {
  if (refuses(kRefuseContiguous, CALLER)) return MPI_ERR_OTHER;
  return PMPI_Type_create_hindexed(count, lengths, displacements, oldtype, newtype);
}

EXPORT int MPI_Type_commit(MPI_Datatype* datatype) {
  if (refuses(kRefuseCommit, CALLER)) return MPI_ERR_OTHER;
  return PMPI_Type_commit(datatype);
}

EXPORT int MPI_Allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                         int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  // (PMPI_Allgather would be lacuna's wrapper, which counts the calls on a communicator.)
  static const auto next =
      reinterpret_cast<decltype(&MPI_Allgather)>(dlsym(RTLD_NEXT, "MPI_Allgather"));
  const int code = next(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  if (!refuses(kFailAllgather, CALLER)) return code;
  faulty_refusal = kRefuseNothing;
  return MPI_ERR_OTHER;
}

// LACUNA_TEST_LATE: rank 1 takes so many seconds before lacuna's first duplicate of MPI_COMM_WORLD.
EXPORT int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* request) {
  static const char* late = std::getenv("LACUNA_TEST_LATE");
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  if (late != nullptr && rank == 1 && is_lacuna(CALLER)) {
    sleep(static_cast<unsigned>(std::atoi(late)));
    late = nullptr;
  }
  return PMPI_Comm_idup(comm, made, request);
}

EXPORT int MPI_Pack(const void* inbuf, int incount, MPI_Datatype datatype, void* outbuf,
                    int outsize, int* position, MPI_Comm comm) {
  const int code = PMPI_Pack(inbuf, incount, datatype, outbuf, outsize, position, comm);
  spoil(outbuf, *position, CALLER);
  return code;
}

// The types of the test begin with their first byte.
EXPORT int MPI_Unpack(const void* inbuf, int insize, int* position, void* outbuf, int outcount,
                      MPI_Datatype datatype, MPI_Comm comm) {
  const int code = PMPI_Unpack(inbuf, insize, position, outbuf, outcount, datatype, comm);
  spoil(outbuf, *position, CALLER);
  return code;
}
}
