// SPDX-License-Identifier: BSD-3-Clause
//
// The next symbols of a program that lacuna's archive is linked into: the library's PMPI_ names, as
// the linker has found them. Functions newer than MPI 3.1 come with the wrappers of their version,
// which the linker takes from the archive only if the program uses one of them.
#include <cstring>
#include <mutex>

#include "interpose/library/next.hpp"

// Fortran's entry points that go to PMPI_ and so past the wrappers; null where none is linked in.
extern "C" {
#define LACUNA_FORTRAN(name) [[gnu::weak]] void name()
LACUNA_FORTRAN(mpi_wait_f08_);
LACUNA_FORTRAN(mpi_waitall_f08_);
LACUNA_FORTRAN(mpi_waitany_f08_);
LACUNA_FORTRAN(mpi_waitsome_f08_);
LACUNA_FORTRAN(mpi_test_f08_);
LACUNA_FORTRAN(mpi_testall_f08_);
LACUNA_FORTRAN(mpi_testany_f08_);
LACUNA_FORTRAN(mpi_testsome_f08_);
LACUNA_FORTRAN(mpi_request_free_f08_);
LACUNA_FORTRAN(mpi_request_get_status_f08_);
LACUNA_FORTRAN(mpi_start_f08_);
LACUNA_FORTRAN(mpi_startall_f08_);
LACUNA_FORTRAN(mpi_win_fence_f08_);
LACUNA_FORTRAN(mpi_win_complete_f08_);
LACUNA_FORTRAN(mpi_win_unlock_f08_);
LACUNA_FORTRAN(mpi_win_unlock_all_f08_);
LACUNA_FORTRAN(mpi_win_flush_f08_);
LACUNA_FORTRAN(mpi_win_flush_all_f08_);
LACUNA_FORTRAN(mpi_win_flush_local_f08_);
LACUNA_FORTRAN(mpi_win_flush_local_all_f08_);
LACUNA_FORTRAN(mpi_win_free_f08_);
#undef LACUNA_FORTRAN
}

namespace lacuna {
namespace detail {

void link_3_1(Next* next);
[[gnu::weak]] void link_4_0(Next* next);
[[gnu::weak]] void link_4_1(Next* next);

namespace {
constinit std::mutex g_mutex;
constinit bool g_resolved = false;
}  // namespace

const Next& resolve() noexcept {
  const std::lock_guard<std::mutex> lock(g_mutex);
  if (g_resolved) return g_next;
  Next found{};
  for (const NextRow& row : next_rows()) {
    std::memcpy(reinterpret_cast<char*>(&found) + row.offset, &row.stand_in, sizeof(row.stand_in));
  }
  link_3_1(&found);
  if (link_4_0 != nullptr) link_4_0(&found);
  if (link_4_1 != nullptr) link_4_1(&found);
  g_next = found;
  g_resolved = true;
  return g_next;
}

}  // namespace detail

const Next& next_profiling() noexcept { return detail::resolve(); }

// A static program has one table for both.
void change_next(void (*change)(Next* next), void (*)(Next* next)) noexcept {
  change(&detail::g_next);
}

const char* next_lacks() noexcept { return nullptr; }

bool next_has_large() noexcept { return detail::link_4_0 != nullptr; }

// Only Open MPI has any.
void* mpi_data_symbol(const char*) { return nullptr; }

bool completion_may_be_hidden() {
  for (void (*routine)() :
       {mpi_wait_f08_, mpi_waitall_f08_, mpi_waitany_f08_, mpi_waitsome_f08_, mpi_test_f08_,
        mpi_testall_f08_, mpi_testany_f08_, mpi_testsome_f08_, mpi_request_free_f08_,
        mpi_request_get_status_f08_, mpi_start_f08_, mpi_startall_f08_}) {
    if (routine != nullptr) return true;
  }
  return false;
}

bool synchronization_may_be_hidden() {
  for (void (*routine)() :
       {mpi_win_fence_f08_, mpi_win_complete_f08_, mpi_win_unlock_f08_, mpi_win_unlock_all_f08_,
        mpi_win_flush_f08_, mpi_win_flush_all_f08_, mpi_win_flush_local_f08_,
        mpi_win_flush_local_all_f08_, mpi_win_free_f08_}) {
    if (routine != nullptr) return true;
  }
  return false;
}

// True: the direct path needs the preload library.
bool receives_may_be_hidden() { return true; }

}  // namespace lacuna
