// SPDX-License-Identifier: BSD-3-Clause
//
// Packed data in memory of the device, for MPI libraries that take its addresses
// (LACUNA_GPU_STAGING=device). The fake driver lets the CPU touch its memory here
// (LACUNA_TEST_CUDA_IS_OPEN), as if the library knew how to.
#include <dlfcn.h>

#include <string>
#include <vector>

#include "tests/interpose/device/memory.hpp"
#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kTag = 11;

// Moves between data and packed data that both are in a device's memory.
class DeviceMoves {
 public:
  long packs() const { return fake_count("fake_device_packs") - packs_; }
  long unpacks() const { return fake_count("fake_device_unpacks") - unpacks_; }

 private:
  long packs_ = fake_count("fake_device_packs");
  long unpacks_ = fake_count("fake_device_unpacks");
};

// A message of rank 0 to rank 1 by the packed way; whether it was packed, and unpacked, in memory
// of the device.
void pass(MPI_Datatype type, int count, int source, bool is_packed_there, bool is_unpacked_there) {
  const DeviceMoves moves;
  if (g_rank == 0) {
    const Elements out(On::kDevice, type, count, 1);
    MPI_Ssend(out.base(), count, type, 1, kTag, MPI_COMM_WORLD);
    CHECK(moves.packs() == (is_packed_there ? 1 : 0));
  } else if (g_rank == 1) {
    const Elements sent(On::kHost, type, count, 1), in(On::kDevice, type, count, 2);
    const std::vector<unsigned char> want = in.with(sent);
    MPI_Recv(in.base(), count, type, source, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in.read() == want);
    CHECK(moves.unpacks() == (is_unpacked_there ? 1 : 0));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

// Synchronous sends never go as tokens. Receives from ranks that may send tokens are on the host.
TOPIC(device_staging) {
  if (!start_device() || !is_fake_device() || g_size != 2) return;
  const Column column;
  for (const int count : {1, 8, 500}) {
    pass(column.type, count, 0, true, !g_direct);
    pass(column.type, count, MPI_ANY_SOURCE, true, !g_direct);
  }
  const auto set =
      reinterpret_cast<void (*)(int64_t)>(dlsym(RTLD_DEFAULT, "lacuna_interposed_device_memory"));
  CHECK(set != nullptr);
  if (set == nullptr) return;
  set(64 << 10);
  pass(column.type, 7, 0, false, false);
  pass(column.type, 8, 0, true, !g_direct);
  set(-1);
  pass(column.type, 500, 0, false, false);
  set(0);
}

// More at once than there is memory of the device for it; a reset; a receive that nobody waits for.
TOPIC(device_staging_ends) {
  if (!start_device() || !is_fake_device() || g_size != 2 || g_direct) return;
  const Column column;
  constexpr int kCount = 1500;  // 12 MiB, in buffers of 16
  constexpr int kMessages = 10;
  if (g_rank == 0) {
    const DeviceMoves moves;
    const Elements out(On::kDevice, column.type, kCount, 1);
    std::vector<MPI_Request> requests(kMessages);
    for (MPI_Request& request : requests)
      MPI_Isend(out.base(), kCount, column.type, 1, kTag, MPI_COMM_WORLD, &request);
    MPI_Waitall(kMessages, requests.data(), MPI_STATUSES_IGNORE);
    CHECK(moves.packs() >= 4 && moves.packs() <= 8);  // 128 MiB with those of before
  } else {
    const Elements sent(On::kHost, column.type, kCount, 1), in(On::kDevice, column.type, kCount, 2);
    const std::vector<unsigned char> want = in.with(sent);
    for (int i = 0; i < kMessages; ++i) {
      MPI_Recv(in.base(), kCount, column.type, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(in.read() == want);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  reset_device();
  pass(column.type, 8, 0, true, true);
  // Freed and never sent: lacuna must leave its memory alone in MPI_Finalize.
  static Elements* const in = new Elements(On::kDevice, column.type, 8, 3);
  MPI_Request request;
  MPI_Irecv(in->base(), 8, column.type, 1 - g_rank, kTag + 1, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
}

// A request that starts again after a reset of the device, which gives its memory the same address.
TOPIC(device_staging_restarts) {
  if (!start_device() || !is_fake_device() || g_size != 2) return;
  const Column column;
  const Elements out(On::kDevice, column.type, 8, 1), in(On::kDevice, column.type, 8, 2);
  const Elements sent(On::kHost, column.type, 8, 1);
  const std::vector<unsigned char> want = in.with(sent);
  MPI_Request requests[2];
  MPI_Ssend_init(out.base(), 8, column.type, 1 - g_rank, kTag, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(in.base(), 8, column.type, 1 - g_rank, kTag, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 3; ++i) {
    const_cast<Elements&>(in).fill(2);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(in.read() == want);
    reset_device();
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

// Pinned memory is refused, and persistent requests need it: the library moves their data.
TOPIC(device_staging_refused) {
  if (!start_device() || !is_fake_device() || g_size != 2) return;
  const Column column;
  pass(column.type, 8, MPI_ANY_SOURCE, true, !g_direct);
  fake_switch("fake_refuses_pinning") = 1;
  constexpr int kCount = 500;
  const Elements out(On::kDevice, column.type, kCount, 1), in(On::kDevice, column.type, kCount, 2);
  const std::vector<unsigned char> want = in.with(Elements(On::kHost, column.type, kCount, 1));
  MPI_Request requests[2];
  MPI_Ssend_init(out.base(), kCount, column.type, 1 - g_rank, kTag, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(in.base(), kCount, column.type, 1 - g_rank, kTag, MPI_COMM_WORLD, &requests[1]);
  MPI_Startall(2, requests);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(in.read() == want);
  for (MPI_Request& request : requests) MPI_Request_free(&request);
  fake_switch("fake_refuses_pinning") = 0;
}

// After a reset the program gets the addresses that lacuna's packed data had.
TOPIC(device_staging_addresses) {
  if (!start_device() || !is_fake_device() || g_size != 2) return;
  const Column column;
  pass(column.type, 8, MPI_ANY_SOURCE, true, !g_direct);
  reset_device();
  const Elements data(On::kDevice, column.type, 8, 1), again(On::kDevice, column.type, 8, 5);
  const std::vector<unsigned char> want = again.with(data);
  for (int i = 0; i < 3; ++i) {
    const Memory packed(On::kDevice, size_t{128} << 10);
    int position = 0;
    CHECK(MPI_Pack(data.base(), 8, column.type, packed.at(), 128 << 10, &position,
                   MPI_COMM_WORLD) == MPI_SUCCESS);
    position = 0;
    MPI_Unpack(packed.at(), 128 << 10, &position, again.base(), 8, column.type, MPI_COMM_WORLD);
    CHECK(again.read() == want);
  }
}
