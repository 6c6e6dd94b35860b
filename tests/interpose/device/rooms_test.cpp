// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives of a device's data through shared memory: of the host, or of the device where ranks
// have mapped it (LACUNA_GPU_IPC).
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/interpose/device/memory.hpp"
#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

bool is_room() { return start_device() && g_size > 1 && g_direct; }
bool is_fake_room() { return is_room() && is_fake_device(); }
bool has_windows() {
  const char* const said = std::getenv("LACUNA_GPU_IPC");
  return said != nullptr && std::string(said) == "1";
}

// The call on the host without lacuna, and on the given memory with it. Returns the class of its
// error; no error: all bytes are compared.
template <typename Call>
int compare(MPI_Datatype type, int count, On from, On to, const Call& call) {
  static unsigned seed = 0;
  seed += 2;
  const unsigned own = seed + 100 * static_cast<unsigned>(g_rank);
  const Elements plain_out(On::kHost, type, count, own), plain_in(On::kHost, type, count, own + 1);
  lacuna(false);
  call(plain_out.base(), plain_in.base());
  lacuna(true);
  const Elements out(from, type, count, own), in(to, type, count, own + 1);
  const int code = call(out.base(), in.base());
  if (code != MPI_SUCCESS) return class_of(code);
  CHECK(in.read() == plain_in.read());
  CHECK(out.read() == plain_out.read());
  return MPI_SUCCESS;
}

int alltoall(const Column& column, int each, On from = On::kDevice, On to = On::kDevice) {
  return compare(column.type, each * g_size, from, to, [&](void* out, void* in) {
    return MPI_Alltoall(out, each, column.type, in, each, column.type, MPI_COMM_WORLD);
  });
}

int bcast(const Column& column, int count) {
  return compare(column.type, count, On::kDevice, On::kDevice, [&](void*, void* in) {
    return MPI_Bcast(in, count, column.type, 0, MPI_COMM_WORLD);
  });
}

// As with messages: in the first call a receiver asks for a window, in the second the sender makes
// it, and the receiver maps it.
void begin_windows(const Column& column) {
  for (int i = 0; i < 2; ++i) CHECK(alltoall(column, 2) == MPI_SUCCESS);
}

}  // namespace

// Each rank's device packs once for each other rank, or once for all, and unpacks from each.
TOPIC(device_rooms) {
  if (!is_room()) return;
  const Column column;
  const long others = g_size - 1;
  begin_windows(column);
  for (const int each : {2, 1, 40, 3}) {
    context(std::to_string(each) + " columns");
    for (const On from : {On::kDevice, On::kHost}) {
      for (const On to : {On::kDevice, On::kHost}) {
        const DirectMoves moves;
        const long launches = is_fake_device() ? fake_count("fake_launches") : 0;
        CHECK(alltoall(column, each, from, to) == MPI_SUCCESS);
        if (!moves.are_counted()) continue;
        // Data of up to 64 KiB are packed for all in one launch. One more is for its own.
        const long for_others = each * 8192 <= 64 << 10 ? 1 : others;
        if (from == On::kDevice && to == On::kHost)
          CHECK(fake_count("fake_launches") - launches == for_others + 1);
        const bool is_window = has_windows() && from == On::kDevice;
        CHECK(moves.packs() == (from == On::kDevice ? others : 0));
        CHECK(moves.window_packs() == (is_window ? others : 0));
        CHECK(moves.window_unpacks() == (is_window && to == On::kDevice ? others : 0));
        // A device unpacks what the CPU packs as it comes.
        if (from == On::kDevice) CHECK(moves.unpacks() == (to == On::kDevice ? others : 0));
        if (from == On::kHost && to == On::kDevice) CHECK(moves.unpacks() >= others);
      }
    }
    const DirectMoves moves;
    CHECK(bcast(column, each) == MPI_SUCCESS);
    if (!moves.are_counted()) continue;
    CHECK(moves.packs() == (g_rank == 0 ? 1 : 0));
    CHECK(moves.unpacks() == (g_rank == 0 ? 0 : 1));
    CHECK(moves.window_packs() == (g_rank == 0 && has_windows() ? 1 : 0));
  }
  context("");
}

// One side has no gaps.
TOPIC(device_rooms_plain) {
  if (!is_room()) return;
  const Column column;
  const int all = 3 * 1024 * g_size;  // doubles, with gaps
  for (const On place : {On::kDevice, On::kHost}) {
    for (int i = 0; i < 3; ++i) {
      const DirectMoves moves;
      CHECK(compare(MPI_DOUBLE, all, On::kDevice, place, [&](void* out, void* in) {
              return MPI_Gather(out, 1, column.type, in, 1024, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            }) == MPI_SUCCESS);
      CHECK(compare(MPI_DOUBLE, all, place, On::kDevice, [&](void* out, void* in) {
              return MPI_Allgather(out, 1024, MPI_DOUBLE, in, 1, column.type, MPI_COMM_WORLD);
            }) == MPI_SUCCESS);
      if (moves.are_counted()) CHECK(moves.unpacks() > 0 && (g_rank == 0 || moves.packs() > 0));
    }
  }
}

// More than a window holds (LACUNA_ARENA_MB=8): in pieces, from and to all kinds of memory.
TOPIC(device_rooms_large) {
  if (!is_fake_room()) return;
  const Column column;
  for (const On from : {On::kDevice, On::kHost}) {
    for (const On to : {On::kDevice, On::kHost}) {
      const long before = fake_count("fake_arena_packs") + fake_count("fake_window_packs");
      for (const int each : {257, 700}) CHECK(alltoall(column, each, from, to) == MPI_SUCCESS);
      const long packs = fake_count("fake_arena_packs") + fake_count("fake_window_packs") - before;
      if (from == On::kDevice) CHECK(packs > 2 * (g_size - 1));
    }
  }
  CHECK(bcast(column, 700) == MPI_SUCCESS);
}

// Memory of the direct path that cannot be pinned.
TOPIC(device_rooms_refused) {
  if (!is_fake_room()) return;
  const Column column;
  fake_switch("fake_refuses_arenas") = g_rank == 0 ? 1 : 0;
  for (const On from : {On::kDevice, On::kHost})
    for (const On to : {On::kDevice, On::kHost})
      CHECK(alltoall(column, 2, from, to) == MPI_SUCCESS);
  fake_switch("fake_refuses_arenas") = 0;
  reset_device();
  for (int i = 0; i < 3; ++i) CHECK(alltoall(column, 2) == MPI_SUCCESS);
}

// A device that fails: all ranks that need its data return an error, and the next call is right.
TOPIC(device_rooms_fails) {
  if (!is_fake_room()) return;
  const Column column;
  return_errors(MPI_COMM_WORLD);
  begin_windows(column);
  for (const char* how : {"fake_fails_to_launch", "fake_fails_to_wait"}) {
    context(how);
    const Elements data(On::kDevice, column.type, 4, 1);
    const auto fail_in = [&](int rank) {
      if (g_rank == rank) fake_switch(how) = 1;
      const int code = MPI_Bcast(data.base(), 4, column.type, 0, MPI_COMM_WORLD);
      if (g_rank == rank) fake_switch(how) = 0;
      return class_of(code);
    };
    for (int i = 0; i < 100; ++i) CHECK(fail_in(0) == MPI_ERR_OTHER);
    CHECK(bcast(column, 4) == MPI_SUCCESS);
    for (int i = 0; i < 100; ++i) CHECK(fail_in(1) == (g_rank == 1 ? MPI_ERR_OTHER : MPI_SUCCESS));
    CHECK(alltoall(column, 4) == MPI_SUCCESS);
  }
  context("");
}

// A rank whose device is reset between calls. However often: a rank keeps one window of each peer.
TOPIC(device_rooms_reset) {
  if (!is_fake_room()) return;
  const Column column;
  constexpr long kWindow = 64L << 20;
  begin_windows(column);
  for (int i = 0; i < 4; ++i) {
    if (g_rank == i % g_size) reset_device();
    for (int k = 0; k < 3; ++k) {
      CHECK(bcast(column, 4) == MPI_SUCCESS);
      const DirectMoves moves;
      CHECK(alltoall(column, 4) == MPI_SUCCESS);
      if (moves.are_counted() && has_windows() && k == 2)
        CHECK(moves.window_packs() == g_size - 1 && moves.window_unpacks() == g_size - 1);
    }
    CHECK(fake_count("fake_shared_bytes") <= g_size * kWindow);
  }
}

// A rank that has given its context back takes pieces out of a window to memory of the host: one
// context is made for all of them (LACUNA_ARENA_MB=8).
TOPIC(device_rooms_gone) {
  if (!is_fake_room()) return;
  const Column column;
  begin_windows(column);
  constexpr int kCount = 700;
  const Elements data(g_rank == 0 ? On::kDevice : On::kHost, column.type, kCount,
                      g_rank == 0 ? 1 : 2);
  const Elements sent(On::kHost, column.type, kCount, 1);
  const std::vector<unsigned char> want = g_rank == 0 ? data.read() : data.with(sent);
  const auto release = reinterpret_cast<int (*)(int)>(fake_symbol("cuDevicePrimaryCtxRelease_v2"));
  while (g_rank == 1 && release(0) == 0) continue;
  const long made = fake_count("fake_contexts_made");
  MPI_Bcast(data.base(), kCount, column.type, 0, MPI_COMM_WORLD);
  CHECK(data.read() == want);
  CHECK(fake_count("fake_contexts_made") - made == (g_rank == 1 && has_windows() ? 1 : 0));
  if (g_rank == 1) reset_device();
}
