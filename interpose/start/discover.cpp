// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/start/discover.hpp"

#include <link.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/options.hpp"
#include "interpose/device/moves.hpp"
#include "interpose/direct/agreement/launched.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/policy/policy.hpp"
#include "interpose/types/record.hpp"
#include "mpi/header.hpp"

namespace lacuna {
namespace {

MpiFunctions mpi_functions_of(const Next& next) {
  return {
      .type_get_envelope = next.MPI_Type_get_envelope,
      .type_get_contents = next.MPI_Type_get_contents,
      .type_size_x = next.MPI_Type_size_x,
      .type_get_extent_x = next.MPI_Type_get_extent_x,
      .type_get_true_extent_x = next.MPI_Type_get_true_extent_x,
      .type_free = next.MPI_Type_free,
      .type_get_envelope_c = next.MPI_Type_get_envelope_c,
      .type_get_contents_c = next.MPI_Type_get_contents_c,
  };
}

// A library of collectives that looks at types, by the name of its file.
int look_for_component(dl_phdr_info* info, size_t, void* found) {
  const std::string_view path = info->dlpi_name;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (const std::string_view component :
       {"libucc.so", "libhcoll.so", "mca_coll_ucc.so", "mca_coll_hcoll.so"})
    if (name.starts_with(component)) *static_cast<bool*>(found) = true;
  return 0;
}

// The table was measured by messages of this library: what it says it knows need not be fast.
int64_t device_memory_from(const Runtime& rt) noexcept {
  const std::string& wanted = option_text(OptionId::kGpuStaging);
  if (wanted == "device") return 0;
  const int64_t from =
      rt.on_one_node ? rt.table->on_device_from_shared : rt.table->on_device_from_network;
  return wanted == "host" || from == kNever || !device::library_says_it_knows_devices() ? kNever
                                                                                        : from;
}

}  // namespace

bool is_spawned(const Next& next) noexcept {
  MPI_Comm parent = MPI_COMM_NULL;
  return next.MPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL;
}

// Open MPI shows it in a variable (mpi_ft_enable, mpirun --with-ft ulfm), which older versions
// lack. MPICH is told by the environment, if the launcher keeps the other ranks alive.
bool outlives_failures() noexcept {
  const auto* enabled = static_cast<const bool*>(mpi_data_symbol("ompi_ftmpi_enabled"));
  if (enabled != nullptr && *enabled) return true;
  const char* mpich = std::getenv("MPIR_CVAR_ENABLE_FT");
  bool flag = false;
  return mpich != nullptr && (!detail::read_flag(mpich, &flag) || flag);
}

void learn_library(const Next& next, Runtime* rt) {
  rt->mpi = mpi_functions_of(next);
  rt->predefined = new PredefinedTypes;  // as long as the process
  rt->comm_world = MPI_COMM_WORLD;
  rt->comm_self = MPI_COMM_SELF;
  rt->datatype_null = MPI_DATATYPE_NULL;
  rt->byte = MPI_BYTE;
  rt->packed = MPI_PACKED;
  rt->request_null = MPI_REQUEST_NULL;
  g_gate.request_null = rt->request_null;
  rt->message_null = MPI_MESSAGE_NULL;
  rt->message_no_proc = MPI_MESSAGE_NO_PROC;
  rt->win_null = MPI_WIN_NULL;
  rt->errors_are_fatal = MPI_ERRORS_ARE_FATAL;
  rt->errors_return = MPI_ERRORS_RETURN;
  std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');  // 8 KiB: not on the stack
  int length = 0;
  next.MPI_Get_library_version(text.data(), &length);
  const std::string_view version = text.c_str();
  rt->flavour = flavour_of(version);
  rt->mpich_major = mpich_major_of(version);
  name_library(version, rt->library);
  rt->always = option_flag(OptionId::kAlways);
  dl_iterate_phdr(look_for_component, &rt->has_type_component);
  g_gate.learns_at_once = rt->always;
  int level = MPI_THREAD_SINGLE;
  next.MPI_Query_thread(&level);
  g_gate.threads = level == MPI_THREAD_MULTIPLE;
  if (g_gate.threads) g_gate.irregular.fetch_add(1, std::memory_order_relaxed);
  next.MPI_Comm_rank(rt->comm_world, &rt->rank);
  next.MPI_Comm_size(rt->comm_world, &rt->size);
  rt->table = new Table(load_table(version));  // as long as the process
  rt->on_one_node = ranks_on_node(rt->flavour) == rt->size;
  rt->outlives_failures = outlives_failures();
  rt->messages = new Rulebook(rules_for(*rt->table, rt->on_one_node));
  device::use_device_memory_from(device_memory_from(*rt));
}

bool make_probe(const Next& next, Runtime* rt) noexcept {
  MPI_Errhandler handler;
  if (next.MPI_Comm_create_errhandler(record_probe_error, &handler) != MPI_SUCCESS) return false;
  const bool made = next.MPI_Comm_dup(rt->comm_self, &rt->probe_comm) == MPI_SUCCESS;
  const bool set = made && next.MPI_Comm_set_errhandler(rt->probe_comm, handler) == MPI_SUCCESS;
  next.MPI_Errhandler_free(&handler);
  if (made && !set) next.MPI_Comm_free(&rt->probe_comm);
  return set;
}

void set_own_handler(MPI_Comm comm) noexcept {
  const Next& next = next_functions();
  MPI_Errhandler handler;
  if (next.MPI_Comm_get_errhandler(runtime().probe_comm, &handler) != MPI_SUCCESS) return;
  next.MPI_Comm_set_errhandler(comm, handler);
  next.MPI_Errhandler_free(&handler);
}

}  // namespace lacuna
