// SPDX-License-Identifier: BSD-3-Clause
//
// Data of a device that lacuna leaves to the MPI library, and devices that fail. For the fake
// driver alone; with another one these topics do nothing.
#include <dlfcn.h>

#include <cstring>
#include <vector>

#include "tests/interpose/device/memory.hpp"
#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kTag = 6;
constexpr int kCount = 4;

bool starts() { return start_device() && is_fake_device(); }

// Whether lacuna packs the data; the CPU may touch them meanwhile.
bool is_packed(void* base, MPI_Datatype type) {
  std::vector<char> packed(static_cast<size_t>(data_bytes(type, kCount)));
  const auto open = reinterpret_cast<void (*)(int)>(fake_symbol("fake_open"));
  open(1);
  const bool is_taken = taken_by("MPI_Pack", [&] {
                          int position = 0;
                          MPI_Pack(base, kCount, type, packed.data(),
                                   static_cast<int>(packed.size()), &position, MPI_COMM_WORLD);
                          CHECK(position == static_cast<int>(packed.size()));
                        }) == 1;
  open(0);
  return is_taken;
}

// Lacuna declines while a switch of the fake driver is on.
void expect_declined(const char* switched, int length) {
  context(switched);
  MPI_Datatype type = column(length, 5);  // of which there is no plan yet
  const Elements data(On::kDevice, type, kCount, 1);
  fake_switch(switched) = 1;
  CHECK(!is_packed(data.base(), type));
  fake_switch(switched) = 0;
  CHECK(is_packed(data.base(), type));
  MPI_Type_free(&type);
  context("");
}

}  // namespace

TOPIC(device_declined) {
  if (!starts()) return;
  MPI_Datatype type = column(16, 5);
  {
    const Elements data(On::kDevice, type, kCount, 1);
    CHECK(is_packed(data.base(), type));
  }
  expect_declined("fake_captures", 24);
  expect_declined("fake_refuses_plans", 25);
  // Memory of a pool is of the current context; where a thread has none, of one used before.
  {
    const Elements data(On::kDevice, type, kCount, 1);
    fake_switch("fake_is_of_a_pool") = 1;
    CHECK(is_packed(data.base(), type));
    const auto set = reinterpret_cast<int (*)(void*)>(fake_symbol("cuCtxSetCurrent"));
    const auto get = reinterpret_cast<int (*)(void**)>(fake_symbol("cuCtxGetCurrent"));
    void* context = nullptr;
    get(&context);
    set(nullptr);
    CHECK(is_packed(data.base(), type));
    set(context);
    fake_switch("fake_is_of_a_pool") = 0;
  }
  // Managed memory is the library's.
  const auto allocate =
      reinterpret_cast<int (*)(uintptr_t*, size_t, unsigned)>(fake_symbol("cuMemAllocManaged"));
  const auto free_it = reinterpret_cast<int (*)(uintptr_t)>(fake_symbol("cuMemFree_v2"));
  uintptr_t managed = 0;
  CHECK(allocate(&managed, 8192, 1) == 0);
  std::memset(reinterpret_cast<void*>(managed), 1, 8192);
  CHECK(!is_packed(reinterpret_cast<void*>(managed), type));
  CHECK(free_it(managed) == 0);
  // One-sided operations are the library's; so are files (lacuna has one examination for both).
  {
    const Elements data(On::kDevice, type, kCount, 1);
    std::vector<unsigned char> window_memory(8192);
    MPI_Win window;
    MPI_Win_create(window_memory.data(), 8192, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, g_rank, 0, window);
    reinterpret_cast<void (*)(int)>(fake_symbol("fake_open"))(1);
    CHECK(taken_by("MPI_Put", [&] {
            MPI_Put(data.base(), kCount, type, g_rank, 0, kCount, type, window);
          }) == 0);
    MPI_Win_unlock(g_rank, window);
    reinterpret_cast<void (*)(int)>(fake_symbol("fake_open"))(0);
    MPI_Win_free(&window);
  }
  MPI_Type_free(&type);
}

// With LACUNA_GPU=0, and where the driver pins no memory for a context: all is the library's.
TOPIC(device_left_alone) {
  if (!starts()) return;
  fake_switch("fake_refuses_pinning") = 1;
  MPI_Datatype type = column(16, 5);
  const Elements data(On::kDevice, type, kCount, 1);
  CHECK(!is_packed(data.base(), type));
  MPI_Type_free(&type);
}

// Memory that was freed, and whose address comes again with other data. Plans are kept.
TOPIC(device_memory_again) {
  if (!starts()) return;
  MPI_Datatype type = column(16, 5);
  void* first = nullptr;
  long plans = 0;
  for (unsigned turn = 0; turn < 5; ++turn) {
    const Elements out(On::kDevice, type, kCount, turn);
    if (turn == 0) first = out.base();
    CHECK(out.base() == first);
    const Elements in(On::kHost, type, kCount, 90);
    const std::vector<unsigned char> want = in.with(out);
    MPI_Sendrecv(out.base(), kCount, type, g_rank, kTag, in.base(), kCount, type, g_rank, kTag,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in.read() == want);
    if (turn == 0) plans = fake_count("fake_plans");
  }
  CHECK(fake_count("fake_plans") == plans);
  MPI_Type_free(&type);
}

// How often the driver is asked of an address in a call: of data of a device twice, and once of
// data of the host, where they are no variables of the program; once more where lacuna is inside
// the library, whose convertor for them it may take.
TOPIC(device_queries) {
  if (!starts()) return;
  const auto fragments =
      reinterpret_cast<int64_t (*)(int)>(dlsym(RTLD_DEFAULT, "lacuna_interposed_fragments"));
  const int more = fragments != nullptr && fragments(1) >= 0 ? 1 : 0;
  MPI_Datatype type = column(16, 5);
  const Elements on_device(On::kDevice, type, kCount, 1), on_host(On::kHost, type, kCount, 1);
  for (const Elements* data : {&on_device, &on_host}) {
    const auto exchange = [&] {
      if (g_rank == 0) MPI_Send(data->base(), kCount, type, 1, kTag, MPI_COMM_WORLD);
      if (g_rank == 1)
        MPI_Recv(data->base(), kCount, type, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    };
    exchange();
    const long before = fake_count("fake_queries");
    exchange();
    if (g_rank < 2 && !g_direct) {
      const long queries = fake_count("fake_queries") - before;
      CHECK(queries <= (data == &on_device ? 2 : 1) + more);
    }
  }
  MPI_Type_free(&type);
}

namespace {

// Calls that must return MPI_ERR_OTHER.
struct Failing {
  MPI_Datatype type;
  void* data;

  template <typename Call>
  void check(const char* what, const Call& call) const {
    context(what);
    CHECK(class_of(call()) == MPI_ERR_OTHER);
    context("");
  }
};

}  // namespace

TOPIC(device_fails) {
  if (!starts()) return;
  MPI_Datatype type = column(16, 5);
  const Elements data(On::kDevice, type, kCount, 1);
  const Failing failing{type, data.base()};
  std::vector<char> packed(static_cast<size_t>(data_bytes(type, kCount)));
  const int bytes = static_cast<int>(packed.size());
  CHECK(is_packed(data.base(), type));
  return_errors(MPI_COMM_WORLD);
  return_errors(MPI_COMM_SELF);
  MPI_Request persistent;
  MPI_Send_init(data.base(), kCount, type, 0, kTag, MPI_COMM_SELF, &persistent);
  for (const char* how : {"fake_fails_to_launch", "fake_fails_to_wait"}) {
    fake_switch(how) = 1;
    const int before = handled_errors();
    failing.check("MPI_Send", [&] {
      return MPI_Send(data.base(), kCount, type, g_rank, kTag, MPI_COMM_WORLD);
    });
    failing.check("MPI_Isend", [&] {
      MPI_Request request = MPI_REQUEST_NULL;
      const int code = MPI_Isend(data.base(), kCount, type, g_rank, kTag, MPI_COMM_WORLD, &request);
      CHECK(request == MPI_REQUEST_NULL);
      return code;
    });
    failing.check("MPI_Sendrecv", [&] {
      return MPI_Sendrecv(data.base(), kCount, type, 0, kTag, packed.data(), bytes, MPI_BYTE, 0,
                          kTag, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    });
    failing.check("MPI_Sendrecv_replace", [&] {
      return MPI_Sendrecv_replace(data.base(), kCount, type, 0, kTag, 0, kTag, MPI_COMM_SELF,
                                  MPI_STATUS_IGNORE);
    });
    failing.check("MPI_Pack", [&] {
      int position = 0;
      const int code =
          MPI_Pack(data.base(), kCount, type, packed.data(), bytes, &position, MPI_COMM_WORLD);
      CHECK(position == 0);
      return code;
    });
    failing.check("MPI_Unpack", [&] {
      int position = 0;
      return MPI_Unpack(packed.data(), bytes, &position, data.base(), kCount, type, MPI_COMM_WORLD);
    });
    failing.check("MPI_Start", [&] { return MPI_Start(&persistent); });
    failing.check("MPI_Recv", [&] {
      MPI_Request sent;
      MPI_Isend(packed.data(), bytes / 8, MPI_DOUBLE, 0, kTag, MPI_COMM_SELF, &sent);
      const int code =
          MPI_Recv(data.base(), kCount, type, 0, kTag, MPI_COMM_SELF, MPI_STATUS_IGNORE);
      MPI_Wait(&sent, MPI_STATUS_IGNORE);
      return code;
    });
    failing.check("MPI_Wait", [&] {
      MPI_Request request;
      MPI_Irecv(data.base(), kCount, type, 0, kTag, MPI_COMM_SELF, &request);
      MPI_Send(packed.data(), bytes / 8, MPI_DOUBLE, 0, kTag, MPI_COMM_SELF);
      return MPI_Wait(&request, MPI_STATUS_IGNORE);
    });
    failing.check("MPI_Gather", [&] {
      return MPI_Gather(data.base(), kCount, type, packed.data(), bytes / 8, MPI_DOUBLE, 0,
                        MPI_COMM_SELF);
    });
    CHECK(handled_errors() - before == 10);
    fake_switch(how) = 0;
  }
  // Nothing is left behind: the next calls work.
  CHECK(is_packed(data.base(), type));
  std::vector<double> received(packed.size() / 8);
  MPI_Request request;
  MPI_Irecv(received.data(), bytes / 8, MPI_DOUBLE, 0, kTag, MPI_COMM_SELF, &request);
  CHECK(MPI_Start(&persistent) == MPI_SUCCESS);
  MPI_Wait(&persistent, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&persistent);
  MPI_Type_free(&type);
}

// Types that were in use, and small messages with new types, before the driver was loaded.
TOPIC(device_comes_late) {
  MPI_Datatype old = column(6, 3), fresh = column(5, 3);
  static double host[64];
  for (int i = 0; i < 3; ++i) {
    MPI_Request request;
    MPI_Irecv(host + 32, 1, old, 0, kTag, MPI_COMM_SELF, &request);
    MPI_Send(host, 1, old, 0, kTag, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (!start_device()) return;
  {  // a call that lacuna examines, and an address that it must look up
    constexpr int kLong = 2048;
    const std::vector<double> data(kLong * 64);
    std::vector<double> packed(kLong);
    int position = 0;
    MPI_Datatype type = column(kLong, 3);
    MPI_Pack(data.data(), 1, type, packed.data(), kLong * 8, &position, MPI_COMM_WORLD);
    MPI_Type_free(&type);
  }
  for (MPI_Datatype type : {old, fresh}) {
    for (int turn = 0; turn < 12; ++turn) {
      const Elements out(On::kDevice, type, 2, 1), in(On::kDevice, type, 2, 2);
      const std::vector<unsigned char> want = in.with(out);
      MPI_Request request;
      MPI_Irecv(in.base(), 2, type, 0, kTag, MPI_COMM_SELF, &request);
      MPI_Send(out.base(), 2, type, 0, kTag, MPI_COMM_SELF);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK(in.read() == want);
    }
  }
  MPI_Type_free(&old);
  MPI_Type_free(&fresh);
}
