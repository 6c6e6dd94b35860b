// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/agreement/launched.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <span>

#include "base/hash.hpp"
#include "base/options.hpp"

namespace lacuna {
namespace {

// All variables go into the hash: a job that was started by a rank of another job has inherited
// that one's variables beside its own.
class Hash {
 public:
  void add(const void* data, size_t bytes) noexcept {
    const auto* byte = static_cast<const unsigned char*>(data);
    for (size_t i = 0; i < bytes; ++i) hash_ = (hash_ ^ byte[i]) * kFnvPrime;
  }
  bool add_variable(const char* name) noexcept {
    const char* text = std::getenv(name);
    if (text == nullptr || *text == '\0') return false;
    add(name, std::strlen(name) + 1);
    add(text, std::strlen(text) + 1);
    return true;
  }
  uint64_t value() const noexcept { return hash_ != 0 ? hash_ : 1; }

 private:
  uint64_t hash_ = kFnvOffset;
};

int64_t integer_of(const char* name, int64_t least) noexcept {
  const char* text = std::getenv(name);
  int64_t value = 0;
  const bool ok =
      text != nullptr && detail::read_integer(text, least, std::numeric_limits<int>::max(), &value);
  return ok ? value : -1;
}

// Process id of Hydra's proxy, which starts all ranks of a job on a node and has a socket to each.
// 0: there is none.
int32_t proxy_of_hydra() noexcept {
  const int64_t descriptor = integer_of("PMI_FD", 0);
  ucred proxy{};
  socklen_t length = sizeof(proxy);
  if (descriptor < 0 ||
      getsockopt(static_cast<int>(descriptor), SOL_SOCKET, SO_PEERCRED, &proxy, &length) != 0) {
    return 0;
  }
  return proxy.pid;
}

// The beginning of a file. Empty: it cannot be read.
std::string_view beginning_of(const char* path, std::span<char> text) noexcept {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t bytes = read(file, text.data(), text.size());
  close(file);
  return {text.data(), bytes > 0 ? static_cast<size_t>(bytes) : 0};
}

// Whether Intel MPI has loaded Slurm's PMI2 library, by which srun keeps published names.
// (MPICH 5.0 uses PMI1 under srun, where MPI_Lookup_name crashes if a name is not published.)
bool keeps_notes_by_pmi2() noexcept {
  const char* client = std::getenv("I_MPI_PMI_LIBRARY");
  void* loaded = client != nullptr ? dlopen(client, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  if (loaded == nullptr) return false;
  const bool keeps = dlsym(loaded, "PMI2_Nameserv_publish") != nullptr;
  dlclose(loaded);
  return keeps;
}

int tasks_of_slurm() noexcept {
  const int64_t node = integer_of("SLURM_NODEID", 0);
  for (const char* name : {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}) {
    const char* counts = std::getenv(name);
    if (counts != nullptr && node >= 0) return detail::tasks_on_node(counts, node);
  }
  return 0;
}

}  // namespace

namespace detail {

int tasks_on_node(const char* counts, int64_t node) noexcept {
  int64_t first = 0;  // first node of the current group
  for (const char* at = counts;;) {
    char* end = nullptr;
    const long tasks = std::strtol(at, &end, 10);
    if (end == at || tasks < 1 || tasks > std::numeric_limits<int>::max()) return 0;
    long nodes = 1;
    if (std::strncmp(end, "(x", 2) == 0) {
      at = end + 2;
      nodes = std::strtol(at, &end, 10);
      if (end == at || nodes < 1 || *end++ != ')') return 0;
    }
    first += nodes;
    if (node < first) return static_cast<int>(tasks);
    if (*end != ',') return 0;
    at = end + 1;
  }
}

uint64_t find_job_id() noexcept {
  Hash hash;
  bool is_known = hash.add_variable("PMIX_NAMESPACE");
  is_known = hash.add_variable("PMI_PORT") || is_known;
  for (const char* name : {"PMIX_SERVER_URI2", "PMIX_SERVER_URI21", "PMIX_SERVER_URI3",
                           "PMIX_SERVER_URI4", "PMIX_SERVER_URI41"}) {
    hash.add_variable(name);
  }
  const bool has_job = hash.add_variable("SLURM_JOB_ID");
  is_known = (hash.add_variable("SLURM_STEP_ID") && has_job) || is_known;
  if (const int32_t proxy = proxy_of_hydra(); proxy > 0) {
    hash.add(&proxy, sizeof(proxy));
    is_known = true;
  }
  return is_known ? hash.value() : 0;
}

std::string_view argument_after(std::string_view option, std::string_view command_line) noexcept {
  bool is_next = false;
  while (!command_line.empty()) {
    const std::string_view argument = command_line.substr(0, command_line.find('\0'));
    if (is_next) return argument;
    is_next = argument == option;
    command_line.remove_prefix(std::min(argument.size() + 1, command_line.size()));
  }
  return {};
}

// PMIx, Intel MPI's Hydra and Slurm's PMI2 name a job; MPICH's proxies are told where their mpiexec
// listens.
uint64_t find_job_of_all_nodes(int32_t proxy) noexcept {
  Hash hash;
  bool is_known = hash.add_variable("PMIX_NAMESPACE");
  is_known = hash.add_variable("I_MPI_HYDRA_UUID") || is_known;
  is_known = (keeps_notes_by_pmi2() && hash.add_variable("PMI_JOBID")) || is_known;
  char path[32];
  char text[2048];
  std::snprintf(path, sizeof(path), "/proc/%d/cmdline", static_cast<int>(proxy));
  const std::string_view port =
      proxy > 0 ? argument_after("--control-port", beginning_of(path, text)) : "";
  if (!port.empty()) {
    hash.add(port.data(), port.size());
    is_known = true;
  }
  return is_known ? hash.value() : 0;
}

}  // namespace detail

namespace {

struct Job {
  uint64_t id = detail::find_job_id();
  int32_t proxy = proxy_of_hydra();
};
const Job& job() noexcept {
  static const Job found;
  return found;
}

}  // namespace

uint64_t job_id() noexcept { return job().id; }
uint64_t job_of_all_nodes() noexcept { return detail::find_job_of_all_nodes(job().proxy); }

uint64_t this_machine() noexcept {
  char text[64];
  const std::string_view boot_id = beginning_of("/proc/sys/kernel/random/boot_id", text);
  Hash hash;
  hash.add(boot_id.data(), boot_id.size());
  return boot_id.empty() ? 0 : hash.value();
}

int ranks_on_node(Flavour library) noexcept {
  constexpr const char* kHydra = "MPI_LOCALNRANKS";
  constexpr const char* kOpenMpi = "OMPI_COMM_WORLD_LOCAL_SIZE";
  const bool is_open_mpi = library == Flavour::kOpenMpi;
  for (const char* name : {is_open_mpi ? kOpenMpi : kHydra, is_open_mpi ? kHydra : kOpenMpi,
                           "PMI_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE"}) {
    if (const int64_t ranks = integer_of(name, 1); ranks > 0) return static_cast<int>(ranks);
  }
  return tasks_of_slurm();
}

}  // namespace lacuna
