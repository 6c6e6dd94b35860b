// SPDX-License-Identifier: BSD-3-Clause
//
// Threads that share and make types, complete requests in every way, free them and start them
// again, while another switches lacuna off and on: over threaded_mpi.cpp, under ThreadSanitizer.
// Also with the report and with verification. Exit code 1 where a byte is wrong.
#include <mpi.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

extern "C" int64_t lacuna_interposed_calls(const char* function, int taken);

namespace {

constexpr int kThreads = 6;
constexpr int kRounds = 1000;
constexpr int kN = 12;
std::atomic<int> g_wrong{0};

void expect(bool right) {
  if (!right) g_wrong.fetch_add(1);
}

MPI_Datatype column(int stride) {
  MPI_Datatype type;
  MPI_Type_vector(kN, 1, stride, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}

// Thread `id` talks to itself, so that it knows what must come.
struct Worker {
  int id;
  MPI_Datatype shared;
  std::vector<double> from = std::vector<double>(kN * kN);
  std::vector<double> to = std::vector<double>(kN * kN);
  std::vector<double> also = std::vector<double>(kN * kN);

  void messages(int round) {
    const int tag = 10 * id;
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<double>(i) + round * 0.5 + id;
    const int stride = 2 + (id + round) % 7;
    MPI_Datatype own = column(stride);
    MPI_Request requests[4];
    MPI_Irecv(to.data(), 1, shared, 0, tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(also.data(), 1, own, 0, tag + 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(from.data(), 1, shared, 0, tag, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(from.data(), 1, own, 0, tag + 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Type_free(&own);
    complete(round, requests);
    for (size_t i = 0; i < kN; ++i) {
      expect(to[i * kN] == from[i * kN]);
      const size_t at = i * static_cast<size_t>(stride);
      expect(also[at] == from[at]);
    }
  }

  void complete(int round, MPI_Request* requests) {
    int index = 0, flag = 0, count = 0, indices[4];
    MPI_Status statuses[4];
    switch ((id + round) % 7) {
      case 0:
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        return;
      case 1:
        for (int i = 0; i < 4; ++i) MPI_Waitany(4, requests, &index, MPI_STATUS_IGNORE);
        return;
      case 2:
        while (flag == 0) MPI_Testall(4, requests, &flag, statuses);
        return;
      case 3:
        for (int i = 0; i < 4; ++i) {
          for (flag = 0; flag == 0;) MPI_Test(&requests[i], &flag, &statuses[0]);
        }
        return;
      case 4:
        for (int left = 4; left > 0; left -= count)
          MPI_Waitsome(4, requests, &count, indices, statuses);
        return;
      case 5:
        MPI_Request_free(&requests[2]);
        MPI_Request_free(&requests[3]);
        MPI_Wait(&requests[0], &statuses[0]);
        MPI_Wait(&requests[1], &statuses[1]);
        return;
      default:
        for (int i = 0; i < 4; ++i) {
          while (flag == 0) MPI_Request_get_status(requests[i], &flag, &statuses[0]);
          MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        }
    }
  }

  void persistent(int round) {
    MPI_Request requests[2];
    MPI_Recv_init(to.data(), 1, shared, 0, 10 * id + 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(from.data(), 1, shared, 0, 10 * id + 2, MPI_COMM_WORLD, &requests[1]);
    for (int turn = 0; turn < 3; ++turn) {
      for (size_t i = 0; i < kN; ++i) from[i * kN] = round + turn + static_cast<double>(i);
      MPI_Startall(2, requests);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      for (size_t i = 0; i < kN; ++i) expect(to[i * kN] == from[i * kN]);
    }
    for (MPI_Request& request : requests) MPI_Request_free(&request);
  }

  void packs() {
    double packed[kN];
    int position = 0;
    MPI_Pack(from.data(), 1, shared, packed, sizeof(packed), &position, MPI_COMM_WORLD);
    for (size_t i = 0; i < kN; ++i) expect(packed[i] == from[i * kN]);
    position = 0;
    MPI_Unpack(packed, sizeof(packed), &position, to.data(), 1, shared, MPI_COMM_WORLD);
    for (size_t i = 0; i < kN; ++i) expect(to[i * kN] == from[i * kN]);
  }

  void run() {
    for (int round = 0; round < kRounds; ++round) {
      messages(round);
      if (round % 3 == 0) persistent(round);
      packs();
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Datatype shared = column(kN);
  std::atomic<bool> over{false};
  std::thread switches([&] {
    for (int i = 0; !over.load(); ++i) {
      MPI_Pcontrol(i % 4 != 0 ? 1 : 0);
      std::this_thread::yield();
    }
  });
  for (int generation = 0; generation < 2; ++generation) {  // threads come and go
    std::vector<std::thread> threads;
    for (int id = 0; id < kThreads; ++id) {
      threads.emplace_back([id, shared] {
        Worker worker{id, shared};
        worker.run();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  over.store(true);
  switches.join();
  MPI_Type_free(&shared);
  const bool busy = lacuna_interposed_calls("MPI_Irecv", 1) > 100 &&
                    lacuna_interposed_calls("MPI_Recv_init", 1) > 100 &&
                    lacuna_interposed_calls("MPI_Pack", 1) > 100;
  MPI_Finalize();
  std::printf("%d wrong, lacuna %s\n", g_wrong.load(), busy ? "at work" : "idle");
  return g_wrong.load() == 0 && busy ? 0 : 1;
}
