// SPDX-License-Identifier: BSD-3-Clause
#include "tests/interpose/rma/rma_calls.hpp"

#include <cstring>

namespace test {
namespace {

// The groups of MPI_Win_start and MPI_Win_post.
MPI_Group neighbour(MPI_Win win, int rank) {
  MPI_Group all, one;
  MPI_Win_get_group(win, &all);
  MPI_Group_incl(all, 1, &rank, &one);
  MPI_Group_free(&all);
  return one;
}

int left_of(int target) { return (2 * g_rank - target + 2 * g_size) % g_size; }

}  // namespace

void begin(Epoch epoch, MPI_Win win, int target) {
  switch (epoch) {
    case Epoch::kFence:
      MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
      return;
    case Epoch::kStart: {
      MPI_Group from = neighbour(win, left_of(target));
      MPI_Group to = neighbour(win, target);
      MPI_Win_post(from, 0, win);
      MPI_Win_start(to, 0, win);
      MPI_Group_free(&from);
      MPI_Group_free(&to);
      return;
    }
    case Epoch::kLock:
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
      return;
    default:
      MPI_Win_lock_all(0, win);
  }
}

void complete(Epoch epoch, MPI_Win win, int target) {
  switch (epoch) {
    case Epoch::kFence:
      MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
      return;
    case Epoch::kStart:
      MPI_Win_complete(win);
      return;
    case Epoch::kLock:
      MPI_Win_unlock(target, win);
      return;
    case Epoch::kFlush:
      MPI_Win_flush(target, win);
      return;
    case Epoch::kFlushAll:
      MPI_Win_flush_all(win);
      return;
    case Epoch::kFlushLocal:
      MPI_Win_flush_local(target, win);
      return;
    case Epoch::kFlushLocalAll:
      MPI_Win_flush_local_all(win);
      return;
    default:
      MPI_Win_unlock_all(win);
  }
}

void end(Epoch epoch, MPI_Win win) {
  if (epoch == Epoch::kStart) MPI_Win_wait(win);
  if (epoch > Epoch::kLockAll) MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
}

std::string function_of(Kind kind, bool request, bool large) {
  std::string name = kind == Kind::kPut                             ? "put"
                     : kind == Kind::kGet                           ? "get"
                     : kind == Kind::kReplace || kind == Kind::kSum ? "accumulate"
                                                                    : "get_accumulate";
  if (request) {
    name = "R" + name;
  } else {
    name[0] = static_cast<char>(name[0] - 'a' + 'A');
  }
  return "MPI_" + name + (large ? "_c" : "");
}

namespace {

// The forms of a function whose counts are of this type.
template <typename Count>
struct Forms {
  using Address = const void*;
  using Type = MPI_Datatype;
  int (*put)(Address, Count, Type, int, MPI_Aint, Count, Type, MPI_Win);
  int (*get)(void*, Count, Type, int, MPI_Aint, Count, Type, MPI_Win);
  int (*accumulate)(Address, Count, Type, int, MPI_Aint, Count, Type, MPI_Op, MPI_Win);
  int (*get_accumulate)(Address, Count, Type, void*, Count, Type, int, MPI_Aint, Count, Type,
                        MPI_Op, MPI_Win);
  int (*rput)(Address, Count, Type, int, MPI_Aint, Count, Type, MPI_Win, MPI_Request*);
  int (*rget)(void*, Count, Type, int, MPI_Aint, Count, Type, MPI_Win, MPI_Request*);
  int (*raccumulate)(Address, Count, Type, int, MPI_Aint, Count, Type, MPI_Op, MPI_Win,
                     MPI_Request*);
  int (*rget_accumulate)(Address, Count, Type, void*, Count, Type, int, MPI_Aint, Count, Type,
                         MPI_Op, MPI_Win, MPI_Request*);

  int issue(Kind kind, const RmaCall& c, MPI_Request* r) const {
    const Count n = c.count, m = c.target_count;
    const MPI_Op op = kind == Kind::kSum || kind == Kind::kFetchAndSum ? MPI_SUM
                      : kind == Kind::kFetch                           ? MPI_NO_OP
                                                                       : MPI_REPLACE;
    switch (kind) {
      case Kind::kPut:
        return r == nullptr
                   ? put(c.origin, n, c.type, c.target, c.displacement, m, c.target_type, c.win)
                   : rput(c.origin, n, c.type, c.target, c.displacement, m, c.target_type, c.win,
                          r);
      case Kind::kGet:
        return r == nullptr
                   ? get(c.result, n, c.type, c.target, c.displacement, m, c.target_type, c.win)
                   : rget(c.result, n, c.type, c.target, c.displacement, m, c.target_type, c.win,
                          r);
      case Kind::kReplace:
      case Kind::kSum:
        return r == nullptr ? accumulate(c.origin, n, c.type, c.target, c.displacement, m,
                                         c.target_type, op, c.win)
                            : raccumulate(c.origin, n, c.type, c.target, c.displacement, m,
                                          c.target_type, op, c.win, r);
      default:
        return r == nullptr ? get_accumulate(c.origin, n, c.type, c.result, n, c.type, c.target,
                                             c.displacement, m, c.target_type, op, c.win)
                            : rget_accumulate(c.origin, n, c.type, c.result, n, c.type, c.target,
                                              c.displacement, m, c.target_type, op, c.win, r);
    }
  }
};

const Forms<int> kSmall = {MPI_Put,  MPI_Get,  MPI_Accumulate,  MPI_Get_accumulate,
                           MPI_Rput, MPI_Rget, MPI_Raccumulate, MPI_Rget_accumulate};

template <typename Function>
void look_up(const char* name, Function* function) {
  *function = newer<Function>(name);
}

const Forms<MPI_Count>& large_forms() {
  static const Forms<MPI_Count> forms = [] {
    Forms<MPI_Count> found{};
    look_up("MPI_Put_c", &found.put);
    look_up("MPI_Get_c", &found.get);
    look_up("MPI_Accumulate_c", &found.accumulate);
    look_up("MPI_Get_accumulate_c", &found.get_accumulate);
    look_up("MPI_Rput_c", &found.rput);
    look_up("MPI_Rget_c", &found.rget);
    look_up("MPI_Raccumulate_c", &found.raccumulate);
    look_up("MPI_Rget_accumulate_c", &found.rget_accumulate);
    return found;
  }();
  return forms;
}

}  // namespace

bool has_large_rma() { return large_forms().put != nullptr; }

int issue(Kind kind, const RmaCall& call, MPI_Request* request, bool large) {
  return large ? large_forms().issue(kind, call, request) : kSmall.issue(kind, call, request);
}

void Region::fill(unsigned seed) {
  unsigned state = seed * 2654435761U + 1;
  for (unsigned char& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<unsigned char>(state >> 24);
  }
}

bool is_open_mpi() {
#if defined(OMPI_MAJOR_VERSION)
  return true;
#else
  return false;
#endif
}

MPI_Datatype column_of_ints() {
  MPI_Datatype type, wide;
  MPI_Type_vector(11, 2, 5, MPI_INT, &type);
  MPI_Type_create_resized(type, 0, 240, &wide);
  MPI_Type_commit(&wide);
  MPI_Type_free(&type);
  return wide;
}

void expect(Kind kind, MPI_Datatype type, int count, MPI_Datatype target_type, int target_count,
            Region* origin, Region* result, Region* target) {
  const auto bytes = data_bytes(type, count);
  const int room = static_cast<int>(bytes);
  std::vector<char> given(static_cast<size_t>(room) + 8), there(given);
  const auto pack = [&](Region* from, int n, MPI_Datatype of, std::vector<char>* to) {
    int position = 0;
    MPI_Pack(from->base(), n, of, to->data(), room, &position, MPI_COMM_SELF);
  };
  const auto unpack = [&](const std::vector<char>& from, Region* to, int n, MPI_Datatype of) {
    int position = 0;
    MPI_Unpack(from.data(), room, &position, to->base(), n, of, MPI_COMM_SELF);
  };
  pack(origin, count, type, &given);
  pack(target, target_count, target_type, &there);
  if (brings(kind)) unpack(there, result, count, type);
  if (!is_move(kind)) {
    for (size_t at = 0; at + sizeof(int) <= static_cast<size_t>(room); at += sizeof(int)) {
      unsigned a, b;
      std::memcpy(&a, &given[at], sizeof(a));
      std::memcpy(&b, &there[at], sizeof(b));
      a += b;
      std::memcpy(&given[at], &a, sizeof(a));
    }
  }
  if (kind != Kind::kGet && kind != Kind::kFetch) unpack(given, target, target_count, target_type);
}

}  // namespace test
