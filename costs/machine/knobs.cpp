// SPDX-License-Identifier: BSD-3-Clause
#include "costs/machine/knobs.hpp"

#include <mpi.h>

#include <cstdint>

#include "bench/harness/json_lines.hpp"

namespace lacuna::costs {
namespace {

// One integer as text, or nothing.
template <typename Integer>
std::string read(MPI_T_cvar_handle handle) {
  Integer value = 0;
  return MPI_T_cvar_read(handle, &value) == MPI_SUCCESS ? std::to_string(value) : "";
}

std::string value_of(int index, MPI_Datatype type) {
  MPI_T_cvar_handle handle;
  int count = 0;
  if (MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) return "";
  std::string text;
  if (count == 1) {
    if (type == MPI_INT) text = read<int>(handle);
    if (type == MPI_UNSIGNED) text = read<unsigned>(handle);
    if (type == MPI_UNSIGNED_LONG) text = read<unsigned long>(handle);
    if (type == MPI_UNSIGNED_LONG_LONG) text = read<unsigned long long>(handle);
    if (type == MPI_COUNT) text = read<MPI_Count>(handle);
  }
  MPI_T_cvar_handle_free(&handle);
  return text;
}

}  // namespace

std::string knobs_json() {
  int provided = 0;
  int variables = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return "{}";
  std::string text = "{";
  if (MPI_T_cvar_get_num(&variables) != MPI_SUCCESS) variables = 0;
  for (int i = 0; i < variables; ++i) {
    char name[256] = "";
    int length = sizeof name;
    int verbosity = 0;
    int bind = MPI_T_BIND_NO_OBJECT;
    int scope = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    if (MPI_T_cvar_get_info(i, name, &length, &verbosity, &type, nullptr, nullptr, nullptr, &bind,
                            &scope) != MPI_SUCCESS) {
      continue;
    }
    if (bind != MPI_T_BIND_NO_OBJECT) continue;
    const std::string value = value_of(i, type);
    if (value.empty()) continue;
    text += (text.size() > 1 ? ", " : "") + bench::json_string(name) + ": " + value;
  }
  MPI_T_finalize();
  return text + "}";
}

}  // namespace lacuna::costs
