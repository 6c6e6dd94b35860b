// SPDX-License-Identifier: BSD-3-Clause
//
// Runs a random program: each round's messages or collective, with fresh types and buffers.
#include "tests/interpose/random/run.hpp"

#include <map>

#include "bench/harness/build_mpi.hpp"
#include "tests/interpose/harness/collective_calls.hpp"
#include "tests/interpose/harness/complete.hpp"
#include "tests/interpose/random/parts.hpp"

using namespace test;

namespace {

// A committed MPI type of this structure; a vector, if this MPI has no such type.
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
    if (round.topology != Topology::kNone)
      scene.comm = make_topology(round.topology, comm_, &scene);
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
    if (round.topology != Topology::kNone) MPI_Comm_free(&scene.comm);
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
      auto [type, count] = m.pairs != Pairs::kNone ? Received{MPI_DATATYPE_NULL, m.room}
                           : receiving             ? received_as(m, drawn)
                                                   : Received{handle_of(drawn), m.count};
      if (m.pairs != Pairs::kNone)
        type = m.in_basics == receiving ? pairs(m.pairs) : struct_like(m.pairs);
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
    // all messages, also of freed requests, have arrived before their memory is freed
    MPI_Barrier(comm_);
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

  // Statuses in an order that does not depend on which request completed first.
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

}  // namespace

void test::run_program(const Program& program, MPI_Comm comm, Trace* trace) {
  Run(program, comm, trace).all();
}
