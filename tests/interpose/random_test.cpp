// SPDX-License-Identifier: BSD-3-Clause
//
// Random programs: all ranks draw the same program from a seed (random_program.hpp) and run it
// natively and with lacuna. Every byte of every buffer that a receive may write, gaps and margins
// included, and every status must be the same.
//
// LACUNA_TEST_SEEDS programs from LACUNA_TEST_FIRST on; what differs is named with its seed, and
// LACUNA_TEST_PRINT=1 prints the programs. With --threads, several run at once, each on a
// communicator of its own.
//
// By the direct path, too (LACUNA_DIRECT=1), and with hardly any room left in the arenas.
#include <cstdlib>
#include <map>
#include <thread>

#include "ballast.hpp"
#include "bench/harness/build_mpi.hpp"
#include "collective_calls.hpp"
#include "complete.hpp"
#include "harness.hpp"
#include "random_program.hpp"

using namespace test;

namespace {

// This MPI's handle of it, committed; the same structure each time. Where it has no such type, a
// vector.
MPI_Datatype handle_of(const Drawn& drawn) {
  static const lacuna::PredefinedTypes predefined;
  const auto built = lacuna::bench::build_mpi(*drawn.type, predefined);
  MPI_Datatype type;
  if (!built) {
    MPI_Type_vector(9, 1, 3, MPI_INT, &type);
  } else if (predefined.find(*built) != nullptr) {
    MPI_Type_contiguous(1, *built, &type);
  } else {
    type = *built;
  }
  MPI_Type_commit(&type);
  return type;
}

// What a message is received as: `count` of `type`, which is not freed if it is predefined.
struct Received {
  MPI_Datatype type;
  int count;
};
Received received_as(const Message& m, const Drawn& drawn) {
  static const lacuna::PredefinedTypes predefined;
  if (m.in_basics && lacuna::bench::build_mpi(*drawn.type, predefined)) {
    const lacuna::Basic& basic = *drawn.type->signature.uniform;
    const auto built = lacuna::bench::build_mpi(*lacuna::make_named(basic), predefined);
    const int64_t each = drawn.type->size_bytes / basic.size_bytes;
    if (built) return {*built, static_cast<int>(m.room * each)};
  }
  return {handle_of(drawn), m.room};
}

// What a run leaves, to be compared.
struct Trace {
  std::vector<std::string> names;
  std::vector<Buffer> buffers;
  std::vector<std::string> status_names;
  std::vector<int> statuses;
};

class Run {
 public:
  Run(const Program& program, MPI_Comm comm, Trace* trace)
      : program_(program), comm_(comm), trace_(trace) {
    MPI_Comm_rank(comm, &rank_);
  }

  void all() {
    for (size_t i = 0; i < program_.rounds.size(); ++i) {
      name_ = "round " + std::to_string(i) + ": ";
      const Round& round = program_.rounds[i];
      if (round.collective != nullptr) {
        collective(round);
      } else {
        messages(round);
      }
    }
  }

 private:
  struct Live {  // a message at this rank
    const Message* message;
    MPI_Datatype type;
    int count;
    Buffer buffer;
  };

  void collective(const Round& round) {
    Scene scene = scene_of(comm_);
    scene.is_root = rank_ == 0;  // the counts of these calls are made for that root
    scene.type = handle_of(program_.types[round.type]);
    scene.same = handle_of(program_.types[round.type]);
    scene.count = round.count;
    Buffer send(scene.type, room(scene)), recv(scene.type, room(scene));
    send.fill(static_cast<unsigned>(rank_) + 3);
    recv.fill(static_cast<unsigned>(rank_) + 77);
    scene.send = send.base();
    scene.recv = recv.base();
    MPI_Request request = MPI_REQUEST_NULL;
    scene.way = round.nonblocking ? Way::kNonblocking : Way::kBlocking;
    round.collective->run(scene, &request);
    if (round.free_early) free_types(&scene);
    if (round.nonblocking) {
      std::vector<MPI_Request> requests{request};
      complete(round.how, &requests, round.ignore, [](int, const MPI_Status*) {});
    }
    if (!round.free_early) free_types(&scene);
    const std::string name = name_ + std::string(round.collective->name) + " " +
                             round.collective->how + " of " + std::to_string(round.count) + " " +
                             program_.types[round.type].text();
    keep(name + ", sent", std::move(send));
    keep(name + ", received", std::move(recv));
  }

  static void free_types(Scene* scene) {
    MPI_Type_free(&scene->type);
    MPI_Type_free(&scene->same);
  }

  void keep(std::string name, Buffer buffer) {
    trace_->names.push_back(std::move(name));
    trace_->buffers.push_back(std::move(buffer));
  }

  void note(const Message& m, const MPI_Status& status) {
    trace_->status_names.push_back(name_ + m.text(program_.types));
    int bytes = 0;
    MPI_Get_elements(&status, MPI_BYTE, &bytes);
    trace_->statuses.insert(trace_->statuses.end(), {status.MPI_SOURCE, status.MPI_TAG, bytes});
  }

  std::vector<Live> here(const Round& round, bool receiving) {
    std::vector<Live> live;
    for (const Message& m : round.messages) {
      if ((receiving ? m.dest : m.source) != rank_) continue;
      const Drawn& drawn = program_.types[m.type];
      const auto [type, count] =
          receiving ? received_as(m, drawn) : Received{handle_of(drawn), m.count};
      live.push_back({&m, type, count, Buffer(type, std::max(1, count))});
      live.back().buffer.fill(static_cast<unsigned>(m.tag) + (receiving ? 1000U : 1U));
    }
    return live;
  }

  void messages(const Round& round) {
    std::vector<Live> in = here(round, true), out = here(round, false);
    std::vector<MPI_Request> requests, persistent;
    std::vector<const Message*> of, of_persistent;  // null: a send
    const auto add = [&](MPI_Request request, const Message* m, bool is_persistent) {
      (is_persistent ? persistent : requests).push_back(request);
      (is_persistent ? of_persistent : of).push_back(m);
    };
    for (Live& live : in) {
      if (is_posted_before(live.message->receiving)) post(&live, add);
    }
    MPI_Barrier(comm_);
    for (Live& live : out) start(&live, add);
    for (Live& live : in) {
      if (!is_posted_before(live.message->receiving)) receive(&live, add);
    }
    if (round.free_early) free_types(&in, &out);
    finish(round, requests, of, persistent, of_persistent);
    if (!round.free_early) free_types(&in, &out);
    for (Live& live : in) keep(name_ + live.message->text(program_.types), std::move(live.buffer));
    MPI_Barrier(comm_);  // what was sent and freed has arrived, before its memory goes
  }

  static void free_type(MPI_Datatype* type) {
    int integers = 0, addresses = 0, types = 0, combiner = 0;
    MPI_Type_get_envelope(*type, &integers, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(type);
  }

  static void free_types(std::vector<Live>* in, std::vector<Live>* out) {
    for (std::vector<Live>* all : {in, out}) {
      for (Live& live : *all) free_type(&live.type);
    }
  }

  static int source_of(const Message& m) { return m.any_source ? MPI_ANY_SOURCE : m.source; }
  static int tag_of(const Message& m) { return m.any_tag ? MPI_ANY_TAG : m.tag; }

  template <typename Add>
  void post(Live* live, const Add& add) {
    const Message& m = *live->message;
    MPI_Request request;
    const bool is_persistent = m.receiving == Receiving::kPersistent;
    if (is_persistent) {
      MPI_Recv_init(live->buffer.base(), live->count, live->type, source_of(m), tag_of(m), comm_,
                    &request);
      MPI_Start(&request);
    } else {
      MPI_Irecv(live->buffer.base(), live->count, live->type, source_of(m), tag_of(m), comm_,
                &request);
    }
    add(request, &m, is_persistent);
  }

  template <typename Add>
  void start(Live* live, const Add& add) {
    const Message& m = *live->message;
    const void* buffer = live->buffer.base();
    MPI_Request request;
    switch (m.sending) {
      case Sending::kIsend:
      case Sending::kFreed:
        MPI_Isend(buffer, m.count, live->type, m.dest, m.tag, comm_, &request);
        break;
      case Sending::kIssend:
        MPI_Issend(buffer, m.count, live->type, m.dest, m.tag, comm_, &request);
        break;
      case Sending::kIrsend:
        MPI_Irsend(buffer, m.count, live->type, m.dest, m.tag, comm_, &request);
        break;
      case Sending::kIbsend:
        MPI_Ibsend(buffer, m.count, live->type, m.dest, m.tag, comm_, &request);
        break;
      case Sending::kPersistent:
        MPI_Send_init(buffer, m.count, live->type, m.dest, m.tag, comm_, &request);
        MPI_Start(&request);
        return add(request, nullptr, true);
      case Sending::kSend:
        MPI_Send(buffer, m.count, live->type, m.dest, m.tag, comm_);
        return;
      case Sending::kSsend:
        MPI_Ssend(buffer, m.count, live->type, m.dest, m.tag, comm_);
        return;
      case Sending::kPack: {
        std::vector<char> packed(static_cast<size_t>(data_bytes(live->type, m.count)) + 1);
        int position = 0;
        if (m.count > 0)
          MPI_Pack(buffer, m.count, live->type, packed.data(), static_cast<int>(packed.size()),
                   &position, comm_);
        MPI_Send(packed.data(), position, MPI_PACKED, m.dest, m.tag, comm_);
        return;
      }
    }
    if (m.sending == Sending::kFreed) {
      MPI_Request_free(&request);
    } else {
      add(request, nullptr, false);
    }
  }

  template <typename Add>
  void receive(Live* live, const Add& add) {
    const Message& m = *live->message;
    MPI_Status status;
    MPI_Message message;
    MPI_Request request;
    switch (m.receiving) {
      case Receiving::kRecv:
        MPI_Recv(live->buffer.base(), live->count, live->type, source_of(m), tag_of(m), comm_,
                 &status);
        break;
      case Receiving::kProbed:
        MPI_Probe(source_of(m), tag_of(m), comm_, &status);
        note(m, status);
        MPI_Recv(live->buffer.base(), live->count, live->type, status.MPI_SOURCE, status.MPI_TAG,
                 comm_, &status);
        break;
      case Receiving::kSendrecv:
        MPI_Sendrecv(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, live->buffer.base(), live->count,
                     live->type, source_of(m), tag_of(m), comm_, &status);
        break;
      case Receiving::kMrecv:
        MPI_Mprobe(source_of(m), tag_of(m), comm_, &message, &status);
        MPI_Mrecv(live->buffer.base(), live->count, live->type, &message, &status);
        break;
      default: {
        for (int flag = 0; flag == 0;)
          MPI_Improbe(source_of(m), tag_of(m), comm_, &flag, &message, &status);
        MPI_Imrecv(live->buffer.base(), live->count, live->type, &message, &request);
        return add(request, &m, false);
      }
    }
    note(m, status);
  }

  // Statuses in an order that does not depend on which came first.
  void finish(const Round& round, std::vector<MPI_Request> requests,
              const std::vector<const Message*>& of, std::vector<MPI_Request> persistent,
              const std::vector<const Message*>& of_persistent) {
    std::map<size_t, MPI_Status> statuses;
    const auto done = [&](int i, const MPI_Status* status) {
      if (status != nullptr) statuses[static_cast<size_t>(i)] = *status;
    };
    if (!requests.empty()) complete(round.how, &requests, round.ignore, done);
    for (const auto& [i, status] : statuses) {
      if (of[i] != nullptr) note(*of[i], status);
    }
    std::vector<MPI_Status> ends(persistent.size());
    const int n = static_cast<int>(persistent.size());
    switch (round.order) {
      case 0:
        MPI_Waitall(n, persistent.data(), ends.data());
        break;
      case 1:
        for (size_t i = persistent.size(); i-- > 0;) MPI_Wait(&persistent[i], &ends[i]);
        break;
      case 2:
        for (int i = 0, index = 0; i < n; ++i) {
          MPI_Status status;
          MPI_Waitany(n, persistent.data(), &index, &status);
          ends[static_cast<size_t>(index)] = status;
        }
        break;
      default:
        for (int flag = 0; flag == 0;) MPI_Testall(n, persistent.data(), &flag, ends.data());
    }
    for (size_t i = 0; i < persistent.size(); ++i) {
      if (of_persistent[i] != nullptr) note(*of_persistent[i], ends[i]);
      MPI_Request_free(&persistent[i]);
    }
  }

  const Program& program_;
  MPI_Comm comm_;
  Trace* trace_;
  int rank_ = 0;
  std::string name_;
};

void compare(uint64_t seed, const Trace& native, const Trace& ours) {
  const std::string again =
      "; again: LACUNA_TEST_SEEDS=1 LACUNA_TEST_FIRST=" + std::to_string(seed);
  CHECK(native.buffers.size() == ours.buffers.size() &&
        native.statuses.size() == ours.statuses.size());
  for (size_t i = 0; i < std::min(native.buffers.size(), ours.buffers.size()); ++i) {
    context(native.names[i] + again);
    CHECK(native.buffers[i] == ours.buffers[i]);
  }
  for (size_t i = 0; i < std::min(native.statuses.size(), ours.statuses.size()); ++i) {
    context("status, " + native.status_names[i / 3] + again);
    CHECK(native.statuses[i] == ours.statuses[i]);
  }
  context("");
}

uint64_t number(const char* name, uint64_t fallback) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : fallback;
}

// Room for all that one program may have buffered.
struct Attached {
  std::vector<char> memory = std::vector<char>(size_t{8} << 20);
  Attached() { MPI_Buffer_attach(memory.data(), static_cast<int>(memory.size())); }
  ~Attached() {
    void* detached = nullptr;
    int bytes = 0;
    MPI_Buffer_detach(&detached, &bytes);
  }
};

void run_programs() {
  const uint64_t first = number("LACUNA_TEST_FIRST", 0), seeds = number("LACUNA_TEST_SEEDS", 100);
  const Attached attached;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    const Program program = draw_program(seed);
    if (std::getenv("LACUNA_TEST_PRINT") != nullptr) print(program);
    Trace traces[2];
    for (const bool on : {false, true}) {
      test::lacuna(on);
      Run(program, MPI_COMM_WORLD, &traces[on]).all();
    }
    compare(seed, traces[0], traces[1]);
  }
}

}  // namespace

TOPIC(random_programs) { run_programs(); }

TOPIC(random_programs_starved) {
  const Ballast ballast;
  run_programs();
}

TOPIC(random_programs_in_threads) {
  constexpr size_t kThreads = 3;
  const uint64_t first = number("LACUNA_TEST_FIRST", 0), seeds = number("LACUNA_TEST_SEEDS", 100);
  const Attached attached;
  MPI_Comm comms[kThreads];
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (uint64_t seed = first; seed < first + seeds; seed += kThreads) {
    Program programs[kThreads];
    Trace traces[2][kThreads];
    for (size_t i = 0; i < kThreads; ++i) programs[i] = draw_program(seed + i);
    for (const bool on : {false, true}) {
      test::lacuna(on);
      std::vector<std::thread> threads;
      for (size_t i = 0; i < kThreads; ++i)
        threads.emplace_back([&, i] { Run(programs[i], comms[i], &traces[on][i]).all(); });
      for (std::thread& thread : threads) thread.join();
    }
    for (size_t i = 0; i < kThreads; ++i) compare(seed + i, traces[0][i], traces[1][i]);
  }
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}
