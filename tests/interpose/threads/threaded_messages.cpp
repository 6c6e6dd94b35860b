// SPDX-License-Identifier: BSD-3-Clause
//
// Messages of the one rank to itself; they match by tag alone.
#include <condition_variable>
#include <list>

#include "tests/interpose/threads/threaded_mpi.hpp"

using namespace threaded;

namespace {

struct Request {
  bool send = false;
  bool persistent = false;
  bool active = false;
  bool done = false;
  bool freed = false;
  bool cancelled = false;
  void* buffer = nullptr;
  int count = 0;
  TypePtr type;
  int tag = 0;
  std::vector<char> data;  // of a send, packed
  size_t received = 0;
};

std::condition_variable g_changed;
std::map<MPI_Request, std::shared_ptr<Request>> g_requests;
std::list<std::shared_ptr<Request>> g_sends, g_receives;  // without a partner
constexpr unsigned kRequests = 0x98000001U;

void match() {
  for (auto receive = g_receives.begin(); receive != g_receives.end();) {
    auto send = g_sends.begin();
    while (send != g_sends.end() && (*send)->tag != (*receive)->tag) ++send;
    if (send == g_sends.end()) {
      ++receive;
      continue;
    }
    unpack((*send)->data, (*receive)->buffer, *(*receive)->type);
    (*receive)->received = (*send)->data.size();
    (*send)->done = (*receive)->done = true;
    g_sends.erase(send);
    receive = g_receives.erase(receive);
  }
  g_changed.notify_all();
}

void begin(const std::shared_ptr<Request>& request) {
  request->active = true;
  request->done = request->cancelled = false;
  if (request->send) {
    request->data = packed(request->buffer, request->count, *request->type);
    g_sends.push_back(request);
  } else {
    g_receives.push_back(request);
  }
  match();
}

std::shared_ptr<Request> make(bool send, const void* buffer, int count, MPI_Datatype type,
                              int tag) {
  auto request = std::make_shared<Request>();
  request->send = send;
  request->buffer = const_cast<void*>(buffer);
  request->count = count;
  request->type = type_of(type);
  request->tag = tag;
  return request;
}

MPI_Request add_request(const std::shared_ptr<Request>& request) {
  const MPI_Request handle = free_handle(g_requests, kRequests);
  g_requests[handle] = request;
  return handle;
}

void write(MPI_Status* status, const Request* request) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = request != nullptr && !request->send ? 0 : MPI_ANY_SOURCE;
  status->MPI_TAG = request != nullptr && !request->send ? request->tag : MPI_ANY_TAG;
  status->count_lo = request != nullptr ? static_cast<int>(request->received) : 0;
  status->count_hi_and_cancelled = request != nullptr && request->cancelled ? 1 : 0;
}

bool is_done(MPI_Request handle) {
  if (handle == MPI_REQUEST_NULL) return true;
  const Request& request = *g_requests.at(handle);
  return request.done || !request.active;
}

// Completes a request that is done.
void finish(MPI_Request* handle, MPI_Status* status) {
  if (*handle == MPI_REQUEST_NULL) return write(status, nullptr);
  const std::shared_ptr<Request> request = g_requests.at(*handle);
  write(status, request->active ? request.get() : nullptr);
  request->active = false;
  if (request->persistent) return;
  g_requests.erase(*handle);
  *handle = MPI_REQUEST_NULL;
}

MPI_Status* at(MPI_Status* statuses, int i) {
  return statuses != MPI_STATUSES_IGNORE ? statuses + i : MPI_STATUS_IGNORE;
}

bool is_active(MPI_Request handle) {
  return handle != MPI_REQUEST_NULL && g_requests.at(handle)->active;
}

}  // namespace

EXPORT int MPI_Isend(const void* buf, int count, MPI_Datatype datatype, int, int tag, MPI_Comm,
                     MPI_Request* request) {
  const Lock lock(g_mutex);
  const auto made = make(true, buf, count, datatype, tag);
  *request = add_request(made);
  begin(made);
  return MPI_SUCCESS;
}
EXPORT int MPI_Irecv(void* buf, int count, MPI_Datatype datatype, int, int tag, MPI_Comm,
                     MPI_Request* request) {
  const Lock lock(g_mutex);
  const auto made = make(false, buf, count, datatype, tag);
  *request = add_request(made);
  begin(made);
  return MPI_SUCCESS;
}
EXPORT int MPI_Send_init(const void* buf, int count, MPI_Datatype datatype, int, int tag, MPI_Comm,
                         MPI_Request* request) {
  const Lock lock(g_mutex);
  const auto made = make(true, buf, count, datatype, tag);
  made->persistent = true;
  *request = add_request(made);
  return MPI_SUCCESS;
}
EXPORT int MPI_Recv_init(void* buf, int count, MPI_Datatype datatype, int, int tag, MPI_Comm,
                         MPI_Request* request) {
  const Lock lock(g_mutex);
  const auto made = make(false, buf, count, datatype, tag);
  made->persistent = true;
  *request = add_request(made);
  return MPI_SUCCESS;
}
EXPORT int MPI_Start(MPI_Request* request) {
  const Lock lock(g_mutex);
  begin(g_requests.at(*request));
  return MPI_SUCCESS;
}
EXPORT int MPI_Startall(int count, MPI_Request* requests) {
  for (int i = 0; i < count; ++i) MPI_Start(&requests[i]);
  return MPI_SUCCESS;
}
EXPORT int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  Lock lock(g_mutex);
  g_changed.wait(lock, [&] { return is_done(*request); });
  finish(request, status);
  return MPI_SUCCESS;
}
EXPORT int MPI_Send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                    MPI_Comm comm) {
  MPI_Request request;
  MPI_Isend(buf, count, datatype, dest, tag, comm, &request);
  return MPI_Wait(&request, MPI_STATUS_IGNORE);
}
EXPORT int MPI_Recv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                    MPI_Status* status) {
  MPI_Request request;
  MPI_Irecv(buf, count, datatype, source, tag, comm, &request);
  return MPI_Wait(&request, status);
}
EXPORT int MPI_Probe(int, int, MPI_Comm, MPI_Status*) { return MPI_ERR_OTHER; }
EXPORT int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  const Lock lock(g_mutex);
  *flag = is_done(*request) ? 1 : 0;
  if (*flag != 0) finish(request, status);
  return MPI_SUCCESS;
}
EXPORT int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  const Lock lock(g_mutex);
  *flag = is_done(request) ? 1 : 0;
  if (*flag != 0) write(status, is_active(request) ? g_requests.at(request).get() : nullptr);
  return MPI_SUCCESS;
}
EXPORT int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  for (int i = 0; i < count; ++i) MPI_Wait(&requests[i], at(statuses, i));
  return MPI_SUCCESS;
}
EXPORT int MPI_Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  const Lock lock(g_mutex);
  *flag = 1;
  for (int i = 0; i < count; ++i) {
    if (!is_done(requests[i])) *flag = 0;
  }
  for (int i = 0; i < count && *flag != 0; ++i) finish(&requests[i], at(statuses, i));
  return MPI_SUCCESS;
}
EXPORT int MPI_Testany(int count, MPI_Request* requests, int* index, int* flag,
                       MPI_Status* status) {
  const Lock lock(g_mutex);
  bool any = false;
  for (int i = 0; i < count; ++i) {
    if (!is_active(requests[i])) continue;
    any = true;
    if (!is_done(requests[i])) continue;
    finish(&requests[i], status);
    *index = i;
    *flag = 1;
    return MPI_SUCCESS;
  }
  *index = MPI_UNDEFINED;
  *flag = any ? 0 : 1;
  return MPI_SUCCESS;
}
EXPORT int MPI_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  for (int flag = 0; flag == 0;) MPI_Testany(count, requests, index, &flag, status);
  return MPI_SUCCESS;
}
EXPORT int MPI_Testsome(int count, MPI_Request* requests, int* outcount, int* indices,
                        MPI_Status* statuses) {
  const Lock lock(g_mutex);
  bool any = false;
  *outcount = 0;
  for (int i = 0; i < count; ++i) {
    if (!is_active(requests[i])) continue;
    any = true;
    if (!is_done(requests[i])) continue;
    finish(&requests[i], at(statuses, *outcount));
    indices[(*outcount)++] = i;
  }
  if (!any) *outcount = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
EXPORT int MPI_Waitsome(int count, MPI_Request* requests, int* outcount, int* indices,
                        MPI_Status* statuses) {
  do {
    MPI_Testsome(count, requests, outcount, indices, statuses);
  } while (*outcount == 0);
  return MPI_SUCCESS;
}
EXPORT int MPI_Request_free(MPI_Request* request) {
  const Lock lock(g_mutex);
  g_requests.erase(*request);
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}
EXPORT int MPI_Cancel(MPI_Request* request) {
  const Lock lock(g_mutex);
  const auto found = g_requests.at(*request);
  if (found->done) return MPI_SUCCESS;
  g_receives.remove(found);
  found->done = found->cancelled = true;
  g_changed.notify_all();
  return MPI_SUCCESS;
}
EXPORT int MPI_Test_cancelled(const MPI_Status* status, int* flag) {
  return *flag = status->count_hi_and_cancelled & 1, MPI_SUCCESS;
}
EXPORT int MPI_Get_elements_x(const MPI_Status* status, MPI_Datatype, MPI_Count* count) {
  return *count = status->count_lo, MPI_SUCCESS;
}
EXPORT int MPI_Status_set_elements_x(MPI_Status* status, MPI_Datatype, MPI_Count count) {
  return status->count_lo = static_cast<int>(count), MPI_SUCCESS;
}
EXPORT int MPI_Status_set_cancelled(MPI_Status* status, int flag) {
  return status->count_hi_and_cancelled = flag, MPI_SUCCESS;
}
