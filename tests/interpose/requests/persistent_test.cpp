// SPDX-License-Identifier: BSD-3-Clause
//
// Persistent requests: what is in the buffer at each start is sent, what is received is in the
// buffer at each completion, and an inactive request does nothing.
#include <cstring>

#include "tests/interpose/harness/complete.hpp"
#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

enum class Mode { kSend, kSsend, kRsend, kBsend };
const struct {
  Mode mode;
  const char* name;
} kModes[] = {{Mode::kSend, "MPI_Send_init"},
              {Mode::kSsend, "MPI_Ssend_init"},
              {Mode::kRsend, "MPI_Rsend_init"},
              {Mode::kBsend, "MPI_Bsend_init"}};

MPI_Request send_init(Mode mode, void* buf, int count, MPI_Datatype type, int dest, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  switch (mode) {
    case Mode::kSend:
      MPI_Send_init(buf, count, type, dest, tag, MPI_COMM_WORLD, &request);
      break;
    case Mode::kSsend:
      MPI_Ssend_init(buf, count, type, dest, tag, MPI_COMM_WORLD, &request);
      break;
    case Mode::kRsend:
      MPI_Rsend_init(buf, count, type, dest, tag, MPI_COMM_WORLD, &request);
      break;
    case Mode::kBsend:
      MPI_Bsend_init(buf, count, type, dest, tag, MPI_COMM_WORLD, &request);
      break;
  }
  return request;
}

MPI_Request recv_init(void* buf, int count, MPI_Datatype type, int source, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Recv_init(buf, count, type, source, tag, MPI_COMM_WORLD, &request);
  return request;
}

// Open MPI's persistent buffered sends may read the data at any time: they are declined, and not
// tested.
bool is_passed(Mode mode) {
#if defined(LACUNA_MPI_FAMILY_OMPI)
  return mode == Mode::kBsend;
#else
  (void)mode;
  return false;
#endif
}

// Converts the handle to Fortran and back.
MPI_Request there_and_back(MPI_Request request) {
#if defined(LACUNA_MPI_FAMILY_MPIABI)
  return request;  // neither MPICH 5.0.2 nor Intel MPI 2021.19 has its conversions
#else
  return MPI_Request_f2c(MPI_Request_c2f(request));
#endif
}

bool is_empty(const MPI_Status& status) {
  const StatusView view(status, MPI_BYTE);
  return view.source == MPI_ANY_SOURCE && view.tag == MPI_ANY_TAG && view.bytes == 0 &&
         view.cancelled == 0;
}

// Both ranks send to each other, three times with other data: the received data, and the statuses.
struct Rounds {
  std::vector<Buffer> received;
  std::vector<StatusView> statuses;
  bool operator==(const Rounds&) const = default;
};
Rounds rounds(Mode mode, int count, MPI_Datatype type, bool on) {
  lacuna(on);
  const int other = 1 - g_rank;
  Buffer from(type, count), to(type, count);
  MPI_Request requests[2] = {recv_init(to.base(), count, type, other, 3),
                             send_init(mode, from.base(), count, type, other, 3)};
  Rounds result;
  for (unsigned i = 0; i < 3; ++i) {
    from.fill(10 * i + static_cast<unsigned>(g_rank));
    to.fill(77);
    MPI_Status statuses[2] = {};
    MPI_Start(&requests[0]);
    if (mode == Mode::kRsend) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Start(&requests[1]);
    MPI_Waitall(2, requests, statuses);
    CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL);
    from.fill(88);
    result.received.push_back(to);
    result.statuses.emplace_back(statuses[0], type);
  }
  for (MPI_Request& request : requests) {
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL);
  }
  lacuna(true);
  return result;
}

}  // namespace

TOPIC(persistent_same_messages) {
  std::vector<char> attached(1 << 20);
  MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size()));
  std::vector<Shape> shapes = all_shapes();
  for (const auto& [mode, name] : kModes) {
    for (const Shape& shape : shapes) {
      for (const int count : {0, 1, 5}) {
        context(std::string(name) + " of " + shape.name + " x " + std::to_string(count));
        const Rounds native = rounds(mode, count, shape.type, false);
        const int64_t before = taken(name) + taken("MPI_Recv_init");
        const Rounds ours = rounds(mode, count, shape.type, true);
        CHECK(native == ours);
        if (!shape.taken || count < 2) continue;
        CHECK(taken(name) + taken("MPI_Recv_init") - before == (is_passed(mode) ? 1 : 2));
      }
    }
  }
  MPI_Datatype type;
  MPI_Type_vector(1 << 15, 1, 2, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  for (const auto& [mode, name] : kModes) {
    context(std::string(name) + ", large");
    if (is_passed(mode)) continue;
    CHECK(rounds(mode, 1, type, false) == rounds(mode, 1, type, true));
  }
  MPI_Type_free(&type);
  void* memory = nullptr;
  int bytes = 0;
  MPI_Buffer_detach(&memory, &bytes);
  free_shapes(&shapes);
}

// Among inactive, nonblocking and null requests, in every way to complete them.
TOPIC(persistent_every_completion) {
  MPI_Datatype type = column(16);
  const int other = 1 - g_rank;
  Buffer from(type, 1), to[3] = {{type, 1}, {type, 1}, {type, 1}}, idle(type, 1);
  enum { kFirst, kNull, kSecond, kInactive, kThird, kSend1, kSend2, kSend3, kRequests };
  std::vector<MPI_Request> made(kRequests, MPI_REQUEST_NULL);
  made[kFirst] = recv_init(to[0].base(), 1, type, other, 0);
  made[kSecond] = recv_init(to[1].base(), 1, type, other, 1);
  made[kInactive] = recv_init(idle.base(), 1, type, other, 9);
  made[kSend1] = send_init(Mode::kSend, from.base(), 1, type, other, 0);
  made[kSend2] = send_init(Mode::kSsend, from.base(), 1, type, other, 1);
  const Buffer untouched = idle;
  for (int how = 0; how <= static_cast<int>(How::kGetStatus); ++how) {
    for (const bool ignore : {false, true}) {
      context("completion " + std::to_string(how));
      std::vector<MPI_Request> requests = made;
      from.fill(static_cast<unsigned>(how));
      for (Buffer& buffer : to) buffer.fill(static_cast<unsigned>(how));
      MPI_Irecv(to[2].base(), 1, type, other, 2, MPI_COMM_WORLD, &requests[kThird]);
      MPI_Request some[2] = {requests[kSend1], requests[kFirst]};
      MPI_Startall(2, some);
      MPI_Start(&requests[kSecond]);
      MPI_Start(&requests[kSend2]);
      MPI_Isend(from.base(), 1, type, other, 2, MPI_COMM_WORLD, &requests[kSend3]);
      if (static_cast<How>(how) == How::kTest) {  // an inactive request is always complete
        for (int left = 6; left > 0;) {
          for (const int i : {kFirst, kSecond, kThird, kSend1, kSend2, kSend3}) {
            MPI_Request& request = requests[static_cast<size_t>(i)];
            MPI_Status status;
            int flag = 0;
            MPI_Test(&request, &flag, &status);
            if (flag == 0 || request == MPI_REQUEST_NULL) continue;
            if (i <= kThird && !is_empty(status)) --left;
          }
          int flag = 0;
          MPI_Testall(kRequests, requests.data(), &flag, MPI_STATUSES_IGNORE);
          if (flag != 0) left = 0;
        }
      } else if (static_cast<How>(how) == How::kWaitsome ||
                 static_cast<How>(how) == How::kTestsome ||
                 static_cast<How>(how) == How::kWaitany || static_cast<How>(how) == How::kTestany) {
        for (int left = 6, index = 0, flag = 0, outcount = 0; left > 0;) {
          int indices[kRequests];
          MPI_Status statuses[kRequests];
          MPI_Status* const many = ignore ? MPI_STATUSES_IGNORE : statuses;
          MPI_Status* const one = ignore ? MPI_STATUS_IGNORE : statuses;
          switch (static_cast<How>(how)) {
            case How::kWaitsome:
              MPI_Waitsome(kRequests, requests.data(), &outcount, indices, many);
              left -= outcount;
              break;
            case How::kTestsome:
              MPI_Testsome(kRequests, requests.data(), &outcount, indices, many);
              left -= outcount;
              break;
            case How::kWaitany:
              MPI_Waitany(kRequests, requests.data(), &index, one);
              CHECK(index != MPI_UNDEFINED && index != kInactive && index != kNull);
              --left;
              break;
            default:
              MPI_Testany(kRequests, requests.data(), &index, &flag, one);
              if (flag == 0) break;
              CHECK(index != MPI_UNDEFINED && index != kInactive && index != kNull);
              --left;
          }
        }
      } else {
        complete(static_cast<How>(how), &requests, ignore, [&](int at, const MPI_Status* status) {
          if (status == nullptr) return;
          if (at == kInactive || at == kNull) CHECK(is_empty(*status));
          if (at == kFirst || at == kSecond || at == kThird)
            CHECK(StatusView(*status, type).count == 1 && status->MPI_SOURCE == other);
        });
      }
      for (const Buffer& buffer : to) CHECK(buffer == from);
      CHECK(idle == untouched);
      for (const int i : {kFirst, kSecond, kInactive, kSend1, kSend2})
        CHECK(requests[static_cast<size_t>(i)] == made[static_cast<size_t>(i)]);
      CHECK(requests[kThird] == MPI_REQUEST_NULL && requests[kSend3] == MPI_REQUEST_NULL);
      // When all are complete, nothing is unpacked a second time.
      for (Buffer& buffer : to) buffer.fill(1234);
      const Buffer mine = to[0];
      MPI_Waitall(kRequests, requests.data(), MPI_STATUSES_IGNORE);
      for (const Buffer& buffer : to) CHECK(buffer == mine);
    }
  }
  context("");
  for (MPI_Request& request : made)
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  MPI_Type_free(&type);
}

// What every function returns for an inactive request, before and after it was active.
TOPIC(persistent_inactive) {
  MPI_Datatype type = column(16);
  Buffer from(type, 1), to(type, 1);
  from.fill(1);
  std::vector<int> said[2];
  for (const bool on : {false, true}) {
    lacuna(on);
    MPI_Request requests[2] = {recv_init(to.base(), 1, type, g_rank, 0),
                               send_init(Mode::kSend, from.base(), 1, type, g_rank, 0)};
    for (int turn = 0; turn < 2; ++turn) {
      for (MPI_Request& request : requests) {
        MPI_Status status;
        int flag = 0, index = 0;
        const auto look = [&](int one, int other) {
          said[on].insert(said[on].end(), {one, other, is_empty(status)});
        };
        std::memset(&status, 1, sizeof(status));
        look(MPI_Wait(&request, &status), 0);
        std::memset(&status, 1, sizeof(status));
        look(MPI_Test(&request, &flag, &status), flag);
        std::memset(&status, 1, sizeof(status));
        look(MPI_Request_get_status(request, &flag, &status), flag);
        std::memset(&status, 1, sizeof(status));
        look(MPI_Waitany(1, &request, &index, &status), index == MPI_UNDEFINED);
        std::memset(&status, 1, sizeof(status));
        look(MPI_Testall(1, &request, &flag, &status), flag);
        int outcount = 0;
        MPI_Waitsome(1, &request, &outcount, &index, MPI_STATUSES_IGNORE);
        said[on].push_back(outcount == MPI_UNDEFINED);
      }
      if (turn != 0) break;
      to.fill(1);
      MPI_Startall(2, requests);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      CHECK(to == from);
    }
    for (MPI_Request& request : requests) MPI_Request_free(&request);
    // Never started.
    MPI_Request unused = recv_init(to.base(), 1, type, g_rank, 0);
    MPI_Request_free(&unused);
    CHECK(unused == MPI_REQUEST_NULL);
  }
  CHECK(said[0] == said[1]);
  MPI_Type_free(&type);
}

// A request that lacuna handles stays so if its type is freed, its handle converted, or lacuna
// switched off.
TOPIC(persistent_lives_on) {
  const int other = 1 - g_rank;
  MPI_Datatype type = column(16), next;
  std::vector<double> from(256), to(256);
  MPI_Request requests[2] = {recv_init(to.data(), 1, type, other, 0),
                             send_init(Mode::kSend, from.data(), 1, type, other, 0)};
  MPI_Type_free(&type);
  MPI_Type_vector(16, 1, 5, MPI_DOUBLE, &next);  // probably the same handle
  MPI_Type_commit(&next);
  for (int turn = 0; turn < 4; ++turn) {
    for (size_t i = 0; i < 256; ++i) from[i] = static_cast<double>(i) + 1000 * turn;
    std::fill(to.begin(), to.end(), -1);
    if (turn == 2) MPI_Pcontrol(0);
    for (MPI_Request& request : requests) {
      MPI_Request same = there_and_back(request);
      CHECK(same == request);
      MPI_Start(&same);
    }
    if (turn == 3) MPI_Pcontrol(1);
    MPI_Request swapped[2] = {requests[1], requests[0]};
    MPI_Waitall(2, swapped, MPI_STATUSES_IGNORE);
    bool right = true;
    for (size_t i = 0; i < 256; ++i) right = right && to[i] == (i % 16 == 0 ? from[i] : -1);
    CHECK(right);
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
  CHECK(taken("MPI_Send_init") == 1 && taken("MPI_Recv_init") == 1);
  MPI_Pcontrol(1);
  MPI_Type_free(&next);
}

// MPI_PROC_NULL beside other ranks; contiguous types, too.
TOPIC(persistent_mixed) {
  MPI_Datatype type = column(16);
  Buffer from(type, 1), to(type, 1), untouched(type, 1);
  double line[16] = {}, other_line[16];
  for (double& value : other_line) value = 3;
  from.fill(1);
  untouched.fill(2);
  Buffer nobody = untouched;
  MPI_Request requests[6] = {recv_init(nobody.base(), 1, type, MPI_PROC_NULL, 0),
                             recv_init(to.base(), 1, type, g_rank, 1),
                             recv_init(line, 16, MPI_DOUBLE, g_rank, 2),
                             send_init(Mode::kSend, from.base(), 1, type, MPI_PROC_NULL, 0),
                             send_init(Mode::kSend, from.base(), 1, type, g_rank, 1),
                             send_init(Mode::kSend, other_line, 16, MPI_DOUBLE, g_rank, 2)};
  for (int turn = 0; turn < 3; ++turn) {
    to.fill(1);
    for (double& value : other_line) value = turn;
    MPI_Startall(6, requests);
    MPI_Status statuses[6];
    MPI_Waitall(6, requests, statuses);
    CHECK(to == from && nobody == untouched);
    CHECK(line[0] == turn && line[15] == turn);
    CHECK(statuses[1].MPI_SOURCE == g_rank && statuses[1].MPI_TAG == 1);
    CHECK(StatusView(statuses[1], type).count == 1);
  }
  CHECK(taken("MPI_Recv_init") == 1 && taken("MPI_Send_init") == 1);
  for (MPI_Request& request : requests) MPI_Request_free(&request);
  MPI_Type_free(&type);
}
