// SPDX-License-Identifier: BSD-3-Clause
//
// Matched messages: MPI_Mprobe and MPI_Improbe find them, MPI_Mrecv and MPI_Imrecv receive them.
#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

enum class Way { kMrecv, kImrecv };
const struct {
  Way way;
  const char* name;
} kWays[] = {{Way::kMrecv, "MPI_Mrecv"}, {Way::kImrecv, "MPI_Imrecv"}};

MPI_Message match(Way way, int source, int tag, MPI_Status* status) {
  MPI_Message message = MPI_MESSAGE_NULL;
  if (way == Way::kMrecv) {
    MPI_Mprobe(source, tag, MPI_COMM_WORLD, &message, status);
  } else {
    for (int flag = 0; flag == 0;)
      MPI_Improbe(source, tag, MPI_COMM_WORLD, &flag, &message, status);
  }
  return message;
}

int receive(Way way, void* buf, int count, MPI_Datatype type, MPI_Message* message,
            MPI_Status* status) {
  if (way == Way::kMrecv) return MPI_Mrecv(buf, count, type, message, status);
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Imrecv(buf, count, type, message, &request);
  return code == MPI_SUCCESS ? MPI_Wait(&request, status) : code;
}

// Rank 0 sends, rank 1 receives natively and by lacuna.
void compare(Way way, int sent, MPI_Datatype sendtype, int posted, MPI_Datatype recvtype) {
  if (g_rank == 0) {
    Buffer from(sendtype, sent);
    from.fill(1);
    for (int i = 0; i < 2; ++i) MPI_Send(from.base(), sent, sendtype, 1, 3 + i, MPI_COMM_WORLD);
    return;
  }
  Buffer to[2] = {{recvtype, posted}, {recvtype, posted}};
  std::vector<StatusView> seen;
  for (const bool on : {false, true}) {
    lacuna(on);
    to[on].fill(2);
    MPI_Status probed{}, status{};
    MPI_Message message = match(way, 0, 3 + on, &probed);
    CHECK(message != MPI_MESSAGE_NULL && message != MPI_MESSAGE_NO_PROC);
    CHECK(receive(way, to[on].base(), posted, recvtype, &message, &status) == MPI_SUCCESS);
    CHECK(message == MPI_MESSAGE_NULL);
    CHECK(status.MPI_TAG == 3 + on);
    status.MPI_TAG = probed.MPI_TAG = 0;
    CHECK(StatusView(probed, recvtype) == StatusView(status, recvtype));
    seen.emplace_back(status, recvtype);
  }
  lacuna(true);
  CHECK(to[0] == to[1]);
  CHECK(seen[0] == seen[1]);
}

}  // namespace

TOPIC(matched_same_messages) {
  std::vector<Shape> shapes = all_shapes();
  for (const auto& [way, name] : kWays) {
    for (const Shape& shape : shapes) {
      for (const int count : {0, 1, 2, 19}) {
        context(std::string(name) + " of " + shape.name + " x " + std::to_string(count));
        const int64_t before = taken(name);
        compare(way, count, shape.type, count, shape.type);
        // By the direct path, a message is handled even if lacuna is off here, as its sender had it
        // on.
        if (g_rank == 1 && shape.taken && count > 1)
          CHECK(g_direct ? taken(name) > before : taken(name) - before == 1);
        compare(way, count, shape.type, count + 3, shape.type);
      }
    }
  }
  free_shapes(&shapes);
}

// Messages that end inside an element, and large ones.
TOPIC(matched_short_and_large) {
  MPI_Datatype type, narrow = column(512), columns;
  MPI_Type_vector(7, 1, 3, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Type_create_resized(narrow, 0, sizeof(double), &columns);
  MPI_Type_commit(&columns);
  for (const auto& [way, name] : kWays) {
    for (const int doubles : {0, 1, 6, 7, 8, 20, 28}) {
      context(std::string(name) + ", " + std::to_string(doubles) + " doubles");
      compare(way, doubles, MPI_DOUBLE, 4, type);
    }
    context(std::string(name) + ", large");
    compare(way, 64, columns, 64, columns);
    compare(way, 512 * 40, MPI_DOUBLE, 64, columns);
  }
  for (MPI_Datatype* each : {&type, &narrow, &columns}) MPI_Type_free(each);
}

TOPIC(matched_truncation) {
  return_errors(MPI_COMM_WORLD);
  return_errors(MPI_COMM_SELF);  // MPICH raises errors without a communicator there
  MPI_Datatype type = column(8);
  double line[64] = {}, matrix[64];
  for (const auto& [way, name] : kWays) {
    int classes[2] = {-1, -1}, handled[2] = {0, 0};
    for (const bool on : {false, true}) {
      lacuna(on);
      MPI_Barrier(MPI_COMM_WORLD);
      if (g_rank == 0) {
        MPI_Send(line, 20, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        continue;
      }
      for (double& value : matrix) value = -1;
      MPI_Status status;
      MPI_Message message = match(way, 0, 0, &status);
      const int before = handled_errors();
      classes[on] = class_of(receive(way, matrix, 1, type, &message, &status));
      handled[on] = handled_errors() - before;
      bool gaps = true;
      for (int i = 0; i < 64; ++i) gaps = gaps && (i % 8 == 0 || matrix[i] == -1);
      CHECK(gaps);
    }
    context(name);
    CHECK(classes[0] == classes[1]);
    CHECK(handled[0] == handled[1]);
    if (g_rank == 1) CHECK(handled[1] >= 1 || classes[1] != MPI_SUCCESS);
    context("");
  }
  if (g_rank == 1) CHECK(taken("MPI_Mrecv") == 1 && taken("MPI_Imrecv") == 1);
  if (g_rank == 0)
    MPI_Send(matrix, 1, type, 1, 1, MPI_COMM_WORLD);
  else
    MPI_Recv(matrix, 1, type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Type_free(&type);
}

// From MPI_PROC_NULL; and the type is freed while the message is in flight.
TOPIC(matched_nobody_and_freed_types) {
  MPI_Datatype type = column(16);
  Buffer from(type, 1), to(type, 1);
  from.fill(1);
  to.fill(1);
  const int64_t before = taken_in_all();
  std::vector<int> said[2];
  for (const bool on : {false, true}) {
    lacuna(on);
    for (const auto& [way, name] : kWays) {
      MPI_Status status{};
      MPI_Message message = match(way, MPI_PROC_NULL, 0, &status);
      CHECK(message == MPI_MESSAGE_NO_PROC);
      const int code = receive(way, to.base(), 1, type, &message, &status);
      said[on].insert(said[on].end(), {code, message == MPI_MESSAGE_NULL, status.MPI_SOURCE,
                                       status.MPI_TAG, StatusView(status, type).elements});
    }
  }
  CHECK(said[0] == said[1]);
  CHECK(taken_in_all() == before);
  CHECK(to == from);
  MPI_Status status;
  if (g_rank == 0) {
    MPI_Send(from.base(), 1, type, 1, 0, MPI_COMM_WORLD);
  } else {
    MPI_Message message = match(Way::kMrecv, MPI_ANY_SOURCE, MPI_ANY_TAG, &status);
    MPI_Request request;
    MPI_Imrecv(to.base(), 1, type, &message, &request);
    MPI_Type_free(&type);
    type = column(7);  // probably the same handle
    MPI_Wait(&request, &status);
    CHECK(to == from);
    CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == 0);
    CHECK(taken("MPI_Imrecv") == 1);
  }
  MPI_Type_free(&type);
}
