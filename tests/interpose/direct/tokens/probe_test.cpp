// SPDX-License-Identifier: BSD-3-Clause
//
// Probes of messages whose payload takes the direct path, and the calls that receive them.
#include <thread>
#include <vector>

#include "tests/interpose/direct/numbers.hpp"
#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

// Newer than MPI 3.1.
const auto Isendrecv =
    newer<int (*)(const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int,
                  MPI_Comm, MPI_Request*)>("MPI_Isendrecv");
const auto Isendrecv_replace =
    newer<int (*)(void*, int, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Request*)>(
        "MPI_Isendrecv_replace");

}  // namespace

// A probe reports the size of the payload; the messages are received in order, by every kind of
// receive.
TOPIC(direct_probe) {
  MPI_Datatype type = column(kCount, 3);
  for (int way = 0; way < 10; ++way) {
    context("way " + std::to_string(way));
    if (g_rank == 0) {
      for (int i = 0; i < 3; ++i) MPI_Send(numbers(i).data(), 1, type, 1, 7, MPI_COMM_WORLD);
      const std::vector<char> like(80, 'x');  // as long as a token
      MPI_Send(like.data(), 80, MPI_CHAR, 1, 8, MPI_COMM_WORLD);
    } else if (g_rank == 1) {
      MPI_Status status{};
      std::vector<double> got(kCount);
      int flag = 0;
      const auto probe = [&](int source, int tag) {
        if (way % 2 == 0) {
          MPI_Probe(source, tag, MPI_COMM_WORLD, &status);
        } else {
          for (flag = 0; flag == 0;) MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, &status);
        }
      };
      probe(MPI_ANY_SOURCE, 8);  // not the first that arrived
      CHECK(bytes_in(status) == 80);
      for (int i = 0; i < 3; ++i) {
        got.assign(kCount, -1);
        probe(MPI_ANY_SOURCE, i == 1 ? 7 : MPI_ANY_TAG);
        CHECK(bytes_in(status) == kBytes);
        CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == 7);
        MPI_Status received{};
        MPI_Request request = MPI_REQUEST_NULL;
        switch (way / 2) {
          case 0:
            MPI_Recv(got.data(), kCount, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD, &received);
            break;
          case 1:
            MPI_Irecv(got.data(), kCount, MPI_DOUBLE, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, &received);
            break;
          case 2: {
            MPI_Recv_init(got.data(), kCount, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD, &request);
            MPI_Start(&request);
            int index = -1;
            MPI_Waitany(1, &request, &index, &received);
            CHECK(index == 0);
            MPI_Request_free(&request);
            break;
          }
          case 3: {  // cancelled too late
            MPI_Irecv(got.data(), kCount, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD, &request);
            CHECK(MPI_Cancel(&request) == MPI_SUCCESS);
            MPI_Wait(&request, &received);
            int cancelled = 1;
            MPI_Test_cancelled(&received, &cancelled);
            CHECK(cancelled == 0);
            break;
          }
          default: {
            MPI_Message message;
            if (way % 2 == 0) {
              MPI_Mprobe(0, 7, MPI_COMM_WORLD, &message, &status);
            } else {
              for (flag = 0; flag == 0;)
                MPI_Improbe(0, 7, MPI_COMM_WORLD, &flag, &message, &status);
            }
            CHECK(bytes_in(status) == kBytes && status.MPI_TAG == 7);
            MPI_Imrecv(got.data(), kCount, MPI_DOUBLE, &message, &request);
            MPI_Wait(&request, &received);
          }
        }
        CHECK(bytes_in(received) == kBytes);
        CHECK(received.MPI_SOURCE == 0 && received.MPI_TAG == 7);
        CHECK(is_packed(got, i));
      }
      std::vector<char> like(100, 'y');
      MPI_Recv(like.data(), 100, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      CHECK(bytes_in(status) == 80 && status.MPI_TAG == 8 && like[79] == 'x' && like[80] == 'y');
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Type_free(&type);
}

// A matched message keeps its place although another is received meanwhile.
TOPIC(direct_matched) {
  MPI_Datatype type = column(kCount, 3);
  if (g_rank == 0) {
    MPI_Send(numbers(1).data(), 1, type, 1, 1, MPI_COMM_WORLD);
    MPI_Send(numbers(2).data(), 1, type, 1, 1, MPI_COMM_WORLD);
  } else if (g_rank == 1) {
    MPI_Message message;
    MPI_Status status{};
    std::vector<double> first(kCount), second(kCount);
    MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
    MPI_Recv(second.data(), kCount, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &status);
    CHECK(is_packed(second, 2));
    MPI_Mrecv(first.data(), kCount, MPI_DOUBLE, &message, &status);
    CHECK(is_packed(first, 1));
    CHECK(bytes_in(status) == kBytes && status.MPI_SOURCE == 0 && status.MPI_TAG == 1);
  }
  MPI_Type_free(&type);
}

// Probed messages, received by the calls that also send.
TOPIC(direct_exchange) {
  MPI_Datatype type = column(kCount, 3);
  for (int way = 0; way < (Isendrecv != nullptr ? 5 : 2); ++way) {
    context("way " + std::to_string(way));
    std::vector<double> got(static_cast<size_t>(kCount) * 3, -1);
    if (g_rank == 0) {
      MPI_Send(numbers(way).data(), 1, type, 1, 7, MPI_COMM_WORLD);
      MPI_Recv(got.data(), kCount, MPI_DOUBLE, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(is_packed(got, 10 + way));
    } else if (g_rank == 1) {
      MPI_Status status{};
      MPI_Probe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status);
      CHECK(bytes_in(status) == kBytes);
      const std::vector<double> mine = numbers(10 + way);
      std::vector<double> both = mine;
      std::vector<double> packed(kCount);
      for (size_t i = 0; i < kCount; ++i) packed[i] = mine[3 * i];
      MPI_Request request = MPI_REQUEST_NULL;
      if (way == 0) {
        MPI_Sendrecv_replace(both.data(), 1, type, 0, 8, 0, 7, MPI_COMM_WORLD, &status);
      } else if (way == 1) {
        MPI_Sendrecv_replace(packed.data(), kCount, MPI_DOUBLE, 0, 8, 0, 7, MPI_COMM_WORLD,
                             &status);
      } else if (way == 2) {
        Isendrecv_replace(both.data(), 1, type, 0, 8, 0, 7, MPI_COMM_WORLD, &request);
      } else if (way == 3) {
        Isendrecv_replace(packed.data(), kCount, MPI_DOUBLE, 0, 8, 0, 7, MPI_COMM_WORLD, &request);
      } else {
        Isendrecv(mine.data(), 1, type, 0, 8, packed.data(), kCount, MPI_DOUBLE, 0, 7,
                  MPI_COMM_WORLD, &request);
      }
      if (request != MPI_REQUEST_NULL) MPI_Wait(&request, &status);
      CHECK(bytes_in(status) == kBytes);
      if (way == 0 || way == 2) {
        const std::vector<double> sent = numbers(way);
        for (size_t i = 0; i < both.size(); ++i) {
          const bool is_data = i % 3 == 0;
          if (both[i] != (is_data ? sent[i] : mine[i])) {
            CHECK(both[i] == mine[i]);
            break;
          }
        }
      } else {
        CHECK(is_packed(packed, way));
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  // Both at once.
  const int other = g_rank ^ 1;
  std::vector<double> mine = numbers(g_rank), got(static_cast<size_t>(kCount) * 3, -1);
  MPI_Sendrecv(mine.data(), 1, type, other, 9, got.data(), 1, type, other, 9, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  CHECK(got[0] == numbers(other)[0] && got[1] == -1);
  MPI_Type_free(&type);
}

// One thread probes, and so holds a message that another thread is about to receive.
TOPIC(direct_probe_among_threads) {
  constexpr int kMessages = 300;
  MPI_Datatype type = column(kCount, 3);
  if (g_rank == 0) {
    for (int i = 0; i < kMessages; ++i) {
      for (const int tag : {2, 1}) MPI_Send(numbers(tag).data(), 1, type, 1, tag, MPI_COMM_WORLD);
    }
  } else if (g_rank == 1) {
    int wrong[2] = {0, 0};
    std::thread other([&] {
      std::vector<double> got(kCount);
      for (int i = 0; i < kMessages; ++i) {
        got[1] = -1;
        MPI_Recv(got.data(), kCount, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong[1] += is_packed(got, 2) ? 0 : 1;
      }
    });
    std::vector<double> got(kCount);
    for (int i = 0; i < kMessages; ++i) {
      MPI_Status status{};
      MPI_Probe(0, 1, MPI_COMM_WORLD, &status);
      wrong[0] += bytes_in(status) == kBytes ? 0 : 1;
      MPI_Recv(got.data(), kCount, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      wrong[0] += is_packed(got, 1) ? 0 : 1;
    }
    other.join();
    CHECK(wrong[0] == 0 && wrong[1] == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_free(&type);
}
