// SPDX-License-Identifier: BSD-3-Clause
//
// The calls of an application with its own type, as in its code: the type is made, used and freed.
// They are instantiated for each application, so that in the second compilation of its file
// lacuna-c++ can see the type at the call (../CMakeLists.txt).
#ifndef LACUNA_BENCH_APPS_APPLICATIONS_SITES_HPP_
#define LACUNA_BENCH_APPS_APPLICATIONS_SITES_HPP_

#include "bench/apps/applications/app.hpp"

namespace lacuna::bench {

#ifdef LACUNA_BENCH_SPECIALISED

template <MPI_Datatype (*kMake)(const Input&)>
void send_once(const Input& input, const Ends& ends) {
  MPI_Datatype type = kMake(input);
  MPI_Type_commit(&type);
  MPI_Send(ends.mem, 1, type, ends.partner, kSiteTag, MPI_COMM_WORLD);
  MPI_Type_free(&type);
}

template <MPI_Datatype (*kMake)(const Input&)>
void receive_once(const Input& input, const Ends& ends) {
  if (ends.element != MPI_DATATYPE_NULL) {
    MPI_Recv(ends.packed, ends.elements, ends.element, ends.partner, kSiteTag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    return;
  }
  MPI_Datatype type = kMake(input);
  MPI_Type_commit(&type);
  MPI_Recv(ends.mem, 1, type, ends.partner, kSiteTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Type_free(&type);
}

// `rounds` round trips; the type is made before and freed after them. Returns the seconds of all.
template <MPI_Datatype (*kMake)(const Input&)>
double exchange(const Input& input, const Ends& ends, int rounds) {
  MPI_Datatype type = kMake(input);
  MPI_Type_commit(&type);
  const double begin = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) {
    if (ends.is_first) MPI_Send(ends.mem, 1, type, ends.partner, kSiteTag, MPI_COMM_WORLD);
    if (ends.element != MPI_DATATYPE_NULL) {
      MPI_Recv(ends.packed, ends.elements, ends.element, ends.partner, kSiteTag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(ends.mem, 1, type, ends.partner, kSiteTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (!ends.is_first) MPI_Send(ends.mem, 1, type, ends.partner, kSiteTag, MPI_COMM_WORLD);
  }
  const double seconds = MPI_Wtime() - begin;
  MPI_Type_free(&type);
  return seconds;
}

template <MPI_Datatype (*kMake)(const Input&)>
constexpr Sites kSites = {kMake, send_once<kMake>, receive_once<kMake>, exchange<kMake>};

#else

template <MPI_Datatype (*kMake)(const Input&)>
constexpr Sites kSites = {kMake};

#endif

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_APPS_APPLICATIONS_SITES_HPP_
