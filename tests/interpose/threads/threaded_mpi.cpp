// SPDX-License-Identifier: BSD-3-Clause
#include "tests/interpose/threads/threaded_mpi.hpp"

#include <cstring>

namespace threaded {

std::mutex g_mutex;

namespace {

struct Keyval {
  MPI_Type_delete_attr_function* on_delete;
  void* extra;
};

std::map<MPI_Datatype, TypePtr> g_types;
std::map<int, Keyval> g_keyvals;
constexpr unsigned kTypes = 0x8c000100U;  // below them are the pair types

MPI_Datatype add_type(TypePtr type) {
  const MPI_Datatype handle = free_handle(g_types, kTypes);
  g_types[handle] = std::move(type);
  return handle;
}

}  // namespace

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

}  // namespace threaded

using namespace threaded;

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
EXPORT int MPI_Graph_neighbors(MPI_Comm, int, int, int*) { return MPI_ERR_TOPOLOGY; }
EXPORT int MPI_Dist_graph_neighbors(MPI_Comm, int, int*, int*, int, int*, int*) {
  return MPI_ERR_TOPOLOGY;
}
EXPORT int MPI_Win_get_attr(MPI_Win, int, void*, int* flag) { return *flag = 0, MPI_SUCCESS; }
EXPORT int MPI_Win_get_errhandler(MPI_Win, MPI_Errhandler*) { return MPI_ERR_WIN; }
EXPORT int MPI_Win_shared_query(MPI_Win, int, MPI_Aint*, int*, void*) { return MPI_ERR_WIN; }
EXPORT int MPI_Comm_dup(MPI_Comm, MPI_Comm* copy) { return *copy = 0x1234, MPI_SUCCESS; }
EXPORT int MPI_Comm_idup(MPI_Comm, MPI_Comm*, MPI_Request*) { return MPI_ERR_OTHER; }
// Used by the direct path at its start; with one rank it stays off.
EXPORT int MPI_Comm_split_type(MPI_Comm, int, int, MPI_Info, MPI_Comm*) { return MPI_ERR_OTHER; }
EXPORT int MPI_Comm_group(MPI_Comm, MPI_Group*) { return MPI_ERR_OTHER; }
EXPORT int MPI_Comm_remote_group(MPI_Comm, MPI_Group*) { return MPI_ERR_OTHER; }
EXPORT int MPI_Group_translate_ranks(MPI_Group, int, const int*, MPI_Group, int*) {
  return MPI_ERR_OTHER;
}
EXPORT int MPI_Group_size(MPI_Group, int*) { return MPI_ERR_OTHER; }
EXPORT int MPI_Group_free(MPI_Group*) { return MPI_ERR_OTHER; }
EXPORT int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function*, MPI_Comm_delete_attr_function*,
                                  int*, void*) {
  return MPI_ERR_OTHER;
}
EXPORT int MPI_Comm_free_keyval(int*) { return MPI_ERR_OTHER; }
EXPORT int MPI_Comm_get_attr(MPI_Comm, int, void*, int* flag) { return *flag = 0, MPI_SUCCESS; }
EXPORT int MPI_Comm_set_attr(MPI_Comm, int, void*) { return MPI_ERR_OTHER; }
EXPORT int MPI_Comm_free(MPI_Comm* comm) { return *comm = MPI_COMM_NULL, MPI_SUCCESS; }
EXPORT int MPI_Comm_create_errhandler(MPI_Comm_errhandler_function*, MPI_Errhandler* handler) {
  return *handler = 1, MPI_SUCCESS;
}
EXPORT int MPI_Errhandler_free(MPI_Errhandler*) { return MPI_SUCCESS; }
EXPORT int MPI_Comm_get_errhandler(MPI_Comm, MPI_Errhandler* handler) {
  return *handler = MPI_ERRORS_ARE_FATAL, MPI_SUCCESS;
}
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
  // As in real libraries, attributes are deleted before the handle can be reused.
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
EXPORT int MPI_Type_delete_attr(MPI_Datatype datatype, int keyval) {
  TypePtr type;
  Keyval known;
  void* value = nullptr;
  {
    const Lock lock(g_mutex);
    type = type_of(datatype);
    const auto found = type->attributes.find(keyval);
    if (found == type->attributes.end()) return MPI_ERR_OTHER;
    value = found->second;
    type->attributes.erase(found);
    known = g_keyvals.at(keyval);
  }
  return known.on_delete(datatype, keyval, value, known.extra);
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
