// SPDX-License-Identifier: BSD-3-Clause
//
// Messages through shared memory while the whole pool (LACUNA_POOL_MB=1) is in use: a receive that
// may match a token is handled all the same.
#include <cstddef>
#include <functional>
#include <vector>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kCount = 30000;

// Of several basic types.
struct Mixed {
  double number;
  int index;
};

MPI_Datatype mixed() {
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {offsetof(Mixed, number), offsetof(Mixed, index)};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT};
  MPI_Datatype fields, type;
  MPI_Type_create_struct(2, lengths, places, types, &fields);
  MPI_Type_create_resized(fields, 0, sizeof(Mixed), &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&fields);
  return type;
}

// Uses up the pool, by receives of messages that never come.
class FullPool {
 public:
  FullPool() : type_(column(kCount, 2)), data_(size_t{2} * kCount) {
    for (MPI_Request& request : requests_)
      MPI_Irecv(data_.data(), 1, type_, g_rank, 99, MPI_COMM_WORLD, &request);
  }
  ~FullPool() {
    for (MPI_Request& request : requests_) {
      MPI_Cancel(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Type_free(&type_);
  }
  FullPool(const FullPool&) = delete;
  FullPool& operator=(const FullPool&) = delete;

 private:
  MPI_Datatype type_;
  std::vector<double> data_;
  MPI_Request requests_[16];
};

void receive_structs(bool blocking) {
  MPI_Datatype type = mixed();
  std::vector<Mixed> data(kCount);
  for (int i = 0; i < kCount; ++i)
    data[static_cast<size_t>(i)] = g_rank == 0 ? Mixed{i + 0.5, i} : Mixed{-1, -1};
  MPI_Status status;
  if (g_rank == 0) {
    CHECK(taken_by("MPI_Send",
                   [&] { MPI_Send(data.data(), kCount, type, 1, 1, MPI_COMM_WORLD); }) == 1);
  } else if (blocking) {
    MPI_Recv(data.data(), kCount, type, 0, 1, MPI_COMM_WORLD, &status);
  } else {
    MPI_Request request;
    MPI_Irecv(data.data(), kCount, type, 0, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
  }
  if (g_rank == 1) {
    CHECK(StatusView(status, type).count == kCount);
    bool same = true;
    for (int i = 0; i < kCount; ++i) {
      const Mixed& one = data[static_cast<size_t>(i)];
      same = same && one.number == i + 0.5 && one.index == i;
    }
    CHECK(same);
  }
  MPI_Type_free(&type);
}

// `exchange` receives what rank 0 sends with gaps, and sends what was in the memory before.
// `has_status`: its status is that of the receive, and is checked.
void replace(bool has_status,
             const std::function<void(double* data, MPI_Status* status)>& exchange) {
  MPI_Datatype type = column(kCount, 2);
  std::vector<double> data(kCount, 5), gaps(size_t{2} * kCount);
  for (size_t i = 0; i < kCount; ++i) gaps[2 * i] = static_cast<double>(i);
  MPI_Status status;
  if (g_rank == 0) {
    MPI_Send(gaps.data(), 1, type, 1, 2, MPI_COMM_WORLD);
    MPI_Recv(data.data(), kCount, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD, &status);
    CHECK(data == std::vector<double>(kCount, 5));
  } else {
    exchange(data.data(), &status);
    bool same = true;
    for (size_t i = 0; i < kCount; ++i) same = same && data[i] == static_cast<double>(i);
    CHECK(same);
    CHECK(!has_status || StatusView(status, MPI_DOUBLE).count == kCount);
  }
  MPI_Type_free(&type);
}

}  // namespace

TOPIC(direct_small_pool) {
  if (g_rank > 1) return;
  FullPool full;
  receive_structs(true);
  receive_structs(false);
  replace(true, [](double* data, MPI_Status* status) {
    MPI_Sendrecv_replace(data, kCount, MPI_DOUBLE, 0, 2, 0, 2, MPI_COMM_WORLD, status);
  });
  using Function = int (*)(void*, int, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Request*);
  const auto isendrecv_replace = newer<Function>("MPI_Isendrecv_replace");
  if (isendrecv_replace == nullptr) return;
  replace(false, [&](double* data, MPI_Status* status) {
    MPI_Request request;
    isendrecv_replace(data, kCount, MPI_DOUBLE, 0, 2, 0, 2, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, status);
  });
}
