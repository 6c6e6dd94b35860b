// SPDX-License-Identifier: BSD-3-Clause
//
// An MPI library of one rank in one process, as far as lacuna and threaded_test.cpp need it, built
// with ThreadSanitizer: real libraries are not, so that under them every lock of theirs is
// invisible. Under MPICH's ABI. One lock around everything; handles are reused at once; callbacks
// are called without the lock. What is wrong in a call is not looked for.
#include <mpi.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Datatype {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Datatype> types;
  std::vector<MPI_Aint> bytes;  // the typemap, byte by byte
  MPI_Aint lb = 0, extent = 0;
  bool committed = false;
  std::map<int, void*> attributes;
};
using TypePtr = std::shared_ptr<Datatype>;

struct Keyval {
  MPI_Type_delete_attr_function* on_delete;
  void* extra;
};

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

std::mutex g_mutex;
std::condition_variable g_changed;
std::map<MPI_Datatype, TypePtr> g_types;
std::map<MPI_Request, std::shared_ptr<Request>> g_requests;
std::map<int, Keyval> g_keyvals;
std::list<std::shared_ptr<Request>> g_sends, g_receives;  // without a partner
// Below them are the pair types.
constexpr unsigned kTypes = 0x8c000100U, kRequests = 0x98000001U;

// The lowest handle that is free.
template <typename Map>
int free_handle(const Map& map, unsigned first) {
  int handle = static_cast<int>(first);
  for (const auto& entry : map) {
    if (entry.first != handle) break;
    ++handle;
  }
  return handle;
}

TypePtr type_of(MPI_Datatype handle) {
  const auto found = g_types.find(handle);
  if (found != g_types.end()) return found->second;
  if (handle == MPI_DATATYPE_NULL) return nullptr;
  auto basic = std::make_shared<Datatype>();  // predefined handles have their size in them
  basic->extent = (handle >> 8) & 0xff;
  for (MPI_Aint i = 0; i < basic->extent; ++i) basic->bytes.push_back(i);
  basic->committed = true;
  return basic;
}

std::vector<char> packed(const void* buffer, int count, const Datatype& type) {
  std::vector<char> data;
  for (int i = 0; i < count; ++i) {
    for (const MPI_Aint place : type.bytes)
      data.push_back(static_cast<const char*>(buffer)[i * type.extent + place]);
  }
  return data;
}

void unpack(const std::vector<char>& data, void* buffer, const Datatype& type) {
  for (size_t i = 0; i < data.size(); ++i) {
    const size_t size = type.bytes.size();
    const auto element = static_cast<MPI_Aint>(i / size) * type.extent;
    static_cast<char*>(buffer)[element + type.bytes[i % size]] = data[i];
  }
}

MPI_Datatype add_type(TypePtr type) {
  const MPI_Datatype handle = free_handle(g_types, kTypes);
  g_types[handle] = std::move(type);
  return handle;
}

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

// Of one that is done.
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

using Lock = std::unique_lock<std::mutex>;

}  // namespace

// ---- start and end, communicators ---------------------------------------------------------------

EXPORT int MPI_Init_thread(int*, char***, int required, int* provided) {
  *provided = required;
  return MPI_SUCCESS;
}
EXPORT int MPI_Init(int*, char***) { return MPI_SUCCESS; }
EXPORT int MPI_Finalize() { return MPI_SUCCESS; }
EXPORT int MPI_Pcontrol(int, ...) { return MPI_SUCCESS; }
EXPORT int MPI_Initialized(int* flag) { return *flag = 1, MPI_SUCCESS; }
EXPORT int MPI_Query_thread(int* level) { return *level = MPI_THREAD_MULTIPLE, MPI_SUCCESS; }
EXPORT int MPI_Get_library_version(char* version, int* length) {
  std::strcpy(version, "MPICH Version: none, one rank");
  return *length = static_cast<int>(std::strlen(version)), MPI_SUCCESS;
}
EXPORT int MPI_Comm_rank(MPI_Comm, int* rank) { return *rank = 0, MPI_SUCCESS; }
EXPORT int MPI_Comm_size(MPI_Comm, int* size) { return *size = 1, MPI_SUCCESS; }
EXPORT int MPI_Comm_remote_size(MPI_Comm, int*) { return MPI_ERR_COMM; }
EXPORT int MPI_Comm_test_inter(MPI_Comm, int* flag) { return *flag = 0, MPI_SUCCESS; }
EXPORT int MPI_Comm_get_parent(MPI_Comm* parent) { return *parent = MPI_COMM_NULL, MPI_SUCCESS; }
EXPORT int MPI_Topo_test(MPI_Comm, int* status) { return *status = MPI_UNDEFINED, MPI_SUCCESS; }
EXPORT int MPI_Cartdim_get(MPI_Comm, int*) { return MPI_ERR_TOPOLOGY; }
EXPORT int MPI_Cart_shift(MPI_Comm, int, int, int*, int*) { return MPI_ERR_TOPOLOGY; }
EXPORT int MPI_Graph_neighbors_count(MPI_Comm, int, int*) { return MPI_ERR_TOPOLOGY; }
EXPORT int MPI_Dist_graph_neighbors_count(MPI_Comm, int*, int*, int*) { return MPI_ERR_TOPOLOGY; }
EXPORT int MPI_Comm_dup(MPI_Comm, MPI_Comm* copy) { return *copy = 0x1234, MPI_SUCCESS; }
EXPORT int MPI_Comm_idup(MPI_Comm, MPI_Comm*, MPI_Request*) { return MPI_ERR_OTHER; }
EXPORT int MPI_Comm_free(MPI_Comm* comm) { return *comm = MPI_COMM_NULL, MPI_SUCCESS; }
EXPORT int MPI_Comm_create_errhandler(MPI_Comm_errhandler_function*, MPI_Errhandler* handler) {
  return *handler = 1, MPI_SUCCESS;
}
EXPORT int MPI_Errhandler_free(MPI_Errhandler*) { return MPI_SUCCESS; }
EXPORT int MPI_Comm_set_errhandler(MPI_Comm, MPI_Errhandler) { return MPI_SUCCESS; }
EXPORT int MPI_Comm_call_errhandler(MPI_Comm, int) { return MPI_SUCCESS; }
EXPORT int MPI_Error_class(int code, int* error_class) { return *error_class = code, MPI_SUCCESS; }

// ---- types --------------------------------------------------------------------------------------

EXPORT int MPI_Type_vector(int count, int blocklength, int stride, MPI_Datatype oldtype,
                           MPI_Datatype* newtype) {
  const Lock lock(g_mutex);
  const TypePtr old = type_of(oldtype);
  auto type = std::make_shared<Datatype>();
  type->combiner = MPI_COMBINER_VECTOR;
  type->integers = {count, blocklength, stride};
  type->types = {oldtype};
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < blocklength; ++j) {
      for (const MPI_Aint place : old->bytes)
        type->bytes.push_back((MPI_Aint{i} * stride + j) * old->extent + place);
    }
  }
  type->extent = (MPI_Aint{count - 1} * stride + blocklength) * old->extent;
  *newtype = add_type(type);
  return MPI_SUCCESS;
}
EXPORT int MPI_Type_contiguous(int count, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  const int code = MPI_Type_vector(count, 1, 1, oldtype, newtype);
  const Lock lock(g_mutex);
  const TypePtr type = type_of(*newtype);
  type->combiner = MPI_COMBINER_CONTIGUOUS;
  type->integers = {count};
  return code;
}
EXPORT int MPI_Type_commit(MPI_Datatype* datatype) {
  const Lock lock(g_mutex);
  type_of(*datatype)->committed = true;
  return MPI_SUCCESS;
}
EXPORT int MPI_Type_free(MPI_Datatype* datatype) {
  TypePtr type;
  std::map<int, Keyval> keyvals;
  {
    const Lock lock(g_mutex);
    type = type_of(*datatype);
    keyvals = g_keyvals;
  }
  // As real libraries do: the attributes go before the handle is free for others.
  for (const auto& [keyval, value] : type->attributes)
    keyvals.at(keyval).on_delete(*datatype, keyval, value, keyvals.at(keyval).extra);
  const Lock lock(g_mutex);
  g_types.erase(*datatype);
  *datatype = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}
EXPORT int MPI_Type_create_keyval(MPI_Type_copy_attr_function*,
                                  MPI_Type_delete_attr_function* on_delete, int* keyval,
                                  void* extra) {
  const Lock lock(g_mutex);
  *keyval = static_cast<int>(g_keyvals.size()) + 1;
  g_keyvals[*keyval] = {on_delete, extra};
  return MPI_SUCCESS;
}
EXPORT int MPI_Type_free_keyval(int*) { return MPI_SUCCESS; }
EXPORT int MPI_Type_get_attr(MPI_Datatype datatype, int keyval, void* value, int* flag) {
  const Lock lock(g_mutex);
  const TypePtr type = type_of(datatype);
  const auto found = type->attributes.find(keyval);
  *flag = found != type->attributes.end() ? 1 : 0;
  if (*flag != 0) *static_cast<void**>(value) = found->second;
  return MPI_SUCCESS;
}
EXPORT int MPI_Type_set_attr(MPI_Datatype datatype, int keyval, void* value) {
  const Lock lock(g_mutex);
  type_of(datatype)->attributes[keyval] = value;
  return MPI_SUCCESS;
}
EXPORT int MPI_Type_get_envelope(MPI_Datatype datatype, int* integers, int* addresses, int* types,
                                 int* combiner) {
  const Lock lock(g_mutex);
  const TypePtr type = type_of(datatype);
  *integers = static_cast<int>(type->integers.size());
  *addresses = static_cast<int>(type->addresses.size());
  *types = static_cast<int>(type->types.size());
  *combiner = type->combiner;
  return MPI_SUCCESS;
}
EXPORT int MPI_Type_get_contents(MPI_Datatype datatype, int, int, int, int* integers, MPI_Aint*,
                                 MPI_Datatype* types) {
  const Lock lock(g_mutex);
  const TypePtr type = type_of(datatype);
  std::memcpy(integers, type->integers.data(), type->integers.size() * sizeof(int));
  for (size_t i = 0; i < type->types.size(); ++i) {
    const auto inner = g_types.find(type->types[i]);
    types[i] = inner == g_types.end() ? type->types[i] : add_type(inner->second);
  }
  return MPI_SUCCESS;
}
EXPORT int MPI_Type_size_x(MPI_Datatype datatype, MPI_Count* size) {
  const Lock lock(g_mutex);
  return *size = static_cast<MPI_Count>(type_of(datatype)->bytes.size()), MPI_SUCCESS;
}
EXPORT int MPI_Type_get_extent_x(MPI_Datatype datatype, MPI_Count* lb, MPI_Count* extent) {
  const Lock lock(g_mutex);
  *lb = type_of(datatype)->lb;
  *extent = type_of(datatype)->extent;
  return MPI_SUCCESS;
}
EXPORT int MPI_Type_get_true_extent_x(MPI_Datatype datatype, MPI_Count* lb, MPI_Count* extent) {
  const Lock lock(g_mutex);
  const std::vector<MPI_Aint> bytes = type_of(datatype)->bytes;
  *lb = bytes.empty() ? 0 : bytes.front();
  *extent = bytes.empty() ? 0 : bytes.back() + 1 - bytes.front();
  return MPI_SUCCESS;
}
EXPORT int MPI_Pack(const void* inbuf, int incount, MPI_Datatype datatype, void* outbuf, int,
                    int* position, MPI_Comm) {
  const Lock lock(g_mutex);
  const TypePtr type = type_of(datatype);
  if (type == nullptr || !type->committed) return MPI_ERR_TYPE;
  const std::vector<char> data = packed(inbuf, incount, *type);
  if (!data.empty()) std::memcpy(static_cast<char*>(outbuf) + *position, data.data(), data.size());
  *position += static_cast<int>(data.size());
  return MPI_SUCCESS;
}
EXPORT int MPI_Unpack(const void* inbuf, int, int* position, void* outbuf, int outcount,
                      MPI_Datatype datatype, MPI_Comm) {
  const Lock lock(g_mutex);
  const TypePtr type = type_of(datatype);
  const char* from = static_cast<const char*>(inbuf) + *position;
  const std::vector<char> data(from, from + type->bytes.size() * static_cast<size_t>(outcount));
  unpack(data, outbuf, *type);
  *position += static_cast<int>(data.size());
  return MPI_SUCCESS;
}

// ---- messages -----------------------------------------------------------------------------------

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
