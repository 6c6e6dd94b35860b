// SPDX-License-Identifier: BSD-3-Clause
//
// Callbacks whose last statement is a call of MPI. With -O2, compilers make that a jump, so that
// its return address is in the library that has run the callback. It is a call of the program's all
// the same.
#include <vector>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kDoubles = 4096;

// What rank 0 sends to all others, out of a callback.
struct Cast {
  MPI_Datatype type = column(kDoubles, 4);
  std::vector<double> places = std::vector<double>(size_t{4} * kDoubles, -1);

  void begin(double value) {
    places.assign(places.size(), -1);
    for (size_t i = 0; g_rank == 0 && i < places.size(); i += 4) places[i] = value;
  }
  bool holds(double value) const {
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] != (i % 4 == 0 ? value : -1)) return false;
    }
    return true;
  }
};

Cast* g_cast = nullptr;
int g_calls = 0;

// Inlined, so that a callback that ends in this call ends in a jump.
inline __attribute__((always_inline)) int cast() {
  ++g_calls;
  return MPI_Bcast(g_cast->places.data(), 1, g_cast->type, 0, MPI_COMM_WORLD);
}

int delete_comm(MPI_Comm, int, void*, void*) { return cast(); }
int delete_type(MPI_Datatype, int, void*, void*) { return cast(); }
int copy_comm(MPI_Comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return cast();
}
void combine(void*, void*, int*, MPI_Datatype*) { cast(); }
void handle(MPI_Comm*, int*, ...) { cast(); }
int free_request(void*) { return cast(); }
int cancel_request(void*, int) { return cast(); }

int query_request(void*, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_INT, 0);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
int free_nothing(void*) { return MPI_SUCCESS; }
int cancel_nothing(void*, int) { return MPI_SUCCESS; }

void finish(MPI_Request* request) {
  MPI_Grequest_complete(*request);
  MPI_Wait(request, MPI_STATUS_IGNORE);
}

struct Callback {
  const char* name;
  void (*run)(MPI_Comm own);
};

const Callback kCallbacks[] = {
    {"an attribute deleted",
     [](MPI_Comm own) {
       int keyval = 0;
       MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_comm, &keyval, nullptr);
       MPI_Comm_set_attr(own, keyval, nullptr);
       MPI_Comm_delete_attr(own, keyval);
       MPI_Comm_free_keyval(&keyval);
     }},
    {"a communicator freed",
     [](MPI_Comm own) {
       int keyval = 0;
       MPI_Comm copy;
       MPI_Comm_dup(own, &copy);
       MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_comm, &keyval, nullptr);
       MPI_Comm_set_attr(copy, keyval, nullptr);
       MPI_Comm_free(&copy);
       MPI_Comm_free_keyval(&keyval);
     }},
    {"a communicator duplicated",
     [](MPI_Comm own) {
       int keyval = 0;
       MPI_Comm copy;
       MPI_Comm_create_keyval(copy_comm, MPI_COMM_NULL_DELETE_FN, &keyval, nullptr);
       MPI_Comm_set_attr(own, keyval, nullptr);
       MPI_Comm_dup(own, &copy);
       MPI_Comm_free(&copy);
       MPI_Comm_delete_attr(own, keyval);
       MPI_Comm_free_keyval(&keyval);
     }},
    {"a type freed",
     [](MPI_Comm) {
       int keyval = 0;
       MPI_Datatype type;
       MPI_Type_contiguous(3, MPI_INT, &type);
       MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_type, &keyval, nullptr);
       MPI_Type_set_attr(type, keyval, nullptr);
       MPI_Type_free(&type);
       MPI_Type_free_keyval(&keyval);
     }},
    {"an operation",
     [](MPI_Comm) {
       MPI_Op op;
       double one = 1, other = 2;
       MPI_Op_create(combine, 1, &op);
       MPI_Reduce_local(&one, &other, 1, MPI_DOUBLE, op);
       MPI_Op_free(&op);
     }},
    {"an error handler",
     [](MPI_Comm own) {
       MPI_Errhandler handler;
       MPI_Comm_create_errhandler(handle, &handler);
       MPI_Comm_set_errhandler(own, handler);
       MPI_Errhandler_free(&handler);
       MPI_Comm_call_errhandler(own, MPI_ERR_OTHER);
       MPI_Comm_set_errhandler(own, MPI_ERRORS_ARE_FATAL);
     }},
    {"a request freed",
     [](MPI_Comm) {
       MPI_Request request;
       MPI_Grequest_start(query_request, free_request, cancel_nothing, nullptr, &request);
       finish(&request);
     }},
    {"a request cancelled",
     [](MPI_Comm) {
       MPI_Request request;
       MPI_Grequest_start(query_request, free_nothing, cancel_request, nullptr, &request);
       MPI_Cancel(&request);
       finish(&request);
     }},
};

}  // namespace

TOPIC(callbacks_that_jump) {
  Cast data;
  g_cast = &data;
  MPI_Comm own;
  MPI_Comm_dup(MPI_COMM_SELF, &own);
  double value = 1;
  for (const Callback& callback : kCallbacks) {
    context(callback.name);
    data.begin(++value);
    g_calls = 0;
    if (g_rank == 0)
      callback.run(own);
    else
      cast();
    CHECK(g_calls == 1);
    CHECK(data.holds(value));
  }
  MPI_Comm_free(&own);
  MPI_Type_free(&data.type);
}
