// SPDX-License-Identifier: BSD-3-Clause
//
// Messages of a device's data by the direct path: the device packs into the sender's shared memory,
// and the receiver's unpacks from there. The fake driver counts that; with a real one only the data
// are compared.
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/interpose/device/memory.hpp"
#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kTag = 8;
constexpr On kBoth[] = {On::kHost, On::kDevice};
const char* name(On where) { return where == On::kHost ? "host" : "device"; }

bool is_pair() { return start_device() && g_size >= 2; }

void check_sent(On from, const DirectMoves& moves) {
  if (moves.are_counted()) CHECK(moves.packs() == (from == On::kDevice ? 1 : 0));
}
void check_received(On to, const DirectMoves& moves) {
  if (moves.are_counted()) CHECK(moves.unpacks() == (to == On::kDevice ? 1 : 0));
}

// One message of rank 0 to rank 1, of `count` elements. The sender's data are overwritten when its
// call is over; the receiver begins later.
void pass_late(MPI_Datatype type, int count, On from, On to) {
  context(std::to_string(data_bytes(type, count)) + " bytes from the " + name(from) + " to the " +
          name(to));
  if (g_rank == 0) {
    const DirectMoves moves;
    MPI_Request request;
    Elements out(from, type, count, 1);
    MPI_Isend(out.base(), count, type, 1, kTag, MPI_COMM_WORLD, &request);
    if (from == On::kDevice || moves.are_counted()) {
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      out.fill(77);
      request = MPI_REQUEST_NULL;
    }
    MPI_Send(nullptr, 0, MPI_INT, 1, kTag + 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_sent(from, moves);
  } else if (g_rank == 1) {
    const DirectMoves moves;
    const Elements sent(On::kHost, type, count, 1), in(to, type, count, 2);
    const std::vector<unsigned char> want = in.with(sent);
    if (moves.are_counted())
      MPI_Recv(nullptr, 0, MPI_INT, 0, kTag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(in.base(), count, type, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!moves.are_counted())
      MPI_Recv(nullptr, 0, MPI_INT, 0, kTag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in.read() == want);
    check_received(to, moves);
  }
  MPI_Barrier(MPI_COMM_WORLD);  // its region is free
  context("");
}

}  // namespace

// Also messages for which more of the arena must be pinned than before.
TOPIC(device_direct) {
  if (!is_pair()) return;
  const Column column(1024);
  for (const int count : {2, 128, 512, 768, 3}) {
    for (const On from : kBoth)
      for (const On to : kBoth)
        if (from == On::kDevice || to == On::kDevice) pass_late(column.type, count, from, to);
  }
  if (!is_fake_device() || !g_direct || g_rank > 1) return;
  CHECK(fake_count("fake_arena_bytes") > 0);
  // Of each arena 16 MiB, as the longest messages have 6 MiB.
  if (std::getenv("LACUNA_ARENA_MB") == nullptr)
    CHECK(fake_count("fake_arena_bytes") <= (long{16} << 20) * g_size);
}

// Messages of devices and hosts keep their order; and their regions are used again and again.
TOPIC(device_direct_order) {
  if (!is_pair()) return;
  const Column column(4096);
  constexpr int kMessages = 60;
  constexpr int kMost = 6;
  if (g_rank == 0) {
    for (int i = 0; i < kMessages; ++i) {
      const int count = 1 + i % kMost;
      const Elements out(i % 3 == 0 ? On::kHost : On::kDevice, column.type, count,
                         static_cast<unsigned>(i));
      MPI_Send(out.base(), count, column.type, 1, kTag, MPI_COMM_WORLD);
    }
  } else if (g_rank == 1) {
    for (int i = 0; i < kMessages; ++i) {
      const int count = 1 + i % kMost;
      const Elements in(i % 5 == 0 ? On::kHost : On::kDevice, column.type, count, 99);
      const std::vector<unsigned char> want =
          in.with(Elements(On::kHost, column.type, count, static_cast<unsigned>(i)));
      MPI_Status status;
      MPI_Recv(in.base(), count, column.type, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      int received = 0;
      MPI_Get_count(&status, column.type, &received);
      CHECK(received == count);
      CHECK(in.read() == want);
    }
  }
}

namespace {

// Cancels an operation and waits for it; whether it was cancelled.
int cancel(MPI_Request* request) {
  MPI_Cancel(request);
  MPI_Status status;
  MPI_Wait(request, &status);
  int is_cancelled = 0;
  MPI_Test_cancelled(&status, &is_cancelled);
  return is_cancelled;
}

}  // namespace

// A receive that is cancelled gets nothing; one that is too short gets an error and no byte behind
// its end; what comes after is right.
TOPIC(device_direct_ends) {
  if (!is_pair()) return;
  const Column column(1024);
  return_errors(MPI_COMM_WORLD);
  if (g_rank == 1) {
    const Elements in(On::kDevice, column.type, 4, 5);
    const std::vector<unsigned char> before = in.read();
    MPI_Request request;
    MPI_Irecv(in.base(), 4, column.type, 0, kTag, MPI_COMM_WORLD, &request);
    CHECK(cancel(&request) == 1);
    CHECK(in.read() == before);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (const On from : kBoth) {
    context(std::string("from the ") + name(from));
    if (g_rank == 0) {
      const Elements out(from, column.type, 4, 1);
      for (int i = 0; i < 2; ++i) MPI_Send(out.base(), 4, column.type, 1, kTag, MPI_COMM_WORLD);
      MPI_Request request;
      MPI_Isend(out.base(), 4, column.type, 1, kTag, MPI_COMM_WORLD, &request);
      const int is_cancelled = cancel(&request);
      MPI_Send(&is_cancelled, 1, MPI_INT, 1, kTag + 1, MPI_COMM_WORLD);
    } else if (g_rank == 1) {
      const Elements sent(On::kHost, column.type, 4, 1);
      const Elements small(On::kDevice, column.type, 1, 3), in(On::kDevice, column.type, 4, 4);
      const Elements like(On::kHost, column.type, 1, 3), one(On::kHost, column.type, 1, 1);
      CHECK(class_of(MPI_Recv(small.base(), 1, column.type, 0, kTag, MPI_COMM_WORLD,
                              MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
      const std::vector<unsigned char> got = small.read(), was = like.read();
      const std::vector<unsigned char> full = like.with(one);
      bool is_inside = true;  // each byte is as it was, or of the message
      for (size_t i = 0; i < got.size(); ++i)
        is_inside = is_inside && (got[i] == was[i] || got[i] == full[i]);
      CHECK(is_inside);
      const std::vector<unsigned char> want = in.with(sent);
      MPI_Recv(in.base(), 4, column.type, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(in.read() == want);
      int is_cancelled = 0;
      MPI_Recv(&is_cancelled, 1, MPI_INT, 0, kTag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (is_cancelled == 0)
        MPI_Recv(in.base(), 4, column.type, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(in.read() == want);
    }
  }
  context("");
}

namespace {

// One message each way at once; whether this rank's device has used an arena.
void exchange(MPI_Datatype type, int count, bool is_direct) {
  const DirectMoves moves;
  const Elements out(On::kDevice, type, count, static_cast<unsigned>(g_rank));
  const Elements in(On::kDevice, type, count, 9);
  const std::vector<unsigned char> want =
      in.with(Elements(On::kHost, type, count, static_cast<unsigned>(1 - g_rank)));
  MPI_Sendrecv(out.base(), count, type, 1 - g_rank, kTag, in.base(), count, type, 1 - g_rank, kTag,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in.read() == want);
  if (!moves.are_counted()) return;
  CHECK(moves.packs() == (is_direct ? 1 : 0));
  CHECK(moves.unpacks() == (is_direct ? 1 : 0));
}

}  // namespace

// The driver pins nothing of an arena, in both ranks or in the receiver alone; later no more of it;
// the context is reset, and what it has pinned is gone.
TOPIC(device_direct_refused) {
  if (!is_pair() || g_size != 2 || !is_fake_device() || !g_direct) return;
  const Column column(1024);
  int& refuses = fake_switch("fake_refuses_arenas");
  refuses = 1;
  exchange(column.type, 64, false);
  CHECK(fake_count("fake_arena_bytes") == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  // What was refused is not asked for again. A new context asks.
  refuses = 0;
  exchange(column.type, 64, false);
  MPI_Barrier(MPI_COMM_WORLD);
  reset_device();
  exchange(column.type, 64, true);
  MPI_Barrier(MPI_COMM_WORLD);
  // Less is still pinned where more is refused.
  const long before = fake_count("fake_arena_bytes");
  refuses = 1;
  exchange(column.type, 64, true);
  CHECK(fake_count("fake_arena_bytes") == before);
  MPI_Barrier(MPI_COMM_WORLD);
  // In the receiver alone: then the payload goes through other memory.
  refuses = g_rank;
  reset_device();
  {
    const DirectMoves moves;
    const Elements data(On::kDevice, column.type, 600, static_cast<unsigned>(g_rank));
    if (g_rank == 0) {
      MPI_Send(data.base(), 600, column.type, 1, kTag, MPI_COMM_WORLD);
      CHECK(moves.packs() == 1);
    } else {
      const std::vector<unsigned char> want = data.with(Elements(On::kHost, column.type, 600, 0));
      MPI_Recv(data.base(), 600, column.type, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(data.read() == want);
      CHECK(moves.unpacks() == 0);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  refuses = 0;
  reset_device();
  exchange(column.type, 64, true);
}

// Where the arena is full, and where a region lies behind what may be pinned, messages go packed.
TOPIC(device_direct_full) {
  if (!is_pair() || !is_fake_device() || !g_direct || g_rank > 1) return;
  const Column column(1024);
  constexpr int kCount = 128;
  // Two runs, so that it has a gap; 62 MiB.
  constexpr int kRun = 31 << 17;
  MPI_Datatype large;
  MPI_Type_vector(2, kRun, kRun + 1, MPI_DOUBLE, &large);
  MPI_Type_commit(&large);
  std::vector<double> doubles(size_t{2} * kRun + 1, g_rank == 0 ? 3.0 : 4.0);
  if (g_rank == 0) {
    MPI_Request requests[3];
    for (int i = 0; i < 2; ++i)
      MPI_Isend(doubles.data(), 1, large, 1, kTag + 1, MPI_COMM_WORLD, &requests[i]);
    const DirectMoves moves;
    const Elements out(On::kDevice, column.type, kCount * 3, 1);
    // 3 MiB lie behind 64 MiB, or find no room.
    MPI_Isend(out.base(), kCount * 3, column.type, 1, kTag, MPI_COMM_WORLD, &requests[2]);
    CHECK(moves.packs() == 0);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  } else {
    const Elements sent(On::kHost, column.type, kCount * 3, 1);
    const Elements in(On::kDevice, column.type, kCount * 3, 2);
    const std::vector<unsigned char> want = in.with(sent);
    MPI_Recv(in.base(), kCount * 3, column.type, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in.read() == want);
    for (int i = 0; i < 2; ++i) {
      MPI_Recv(doubles.data(), 1, large, 0, kTag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(doubles.front() == 3.0 && doubles.back() == 3.0 && doubles[kRun] == 4.0);
    }
  }
  MPI_Type_free(&large);
}

// A device that fails: nothing is sent, and the region is given back.
TOPIC(device_direct_fails) {
  if (!is_pair() || g_size != 2 || !is_fake_device() || !g_direct) return;
  const Column column(1024);
  exchange(column.type, 4, true);
  return_errors(MPI_COMM_WORLD);
  const Elements data(On::kDevice, column.type, 4, 1);
  MPI_Request persistent;
  if (g_rank == 0) MPI_Send_init(data.base(), 4, column.type, 1, kTag, MPI_COMM_WORLD, &persistent);
  for (const char* how : {"fake_fails_to_launch", "fake_fails_to_wait"}) {
    context(how);
    // In the sender: more often than regions there are.
    for (int i = 0; g_rank == 0 && i < 300; ++i) {
      fake_switch(how) = 1;
      MPI_Request request = MPI_REQUEST_NULL;
      if (i % 3 == 0)
        CHECK(class_of(MPI_Send(data.base(), 4, column.type, 1, kTag, MPI_COMM_WORLD)) ==
              MPI_ERR_OTHER);
      if (i % 3 == 1)
        CHECK(class_of(MPI_Isend(data.base(), 4, column.type, 1, kTag, MPI_COMM_WORLD, &request)) ==
              MPI_ERR_OTHER);
      if (i % 3 == 2) CHECK(class_of(MPI_Start(&persistent)) == MPI_ERR_OTHER);
      CHECK(request == MPI_REQUEST_NULL);
      fake_switch(how) = 0;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    // In the receiver: the message is lost, and the next one arrives.
    if (g_rank == 0) {
      MPI_Send(data.base(), 4, column.type, 1, kTag, MPI_COMM_WORLD);
    } else {
      fake_switch(how) = 1;
      CHECK(class_of(MPI_Recv(data.base(), 4, column.type, 0, kTag, MPI_COMM_WORLD,
                              MPI_STATUS_IGNORE)) == MPI_ERR_OTHER);
      fake_switch(how) = 0;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    exchange(column.type, 4, true);
    context("");
  }
  if (g_rank == 0) {
    const DirectMoves moves;
    MPI_Start(&persistent);
    MPI_Wait(&persistent, MPI_STATUS_IGNORE);
    check_sent(On::kDevice, moves);
    MPI_Request_free(&persistent);
  } else {
    const Elements in(On::kDevice, column.type, 4, 2);
    const std::vector<unsigned char> want = in.with(Elements(On::kHost, column.type, 4, 1));
    MPI_Recv(in.base(), 4, column.type, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in.read() == want);
  }
}
