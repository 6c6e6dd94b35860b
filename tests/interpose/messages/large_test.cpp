// SPDX-License-Identifier: BSD-3-Clause
//
// The large-count forms. They are looked up, so that one source serves all libraries; where the
// library lacks them (Open MPI 5), lacuna must not seem to have them.
#include <dlfcn.h>

#include <climits>
#include <cstring>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

// Function pointers under MPI's names.
#define LOOK_UP(result, name, ...) \
  const auto name = reinterpret_cast<result (*)(__VA_ARGS__)>(dlsym(RTLD_DEFAULT, "MPI_" #name))

bool library_has_large() {
  static const bool has = [] {
    void* type_size_c = dlsym(RTLD_DEFAULT, "MPI_Type_size_c");  // which lacuna does not wrap
    return type_size_c != nullptr;
  }();
  return has;
}

}  // namespace

TOPIC(large_forms) {
  if (!library_has_large()) {
    for (const char* name : {"MPI_Send_c", "MPI_Recv_c", "MPI_Pack_c", "MPI_Isend_c"}) {
      CHECK(dlsym(RTLD_DEFAULT, name) == nullptr);
    }
    double values[4] = {}, to[4];
    MPI_Datatype type = column(2);
    MPI_Sendrecv(values, 1, type, g_rank, 0, to, 1, type, g_rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
    return;
  }
  LOOK_UP(int, Send_c, const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
  LOOK_UP(int, Ssend_c, const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
  LOOK_UP(int, Recv_c, void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);
  LOOK_UP(int, Isend_c, const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  LOOK_UP(int, Irecv_c, void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  LOOK_UP(int, Sendrecv_c, const void*, MPI_Count, MPI_Datatype, int, int, void*, MPI_Count,
          MPI_Datatype, int, int, MPI_Comm, MPI_Status*);
  LOOK_UP(int, Pack_c, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Count*,
          MPI_Comm);
  LOOK_UP(int, Unpack_c, const void*, MPI_Count, MPI_Count*, void*, MPI_Count, MPI_Datatype,
          MPI_Comm);
  LOOK_UP(int, Issend_c, const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  LOOK_UP(int, Bsend_c, const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
  LOOK_UP(int, Mrecv_c, void*, MPI_Count, MPI_Datatype, MPI_Message*, MPI_Status*);
  LOOK_UP(int, Imrecv_c, void*, MPI_Count, MPI_Datatype, MPI_Message*, MPI_Request*);
  LOOK_UP(int, Sendrecv_replace_c, void*, MPI_Count, MPI_Datatype, int, int, int, int, MPI_Comm,
          MPI_Status*);
  LOOK_UP(int, Send_init_c, const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  LOOK_UP(int, Recv_init_c, void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  std::vector<char> attached(1 << 16);
  MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size()));
  const int other = 1 - g_rank;
  std::vector<Shape> shapes = all_shapes();
  for (const Shape& shape : shapes) {
    for (const int count : {0, 1, 4}) {
      context(shape.name + " x " + std::to_string(count));
      Buffer from(shape.type, count), native(shape.type, count);
      from.fill(1);
      native.fill(2);
      lacuna(false);
      MPI_Sendrecv(from.base(), count, shape.type, other, 0, native.base(), count, shape.type,
                   other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      lacuna(true);
      const auto same = [&](const std::function<void(void*)>& transfer) {
        Buffer to(shape.type, count);
        to.fill(2);
        transfer(to.base());
        CHECK(to == native);
      };
      MPI_Status status;
      same([&](void* to) {
        MPI_Request request;
        Irecv_c(to, count, shape.type, other, 1, MPI_COMM_WORLD, &request);
        CHECK(Send_c(from.base(), count, shape.type, other, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
        MPI_Wait(&request, &status);
        CHECK(StatusView(status, shape.type).bytes == data_bytes(shape.type, count));
      });
      same([&](void* to) {
        MPI_Request request;
        Isend_c(from.base(), count, shape.type, other, 2, MPI_COMM_WORLD, &request);
        CHECK(Recv_c(to, count, shape.type, other, 2, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      });
      same([&](void* to) {
        CHECK(Sendrecv_c(from.base(), count, shape.type, other, 3, to, count, shape.type, other, 3,
                         MPI_COMM_WORLD, &status) == MPI_SUCCESS);
      });
      same([&](void* to) {
        MPI_Request request;
        Irecv_c(to, count, shape.type, other, 4, MPI_COMM_WORLD, &request);
        CHECK(Ssend_c(from.base(), count, shape.type, other, 4, MPI_COMM_WORLD) == MPI_SUCCESS);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      });
      same([&](void* to) {
        MPI_Request request;
        MPI_Message message;
        Issend_c(from.base(), count, shape.type, other, 5, MPI_COMM_WORLD, &request);
        MPI_Mprobe(other, 5, MPI_COMM_WORLD, &message, &status);
        CHECK(Mrecv_c(to, count, shape.type, &message, &status) == MPI_SUCCESS);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      });
      same([&](void* to) {
        MPI_Request request;
        MPI_Message message;
        CHECK(Bsend_c(from.base(), count, shape.type, other, 6, MPI_COMM_WORLD) == MPI_SUCCESS);
        MPI_Mprobe(other, 6, MPI_COMM_WORLD, &message, &status);
        CHECK(Imrecv_c(to, count, shape.type, &message, &request) == MPI_SUCCESS);
        MPI_Wait(&request, &status);
      });
      same([&](void* to) {
        MPI_Request requests[2];
        Recv_init_c(to, count, shape.type, other, 7, MPI_COMM_WORLD, &requests[0]);
        Send_init_c(from.base(), count, shape.type, other, 7, MPI_COMM_WORLD, &requests[1]);
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (MPI_Request& request : requests) MPI_Request_free(&request);
      });
      Buffer replaced[2] = {from, from};
      for (const bool on : {false, true}) {
        lacuna(on);
        Sendrecv_replace_c(replaced[on].base(), count, shape.type, other, 8, other, 8,
                           MPI_COMM_WORLD, &status);
      }
      CHECK(replaced[0] == replaced[1]);
      if (data_bytes(shape.type, count) == 0 && !unpacks_nothing()) continue;
      same([&](void* to) {
        std::vector<char> packed(static_cast<size_t>(data_bytes(shape.type, count)) + 8);
        MPI_Count position = 3;
        const auto size = static_cast<MPI_Count>(packed.size());
        CHECK(Pack_c(from.base(), count, shape.type, packed.data(), size, &position,
                     MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(position == 3 + data_bytes(shape.type, count));
        position = 3;
        CHECK(Unpack_c(packed.data(), size, &position, to, count, shape.type, MPI_COMM_WORLD) ==
              MPI_SUCCESS);
        CHECK(position == 3 + data_bytes(shape.type, count));
      });
    }
  }
  free_shapes(&shapes);
  context("");
  void* memory = nullptr;
  int bytes = 0;
  MPI_Buffer_detach(&memory, &bytes);
  for (const char* name : {"MPI_Issend_c", "MPI_Bsend_c", "MPI_Mrecv_c", "MPI_Imrecv_c",
                           "MPI_Recv_init_c", "MPI_Send_init_c", "MPI_Sendrecv_replace_c"}) {
    context(name);
    CHECK(taken(name) > 0);
  }
  context("");
  CHECK(taken("MPI_Send_c") > 0 && taken("MPI_Recv_c") > 0 && taken("MPI_Pack_c") > 0 &&
        taken("MPI_Sendrecv_c") > 0);
}

// Types that large-count constructors made; the int forms of MPI_Type_get_envelope fail on them.
TOPIC(large_constructors) {
  LOOK_UP(int, Type_vector_c, MPI_Count, MPI_Count, MPI_Count, MPI_Datatype, MPI_Datatype*);
  LOOK_UP(int, Type_create_hvector_c, MPI_Count, MPI_Count, MPI_Count, MPI_Datatype, MPI_Datatype*);
  LOOK_UP(int, Type_indexed_c, MPI_Count, const MPI_Count*, const MPI_Count*, MPI_Datatype,
          MPI_Datatype*);
  LOOK_UP(int, Type_create_struct_c, MPI_Count, const MPI_Count*, const MPI_Count*,
          const MPI_Datatype*, MPI_Datatype*);
  LOOK_UP(int, Type_create_subarray_c, int, const MPI_Count*, const MPI_Count*, const MPI_Count*,
          int, MPI_Datatype, MPI_Datatype*);
  LOOK_UP(int, Type_create_resized_c, MPI_Datatype, MPI_Count, MPI_Count, MPI_Datatype*);
  MPI_Datatype types[6];
  int made = 0;
  if (library_has_large()) {
    const MPI_Count lengths[] = {1, 2, 1}, places[] = {7, 0, 4}, bytes[] = {40, 0, 24};
    const MPI_Count sizes[] = {5, 6}, subsizes[] = {2, 3}, starts[] = {1, 2};
    const MPI_Datatype members[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
    Type_vector_c(5, 1, 3, MPI_DOUBLE, &types[made++]);
    Type_create_hvector_c(5, 2, 40, MPI_INT, &types[made++]);
    Type_indexed_c(3, lengths, places, MPI_FLOAT, &types[made++]);
    Type_create_struct_c(3, lengths, bytes, members, &types[made++]);
    Type_create_subarray_c(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &types[made++]);
    Type_create_resized_c(types[0], -8, 160, &types[made++]);
  } else {
    types[made++] = column(5);
  }
  for (int i = 0; i < made; ++i) {
    context("type " + std::to_string(i));
    MPI_Type_commit(&types[i]);
    Buffer from(types[i], 3), native(types[i], 3), ours(types[i], 3);
    from.fill(1);
    for (const bool on : {false, true}) {
      Buffer& to = on ? ours : native;
      to.fill(2);
      lacuna(on);
      const int64_t before = taken_in_all();
      MPI_Sendrecv(from.base(), 3, types[i], 1 - g_rank, 0, to.base(), 3, types[i], 1 - g_rank, 0,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(taken_in_all() - before == (on ? 1 : 0));
    }
    CHECK(ours == native);
  }
  for (int i = 0; i < made; ++i) MPI_Type_free(&types[i]);
}

// More than INT_MAX elements in one message (run with LACUNA_POOL_MB=4096, where the library has
// large counts).
TOPIC(large_message) {
  LOOK_UP(int, Send_c, const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
  LOOK_UP(int, Recv_c, void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);
  LOOK_UP(int, Get_elements_c, const MPI_Status*, MPI_Datatype, MPI_Count*);
  CHECK(library_has_large());
  // The same megabyte again and again: the memory is small, the message is not.
  constexpr int kBlock = 1 << 20;
  constexpr MPI_Count kCount = 2100;
  MPI_Datatype sparse, type;
  MPI_Type_vector(kBlock, 1, 2, MPI_CHAR, &sparse);
  MPI_Type_create_resized(sparse, 0, 0, &type);
  MPI_Type_commit(&type);
  if (g_rank == 0) {
    std::vector<char> from(2 * kBlock);
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i % 251);
    CHECK(taken_by("MPI_Send_c",
                   [&] { Send_c(from.data(), kCount, type, 1, 0, MPI_COMM_WORLD); }) == 1);
  } else {
    std::vector<char> to(static_cast<size_t>(kBlock) * static_cast<size_t>(kCount));
    MPI_Status status;
    Recv_c(to.data(), static_cast<MPI_Count>(to.size()), MPI_CHAR, 0, 0, MPI_COMM_WORLD, &status);
    MPI_Count elements = 0;
    Get_elements_c(&status, MPI_CHAR, &elements);
    CHECK(elements == static_cast<MPI_Count>(to.size()));
    bool right = true;
    for (size_t i = 0; i < to.size(); ++i)
      right = right && to[i] == static_cast<char>(2 * (i % kBlock) % 251);
    CHECK(right);
  }
  MPI_Type_free(&sparse);
  MPI_Type_free(&type);
}
