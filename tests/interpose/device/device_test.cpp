// SPDX-License-Identifier: BSD-3-Clause
//
// Messages whose data are in a CUDA device's memory on one side or on both. A CPU access to
// the fake driver's memory is a segmentation fault: in lacuna, or in the MPI library if lacuna has
// left it a call.
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/interpose/device/memory.hpp"
#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kTag = 5;
constexpr On kBoth[] = {On::kHost, On::kDevice};

// Whether lacuna must move data without gaps, too.
bool library_is_blind() {
  const auto query = newer<int (*)()>("MPIX_Query_cuda_support");
  return query != nullptr && query() == 0;
}

const char* name(On where) { return where == On::kHost ? "host" : "device"; }

// Shapes that lacuna moves, and one that takes part of them all.
template <typename Body>
void for_shapes(const Body& body) {
  std::vector<Shape> shapes = all_shapes();
  for (const Shape& shape : shapes)
    if (shape.taken || (shape.name == "contiguous" && library_is_blind()))
      body(shape.name, shape.type);
  free_shapes(&shapes);
}

// One message from rank 0 to rank 1. `send` and `receive` get address, count and type.
template <typename Send, typename Receive>
void pass(const std::string& shape, MPI_Datatype type, int count, On from, On to, unsigned seed,
          const Send& send, const Receive& receive) {
  context(shape + " from the " + name(from) + " to the " + name(to));
  if (g_rank == 0) {
    const Elements out(from, type, count, seed);
    const std::vector<unsigned char> before = out.read();
    send(out.base(), count, type);
    CHECK(out.read() == before);
  } else if (g_rank == 1) {
    const Elements sent(On::kHost, type, count, seed);
    const Elements in(to, type, count, seed + 1);
    const std::vector<unsigned char> want = in.with(sent);
    receive(in.base(), count, type);
    CHECK(in.read() == want);
  }
  context("");
}

template <typename Send, typename Receive>
void pass_everywhere(const Send& send, const Receive& receive) {
  for_shapes([&](const std::string& shape, MPI_Datatype type) {
    for (const On from : kBoth) {
      for (const On to : kBoth) {
        pass(shape, type, 3, from, to, 1, send, receive);
        // Longer than a token, so that it may go by shared memory.
        pass(shape, type, 200, from, to, 2, send, receive);
      }
    }
  });
}

void send_plainly(void* buf, int count, MPI_Datatype type) {
  MPI_Send(buf, count, type, 1, kTag, MPI_COMM_WORLD);
}
void receive_plainly(void* buf, int count, MPI_Datatype type) {
  MPI_Recv(buf, count, type, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

}  // namespace

TOPIC(device_blocking) {
  if (!start_device()) return;
  const GoesDirectly watch;
  pass_everywhere(send_plainly, receive_plainly);
  pass_everywhere([](void* buf, int count,
                     MPI_Datatype type) { MPI_Ssend(buf, count, type, 1, kTag, MPI_COMM_WORLD); },
                  [](void* buf, int count, MPI_Datatype type) {
                    MPI_Status status;
                    MPI_Recv(buf, count, type, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                             &status);
                    int received = 0;
                    MPI_Get_count(&status, type, &received);
                    CHECK(received == count && status.MPI_SOURCE == 0 && status.MPI_TAG == kTag);
                  });
  std::vector<char> attached(size_t{1} << 20);
  MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size()));
  pass_everywhere([](void* buf, int count,
                     MPI_Datatype type) { MPI_Bsend(buf, count, type, 1, kTag, MPI_COMM_WORLD); },
                  receive_plainly);
  void* at = nullptr;
  int bytes = 0;
  MPI_Buffer_detach(&at, &bytes);
  // Every call with data of a device is lacuna's.
  MPI_Datatype type = column(16);
  pass(
      "column", type, 1, On::kDevice, On::kDevice, 3,
      [](void* buf, int count, MPI_Datatype column) {
        CHECK(taken_by("MPI_Send", [&] { send_plainly(buf, count, column); }) == 1);
      },
      [](void* buf, int count, MPI_Datatype column) {
        CHECK(taken_by("MPI_Recv", [&] { receive_plainly(buf, count, column); }) == 1);
      });
  MPI_Type_free(&type);
}

// 6 MiB, of which only a part fits in the memory through which lacuna moves what a device cannot
// reach; and messages that do not fill the receive.
TOPIC(device_large) {
  if (!start_device()) return;
  const GoesDirectly watch;
  MPI_Datatype type = column(1024, 3);
  for (const On from : kBoth)
    for (const On to : kBoth) pass("large", type, 768, from, to, 4, send_plainly, receive_plainly);
  MPI_Type_free(&type);
  type = column(10, 3);
  for (const On from : kBoth) {
    if (g_rank == 0) {
      const Elements out(from, type, 7, 5);
      MPI_Send(out.base(), 7, type, 1, kTag, MPI_COMM_WORLD);
    } else if (g_rank == 1) {
      const Elements sent(On::kHost, type, 7, 5);
      const Elements in(On::kDevice, type, 20, 6);
      const Elements like(On::kHost, type, 20, 6);
      std::vector<unsigned char> want = like.read();
      const Elements seven(On::kHost, type, 7, 6);
      const std::vector<unsigned char> first = seven.with(sent);
      std::copy(first.begin(), first.end() - 64, want.begin());
      MPI_Status status;
      MPI_Recv(in.base(), 20, type, 0, kTag, MPI_COMM_WORLD, &status);
      int count = 0;
      MPI_Get_count(&status, type, &count);
      CHECK(count == 7);
      CHECK(in.read() == want);
    }
  }
  MPI_Type_free(&type);
}

TOPIC(device_nonblocking) {
  if (!start_device()) return;
  const GoesDirectly watch;
  const auto isend = [](void* buf, int count, MPI_Datatype type) {
    MPI_Request request;
    MPI_Isend(buf, count, type, 1, kTag, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  };
  const auto irecv = [](void* buf, int count, MPI_Datatype type) {
    MPI_Request request;
    MPI_Irecv(buf, count, type, 0, kTag, MPI_COMM_WORLD, &request);
    MPI_Status status;
    int done = 0;
    while (done == 0) MPI_Test(&request, &done, &status);
    int received = 0;
    MPI_Get_count(&status, type, &received);
    CHECK(received == count);
  };
  pass_everywhere(isend, irecv);
  // A send and a receive that the program frees; a later message says that they are over.
  for (const On from : kBoth) {
    for (const On to : kBoth) {
      MPI_Datatype type = column(64, 3);
      pass(
          "freed", type, 4, from, to, 7,
          [](void* buf, int count, MPI_Datatype column) {
            MPI_Request request;
            MPI_Isend(buf, count, column, 1, kTag, MPI_COMM_WORLD, &request);
            MPI_Request_free(&request);
            MPI_Send(nullptr, 0, MPI_INT, 1, kTag + 1, MPI_COMM_WORLD);
            MPI_Recv(nullptr, 0, MPI_INT, 1, kTag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          },
          [](void* buf, int count, MPI_Datatype column) {
            MPI_Request request;
            MPI_Irecv(buf, count, column, 0, kTag, MPI_COMM_WORLD, &request);
            MPI_Request_free(&request);
            MPI_Recv(nullptr, 0, MPI_INT, 0, kTag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(nullptr, 0, MPI_INT, 0, kTag + 1, MPI_COMM_WORLD);
          });
      MPI_Type_free(&type);
    }
  }
  // Many at once, whose types are freed meanwhile.
  constexpr int kMany = 20;
  for (const On from : kBoth) {
    std::vector<Elements*> all;
    std::vector<std::vector<unsigned char>> want;
    MPI_Request requests[kMany];
    for (int i = 0; i < kMany; ++i) {
      MPI_Datatype type = column(30 + i, 3);
      if (g_rank == 0) {
        all.push_back(new Elements(from, type, 3, static_cast<unsigned>(i)));
        MPI_Isend(all.back()->base(), 3, type, 1, i, MPI_COMM_WORLD, &requests[i]);
      } else if (g_rank == 1) {
        all.push_back(new Elements(On::kDevice, type, 3, 99));
        want.push_back(all.back()->with(Elements(On::kHost, type, 3, static_cast<unsigned>(i))));
        MPI_Irecv(all.back()->base(), 3, type, 0, i, MPI_COMM_WORLD, &requests[i]);
      }
      MPI_Type_free(&type);
    }
    if (g_rank < 2) MPI_Waitall(kMany, requests, MPI_STATUSES_IGNORE);
    for (size_t i = 0; i < want.size(); ++i) CHECK(all[i]->read() == want[i]);
    for (const Elements* one : all) delete one;
  }
}

TOPIC(device_persistent) {
  if (!start_device()) return;
  const GoesDirectly watch;
  MPI_Datatype type = column(64, 3);
  for (const On from : kBoth) {
    for (const On to : kBoth) {
      context(std::string(name(from)) + " to " + name(to));
      constexpr int kCount = 5;
      Elements out(from, type, kCount, 1);
      Elements in(to, type, kCount, 2);
      MPI_Request request = MPI_REQUEST_NULL;
      if (g_rank == 0)
        MPI_Send_init(out.base(), kCount, type, 1, kTag, MPI_COMM_WORLD, &request);
      else if (g_rank == 1)
        MPI_Recv_init(in.base(), kCount, type, 0, kTag, MPI_COMM_WORLD, &request);
      for (unsigned turn = 0; turn < 3; ++turn) {
        if (g_rank == 0) out.fill(10 + turn);
        const std::vector<unsigned char> want =
            in.with(Elements(On::kHost, type, kCount, 10 + turn));
        if (g_rank >= 2) continue;
        if (turn == 1)
          MPI_Startall(1, &request);
        else
          MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (g_rank == 1) CHECK(in.read() == want);
        MPI_Barrier(MPI_COMM_WORLD);
      }
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
  }
  context("");
  MPI_Type_free(&type);
}

TOPIC(device_probed) {
  if (!start_device()) return;
  const GoesDirectly watch;
  const auto probe = [](void* buf, int count, MPI_Datatype type) {
    MPI_Status status;
    MPI_Probe(0, kTag, MPI_COMM_WORLD, &status);
    int there = 0;
    MPI_Get_count(&status, type, &there);
    CHECK(there == count);
    receive_plainly(buf, count, type);
  };
  const auto mprobe = [](void* buf, int count, MPI_Datatype type) {
    MPI_Message message;
    MPI_Status status;
    MPI_Mprobe(0, kTag, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(buf, count, type, &message, MPI_STATUS_IGNORE);
  };
  const auto imrecv = [](void* buf, int count, MPI_Datatype type) {
    MPI_Message message;
    int flag = 0;
    while (flag == 0) MPI_Improbe(0, kTag, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    MPI_Request request;
    MPI_Imrecv(buf, count, type, &message, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  };
  pass_everywhere(send_plainly, probe);
  pass_everywhere(send_plainly, mprobe);
  pass_everywhere(send_plainly, imrecv);
}

TOPIC(device_exchange) {
  if (!start_device() || g_size != 2) return;
  const GoesDirectly watch;
  const int other = 1 - g_rank;
  const auto mine = static_cast<unsigned>(g_rank), theirs = static_cast<unsigned>(other);
  using Isendrecv = int (*)(const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int,
                            int, MPI_Comm, MPI_Request*);
  using IsendrecvReplace =
      int (*)(void*, int, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Request*);
  const auto isendrecv = newer<Isendrecv>("MPI_Isendrecv");
  const char* always = std::getenv("LACUNA_ALWAYS");
  const bool is_always = always != nullptr && always[0] == '1';
  const auto isendrecv_replace = newer<IsendrecvReplace>("MPI_Isendrecv_replace");
  for_shapes([&](const std::string& shape, MPI_Datatype type) {
    constexpr int kCount = 50;
    for (const On from : kBoth) {
      for (const On to : kBoth) {
        context(shape + " from the " + name(from) + " to the " + name(to));
        const Elements out(from, type, kCount, mine);
        const Elements sent(On::kHost, type, kCount, theirs);
        {
          const Elements in(to, type, kCount, 9);
          const std::vector<unsigned char> want = in.with(sent);
          MPI_Sendrecv(out.base(), kCount, type, other, kTag, in.base(), kCount, type, other, kTag,
                       MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          CHECK(in.read() == want);
        }
        // Libraries do it wrong by themselves: MPICH 4.0 then loses the type, and MPICH 5 and Intel
        // MPI deliver wrong bytes in the one with _replace.
        const bool is_lacunas = is_always || (from == On::kDevice && to == On::kDevice);
        if (isendrecv != nullptr && is_lacunas) {
          const Elements in(to, type, kCount, 9);
          const std::vector<unsigned char> want = in.with(sent);
          MPI_Request request;
          isendrecv(out.base(), kCount, type, other, kTag, in.base(), kCount, type, other, kTag,
                    MPI_COMM_WORLD, &request);
          MPI_Wait(&request, MPI_STATUS_IGNORE);
          CHECK(in.read() == want);
        }
        // Rank 0 on one side, rank 1 on the other.
        const On here = g_rank == 0 ? from : to;
        {
          const Elements both(here, type, kCount, mine);
          const std::vector<unsigned char> want = both.with(sent);
          MPI_Sendrecv_replace(both.base(), kCount, type, other, kTag, other, kTag, MPI_COMM_WORLD,
                               MPI_STATUS_IGNORE);
          CHECK(both.read() == want);
        }
        if (isendrecv_replace != nullptr && is_lacunas) {
          const Elements both(here, type, kCount, mine);
          const std::vector<unsigned char> want = both.with(sent);
          MPI_Request request;
          isendrecv_replace(both.base(), kCount, type, other, kTag, other, kTag, MPI_COMM_WORLD,
                            &request);
          MPI_Wait(&request, MPI_STATUS_IGNORE);
          CHECK(both.read() == want);
        }
      }
    }
  });
  context("");
  CHECK(taken("MPI_Sendrecv") > 0 && taken("MPI_Sendrecv_replace") > 0);
}

TOPIC(device_packs) {
  if (!start_device()) return;
  for_shapes([&](const std::string& shape, MPI_Datatype type) {
    constexpr int kCount = 3;
    const int bytes = static_cast<int>(data_bytes(type, kCount));
    for (const On where : kBoth) {
      context(shape + ", packed on the " + name(where));
      const Elements from(On::kDevice, type, kCount, 1);
      const Elements to(On::kDevice, type, kCount, 2);
      const std::vector<unsigned char> want = to.with(from);
      Memory packed(where, static_cast<size_t>(bytes) + 8);
      packed.write(std::vector<unsigned char>(static_cast<size_t>(bytes) + 8, 77));
      int position = 4;
      CHECK(taken_by("MPI_Pack", [&] {
              MPI_Pack(from.base(), kCount, type, packed.at(), bytes + 4, &position,
                       MPI_COMM_WORLD);
            }) == 1);
      CHECK(position == bytes + 4);
      const std::vector<unsigned char> got = packed.read();
      CHECK(got[3] == 77 && got[static_cast<size_t>(bytes) + 4] == 77);
      position = 4;
      CHECK(taken_by("MPI_Unpack", [&] {
              MPI_Unpack(packed.at(), bytes + 4, &position, to.base(), kCount, type,
                         MPI_COMM_WORLD);
            }) == 1);
      CHECK(position == bytes + 4);
      CHECK(to.read() == want);
    }
  });
  context("");
}
