// SPDX-License-Identifier: BSD-3-Clause
//
// One-sided communication: every kind of window and origin, errors, and the rules of the policy.
#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/interpose/rma/rma_calls.hpp"

using namespace test;

// An origin at MPI_BOTTOM; MPI_PROC_NULL as the target; no data; lacuna switched off in between.
TOPIC(rma_odd_calls) {
  Window window;
  window.memory.fill(seed(g_rank, 3));
  const int right = (g_rank + 1) % g_size;
  MPI_Datatype type = column_of_ints(), absolute;
  Region result(seed(g_rank, 2)), expected(result), origin(0), theirs(seed(right, 3));
  MPI_Aint place;
  MPI_Get_address(result.base(), &place);
  const int one = 1;
  MPI_Type_create_hindexed(1, &one, &place, type, &absolute);
  MPI_Type_commit(&absolute);
  MPI_Win_fence(0, window.win);
  CHECK(MPI_Get(MPI_BOTTOM, 1, absolute, right, Region::kMiddle, 1, type, window.win) ==
        MPI_SUCCESS);
  CHECK(MPI_Get(result.base(), 1, type, MPI_PROC_NULL, 0, 1, type, window.win) == MPI_SUCCESS);
  CHECK(MPI_Get(result.base(), 0, type, right, 0, 0, type, window.win) == MPI_SUCCESS);
  CHECK(taken("MPI_Get") == 1);
  MPI_Type_free(&absolute);
  lacuna(false);
  MPI_Win_fence(0, window.win);
  expect(Kind::kGet, type, 1, type, 1, &origin, &expected, &theirs);
  CHECK(result == expected);
  CHECK(MPI_Put(result.base(), 1, type, right, 0, 1, type, window.win) == MPI_SUCCESS);
  lacuna(true);
  MPI_Win_fence(0, window.win);
  CHECK(taken("MPI_Put") == 0);
  MPI_Type_free(&type);
}

// Windows of every flavour. An origin that others can see through the window as soon as the library
// has synchronised it must be written by the library.
TOPIC(rma_windows) {
  MPI_Datatype type = column_of_ints();
  const int right = (g_rank + 1) % g_size;
  for (const int flavour :
       {MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_SHARED, MPI_WIN_FLAVOR_DYNAMIC}) {
    context("flavour " + std::to_string(flavour));
    MPI_Win win;
    Region own(0);
    unsigned char* memory = own.bytes.data();
    MPI_Aint displacement = 0;
    if (flavour == MPI_WIN_FLAVOR_ALLOCATE) {
      MPI_Win_allocate(Region::kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    } else if (flavour == MPI_WIN_FLAVOR_SHARED) {
      MPI_Win_allocate_shared(Region::kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    } else {
      MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
      MPI_Win_attach(win, memory, Region::kBytes);
      std::vector<MPI_Aint> all(static_cast<size_t>(g_size));
      MPI_Get_address(memory, &displacement);
      MPI_Allgather(&displacement, 1, MPI_AINT, all.data(), 1, MPI_AINT, MPI_COMM_WORLD);
      displacement = all[static_cast<size_t>(right)];
    }
    Region mine(seed(g_rank, 3)), theirs(seed(right, 3)), result(seed(g_rank, 2)), expected(result),
        unused(0);
    std::copy(mine.bytes.begin(), mine.bytes.end(), memory);
    displacement += Region::kMiddle;
    MPI_Win_fence(0, win);
    const int64_t before = taken("MPI_Get");
    MPI_Get(result.base(), kCount, type, right, displacement, kCount, type, win);
    MPI_Win_fence(0, win);
    expect(Kind::kGet, type, kCount, type, kCount, &unused, &expected, &theirs);
    CHECK(result == expected);
    CHECK(taken("MPI_Get") - before == (flavour == MPI_WIN_FLAVOR_DYNAMIC ? 0 : 1));
    // Into the window itself; each neighbour reads it as soon as it may. In shared memory, the get
    // is complete when it returns.
    MPI_Get(memory, kCount, type, right, displacement, kCount, type, win);
    MPI_Win_fence(0, win);
    const int64_t all = flavour == MPI_WIN_FLAVOR_SHARED ? 2 : 1;
    CHECK(taken("MPI_Get") - before == (flavour == MPI_WIN_FLAVOR_DYNAMIC ? 0 : all));
    Region seen(seed(g_rank, 2));
    MPI_Get(seen.bytes.data(), kCount, type, right, displacement - Region::kMiddle, kCount, type,
            win);
    MPI_Win_fence(0, win);
    const int64_t puts = taken("MPI_Put");
    MPI_Put(result.base(), kCount, type, right, displacement, kCount, type, win);
    MPI_Win_fence(0, win);
    CHECK(taken("MPI_Put") - puts == 1);
    Region left(seed((g_rank + g_size - 1) % g_size, 2));
    Region from(seed(g_rank, 3));
    expect(Kind::kGet, type, kCount, type, kCount, &unused, &left, &from);
    expect(Kind::kPut, type, kCount, type, kCount, &left, &unused, &mine);
    CHECK(std::equal(memory + Region::kMiddle, memory + Region::kBytes, mine.base()));
    if (flavour == MPI_WIN_FLAVOR_DYNAMIC) MPI_Win_detach(win, memory);
    MPI_Win_free(&win);
  }
  context("");
  MPI_Type_free(&type);
}

// In shared memory, nothing is moved before the target has exposed its memory: what it has written
// before that comes first.
TOPIC(rma_shared_late) {
  Window window(Window::Memory::kShared);
  MPI_Datatype type = column_of_ints();
  const Region early(seed(0, 4)), late(seed(0, 5)), given(seed(0, 6));
  for (const Epoch epoch : {Epoch::kFence, Epoch::kStart, Epoch::kLock}) {
    for (const Kind kind : {Kind::kPut, Kind::kGet}) {
      context(function_of(kind, false, false) + " in epoch " +
              std::to_string(static_cast<int>(epoch)));
      Region origin(given), result(1);
      Region same_origin(given), same_result(1), target(late);
      expect(kind, type, kCount, type, kCount, &same_origin, &same_result, &target);
      if (g_rank == 1) {
        window.put(early);
        if (epoch == Epoch::kLock) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window.win);
      }
      MPI_Barrier(MPI_COMM_WORLD);
      if (g_rank == 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        window.put(late);
        if (epoch == Epoch::kLock) MPI_Win_unlock(1, window.win);
      }
      const auto comm_info_of = [&](int rank) {
        MPI_Group all, one;
        MPI_Win_get_group(window.win, &all);
        MPI_Group_incl(all, 1, &rank, &one);
        MPI_Group_free(&all);
        return one;
      };
      MPI_Group other = comm_info_of(g_rank == 0 ? 1 : 0);
      if (epoch == Epoch::kFence) MPI_Win_fence(MPI_MODE_NOPRECEDE, window.win);
      if (epoch == Epoch::kStart && g_rank == 1) MPI_Win_post(other, 0, window.win);
      if (g_rank == 0) {
        if (epoch == Epoch::kStart) MPI_Win_start(other, 0, window.win);
        if (epoch == Epoch::kLock) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window.win);
        const RmaCall call{origin.base(),   result.base(), kCount, type,      1,
                           window.middle(), kCount,        type,   window.win};
        CHECK(issue(kind, call, nullptr) == MPI_SUCCESS);
        if (epoch == Epoch::kStart) MPI_Win_complete(window.win);
        if (epoch == Epoch::kLock) MPI_Win_unlock(1, window.win);
      }
      if (epoch == Epoch::kFence) MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win);
      if (epoch == Epoch::kStart && g_rank == 1) MPI_Win_wait(window.win);
      MPI_Group_free(&other);
      MPI_Barrier(MPI_COMM_WORLD);
      CHECK(g_rank != 0 || result == same_result);
      CHECK(g_rank != 1 || window.holds(target));
      CHECK(g_rank != 0 || taken(function_of(kind, false, false).c_str()) > 0);
    }
  }
  context("");
  MPI_Type_free(&type);
}

// Invalid ranks are an error of the library's, and with MPI_PROC_NULL nothing is moved.
TOPIC(rma_shared_declined) {
  Window window(Window::Memory::kShared);
  MPI_Datatype type = column_of_ints();
  Region own(1), result(1);
  MPI_Win_lock(MPI_LOCK_SHARED, g_rank, 0, window.win);
  CHECK(taken_by("MPI_Get",
                 [&] { MPI_Get(own.base(), 1, type, g_rank, 0, 1, type, window.win); }) == 1);
  MPI_Win_unlock(g_rank, window.win);
  const Region untouched(1);
  MPI_Win_set_errhandler(window.win, MPI_ERRORS_RETURN);
  window.put(Region(seed(g_rank, 3)));
  MPI_Win_lock_all(0, window.win);
#if !defined(LACUNA_MPI_FAMILY_MPIABI)  // whose libraries do not agree on MPI_ERRORS_RETURN
  for (const int rank : {g_size, -77}) {
    int classes[2] = {0, 0};
    for (const bool on : {false, true}) {
      lacuna(on);
      classes[on] = class_of(MPI_Get(result.base(), 1, type, rank, 0, 1, type, window.win));
    }
    CHECK(classes[0] == classes[1]);
  }
#endif
  CHECK(result == untouched);
  CHECK(taken_by("MPI_Put", [&] {
          MPI_Put(result.base(), 1, type, MPI_PROC_NULL, 0, 1, type, window.win);
        }) == 0);
  MPI_Win_unlock_all(window.win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(window.holds(Region(seed(g_rank, 3))));
  MPI_Type_free(&type);
}

static void ignore_error(MPI_Win*, int*, ...) {}

// Errors are the library's, and a failed operation has no effect later.
TOPIC(rma_errors) {
  Window window;
  const MPI_Win win = window.win;
  MPI_Datatype type = column_of_ints(), uncommitted;
  MPI_Type_vector(8, 1, 8, MPI_INT, &uncommitted);
  Region result(1);
  const Region untouched(1);
  MPI_Errhandler handler;
  MPI_Win_create_errhandler(ignore_error, &handler);
  return_errors(MPI_COMM_WORLD);
  return_errors(MPI_COMM_SELF);
  for (const MPI_Errhandler& each : std::vector<MPI_Errhandler>{MPI_ERRORS_RETURN, handler}) {
#if defined(LACUNA_MPI_FAMILY_MPIABI)  // whose libraries do not agree on that value
    if (each == MPI_ERRORS_RETURN) continue;
#endif
    MPI_Win_set_errhandler(win, each);
    const auto same = [&](const char* name, const std::function<int()>& call) {
      context(name);
      int classes[2] = {0, 0};
      for (const bool on : {false, true}) {
        lacuna(on);
        classes[on] = class_of(call());
      }
      CHECK(classes[0] == classes[1]);
    };
    MPI_Win_lock_all(0, win);
    void* at = result.base();
    same("rank", [&] { return MPI_Get(at, 1, type, g_size, 0, 1, type, win); });
    same("rank of a put", [&] { return MPI_Put(at, 1, type, -77, 0, 1, type, win); });
    same("count", [&] { return MPI_Get(at, -1, type, 0, 0, 1, type, win); });
    same("count at the target", [&] { return MPI_Get(at, 1, type, 0, 0, -1, type, win); });
    same("uncommitted", [&] { return MPI_Put(at, 1, uncommitted, 0, 0, 8, MPI_INT, win); });
    same("target uncommitted", [&] { return MPI_Get(at, 1, type, 0, 0, 1, uncommitted, win); });
    same("window", [&] { return MPI_Get(at, 1, type, 0, 0, 1, type, MPI_WIN_NULL); });
    MPI_Win_unlock_all(win);
    CHECK(result == untouched);
  }
  context("");
  MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL);
  CHECK(taken_by("MPI_Put", [&] {
          MPI_Win_lock_all(0, win);
          MPI_Put(result.base(), 1, type, g_rank, 0, 1, type, win);
          MPI_Win_unlock_all(win);
        }) == 1);
  MPI_Errhandler_free(&handler);
  MPI_Type_free(&type);
  MPI_Type_free(&uncommitted);
}

// Run with LACUNA_ALWAYS=0: by the rules, into memory of the program; the same bytes either way.
TOPIC(rma_rules) {
  constexpr int n = 256;
  MPI_Datatype narrow = column(n), transpose;
  MPI_Type_create_resized(narrow, 0, sizeof(double), &transpose);
  MPI_Type_commit(&transpose);
  std::vector<double> memory(n * n), result(n * n, -1);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<double>(i) + g_rank;
  MPI_Win win;
  MPI_Win_create(memory.data(), n * n * sizeof(double), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  const int right = (g_rank + 1) % g_size;
  MPI_Win_fence(0, win);
  MPI_Get(result.data(), n, transpose, right, 0, n * n, MPI_DOUBLE, win);
  MPI_Win_fence(0, win);
  bool good = true;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j)
      good = good && result[j * n + i] == static_cast<double>(i * n + j) + right;
  }
  CHECK(good);
  CHECK(taken("MPI_Get") == (is_older_mpich() ? 0 : 1));
  MPI_Win_fence(0, win);
  MPI_Put(result.data(), 8, transpose, right, 0, 8 * n, MPI_DOUBLE, win);  // not measured to pay
  MPI_Win_fence(0, win);
  CHECK(taken("MPI_Put") == (is_open_mpi() ? 1 : 0));
  int position = 0;  // nothing else is handled with MPICH 4
  MPI_Pack(result.data(), 8, transpose, memory.data(), 8 * n * 8, &position, MPI_COMM_WORLD);
  MPI_Win_free(&win);
  MPI_Type_free(&narrow);
  MPI_Type_free(&transpose);
}
