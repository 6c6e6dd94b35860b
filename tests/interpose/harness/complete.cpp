// SPDX-License-Identifier: BSD-3-Clause
#include "tests/interpose/harness/complete.hpp"

#include <dlfcn.h>
#include <sched.h>

#include "tests/interpose/harness/harness.hpp"

namespace test {

const GetStatusAll get_status_all =
    reinterpret_cast<GetStatusAll>(dlsym(RTLD_DEFAULT, "MPI_Request_get_status_all"));
const GetStatusAny get_status_any =
    reinterpret_cast<GetStatusAny>(dlsym(RTLD_DEFAULT, "MPI_Request_get_status_any"));
const GetStatusSome get_status_some =
    reinterpret_cast<GetStatusSome>(dlsym(RTLD_DEFAULT, "MPI_Request_get_status_some"));

namespace {

// Whether nothing was complete; then the core is yielded to the other ranks.
bool is_vain(int completed) {
  if (completed == 0) sched_yield();
  return completed == 0;
}

}  // namespace

void complete(How how, std::vector<MPI_Request>* requests, bool ignore, const Done& done) {
  const int n = static_cast<int>(requests->size());
  MPI_Request* const all = requests->data();
  std::vector<MPI_Status> statuses(requests->size());
  std::vector<int> indices(requests->size());
  MPI_Status* const many = ignore ? MPI_STATUSES_IGNORE : statuses.data();
  MPI_Status* const one = ignore ? MPI_STATUS_IGNORE : statuses.data();
  const auto tell = [&](int i, int at) {
    done(i, ignore ? nullptr : &statuses[static_cast<size_t>(at)]);
  };
  int index = 0, flag = 0, outcount = 0;
  switch (how) {
    case How::kWait:
      for (int i = 0; i < n; ++i) {
        MPI_Wait(&all[i], one);
        tell(i, 0);
      }
      return;
    case How::kWaitall:
      MPI_Waitall(n, all, many);
      for (int i = 0; i < n; ++i) tell(i, i);
      return;
    case How::kWaitany:
      for (int i = 0; i < n; ++i) {
        MPI_Waitany(n, all, &index, one);
        tell(index, 0);
      }
      MPI_Waitany(n, all, &index, one);
      CHECK(index == MPI_UNDEFINED);
      return;
    case How::kWaitsome:
      for (int left = n; left > 0; left -= outcount) {
        MPI_Waitsome(n, all, &outcount, indices.data(), many);
        for (int i = 0; i < outcount; ++i) tell(indices[static_cast<size_t>(i)], i);
      }
      return;
    case How::kTest:
      for (int left = n; left > 0;) {
        for (int i = 0; i < n; ++i) {
          if (all[i] == MPI_REQUEST_NULL) continue;
          MPI_Test(&all[i], &flag, one);
          if (is_vain(flag)) continue;
          tell(i, 0);
          --left;
        }
      }
      return;
    case How::kTestall:
      do {
        MPI_Testall(n, all, &flag, many);
      } while (is_vain(flag));
      for (int i = 0; i < n; ++i) tell(i, i);
      return;
    case How::kTestany:
      for (int left = n; left > 0;) {
        MPI_Testany(n, all, &index, &flag, one);
        if (is_vain(flag)) continue;
        tell(index, 0);
        --left;
      }
      return;
    case How::kTestsome:
      for (int left = n; left > 0; left -= outcount) {
        MPI_Testsome(n, all, &outcount, indices.data(), many);
        is_vain(outcount);
        for (int i = 0; i < outcount; ++i) tell(indices[static_cast<size_t>(i)], i);
      }
      return;
    case How::kGetStatus:
      for (int i = 0; i < n; ++i) {
        do {
          MPI_Request_get_status(all[i], &flag, one);
        } while (is_vain(flag));
        tell(i, 0);
        MPI_Wait(&all[i], MPI_STATUS_IGNORE);
      }
      return;
    case How::kGetStatusAll:
      do {
        get_status_all(n, all, &flag, many);
      } while (is_vain(flag));
      for (int i = 0; i < n; ++i) tell(i, i);
      MPI_Waitall(n, all, MPI_STATUSES_IGNORE);
      return;
    case How::kGetStatusAny:
      for (int i = 0; i < n; ++i) {
        do {
          get_status_any(n, all, &index, &flag, one);
        } while (is_vain(flag));
        tell(index, 0);
        MPI_Wait(&all[index], MPI_STATUS_IGNORE);
      }
      return;
    case How::kGetStatusSome:
      for (int left = n; left > 0; left -= outcount) {
        get_status_some(n, all, &outcount, indices.data(), many);
        is_vain(outcount);
        for (int i = 0; i < outcount; ++i) {
          tell(indices[static_cast<size_t>(i)], i);
          MPI_Wait(&all[indices[static_cast<size_t>(i)]], MPI_STATUS_IGNORE);
        }
      }
      return;
    case How::kCount:
      return;
  }
}

}  // namespace test
