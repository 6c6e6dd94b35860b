// SPDX-License-Identifier: BSD-3-Clause
//
// Callbacks of the program that call MPI: of attributes, of generalized requests, of reductions. If
// the call is the callback's last statement, compilers jump to it, and its return address is in the
// library.
#include "callbacks.hpp"

#include "tests/chaos/chaos.hpp"

namespace chaos {

namespace {

// What a rank does in a callback, and the other ranks outside of one. `tail`: as the last statement
// of the callback.
struct Action {
  enum What { kBcast, kBarrier, kSend, kWait, kNothing } what = kNothing;
  bool tail = false;
  void* buffer = nullptr;
  int count = 0, rank = 0, tag = 0, calls = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;

  int plainly() {
    int code = MPI_SUCCESS;
    if (what == kBcast) code = MPI_Bcast(buffer, count, type, rank, comm);
    if (what == kBarrier) code = MPI_Barrier(comm);
    if (what == kSend) code = MPI_Send(buffer, count, type, rank, tag, comm);
    if (what == kWait) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    ++calls;
    return code;
  }
};

int in_the_middle(Action* a) {
  const int code = a->plainly();
  return a->calls > 0 ? code : MPI_ERR_OTHER;
}

// A macro, because the tail call must be in the callback itself.
#define ACT(a)                                                                             \
  if (!(a)->tail) return in_the_middle(a);                                                 \
  switch ((a)->what) {                                                                     \
    case Action::kBcast:                                                                   \
      return MPI_Bcast((a)->buffer, (a)->count, (a)->type, (a)->rank, (a)->comm);          \
    case Action::kBarrier:                                                                 \
      return MPI_Barrier((a)->comm);                                                       \
    case Action::kSend:                                                                    \
      return MPI_Send((a)->buffer, (a)->count, (a)->type, (a)->rank, (a)->tag, (a)->comm); \
    case Action::kWait:                                                                    \
      return MPI_Wait(&(a)->request, MPI_STATUS_IGNORE);                                   \
    default:                                                                               \
      return MPI_SUCCESS;                                                                  \
  }

int of_comm(MPI_Comm, int, void* value, void*) { ACT(static_cast<Action*>(value)) }
int of_type(MPI_Datatype, int, void* value, void*) { ACT(static_cast<Action*>(value)) }
int copied_comm(MPI_Comm, int, void* extra, void*, void*, int* flag) {
  *flag = 0;
  ACT(static_cast<Action*>(extra))
}
int copied_type(MPI_Datatype, int, void* extra, void*, void*, int* flag) {
  *flag = 0;
  ACT(static_cast<Action*>(extra))
}
int nothing_more(void*) { return MPI_SUCCESS; }
int freed_request(void* extra) { ACT(static_cast<Action*>(extra)) }
int cancelled_request(void*, int) { return MPI_SUCCESS; }
int plain_query(void*, MPI_Status* status) {
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  MPI_Status_set_cancelled(status, 0);
  return MPI_Status_set_elements(status, MPI_INT, 3);
}
int acting_query(void* extra, MPI_Status* status) {
  plain_query(nullptr, status);
  ACT(static_cast<Action*>(extra))
}

enum Trigger {
  kCommFree,
  kDeleteAttr,
  kCommDup,
  kTypeFree,
  kTypeDup,
  kQuery,
  kFreeRequest,
  kTriggers
};

// Calls MPI so that it calls the callback with the action.
void trigger(Program* p, Trigger how, Action* action) {
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm comm = MPI_COMM_NULL, copy = MPI_COMM_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL, type_copy = MPI_DATATYPE_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  switch (how) {
    case kCommFree:
    case kDeleteAttr:
      p->ok(MPI_Comm_dup(MPI_COMM_SELF, &comm));
      MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, of_comm, &key, nullptr);
      MPI_Comm_set_attr(comm, key, action);
      if (how == kDeleteAttr) p->ok(MPI_Comm_delete_attr(comm, key));
      MPI_Comm_free_keyval(&key);
      p->ok(MPI_Comm_free(&comm));
      break;
    case kCommDup:
      p->ok(MPI_Comm_dup(MPI_COMM_SELF, &comm));
      MPI_Comm_create_keyval(copied_comm, MPI_COMM_NULL_DELETE_FN, &key, action);
      MPI_Comm_set_attr(comm, key, action);
      p->ok(MPI_Comm_dup(comm, &copy));
      MPI_Comm_free_keyval(&key);
      p->ok(MPI_Comm_free(&copy));
      p->ok(MPI_Comm_free(&comm));
      break;
    case kTypeFree:
    case kTypeDup: {
      MPI_Type_vector(5, 1, 3, MPI_INT, &type);
      MPI_Type_commit(&type);
      const bool dup = how == kTypeDup;
      MPI_Type_create_keyval(dup ? copied_type : MPI_TYPE_NULL_COPY_FN,
                             dup ? MPI_TYPE_NULL_DELETE_FN : of_type, &key, action);
      MPI_Type_set_attr(type, key, action);
      if (dup) p->ok(MPI_Type_dup(type, &type_copy));
      if (dup) MPI_Type_free(&type_copy);
      MPI_Type_free_keyval(&key);
      p->ok(MPI_Type_free(&type));
      break;
    }
    default:
      p->ok(MPI_Grequest_start(how == kQuery ? acting_query : plain_query,
                               how == kQuery ? nothing_more : freed_request, cancelled_request,
                               action, &request));
      p->ok(MPI_Grequest_complete(request));
      p->ok(MPI_Wait(&request, &status));
      int count = 0;
      MPI_Get_count(&status, MPI_INT, &count);
      p->digest.add(p->label(40), count);
  }
}

void in_callbacks(Program* p, Random* draw) {
  const CommPtr comm = p->pick(draw, [](const Comm& c) { return !c.inter(); });
  const Drawn drawn = draw_type(draw);
  const int count =
      static_cast<int>(draw->magnitude(1, drawn.most(draw->chance(80) ? 5000 : 100000)));
  const int64_t what = draw->between(0, 2), how = draw->between(0, kTriggers - 1),
                root = draw->between(0, 1 << 20);
  const int64_t dest_number = draw->between(1, 1 << 20);
  const uint64_t who = draw->next();
  const bool tail = draw->chance(60);
  const int tag = p->tag();
  if (g_threads) return;
  static const char* const kHow[] = {"MPI_Comm_free", "MPI_Comm_delete_attr", "MPI_Comm_dup",
                                     "MPI_Type_free", "MPI_Type_dup",         "query",
                                     "free"};
  p->say(std::string("in a callback of ") + kHow[how] +
         (tail ? ", as its last statement, " : ", ") +
         (what == 0   ? "a bcast"
          : what == 1 ? "a barrier"
                      : "a message") +
         " on " + comm->text() + " of " + std::to_string(count) + " " + drawn.text());
  if (comm->handle == MPI_COMM_NULL) return;
  const int n = comm->size(), me = comm->rank_of(p->rank);
  const Handle type(drawn, false);
  Memory memory(type.get(), count, p->label(static_cast<uint64_t>(me)));
  Action action;
  action.tail = tail;
  action.buffer = memory.base();
  action.count = count;
  action.type = type.get();
  action.comm = comm->handle;
  action.rank = static_cast<int>(root % n);
  action.tag = tag;
  action.what = what == 0 ? Action::kBcast : Action::kBarrier;
  if (what == 2) {
    const int source = action.rank,
              dest = n == 1 ? source : (source + 1 + static_cast<int>(dest_number % (n - 1))) % n;
    action.what = me == source && n > 1 ? Action::kSend
                  : me == dest          ? Action::kWait
                                        : Action::kNothing;
    action.rank = dest;
    if (me == dest)
      MPI_Irecv(memory.base(), count, type.get(), source, tag, comm->handle, &action.request);
    if (n == 1) p->ok(MPI_Send(memory.base(), 0, MPI_INT, dest, tag, comm->handle));
  }
  if ((who >> p->rank & 1) != 0) {
    trigger(p, static_cast<Trigger>(how), &action);
  } else {
    p->ok(action.plainly());
  }
  memory.digest(&p->digest, p->label(41));
}

void add_up(void* in, void* inout, int* count, MPI_Datatype* type) {
  const int* from = static_cast<const int*>(in);
  int* to = static_cast<int*>(inout);
  for (int i = 0; i < *count; ++i) to[i] += from[i];
  MPI_Datatype vector;
  int lines[12] = {1, 2, 3}, packed[4], position = 0;
  MPI_Type_vector(4, 1, 3, MPI_INT, &vector);
  MPI_Type_commit(&vector);
  MPI_Pack(lines, 1, vector, packed, sizeof(packed), &position, MPI_COMM_SELF);
  MPI_Type_free(&vector);
  static thread_local int size;
  MPI_Type_size(*type, &size);
}

}  // namespace

MPI_Op a_user_op() {
  static const MPI_Op op = [] {
    MPI_Op made;
    MPI_Op_create(add_up, 1, &made);
    return made;
  }();
  return op;
}

const std::vector<Step> kCallbackSteps = {{"callback", 6, in_callbacks}};

}  // namespace chaos
