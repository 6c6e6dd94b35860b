// SPDX-License-Identifier: BSD-3-Clause
//
// Faults: whichever of lacuna's allocations or calls of the library fail, the program's calls
// succeed with the same bytes, and nothing is leaked.
#include "tests/interpose/faults/faults.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "tests/interpose/faults/faulty_below.hpp"
#include "tests/interpose/faults/refused_memory.hpp"
#include "tests/interpose/pipeline/runs.hpp"

std::atomic<int64_t> test::g_until{-1};
std::atomic<bool> test::g_all{false};
std::atomic<int64_t> test::g_failed{0};

bool test::is_refused() {
  if (g_until.load() < 0) return false;
  if (g_until.load() > 0) {
    g_until.fetch_sub(1);
    return false;
  }
  if (!g_all.load()) g_until.store(-1);
  g_failed.fetch_add(1);
  return true;
}

// LACUNA_TEST_REFUSED: in rank 1, so many of lacuna's allocations succeed, and then none, from
// before MPI_Init until faults_at_start.
__attribute__((constructor)) static void refuse_at_start() {
  const char* refused = std::getenv("LACUNA_TEST_REFUSED");
  const char* rank = std::getenv("PMI_RANK");
  if (rank == nullptr) rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (refused == nullptr || rank == nullptr || std::strcmp(rank, "1") != 0) return;
  test::find_lacuna();
  test::g_all.store(true);
  test::g_until.store(std::atoi(refused));
}

using namespace test;

namespace {

constexpr int kN = 24;
int g_made = 0;

int g_rows = kN;
bool g_mixed = false;

// Of 38 bytes: those of a token end within a double.
MPI_Datatype record_type() {
  const int lengths[] = {3, 1, 2, 1};
  const MPI_Aint bytes[] = {0, 24, 28, 32};
  const MPI_Datatype members[] = {MPI_DOUBLE, MPI_INT, MPI_CHAR, MPI_LONG};
  MPI_Datatype type;
  MPI_Type_create_struct(4, lengths, bytes, members, &type);
  return type;
}

}  // namespace

MPI_Datatype test::new_type() {
  MPI_Datatype element = g_mixed ? record_type() : MPI_DOUBLE;
  const MPI_Aint size = g_mixed ? 40 : 8;
  MPI_Datatype column_type, type;
  const int wider = ++g_made % 40, later = g_made / 40;  // so that the type stays small
  MPI_Type_create_hvector(g_rows, 1, (g_rows + 1 + wider) * size, element, &column_type);
  const int lengths[] = {1, 1};
  const MPI_Aint bytes[] = {later * size, (later + 1) * size};
  const MPI_Datatype members[] = {column_type, column_type};
  MPI_Type_create_struct(2, lengths, bytes, members, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&column_type);
  if (g_mixed) MPI_Type_free(&element);
  return type;
}

namespace {

// What one rank does with the other in one round.
struct Scenario {
  const char* name;
  void (*run)(const Buffer& from, Buffer* to, MPI_Datatype type);
};

void* base(const Buffer& buffer) { return const_cast<Buffer&>(buffer).base(); }

const Scenario kScenarios[] = {
    {"pack",
     [](const Buffer& from, Buffer* to, MPI_Datatype type) {
       std::vector<char> packed(static_cast<size_t>(data_bytes(type, 1)));
       const int bytes = static_cast<int>(packed.size());
       int position = 0;
       MPI_Pack(base(from), 1, type, packed.data(), bytes, &position, MPI_COMM_WORLD);
       position = 0;
       MPI_Unpack(packed.data(), bytes, &position, to->base(), 1, type, MPI_COMM_WORLD);
     }},
    {"sendrecv",
     [](const Buffer& from, Buffer* to, MPI_Datatype type) {
       MPI_Sendrecv(base(from), 1, type, other(), 1, to->base(), 1, type, other(), 1,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE);
     }},
    {"nonblocking",
     [](const Buffer& from, Buffer* to, MPI_Datatype type) {
       MPI_Request requests[2];
       MPI_Irecv(to->base(), 1, type, other(), 2, MPI_COMM_WORLD, &requests[0]);
       MPI_Isend(base(from), 1, type, other(), 2, MPI_COMM_WORLD, &requests[1]);
       MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
     }},
    {"freed type",
     [](const Buffer& from, Buffer* to, MPI_Datatype type) {
       MPI_Datatype own;
       MPI_Type_dup(type, &own);
       MPI_Request requests[2];
       MPI_Irecv(to->base(), 1, own, other(), 2, MPI_COMM_WORLD, &requests[0]);
       MPI_Type_free(&own);
       MPI_Isend(base(from), 1, type, other(), 2, MPI_COMM_WORLD, &requests[1]);
       MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
     }},
    {"probe",
     [](const Buffer& from, Buffer* to, MPI_Datatype type) {
       MPI_Request request;
       MPI_Status status;
       int count = 0;
       MPI_Isend(base(from), 1, type, other(), 4, MPI_COMM_WORLD, &request);
       MPI_Probe(other(), 4, MPI_COMM_WORLD, &status);
       MPI_Get_count(&status, type, &count);
       if (count == 1) MPI_Recv(to->base(), 1, type, other(), 4, MPI_COMM_WORLD, &status);
       MPI_Wait(&request, MPI_STATUS_IGNORE);
       MPI_Message message;
       MPI_Isend(base(from), 1, type, other(), 5, MPI_COMM_WORLD, &request);
       MPI_Mprobe(other(), 5, MPI_COMM_WORLD, &message, &status);
       MPI_Get_count(&status, type, &count);
       if (count != 1) to->fill(9);
       if (count == 1) MPI_Mrecv(to->base(), 1, type, &message, &status);
       MPI_Wait(&request, MPI_STATUS_IGNORE);
     }},
    {"persistent",
     [](const Buffer& from, Buffer* to, MPI_Datatype type) {
       MPI_Request requests[2];
       MPI_Recv_init(to->base(), 1, type, other(), 3, MPI_COMM_WORLD, &requests[0]);
       MPI_Ssend_init(base(from), 1, type, other(), 3, MPI_COMM_WORLD, &requests[1]);
       MPI_Startall(2, requests);
       for (int i = 0, index = 0; i < 2; ++i) MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
       for (MPI_Request& request : requests) MPI_Request_free(&request);
     }},
    {"collectives",
     [](const Buffer& from, Buffer* to, MPI_Datatype type) {
       const int counts[] = {g_rank == 0 ? 0 : 1, g_rank == 0 ? 1 : 0};  // to and from the other
       const int places[] = {0, 0};
       const MPI_Datatype types[] = {type, type};
       MPI_Alltoallw(base(from), counts, places, types, to->base(), counts, places, types,
                     MPI_COMM_WORLD);
       Buffer copy = from;
       MPI_Request request;
       MPI_Ibcast(copy.base(), 1, type, 0, MPI_COMM_WORLD, &request);
       MPI_Wait(&request, MPI_STATUS_IGNORE);
     }},
};

}  // namespace

bool test::anywhere(bool here) {
  int mine = here ? 1 : 0, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return all != 0;
}

namespace {

// Runs a scenario with the faults that `arm` sets; whether the bytes are right. The type is
// analysed at its first use, as lacuna is off when it is made.
bool brings_the_same(const Scenario& scenario, const std::function<void()>& arm,
                     const std::function<void()>& disarm) {
  lacuna(false);
  MPI_Datatype type = new_type();
  Buffer from(type, 1), to(type, 1), expected(type, 1);
  from.fill(7);  // the same in both ranks
  to.fill(8);
  expected.fill(8);
  scenario.run(from, &expected, type);
  lacuna(true);
  arm();
  scenario.run(from, &to, type);
  disarm();
  MPI_Type_free(&type);
  return to == expected;
}

}  // namespace

void test::disarm() { g_until.store(-1); }

int64_t test::refuse_each(const std::string& name, bool all, bool here, int64_t most,
                          const std::function<void(const Arm&)>& round) {
  bool any = true;
  int64_t at = 0;
  for (; any && at < most; ++at) {
    context(name + (all ? " from allocation " : " allocation ") + std::to_string(at));
    const int64_t before = g_failed.load();
    round([&] {
      g_all.store(all);
      if (here) g_until.store(at);
    });
    any = anywhere(g_failed.load() > before);
  }
  context(name);
  CHECK(!any);
  return at;
}

namespace {

void refuse_memory_in_scenarios() {
  for (const Scenario& scenario : kScenarios) {
    for (const int way : {0, 1, 2, 3}) {
      const bool here = way < 2 || g_rank == 1;  // in both ranks, or in rank 1 only
      const int64_t rounds = refuse_each(
          std::string(scenario.name) + (way < 2 ? "," : ", in rank 1,"), way % 2 != 0, here, 2000,
          [&](const Arm& arm) { CHECK(brings_the_same(scenario, arm, disarm)); });
      CHECK(rounds > (g_direct ? 0 : 5));  // a message through shared memory needs little
    }
  }
  CHECK(g_failed.load() > 100);
}

// Where lacuna is inside the library, MPI_Type_commit analyses a type.
void refuse_memory_of_commits() {
  for (const bool all : {false, true}) {
    refuse_each("commit,", all, true, 2000, [&](const Arm& arm) {
      arm();
      MPI_Datatype type = new_type();
      disarm();
      Buffer from(type, 1), to(type, 1);
      from.fill(7);
      to.fill(8);
      kScenarios[0].run(from, &to, type);
      Buffer expected(type, 1);
      expected.fill(8);
      lacuna(false);
      kScenarios[0].run(from, &expected, type);
      lacuna(true);
      CHECK(to == expected);
      MPI_Type_free(&type);
    });
  }
}

}  // namespace

TOPIC(faults_memory) {
  find_lacuna();
  CHECK(knows_lacuna());
  refuse_memory_in_scenarios();
  refuse_memory_of_commits();
}

// MPICH receives no part of a basic element, Open MPI not all bytes of some basic types: a receive
// that cannot be packed must not get a token.
TOPIC(faults_memory_of_records) {
  find_lacuna();
  g_mixed = true;
  refuse_memory_in_scenarios();
  g_mixed = false;
}

// More messages are probed than can be held: each probe returns, and each message is received; only
// the size that is reported may be that of a token.
TOPIC(faults_probes) {
  constexpr int kMessages = 80;
  MPI_Datatype type = column(kN, 3);
  Buffer from(type, 2), to(type, 2), expected(type, 2);
  from.fill(1);
  for (int i = 0; g_rank == 0 && i < kMessages; ++i)
    MPI_Send(from.base(), 2, type, 1, i, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (g_rank == 1) {
    find_lacuna();
    const int64_t before = g_failed.load();
    g_all.store(true);
    g_until.store(0);
    for (int i = 0; i < kMessages; ++i) {
      context("probe " + std::to_string(i));
      int found = 0;
      while (found == 0) MPI_Iprobe(0, i, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    }
    g_until.store(-1);
    context("");
    CHECK(!g_direct || g_failed.load() > before);
    expected.fill(2);
    MPI_Sendrecv(from.base(), 2, type, 1, 0, expected.base(), 2, type, 1, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < kMessages; ++i) {
      to.fill(2);
      MPI_Recv(to.base(), 2, type, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(to == expected);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_free(&type);
}

// A rank in which lacuna cannot start does not keep the others waiting, in MPI_Init or later.
TOPIC(faults_at_start) {
  g_until.store(-1);
  CHECK(anywhere(g_failed.load() > 0));
  for (const Scenario& scenario : kScenarios) CHECK(brings_the_same(scenario, [] {}, [] {}));
}

TOPIC(faults_library_refuses) {
  for (int refusal = kRefuseSetAttr; refusal < kRefusals; ++refusal) {
    g_rows = kN + refusal;  // types of lacuna's own for this length are new, too
    for (const Scenario& scenario : kScenarios) {
      context(std::string(scenario.name) + ", refusal " + std::to_string(refusal));
      CHECK(brings_the_same(
          scenario, [&] { faulty_refusal = refusal; }, [] { faulty_refusal = kRefuseNothing; }));
    }
    context("refusal " + std::to_string(refusal));
    CHECK(faulty_refused > 0);
    faulty_refused = 0;
  }
  // Afterwards, everything works.
  for (const Scenario& scenario : kScenarios) CHECK(brings_the_same(scenario, [] {}, [] {}));
}

// On two hosts, with LACUNA_TEST_LATE (faulty_below.cpp): once the nodes have agreed, a rank may be
// late, and the others must not go on without it, as it would hang in MPI_Init.
TOPIC(faults_late_rank) {
  CHECK(messages_in_pieces() >= 0);
  CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

// No leaks: a million types, each sent once. Only lacuna's memory is counted, as some libraries
// leak memory with each type.
TOPIC(faults_no_leak) {
  constexpr int kCycles = 1000000;
  std::vector<double> from(4096, 1), to(64);
  const auto cycle = [&](int times) {
    for (int i = 0; i < times; ++i) {
      MPI_Datatype type;
      MPI_Type_vector(16, 1, 2 + i % 200, MPI_DOUBLE, &type);
      MPI_Type_commit(&type);
      MPI_Request request;
      MPI_Irecv(to.data(), 16, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &request);
      MPI_Send(from.data(), 1, type, 0, 0, MPI_COMM_SELF);
      MPI_Type_free(&type);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  };
  find_lacuna();
  cycle(5000);  // until all pools are warm
  const int64_t before = bytes_held();
  CHECK(taken_by("MPI_Send", [&] { cycle(kCycles); }) == kCycles);
  const int64_t grown = bytes_held() - before;
  context(std::to_string(grown) + " bytes in " + std::to_string(kCycles) + " cycles");
  CHECK(grown < (64 << 10));
  context("");
}
