// SPDX-License-Identifier: BSD-3-Clause
//
// Messages between memory of devices through device memory that both ranks have mapped
// (LACUNA_GPU_IPC). The fake driver's shared memory is really shared between the processes.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/interpose/device/memory.hpp"
#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kTag = 9;

bool is_pair() { return start_device() && g_size == 2 && g_direct; }
bool is_fake_pair() { return is_pair() && is_fake_device(); }

enum class Through { kHost, kWindow };

// With a real device nothing is counted.
void check_sent(const DirectMoves& moves, On from, Through through, int messages = 1) {
  if (!moves.are_counted()) return;
  CHECK(moves.packs() == (from == On::kDevice ? messages : 0));
  CHECK(moves.window_packs() == (through == Through::kWindow ? messages : 0));
}
// What is in a window and goes to the host is copied by the driver.
void check_received(const DirectMoves& moves, On to, Through through, int messages = 1) {
  if (!moves.are_counted()) return;
  CHECK(moves.unpacks() == (to == On::kDevice ? messages : 0));
  CHECK(moves.window_unpacks() ==
        (through == Through::kWindow && to == On::kDevice ? messages : 0));
}

void send(MPI_Datatype type, int count, unsigned seed, On from, int tag = kTag) {
  const Elements out(from, type, count, seed);
  MPI_Send(out.base(), count, type, 1, tag, MPI_COMM_WORLD);
}

void receive(MPI_Datatype type, int count, unsigned seed, On to, int tag = kTag) {
  const Elements sent(On::kHost, type, count, seed), in(to, type, count, seed + 100);
  const std::vector<unsigned char> want = in.with(sent);
  MPI_Recv(in.base(), count, type, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in.read() == want);
}

// A message of rank 0 to rank 1, which is received before anything else happens.
void pass(MPI_Datatype type, int count, Through through, On from = On::kDevice,
          On to = On::kDevice) {
  static unsigned seed = 0;
  ++seed;
  const DirectMoves moves;
  if (g_rank == 0) {
    send(type, count, seed, from);
    check_sent(moves, from, through);
  } else {
    receive(type, count, seed, to);
    check_received(moves, to, through);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// Messages until windows are used. With the first the receiver asks for a window, with the second
// the sender makes it, and the receiver maps it.
void begin_windows(MPI_Datatype type) {
  pass(type, 4, Through::kHost);
  pass(type, 4, Through::kHost);
  pass(type, 4, Through::kWindow);
}

}  // namespace

// Each message goes through the window once both ranks have it, also to memory of the host.
TOPIC(device_windows) {
  if (!is_pair()) return;
  const Column column;
  const MPI_Datatype type = column.type;
  // The host's data can ask for a window, too, and the receiver maps it for a device's.
  pass(type, 4, Through::kHost, On::kDevice, On::kHost);
  if (is_fake_device()) CHECK(fake_count("fake_shared_bytes") == 0);
  pass(type, 4, Through::kHost, On::kHost, On::kDevice);
  pass(type, 4, Through::kHost, On::kDevice, On::kHost);
  pass(type, 4, Through::kHost);
  pass(type, 4, Through::kWindow);
  for (const int count : {1, 2, 128, 768, 3}) {
    context(std::to_string(count) + " columns");
    pass(type, count, Through::kWindow);
    pass(type, count, Through::kWindow, On::kDevice, On::kHost);
    pass(type, count, Through::kHost, On::kHost, On::kDevice);
  }
  context("");
}

// Many at once, of which the receiver takes the last first.
TOPIC(device_windows_order) {
  if (!is_pair()) return;
  const Column column;
  begin_windows(column.type);
  constexpr int kMessages = 40;
  const DirectMoves moves;
  if (g_rank == 0) {
    for (int i = 0; i < kMessages; ++i)
      send(column.type, 1 + i % 7, static_cast<unsigned>(i), On::kDevice, kTag + i);
    check_sent(moves, On::kDevice, Through::kWindow, kMessages);
  } else {
    for (int i = kMessages - 1; i >= 0; --i)
      receive(column.type, 1 + i % 7, static_cast<unsigned>(i), On::kDevice, kTag + i);
    check_received(moves, On::kDevice, Through::kWindow, kMessages);
  }
}

// A receive that is too short.
TOPIC(device_windows_truncated) {
  if (!is_pair()) return;
  const Column column;
  begin_windows(column.type);
  return_errors(MPI_COMM_WORLD);
  for (const On to : {On::kDevice, On::kHost}) {
    if (g_rank == 0) {
      const DirectMoves moves;
      send(column.type, 4, 1, On::kDevice);
      check_sent(moves, On::kDevice, Through::kWindow);
    } else {
      const Elements in(to, column.type, 1, 3);
      const std::vector<unsigned char> full = in.with(Elements(On::kHost, column.type, 1, 1));
      CHECK(class_of(MPI_Recv(in.base(), 1, column.type, 0, kTag, MPI_COMM_WORLD,
                              MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
      CHECK(in.read() == full);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  pass(column.type, 4, Through::kWindow);
}

// The sender's device is reset while messages are on their way; then the receiver's.
TOPIC(device_windows_reset) {
  if (!is_pair()) return;
  const Column column;
  begin_windows(column.type);
  if (g_rank == 0) {
    const DirectMoves moves;
    for (int i = 0; i < 3; ++i) send(column.type, 4, 7, On::kDevice, kTag + i);
    check_sent(moves, On::kDevice, Through::kWindow, 3);
    reset_device();
    // The sender makes another window, which the receiver maps before it has emptied the first.
    for (int i = 3; i < 5; ++i) send(column.type, 4, 7, On::kDevice, kTag + i);
    if (moves.are_counted()) CHECK(moves.window_packs() == 3);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (const int i : {3, 4, 0, 2, 1})
    if (g_rank == 1) receive(column.type, 4, 7, On::kDevice, kTag + i);
  MPI_Barrier(MPI_COMM_WORLD);
  pass(column.type, 4, Through::kWindow);
  // The receiver maps the window again for a message that is in it.
  if (g_rank == 1) reset_device();
  pass(column.type, 4, Through::kWindow);
  pass(column.type, 4, Through::kWindow);
}

// Windows that cannot be made, or not be mapped, or show other memory: then data go through the
// host.
TOPIC(device_windows_refused) {
  if (!is_fake_pair()) return;
  const Column column;
  const auto pass_by_host = [&] {
    for (int i = 0; i < 4; ++i) pass(column.type, 4, Through::kHost);
    CHECK(fake_count("fake_shared_bytes") == 0 || g_rank == 0);
  };
  context("not made");
  if (g_rank == 0) fake_switch("fake_refuses_sharing") = 1;
  pass_by_host();
  CHECK(fake_count("fake_shared_bytes") == 0);
  fake_switch("fake_refuses_sharing") = 0;
  pass_by_host();  // not tried again in this context
  context("not mapped");
  reset_device();
  if (g_rank == 1) fake_switch("fake_refuses_sharing") = 2;
  pass_by_host();
  fake_switch("fake_refuses_sharing") = 0;
  context("other memory");
  reset_device();
  if (g_rank == 1) fake_switch("fake_confuses_sharing") = 1;
  pass_by_host();
  fake_switch("fake_confuses_sharing") = 0;
  context("");
  reset_device();
  pass(column.type, 4, Through::kHost);
  pass(column.type, 4, Through::kWindow);
}

// Devices that fail while a message is in a window.
TOPIC(device_windows_fail) {
  if (!is_fake_pair()) return;
  const Column column;
  begin_windows(column.type);
  return_errors(MPI_COMM_WORLD);
  const Elements data(On::kDevice, column.type, 4, 1);
  for (const char* how : {"fake_fails_to_launch", "fake_fails_to_wait"}) {
    context(how);
    for (int i = 0; g_rank == 0 && i < 300; ++i) {  // more often than regions there are
      fake_switch(how) = 1;
      CHECK(class_of(MPI_Send(data.base(), 4, column.type, 1, kTag, MPI_COMM_WORLD)) ==
            MPI_ERR_OTHER);
      fake_switch(how) = 0;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank == 0) {
      MPI_Send(data.base(), 4, column.type, 1, kTag, MPI_COMM_WORLD);
    } else {
      fake_switch(how) = 1;
      CHECK(class_of(MPI_Recv(data.base(), 4, column.type, 0, kTag, MPI_COMM_WORLD,
                              MPI_STATUS_IGNORE)) == MPI_ERR_OTHER);
      fake_switch(how) = 0;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    pass(column.type, 4, Through::kWindow);
  }
  context("");
}

// Contexts of the receiver's that are gone when it receives what is in a window: into memory of the
// host, without any context; and into memory of another context than the one that mapped it.
TOPIC(device_windows_gone) {
  if (!is_pair()) return;
  const Column column;
  const MPI_Datatype type = column.type;
  for (const int unmaps : {0, 1}) {
    context(unmaps == 0 ? "kept" : "unmapped");
    if (is_fake_device()) fake_switch("fake_reset_unmaps") = unmaps;
    if (unmaps == 0) pass(type, 4, Through::kHost);
    pass(type, 4, Through::kHost);
    pass(type, 4, Through::kWindow);
    const auto pass_after = [&](void (*ends)(), On to) {
      if (g_rank == 0) send(type, 4, 7, On::kDevice);
      MPI_Barrier(MPI_COMM_WORLD);
      if (g_rank == 1) {
        ends();
        receive(type, 4, 7, to);
        reset_device();
      }
      MPI_Barrier(MPI_COMM_WORLD);
      pass(type, 4, Through::kWindow);
    };
    pass_after(end_context, On::kHost);
    pass_after(reset_device, On::kHost);
    // Both are reset, and the sender has made another window.
    if (g_rank == 0) {
      for (int i = 0; i < 3; ++i) send(type, 4, 7, On::kDevice, kTag + i);
      reset_device();
      for (int i = 3; i < 6; ++i) send(type, 4, 7, On::kDevice, kTag + i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank == 1) {
      reset_device();
      for (const int i : {0, 3, 4}) receive(type, 4, 7, On::kDevice, kTag + i);
      end_context();
      receive(type, 4, 7, On::kHost, kTag + 1);
      reset_device();
      for (const int i : {5, 2}) receive(type, 4, 7, On::kDevice, kTag + i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    pass(type, 4, Through::kWindow);
    if (is_fake_device()) reset_device();
  }
  context("");
  if (is_fake_device()) fake_switch("fake_reset_unmaps") = 0;
}

// A further context maps a window, and ends.
TOPIC(device_windows_other_context) {
  if (!is_pair()) return;
  const Column column;
  void* const other = g_rank == 1 ? begin_other_context() : nullptr;
  begin_windows(column.type);
  if (g_rank == 0) send(column.type, 4, 7, On::kDevice);
  MPI_Barrier(MPI_COMM_WORLD);
  if (g_rank == 1) {
    end_other_context(other);
    receive(column.type, 4, 7, On::kDevice);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  pass(column.type, 4, Through::kWindow);
  pass(column.type, 4, Through::kWindow, On::kDevice, On::kHost);
}

// However often devices are reset, a rank keeps one window of each peer.
TOPIC(device_windows_many_resets) {
  if (!is_fake_pair()) return;
  const Column column;
  constexpr long kWindow = 64L << 20;
  for (int i = 0; i < 5; ++i) {
    if (g_rank == 0) reset_device();
    for (int k = 0; k < 4; ++k)
      pass(column.type, 4, k < (i == 0 ? 2 : 1) ? Through::kHost : Through::kWindow);
    CHECK(fake_count("fake_shared_bytes") <= kWindow);
  }
  if (g_rank == 1) {
    for (int i = 0; i < 5; ++i) reset_device();
    CHECK(fake_count("fake_shared_bytes") <= kWindow);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// A program without standard streams: its descriptors 0 to 2 are not lacuna's, and its own are
// left alone when it has closed lacuna's.
TOPIC(device_windows_descriptors) {
  if (!is_fake_pair()) return;
  const Column column;
  const int input = dup(STDIN_FILENO);
  close(STDIN_FILENO);
  begin_windows(column.type);
  CHECK(fcntl(STDIN_FILENO, F_GETFD) == -1);
  if (input >= 0) dup2(input, STDIN_FILENO);
  int pipes[2] = {-1, -1};
  CHECK(pipe(pipes) == 0);
  std::vector<int> taken;
  for (int i = 3; g_rank == 0 && i < 256; ++i) {  // those of the window
    char path[64], target[64] = "";
    std::snprintf(path, sizeof(path), "/proc/self/fd/%d", i);
    if (readlink(path, target, sizeof(target) - 1) < 0 ||
        std::string(target).find("memfd:shared") == std::string::npos)
      continue;
    CHECK(dup2(pipes[0], i) == i);
    taken.push_back(i);
  }
  CHECK(g_rank != 0 || !taken.empty());
  reset_device();
  for (int i = 0; i < 3; ++i) {
    const Elements data(On::kDevice, column.type, 4, 1);
    if (g_rank == 0)
      MPI_Send(data.base(), 4, column.type, 1, kTag, MPI_COMM_WORLD);
    else
      MPI_Recv(data.base(), 4, column.type, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  for (const int i : taken) CHECK(fcntl(i, F_GETFD) != -1);
}

namespace {

// Data without gaps go this way, and data with gaps through windows.
void pass_runs(Through through) {
  const Column column;
  begin_windows(column.type);
  const auto query = newer<int (*)()>("MPIX_Query_cuda_support");
  if (query != nullptr && query() == 0) {  // else they are left to the library
    MPI_Datatype run;
    MPI_Type_contiguous(4096, MPI_DOUBLE, &run);
    MPI_Type_commit(&run);
    pass(run, 1, through);
    MPI_Type_free(&run);
  }
  pass(column.type, 4, Through::kWindow);
}

}  // namespace

// Ranks that take turns on a device, and ranks that share it by MPS.
TOPIC(device_windows_of_one_device) {
  if (is_fake_pair()) pass_runs(Through::kHost);
}
TOPIC(device_windows_with_mps) {
  if (!is_fake_pair()) return;
  fake_switch("fake_has_mps") = 1;
  pass_runs(Through::kWindow);
}

// Each rank has a device of its own: nothing is mapped, unless LACUNA_GPU_IPC=1 says so.
TOPIC(device_windows_of_two_devices) {
  if (!is_fake_pair()) return;
  fake_switch("fake_has_own_device") = 1;
  const Column column;
  const char* const said = std::getenv("LACUNA_GPU_IPC");
  if (said != nullptr && std::string(said) == "1") return begin_windows(column.type);
  for (int i = 0; i < 4; ++i) pass(column.type, 4, Through::kHost);
  CHECK(fake_count("fake_shared_bytes") == 0);
}
