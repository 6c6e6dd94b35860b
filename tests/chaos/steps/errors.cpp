// SPDX-License-Identifier: BSD-3-Clause
//
// Errors after which a program goes on: their class, and how often its error handler is called.
#include <algorithm>
#include <atomic>

#include "tests/chaos/chaos.hpp"

namespace chaos {

namespace {

std::atomic<int> g_handled[2];

void handle0(MPI_Comm*, int* code, ...) {
  int error_class = 0;
  ++g_handled[0];
  MPI_Error_class(*code, &error_class);
}
void handle1(MPI_Comm*, int*, ...) { ++g_handled[1]; }

// 0: MPI_ERRORS_RETURN, 1 and 2: the program's own.
void set_handler(MPI_Comm comm, int64_t kind) {
  if (kind == 0) {
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return;
  }
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(kind == 1 ? handle0 : handle1, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Errhandler_free(&handler);
}

int class_of(int code) {
  int result = 0;
  MPI_Error_class(code, &result);
  return result;
}

// If a handler of the program's has seen an error, the code of the call is not compared: MPICH
// returns MPI_SUCCESS (docs/internals/defects.md).
struct Watched {
  Program* p;
  int before[2];
  explicit Watched(Program* program) : p(program), before{g_handled[0], g_handled[1]} {}
  // `of_none`: the library may call another handler than the communicator's.
  void done(int code, uint64_t number, bool of_none = false) {
    p->say("class " + std::to_string(class_of(code)) + ", handlers called " +
           std::to_string(g_handled[0] - before[0]) + " and " +
           std::to_string(g_handled[1] - before[1]) + " times");
    const bool seen = g_handled[0] != before[0] || g_handled[1] != before[1];
    if (g_threads) return;  // the threads share the count
    if (of_none && g_quirks.intel) return;
    if (!seen) p->digest.add(p->label(number), class_of(code));
    for (const int i : {0, 1})
      p->digest.add(p->label(number + 1), g_handled[i] - before[i] + 10 * i);
  }
};

void change_handler(Program* p, Random* draw) {
  const CommPtr comm = p->pick(draw, [](const Comm& c) { return !c.kept; });
  const int64_t kind = draw->between(0, 3);
  if (comm == nullptr || comm->handle == MPI_COMM_NULL) return;
  p->say("handler " + std::to_string(kind) + " of " + comm->text());
  if (kind == 3) {
    p->ok(MPI_Comm_set_errhandler(comm->handle, MPI_ERRORS_ARE_FATAL));
  } else {
    set_handler(comm->handle, kind);
  }
}

// Some errors belong to no communicator: of calls that complete several requests; with MPICH, of
// matched messages; with Intel MPI, of any request. They call the handler of MPI_COMM_SELF or of
// MPI_COMM_WORLD.
void survive_everywhere(bool survive) {
  for (const MPI_Comm comm : {MPI_COMM_SELF, MPI_COMM_WORLD})
    MPI_Comm_set_errhandler(comm, survive ? MPI_ERRORS_RETURN : MPI_ERRORS_ARE_FATAL);
}

// A message that is longer than its receive.
void truncated(Program* p, Random* draw) {
  const CommPtr comm =
      p->pick(draw, [](const Comm& c) { return !c.inter() && !c.kept && c.size() > 1; });
  const int64_t source_number = draw->between(0, 1 << 20), dest_number = draw->between(1, 1 << 20);
  const Drawn drawn = draw_type(draw);
  const int most = std::max(2, drawn.most(draw->chance(70) ? 3000 : 60000));
  const int count = static_cast<int>(draw->between(2, most)),
            room = static_cast<int>(draw->between(g_quirks.intel ? 1 : 0, count - 1));
  const int64_t first = draw->between(0, 2), second = draw->between(0, 2);
  int64_t way = draw->between(0, 6);
  const bool changes = draw->chance(40), plain_in = draw->chance(40), plain_out = draw->chance(40);
  const bool resets = draw->chance(60), all_return = draw->chance(50);
  const int tag = p->tag(), second_tag = p->tag();
  if (g_threads && (way == 2 || way == 5)) way = 4;  // these change handlers that threads share
  if (comm == nullptr || comm->handle == MPI_COMM_NULL || (g_threads && g_quirks.intel)) return;
  const int n = comm->size(), me = comm->rank_of(p->rank);
  const int source = static_cast<int>(source_number % n);
  const int dest = (source + 1 + static_cast<int>(dest_number % (n - 1))) % n;
  p->say("truncated by " + std::to_string(way) + " on " + comm->text() + ", " +
         std::to_string(count) + " into " + std::to_string(room) + " of " + drawn.text() +
         ", handlers " + std::to_string(first) +
         (changes ? ", then " + std::to_string(second) : ""));
  if (all_return || me == dest) set_handler(comm->handle, first);
  if (me == source) {
    const Handle type(drawn, plain_out);
    Memory memory(type.get(), count, p->label(13));
    p->ok(MPI_Send(memory.base(), count, type.get(), dest, tag, comm->handle));
    p->ok(MPI_Send(memory.base(), count, type.get(), dest, second_tag, comm->handle));
  }
  if (me == dest) {
    const Handle type(drawn, plain_in);
    // Memory for the whole message, as Open MPI writes past the end (docs/internals/defects.md).
    Memory memory(type.get(), count, p->label(14)), behind(type.get(), count, p->label(15));
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    MPI_Message message;
    int code = MPI_SUCCESS;
    const bool of_none = way == 2 || way == 5 || g_quirks.intel;
    if (of_none) survive_everywhere(true);
    Watched watched(p);
    void* const base = memory.base();
    switch (way) {
      case 0:
        code = MPI_Recv(base, room, type.get(), source, tag, comm->handle, &status);
        break;
      case 1:
        MPI_Probe(source, tag, comm->handle, &status);
        code = MPI_Recv(base, room, type.get(), source, tag, comm->handle, &status);
        break;
      case 2:
        MPI_Mprobe(source, tag, comm->handle, &message, &status);
        code = MPI_Mrecv(base, room, type.get(), &message, &status);
        break;
      case 3:
        code = MPI_Sendrecv(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, base, room, type.get(), source,
                            tag, comm->handle, &status);
        break;
      default: {
        MPI_Irecv(base, room, type.get(), source, tag, comm->handle, &request);
        if (changes) set_handler(comm->handle, second);
        if (way == 4) code = MPI_Wait(&request, &status);
        if (way == 5) code = MPI_Waitall(1, &request, &status);
        if (way == 5) p->digest.add(p->label(19), class_of(status.MPI_ERROR));
        if (way == 6)
          for (int flag = 0; flag == 0 && code == MPI_SUCCESS;)
            code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      }
    }
    watched.done(code, 16, of_none);
    if (of_none) survive_everywhere(false);
    memory.digest_margins(&p->digest, p->label(18));
    // The next message must be complete.
    p->ok(MPI_Recv(behind.base(), count, type.get(), source, second_tag, comm->handle, &status));
    p->note(p->label(20), status, type.get());
    behind.digest(&p->digest, p->label(21));
  }
  if (resets) p->ok(MPI_Comm_set_errhandler(comm->handle, MPI_ERRORS_ARE_FATAL));
}

// Calls with invalid arguments, in one rank.
void wrong(Program* p, Random* draw) {
  const CommPtr comm = p->pick(draw, [](const Comm& c) { return !c.inter() && !c.kept; });
  const Drawn drawn = draw_type(draw);
  const int64_t kind = draw->between(0, 8), handler = draw->between(0, 2),
                who = draw->between(0, 7);
  const int tag = p->tag();
  if (comm == nullptr || comm->handle == MPI_COMM_NULL) return;
  const bool by_all = kind == 6;  // a collective
  if (!by_all && comm->rank_of(p->rank) != who % comm->size()) return;
  p->say("wrong arguments " + std::to_string(kind) + " on " + comm->text() + " with " +
         drawn.text());
  set_handler(comm->handle, handler);
  const Handle type(drawn, false);
  Memory memory(type.get(), 2, p->label(22));
  void* const base = memory.base();
  const int me = comm->rank_of(p->rank), n = comm->size();
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Datatype open = MPI_DATATYPE_NULL;
  MPI_Status status;
  int code = MPI_SUCCESS;
  Watched watched(p);
  switch (kind) {
    case 0:
      code = MPI_Send(base, -1, type.get(), me, tag, comm->handle);
      break;
    case 1:
      code = MPI_Send(base, 1, type.get(), n + 3, tag, comm->handle);
      break;
    case 2:
      code = MPI_Isend(base, 1, type.get(), me, -5, comm->handle, &request);
      break;
    case 3:
      code = MPI_Recv(base, 1, MPI_DATATYPE_NULL, me, tag, comm->handle, &status);
      break;
    case 4:
      code = MPI_Irecv(base, 1, type.get(), n + 1, tag, comm->handle, &request);
      break;
    case 5:
      code = MPI_Recv_init(base, -2, type.get(), me, tag, comm->handle, &request);
      break;
    case 6:
      code = MPI_Bcast(base, 1, type.get(), n + 2, comm->handle);
      break;
    case 7:
      MPI_Type_vector(3, 1, 2, MPI_INT, &open);  // not committed
      code = MPI_Send(base, 1, open, me, tag, comm->handle);
      MPI_Type_free(&open);
      break;
    default:
      code = MPI_Sendrecv(base, 1, type.get(), n + 7, tag, base, 0, type.get(), me, tag,
                          comm->handle, &status);
  }
  watched.done(code, 23);
  memory.digest(&p->digest, p->label(25));
  p->ok(MPI_Comm_set_errhandler(comm->handle, MPI_ERRORS_ARE_FATAL));
}

}  // namespace

const std::vector<Step> kErrorSteps = {
    {"handler", 3, change_handler}, {"truncated", 4, truncated}, {"wrong", 3, wrong}};

}  // namespace chaos
