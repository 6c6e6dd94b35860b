// SPDX-License-Identifier: BSD-3-Clause
//
// Programs whose every call is known: tests/cli/run/test_watch.py compares their report with that.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kN = 32;

MPI_Datatype made(int stride) {
  MPI_Datatype type;
  MPI_Type_vector(kN, 1, stride, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}

}  // namespace

// Somebody else has put links where the report will be written, to a file that must not change: the
// test checks it afterwards.
TOPIC(report_beside_links) {
  MPI_Datatype type = made(kN);
  std::vector<double> from(kN * kN), to(kN);
  int position = 0;
  MPI_Pack(from.data(), 1, type, to.data(), kN * 8, &position, MPI_COMM_WORLD);
  MPI_Type_free(&type);
  if (g_rank != 0) return;
  const char* name = std::getenv("LACUNA_REPORT");
  CHECK(name != nullptr);
  if (name == nullptr) return;
  const std::string path = name, victim = path + ".victim";
  std::FILE* file = std::fopen(victim.c_str(), "w");
  CHECK(file != nullptr && std::fputs("kept", file) >= 0 && std::fclose(file) == 0);
  unlink(path.c_str());
  for (const std::string& link :
       {path, path + ".unfinished", path + "." + std::to_string(getpid()) + ".unfinished"}) {
    unlink(link.c_str());
    CHECK(symlink(victim.c_str(), link.c_str()) == 0);
  }
}

// In each rank, with the next and the one before: 100 sends and receives of a column, 10 of a
// contiguous type, 5 of nothing, 50 packs of a type made anew each time, 20 nonblocking ones, and
// a broadcast.
TOPIC(report_calls) {
  std::vector<double> from(kN * 64, g_rank), to(kN * 64);
  const int to_rank = (g_rank + 1) % g_size, from_rank = (g_rank + g_size - 1) % g_size;
  MPI_Datatype type = made(kN);
  MPI_Datatype plain;
  MPI_Type_contiguous(kN, MPI_DOUBLE, &plain);
  MPI_Type_commit(&plain);
  const auto exchange = [&](int count, MPI_Datatype what) {
    MPI_Request request;
    MPI_Irecv(to.data(), 2 * kN, MPI_DOUBLE, from_rank, 0, MPI_COMM_WORLD, &request);
    MPI_Send(from.data(), count, what, to_rank, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  };
  for (int i = 0; i < 100; ++i) exchange(1, type);
  for (int i = 0; i < 10; ++i) exchange(1, plain);
  for (int i = 0; i < 5; ++i) exchange(0, type);
  for (int i = 0; i < 50; ++i) {
    MPI_Datatype anew = made(7);
    int position = 0;
    MPI_Pack(from.data(), 1, anew, to.data(), kN * 8, &position, MPI_COMM_WORLD);
    MPI_Type_free(&anew);
  }
  for (int i = 0; i < 20; ++i) {
    MPI_Request requests[2];
    MPI_Irecv(to.data(), 1, type, from_rank, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(from.data(), 1, type, to_rank, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Bcast(from.data(), 1, type, 0, MPI_COMM_WORLD);
  MPI_Type_free(&plain);
  MPI_Type_free(&type);
}

// Collectives without gaps, which pass the gate only because ranks vote.
TOPIC(report_votes) {
  double word = g_rank;
  std::vector<double> all(static_cast<size_t>(g_size));
  for (int i = 0; i < 7; ++i) MPI_Bcast(&word, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int i = 0; i < 3; ++i)
    MPI_Allgather(&word, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, MPI_COMM_WORLD);
}

// One send to oneself, and the end of the program without MPI_Finalize.
TOPIC(report_no_finalize) {
  std::vector<double> from(kN * kN), to(kN);
  MPI_Datatype type = made(kN);
  MPI_Sendrecv(from.data(), 1, type, 0, 0, to.data(), kN, MPI_DOUBLE, 0, 0, MPI_COMM_SELF,
               MPI_STATUS_IGNORE);
  // The launcher ends the others with the first, and that must not be rank 0 at its report.
  if (g_rank != 0) std::this_thread::sleep_for(std::chrono::seconds(20));
  std::exit(0);
}

// More types than the report distinguishes, each packed once; two that are used often, one to pack
// and one to send; and one that the library packs as fast.
TOPIC(report_many_types) {
  std::vector<double> from(kN * 600), to(2048);
  MPI_Datatype rows;
  MPI_Type_vector(4, 256, 512, MPI_DOUBLE, &rows);
  MPI_Type_commit(&rows);
  int end = 0;
  MPI_Pack(from.data(), 2, rows, to.data(), 16384, &end, MPI_COMM_WORLD);
  MPI_Type_free(&rows);
  const auto pack = [&](MPI_Datatype type) {
    int position = 0;
    MPI_Pack(from.data(), 1, type, to.data(), kN * 8, &position, MPI_COMM_WORLD);
  };
  MPI_Datatype kept = made(7);
  for (int i = 0; i < 12; ++i) pack(kept);
  MPI_Type_free(&kept);
  MPI_Datatype sent = made(6);
  for (int i = 0; i < 12; ++i) {
    MPI_Request request;
    MPI_Irecv(to.data(), kN, MPI_DOUBLE, g_rank ^ 1, 0, MPI_COMM_WORLD, &request);
    MPI_Send(from.data(), 1, sent, g_rank ^ 1, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Type_free(&sent);
  for (int stride = 8; stride < 507; ++stride) {
    MPI_Datatype type = made(stride);
    pack(type);
    MPI_Type_free(&type);
  }
}
