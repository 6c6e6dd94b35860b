// SPDX-License-Identifier: BSD-3-Clause
//
// Finding the next symbols in a process with shared libraries. Usually RTLD_NEXT has them. Programs
// that load libmpi late and privately (Python's mpi4py: dlopen with RTLD_LOCAL) hide it from that
// search; then the loaded library that speaks this ABI is asked directly. PMPI_ names are the last
// resort.
#include "interpose/library/next.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace lacuna {
namespace {

#if defined(LACUNA_MPI_FAMILY_MPICH)
constexpr char kFamily[] = "mpich";
#elif defined(LACUNA_MPI_FAMILY_OMPI)
constexpr char kFamily[] = "ompi";
#else
constexpr char kFamily[] = "mpiabi";
#endif

constinit std::mutex g_next_mutex;
constinit Next g_profiling{};
constinit std::atomic<bool> g_resolved{false};
constinit const char* g_lacking = "MPI_Init";  // until resolve() has looked
constinit bool g_large = false;
constinit std::atomic<void*> g_library{nullptr};  // of dlopen, where RTLD_NEXT does not reach it

const char* base_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

bool starts_with(const char* text, const char* prefix) {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

// Which ABI family a loaded object belongs to: by a symbol or a name that only that family has.
const char* family_of(void* handle, const char* name) {
  if (dlsym(handle, "ompi_mpi_comm_world") != nullptr) return "ompi";
  if (starts_with(name, "libmpi_abi.")) return "mpiabi";
  return "mpich";
}

// The paths of the loaded objects that are called like an MPI library.
struct Candidates {
  static constexpr int kMost = 8;
  char paths[kMost][1024];
  int count;
};

int look_for_library(dl_phdr_info* info, size_t, void* data) {
  auto* found = static_cast<Candidates*>(data);
  const char* name = base_name(info->dlpi_name);
  bool matches = false;
  for (const char* prefix :
       {"libmpi.so", "libmpich.so", "libmpi_abi.so", "libmpi_gnu", "libmpi_intel"}) {
    matches = matches || starts_with(name, prefix);
  }
  if (matches && std::strlen(info->dlpi_name) < sizeof(found->paths[0])) {
    std::strcpy(found->paths[found->count++], info->dlpi_name);
  }
  return found->count == Candidates::kMost ? 1 : 0;
}

// A preload library of another ABI than the program's cannot pass calls on: handles differ in size
// and meaning. The program would crash later without an explanation, so it ends here with one.
// `lacuna run` chooses the right library.
[[noreturn]] void refuse(const char* path, const char* family) {
  dprintf(STDERR_FILENO,
          "lacuna: liblacuna-%s.so is preloaded into a program that uses %s, which needs "
          "liblacuna-%s.so; remedy: use `lacuna run` without --mpi, or preload the right one\n",
          kFamily, path, family);
  _exit(3);  // as the command does where the environment is wrong
}

// Checks the MPI library that RTLD_NEXT finds, if any.
void refuse_foreign_next() {
  void* init = dlsym(RTLD_NEXT, "MPI_Init");
  Dl_info info{};
  if (init == nullptr || dladdr(init, &info) == 0 || info.dli_fname == nullptr) return;
  const char* name = base_name(info.dli_fname);
  if (!starts_with(name, "libmpi")) return;  // another tool, or a static library: nothing is known
  const char* family = family_of(RTLD_DEFAULT, name);
  if (std::strcmp(family, kFamily) != 0) refuse(info.dli_fname, family);
}

// If RTLD_NEXT finds none: the first loaded library of this ABI. (dlopen follows the iteration,
// which holds the loader's lock.)
void* open_library() {
  static constinit Candidates found{};  // as the caller has the lock
  found.count = 0;
  dl_iterate_phdr(look_for_library, &found);
  const char* foreign_path = nullptr;
  const char* foreign_family = nullptr;
  for (int i = 0; i < found.count; ++i) {
    void* handle = dlopen(found.paths[i], RTLD_NOLOAD | RTLD_LAZY);
    if (handle == nullptr) continue;
    const char* family = family_of(handle, base_name(found.paths[i]));
    const bool speaks_mpi = dlsym(handle, "MPI_Init") != nullptr;
    if (speaks_mpi && std::strcmp(family, kFamily) == 0) return handle;
    if (speaks_mpi) {
      foreign_path = found.paths[i];
      foreign_family = family;
    }
    dlclose(handle);
  }
  if (foreign_path != nullptr) refuse(foreign_path, foreign_family);
  return nullptr;
}

void* find_name(const char* name, void* library) {
  void* found = dlsym(RTLD_NEXT, name);
  return found == nullptr && library != nullptr ? dlsym(library, name) : found;
}

void* find_profiling(const char* name, void* library) {
  char profiling[64] = "P";
  if (std::strlen(name) + 2 > sizeof(profiling)) return nullptr;
  return find_name(std::strcat(profiling, name), library);
}

void* find_function(const char* name, void* library) {
  void* found = find_name(name, library);
  return found != nullptr ? found : find_profiling(name, library);
}

// Whether this function may complete or restart a request.
bool completes(const char* name) {
  for (const char* prefix : {"MPI_Wait", "MPI_Test", "MPI_Request_", "MPI_Start"}) {
    if (starts_with(name, prefix)) return true;
  }
  return false;
}

// Whether this function may receive or probe a token, or be a collective in shared memory, in which
// peers wait for this rank (direct/rooms/room.hpp).
bool receives(const char* name) {
  for (const char* part : {"recv", "Recv", "robe", "MPI_Bcast", "MPI_Gather", "MPI_Scatter",
                           "MPI_Allgather", "MPI_Alltoall", "MPI_Neighbor_"}) {
    if (std::strstr(name, part) != nullptr) return true;
  }
  return false;
}

bool is_ours_first(const char* name) {
  const void* first = dlsym(RTLD_DEFAULT, name);
  if (first == nullptr) return true;  // newer than this ABI's libraries: nobody calls it
  Dl_info theirs{};
  Dl_info ours{};
  return dladdr(first, &theirs) != 0 &&
         dladdr(reinterpret_cast<const void*>(&is_ours_first), &ours) != 0 &&
         theirs.dli_fbase == ours.dli_fbase;
}

void set_field(Next* table, const NextRow& row, void* function) {
  std::memcpy(reinterpret_cast<char*>(table) + row.offset, &function, sizeof(function));
}

void fill_tables(void* library, Next* table) {
  g_lacking = nullptr;
  for (const NextRow& row : next_rows()) {
    void* found = find_function(row.name, library);
    if (found == nullptr) {
      found = row.stand_in;
      if (!row.optional && g_lacking == nullptr) g_lacking = row.name;
    }
    set_field(table, row, found);
    void* profiling = find_profiling(row.name, library);
    set_field(&g_profiling, row, profiling != nullptr ? profiling : found);
  }
}

// Other threads may be calling through the table meanwhile, so each field is set by one store.
void publish(const Next& found) {
  for (const NextRow& row : next_rows()) {
    void* function = nullptr;
    std::memcpy(&function, reinterpret_cast<const char*>(&found) + row.offset, sizeof(function));
    auto* const field =
        reinterpret_cast<void**>(reinterpret_cast<char*>(&detail::g_next) + row.offset);
    __atomic_store_n(field, function, __ATOMIC_RELEASE);
  }
}

}  // namespace

namespace detail {

// If no MPI library is loaded yet, it returns the stand-ins, and the next call searches again.
const Next& resolve() noexcept {
  static constinit Next stand_ins{};
  const std::lock_guard<std::mutex> lock(g_next_mutex);
  if (g_resolved.load(std::memory_order_relaxed)) return g_next;
  refuse_foreign_next();
  void* library = dlsym(RTLD_NEXT, "MPI_Init") == nullptr ? open_library() : nullptr;
  g_library.store(library, std::memory_order_release);
  fill_tables(library, &stand_ins);
  g_large = find_function("MPI_Send_c", library) != nullptr &&
            find_function("MPI_Recv_c", library) != nullptr;
  if (find_function("MPI_Init", library) == nullptr) {
    g_lacking = "MPI_Init";
    return stand_ins;
  }
  publish(stand_ins);
  g_resolved.store(true, std::memory_order_release);
  return g_next;
}

}  // namespace detail

const Next& next_profiling() noexcept {
  if (!g_resolved.load(std::memory_order_acquire)) detail::resolve();
  return g_profiling;
}

void change_next(void (*change)(Next* next), void (*change_profiling)(Next* next)) noexcept {
  const std::lock_guard<std::mutex> lock(g_next_mutex);
  change(&detail::g_next);
  change_profiling(&g_profiling);
}

const char* next_lacks() noexcept { return g_lacking; }

bool next_has_large() noexcept { return g_large; }

// The program's own copy first (mpi/header.hpp says why).
void* mpi_data_symbol(const char* name) {
  if (void* found = dlsym(RTLD_DEFAULT, name)) return found;
  void* library = g_library.load(std::memory_order_acquire);
  return library != nullptr ? dlsym(library, name) : nullptr;
}

namespace {

// Whether, for some function that `chosen` picks, the first definition of its MPI_ or PMPI_ name in
// the search order is not lacuna's.
bool any_is_hidden(bool (*chosen)(const char*)) {
  for (const char* name : wrapped_names()) {
    if (!chosen(name)) continue;
    const std::string profiling = std::string("P") + name;
    if (!is_ours_first(name) || !is_ours_first(profiling.c_str())) return true;
  }
  return false;
}

}  // namespace

bool completion_may_be_hidden() {
  if (any_is_hidden(completes)) return true;
  for (const char* name : {"mpi_wait", "mpi_wait_", "mpi_wait__", "MPI_WAIT"}) {
    if (called_by_mpi(mpi_data_symbol(name))) return true;
  }
  return false;
}

bool receives_may_be_hidden() { return any_is_hidden(receives); }

bool synchronization_may_be_hidden() {
  return any_is_hidden([](const char* name) { return starts_with(name, "MPI_Win_"); });
}

}  // namespace lacuna
