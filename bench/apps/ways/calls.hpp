// SPDX-License-Identifier: BSD-3-Clause
//
// The MPI calls of a transfer between partners: C's, or, in programs whose applications are in
// Fortran, those of the Fortran binding (../fortran/calls.f90), with Fortran's handles.
#ifndef LACUNA_BENCH_APPS_WAYS_CALLS_HPP_
#define LACUNA_BENCH_APPS_WAYS_CALLS_HPP_

#include <mpi.h>

#include <string>

#ifdef LACUNA_BENCH_FORTRAN
extern "C" {
void lacuna_fortran_commit(MPI_Fint* type);
void lacuna_fortran_free(MPI_Fint* type);
void lacuna_fortran_send(const void* data, const int* count, const MPI_Fint* type, const int* to,
                         const int* tag);
void lacuna_fortran_receive(void* data, const int* count, const MPI_Fint* type, const int* from,
                            const int* tag);
void lacuna_fortran_pack(const void* mem, const int* count, const MPI_Fint* type, void* packed,
                         const int* bytes);
void lacuna_fortran_unpack(const void* packed, const int* bytes, void* mem, const int* count,
                           const MPI_Fint* type);
void lacuna_fortran_compiler(char* text, const int* size);
}
#endif

namespace lacuna::bench::calls {

#ifdef LACUNA_BENCH_FORTRAN

constexpr const char* kLanguage = "fortran";

inline std::string compiler() {
  std::string text(80, ' ');
  const int size = static_cast<int>(text.size());
  lacuna_fortran_compiler(text.data(), &size);
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

using Handle = MPI_Fint;

inline Handle handle_of(MPI_Datatype type) { return MPI_Type_c2f(type); }
inline void commit(Handle& type) { lacuna_fortran_commit(&type); }
inline void free(Handle& type) { lacuna_fortran_free(&type); }

inline void send(const void* data, int count, Handle type, int to, int tag) {
  lacuna_fortran_send(data, &count, &type, &to, &tag);
}

inline void receive(void* data, int count, Handle type, int from, int tag) {
  lacuna_fortran_receive(data, &count, &type, &from, &tag);
}

inline void pack(const void* mem, int count, Handle type, void* packed, int bytes) {
  lacuna_fortran_pack(mem, &count, &type, packed, &bytes);
}

inline void unpack(const void* packed, int bytes, void* mem, int count, Handle type) {
  lacuna_fortran_unpack(packed, &bytes, mem, &count, &type);
}

#else

constexpr const char* kLanguage = "c++";

inline std::string compiler() { return __VERSION__; }

using Handle = MPI_Datatype;

inline Handle handle_of(MPI_Datatype type) { return type; }
inline void commit(Handle& type) { MPI_Type_commit(&type); }
inline void free(Handle& type) { MPI_Type_free(&type); }

inline void send(const void* data, int count, Handle type, int to, int tag) {
  MPI_Send(data, count, type, to, tag, MPI_COMM_WORLD);
}

inline void receive(void* data, int count, Handle type, int from, int tag) {
  MPI_Recv(data, count, type, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

inline void pack(const void* mem, int count, Handle type, void* packed, int bytes) {
  int position = 0;
  MPI_Pack(mem, count, type, packed, bytes, &position, MPI_COMM_WORLD);
}

inline void unpack(const void* packed, int bytes, void* mem, int count, Handle type) {
  int position = 0;
  MPI_Unpack(packed, bytes, &position, mem, count, type, MPI_COMM_WORLD);
}

#endif

}  // namespace lacuna::bench::calls

#endif  // LACUNA_BENCH_APPS_WAYS_CALLS_HPP_
