// SPDX-License-Identifier: BSD-3-Clause
//
// One-sided communication: the origin's side. Data for the target are packed in the call; data from
// it are unpacked by the call that completes the operation, before that returns
// (held_operations.hpp). The target's arguments stay as they are, as only the target knows its
// memory.
#include <memory>
#include <new>

#include "interpose/functions/bodies.hpp"
#include "interpose/library/call_fitting.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/messages/message.hpp"
#include "interpose/observe/log.hpp"
#include "interpose/policy/rma_rules.hpp"
#include "interpose/requests/freed.hpp"
#include "interpose/requests/table.hpp"
#include "interpose/rma/held_operations.hpp"
#include "interpose/rma/shared_windows.hpp"
#include "interpose/types/packing.hpp"

namespace lacuna {
namespace {

template <typename Value>
bool ask(MPI_Win win, int keyval, Value* value) {
  int found = 0;
  return next_functions().MPI_Win_get_attr(win, keyval, value, &found) == MPI_SUCCESS && found != 0;
}

}  // namespace

// Whether errors are visible in return codes: not with an error handler of the program, after which
// the code may be MPI_SUCCESS, and nothing else tells whether the operation has begun.
bool tells_errors(MPI_Win win) noexcept {
  MPI_Errhandler handler = runtime().errors_return;
  return next_functions().MPI_Win_get_errhandler(win, &handler) == MPI_SUCCESS &&
         !free_handler(&handler);
}

// The window's MPI_WIN_CREATE_FLAVOR.
int window_flavour(MPI_Win win) noexcept {
  int* flavour = nullptr;
  return ask(win, MPI_WIN_CREATE_FLAVOR, &flavour) ? *flavour : MPI_WIN_FLAVOR_DYNAMIC;
}

namespace {

// Whether the result of an accumulate depends on the runs of the origin's data. Open MPI uses
// vector instructions (op/avx) for runs of several elements: there sums of 8 and 16 bits saturate
// instead of wrapping around, and minima and maxima with a NaN differ. Single elements of 32 bits
// are compared as signed.
bool depends_on_runs(MPI_Op op, MPI_Datatype type) noexcept {
  if (runtime().flavour != Flavour::kOpenMpi || op == MPI_REPLACE || op == MPI_NO_OP) return false;
  if (op != MPI_SUM) return true;
  const TypeRecord* record = open_to(kRmaSwitch, type) ? type_record(type) : nullptr;
  return record != nullptr && record->uniform && record->wire_bytes < 4;
}

// Memory of the origin, as passed to the library.
template <typename Address>
struct Side {
  Address data;
  MPI_Count count;
  MPI_Datatype type;
};
using Source = Side<const void*>;
using Destination = Side<void*>;

// The target's side.
struct Place {
  Access access;
  int target;
  MPI_Aint displacement;
  MPI_Count count;
  MPI_Datatype type;
  MPI_Win win;
};

// Whether a side may be packed, by all rules that need not ask the library about the window.
// MPI_PACKED is not allowed in one-sided operations, so the type must have one basic type.
template <typename Address>
bool examine_side(const Side<Address>& side, Access access, Decision* decision) {
  if (!open_to(kRmaSwitch, side.type)) return false;
  if (!examine(Operation::kOneSided, side.data, side.count, side.type, decision)) return false;
  if (!decision->record->uniform) {
    log_type(*decision->record, Outcome::kMixed, decision->bytes);
    return false;
  }
  const Runtime& rt = runtime();
  const DataShape load = shape_of(*decision->record, side.count, decision->bytes);
  if (rt.always || (rt.on_one_node && pays_one_sided(rt.flavour, rt.mpich_major,
                                                     {access, kAnyWindow, kAnyTarget, load}))) {
    return true;
  }
  log_type(*decision->record, Outcome::kLongRuns, decision->bytes);
  return false;
}

bool pays(const Place& place, int flavour, MPI_Count count, const Decision& decision) {
  const Runtime& rt = runtime();
  if (rt.always) return true;
  const TypeRecord* target = type_record(place.type);
  if (target == nullptr) return false;
  const bool gaps = target->outcome == Outcome::kUndecoded || !is_one_run(*target, place.count);
  if (flavour != MPI_WIN_FLAVOR_DYNAMIC &&
      pays_one_sided(
          rt.flavour, rt.mpich_major,
          {place.access, flavour == MPI_WIN_FLAVOR_CREATE ? kCreated : kAllocated,
           gaps ? kWithGaps : kWithoutGaps, shape_of(*decision.record, count, decision.bytes)})) {
    return true;
  }
  log_type(*decision.record, Outcome::kLongRuns, decision.bytes);
  return false;
}

// Whether other ranks may read the origin's memory through the window. They could read it as soon
// as the library has completed a get (MPI_Win_fence, MPI_Win_unlock), before lacuna has unpacked
// it. True for dynamic and shared windows, of which nothing is known.
bool is_exposed(MPI_Win win, int flavour, const void* buf, MPI_Count count,
                const TypeRecord& record) {
  void* base = nullptr;
  MPI_Aint* size = nullptr;
  if (flavour != MPI_WIN_FLAVOR_CREATE && flavour != MPI_WIN_FLAVOR_ALLOCATE) return true;
  if (!ask(win, MPI_WIN_BASE, &base) || !ask(win, MPI_WIN_SIZE, &size)) return true;
  const auto window = reinterpret_cast<intptr_t>(base);
  MemoryRange data;
  return !range_of(buf, count, record, &data) || (data.begin < window + *size && window < data.end);
}

// Packs what the program has, and passes the packed data instead.
bool give(const Decision& decision, Source* side, HeldOperation* operation) {
  Wire wire;
  if (!prepare(decision, false, false, false, &operation->outgoing, &wire)) return false;
  pack_for(account_of(*decision.record), *decision.record->plan, side->data, side->count,
           operation->outgoing.data());
  *side = {operation->outgoing.data(), wire.count, wire.type};
  log_type(*decision.record, Outcome::kHandled, decision.bytes);
  return true;
}

bool expect(const Decision& decision, Destination* side, HeldOperation* operation) {
  Wire wire;
  if (!prepare(decision, false, false, false, &operation->incoming, &wire)) return false;
  operation->plan = decision.record->plan;
  operation->buf = side->data;
  operation->count = side->count;
  operation->bytes = decision.bytes;
  operation->account = account_of(*decision.record);
  *side = {operation->incoming.data(), wire.count, wire.type};
  log_type(*decision.record, Outcome::kHandled, decision.bytes);
  return true;
}

// Whether an operation may be completed later: only if lacuna sees every synchronisation call. Else
// it is declined and logged.
bool may_hold(const TypeRecord& record) {
  if (!runtime().one_sided) log_type(record, Outcome::kHiddenCompletion);
  return runtime().one_sided;
}

// Handles the sides that can be handled, and replaces their arguments. Null: none.
std::unique_ptr<HeldOperation> handle_sides(const Place& place, Source* source,
                                            Destination* destination) {
  if (place.target == MPI_PROC_NULL || place.win == runtime().win_null) return nullptr;
  Decision out, in;
  bool gives = source != nullptr && examine_side(*source, place.access, &out);
  bool gets = destination != nullptr && examine_side(*destination, place.access, &in);
  if (!gives && !gets) return nullptr;
  if (!may_hold(*(gives ? out : in).record)) return nullptr;
  const int flavour = window_flavour(place.win);
  gives = gives && pays(place, flavour, source->count, out);
  gets = gets && pays(place, flavour, destination->count, in) &&
         !is_exposed(place.win, flavour, destination->data, destination->count, *in.record);
  if ((!gives && !gets) || !tells_errors(place.win)) return nullptr;
  std::unique_ptr<HeldOperation> operation(new (std::nothrow) HeldOperation);
  if (operation == nullptr) return nullptr;
  gives = gives && give(out, source, operation.get());
  gets = gets && expect(in, destination, operation.get());
  return gives || gets ? std::move(operation) : nullptr;
}

// Puts and gets in shared windows. One of `source` and `destination` is null.
Answer move_shared(const Place& place, const Source* source, const Destination* destination,
                   MPI_Request* request) {
  if (place.access != kPuts && place.access != kGets) return kDeclined;
  const Destination origin =
      source != nullptr ? Destination{const_cast<void*>(source->data), source->count, source->type}
                        : *destination;
  return handle_shared_move({place.access, origin.data, origin.count, origin.type, place.target,
                             place.displacement, place.count, place.type, place.win, request});
}

// `call` makes the library's call with the sides as they then are.
template <typename Call>
Answer start(const Place& place, Source* source, Destination* destination, const Call& call) {
  if (const Answer moved = move_shared(place, source, destination, nullptr); moved.handled)
    return moved;
  auto operation = handle_sides(place, source, destination);
  if (operation == nullptr) return kDeclined;
  const int code = call();
  if (code == MPI_SUCCESS) hold(operation.release(), place.win, place.target);
  return handled(code);
}

// The same for calls with a request, which `call` sets. A synchronisation of the window also
// completes a get, but not its request.
template <typename Call>
Answer start(const Place& place, Source* source, Destination* destination, MPI_Request* request,
             const Call& call) {
  finish_freed_requests();
  if (request == nullptr) return kDeclined;
  if (const Answer moved = move_shared(place, source, destination, request); moved.handled)
    return moved;
  if (destination != nullptr && !completes_gets(runtime().flavour, runtime().mpich_major))
    return kDeclined;
  PendingRequest* entry = new_pending();
  if (entry == nullptr) return kDeclined;
  auto operation = handle_sides(place, source, destination);
  if (operation == nullptr) {
    drop_pending(entry);
    return kDeclined;
  }
  operation->has_request = true;
  MPI_Request started = runtime().request_null;
  const int code = call(&started);
  if (code != MPI_SUCCESS || started == runtime().request_null) {
    drop_pending(entry);
    return handled(code);
  }
  *request = started;
  if (is_complete(started)) {
    operation->finish(true);
    drop_pending(entry);
    return handled(code);
  }
  entry->receive = static_cast<bool>(operation->incoming);
  if (entry->receive) hold(operation.get(), place.win, place.target);
  entry->completion = std::move(operation);
  add_pending(entry, started);
  return handled(code);
}

}  // namespace

Answer handle_put(const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype, MPI_Win win) {
  Source source{origin_addr, origin_count, origin_datatype};
  return start({kPuts, target_rank, target_disp, target_count, target_datatype, win}, &source,
               nullptr, [&] {
                 return call_fitting(&Next::MPI_Put, &Next::MPI_Put_c, source.data, source.count,
                                     source.type, target_rank, target_disp, target_count,
                                     target_datatype, win);
               });
}

Answer handle_get(void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype, MPI_Win win) {
  Destination destination{origin_addr, origin_count, origin_datatype};
  return start({kGets, target_rank, target_disp, target_count, target_datatype, win}, nullptr,
               &destination, [&] {
                 return call_fitting(&Next::MPI_Get, &Next::MPI_Get_c, destination.data,
                                     destination.count, destination.type, target_rank, target_disp,
                                     target_count, target_datatype, win);
               });
}

Answer handle_accumulate(const void* origin_addr, MPI_Count origin_count,
                         MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                         MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op,
                         MPI_Win win) {
  if (depends_on_runs(op, origin_datatype)) return kDeclined;
  Source source{origin_addr, origin_count, origin_datatype};
  return start({kAccumulates, target_rank, target_disp, target_count, target_datatype, win},
               &source, nullptr, [&] {
                 return call_fitting(&Next::MPI_Accumulate, &Next::MPI_Accumulate_c, source.data,
                                     source.count, source.type, target_rank, target_disp,
                                     target_count, target_datatype, op, win);
               });
}

Answer handle_get_accumulate(const void* origin_addr, MPI_Count origin_count,
                             MPI_Datatype origin_datatype, void* result_addr,
                             MPI_Count result_count, MPI_Datatype result_datatype, int target_rank,
                             MPI_Aint target_disp, MPI_Count target_count,
                             MPI_Datatype target_datatype, MPI_Op op, MPI_Win win) {
  if (depends_on_runs(op, origin_datatype)) return kDeclined;
  Source source{origin_addr, origin_count, origin_datatype};
  Destination destination{result_addr, result_count, result_datatype};
  return start({kFetches, target_rank, target_disp, target_count, target_datatype, win},
               op != MPI_NO_OP ? &source : nullptr, &destination, [&] {
                 return call_fitting(&Next::MPI_Get_accumulate, &Next::MPI_Get_accumulate_c,
                                     source.data, source.count, source.type, destination.data,
                                     destination.count, destination.type, target_rank, target_disp,
                                     target_count, target_datatype, op, win);
               });
}

Answer handle_rput(const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                   int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                   MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request) {
  Source source{origin_addr, origin_count, origin_datatype};
  return start({kPuts, target_rank, target_disp, target_count, target_datatype, win}, &source,
               nullptr, request, [&](MPI_Request* started) {
                 return call_fitting(&Next::MPI_Rput, &Next::MPI_Rput_c, source.data, source.count,
                                     source.type, target_rank, target_disp, target_count,
                                     target_datatype, win, started);
               });
}

Answer handle_rget(void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                   int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                   MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request) {
  Destination destination{origin_addr, origin_count, origin_datatype};
  return start({kGets, target_rank, target_disp, target_count, target_datatype, win}, nullptr,
               &destination, request, [&](MPI_Request* started) {
                 return call_fitting(&Next::MPI_Rget, &Next::MPI_Rget_c, destination.data,
                                     destination.count, destination.type, target_rank, target_disp,
                                     target_count, target_datatype, win, started);
               });
}

Answer handle_raccumulate(const void* origin_addr, MPI_Count origin_count,
                          MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                          MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op,
                          MPI_Win win, MPI_Request* request) {
  if (depends_on_runs(op, origin_datatype)) return kDeclined;
  Source source{origin_addr, origin_count, origin_datatype};
  return start({kAccumulates, target_rank, target_disp, target_count, target_datatype, win},
               &source, nullptr, request, [&](MPI_Request* started) {
                 return call_fitting(&Next::MPI_Raccumulate, &Next::MPI_Raccumulate_c, source.data,
                                     source.count, source.type, target_rank, target_disp,
                                     target_count, target_datatype, op, win, started);
               });
}

Answer handle_rget_accumulate(const void* origin_addr, MPI_Count origin_count,
                              MPI_Datatype origin_datatype, void* result_addr,
                              MPI_Count result_count, MPI_Datatype result_datatype, int target_rank,
                              MPI_Aint target_disp, MPI_Count target_count,
                              MPI_Datatype target_datatype, MPI_Op op, MPI_Win win,
                              MPI_Request* request) {
  if (depends_on_runs(op, origin_datatype)) return kDeclined;
  Source source{origin_addr, origin_count, origin_datatype};
  Destination destination{result_addr, result_count, result_datatype};
  return start({kFetches, target_rank, target_disp, target_count, target_datatype, win},
               op != MPI_NO_OP ? &source : nullptr, &destination, request,
               [&](MPI_Request* started) {
                 return call_fitting(&Next::MPI_Rget_accumulate, &Next::MPI_Rget_accumulate_c,
                                     source.data, source.count, source.type, destination.data,
                                     destination.count, destination.type, target_rank, target_disp,
                                     target_count, target_datatype, op, win, started);
               });
}

}  // namespace lacuna
