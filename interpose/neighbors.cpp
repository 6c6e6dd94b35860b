// SPDX-License-Identifier: BSD-3-Clause
//
// The other objects in the process: which of them are the MPI library and its language bindings
// (their calls are not the program's), and whether one of them could complete requests behind our
// back.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstring>

#include "interpose/gate.hpp"
#include "interpose/next.hpp"

namespace lacuna {
namespace {

struct Range {
  uintptr_t begin;
  uintptr_t end;
};
constexpr int kMaxRanges = 64;
constinit Range g_ranges[kMaxRanges] = {};
constinit std::atomic<int> g_range_count{0};

constexpr const char* kMpiObjects[] = {
    "libmpi.so",    "libmpich.so", "libmpi_abi.so", "libmpi_gnu", "libmpi_intel", "libmpifort",
    "libmpichfort", "libmpicxx",   "libmpichcxx",   "libmpi_cxx", "libmpi_mpifh", "libmpi_usempi",
    "libopen-pal",  "libopen-rte", "libpmpi.so",    "mca_",       "libmca_",
};

bool is_mpi_object(const char* path) {
  const char* slash = std::strrchr(path, '/');
  const char* name = slash != nullptr ? slash + 1 : path;
  for (const char* prefix : kMpiObjects) {
    if (std::strncmp(name, prefix, std::strlen(prefix)) == 0) return true;
  }
  return false;
}

int add_code(dl_phdr_info* info, size_t, void* data) {
  auto* count = static_cast<int*>(data);
  if (!is_mpi_object(info->dlpi_name)) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0 || *count == kMaxRanges)
      continue;
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    g_ranges[(*count)++] = {begin, begin + segment.p_memsz};
  }
  return 0;
}

// The names of routines that complete or start requests, as Fortran code calls them. mpi_f08's go
// to PMPI in every library, the others in Open MPI alone.
bool completes_in_fortran(const char* name) {
  if (std::strncmp(name, "mpi_", 4) != 0) return false;
  const char* rest = name + 4;
  const bool completes = std::strncmp(rest, "start", 5) == 0 ||
                         std::strncmp(rest, "wait", 4) == 0 || std::strncmp(rest, "test", 4) == 0 ||
                         std::strncmp(rest, "request_free", 12) == 0 ||
                         std::strncmp(rest, "request_get", 11) == 0;
#if defined(LACUNA_MPI_FAMILY_OMPI)
  return completes;
#else
  return completes && std::strstr(rest, "f08") != nullptr;
#endif
}

struct Dynamic {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const ElfW(Rela) * relocations[2] = {};
  size_t relocation_bytes[2] = {};
};

// The loader has made the addresses in a dynamic section absolute, on all systems but the vdso's.
Dynamic read_dynamic(const dl_phdr_info& info) {
  Dynamic found;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry =
        reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      const auto value = static_cast<uintptr_t>(entry->d_un.d_ptr);
      switch (entry->d_tag) {
        case DT_SYMTAB:
          found.symbols = reinterpret_cast<const ElfW(Sym)*>(value);
          break;
        case DT_STRTAB:
          found.strings = reinterpret_cast<const char*>(value);
          break;
        case DT_RELA:
          found.relocations[0] = reinterpret_cast<const ElfW(Rela)*>(value);
          break;
        case DT_RELASZ:
          found.relocation_bytes[0] = value;
          break;
        case DT_JMPREL:
          found.relocations[1] = reinterpret_cast<const ElfW(Rela)*>(value);
          break;
        case DT_PLTRELSZ:
          found.relocation_bytes[1] = value;
          break;
        default:
          break;
      }
    }
  }
  return found;
}

// Whether an object outside MPI calls one of those routines: each call needs a relocation with the
// routine's name.
int look_for_fortran(dl_phdr_info* info, size_t, void* data) {
  if (is_mpi_object(info->dlpi_name)) return 0;
  const Dynamic dynamic = read_dynamic(*info);
  const auto base = static_cast<uintptr_t>(info->dlpi_addr);
  if (dynamic.symbols == nullptr || dynamic.strings == nullptr) return 0;
  if (reinterpret_cast<uintptr_t>(dynamic.symbols) < base ||
      reinterpret_cast<uintptr_t>(dynamic.strings) < base)
    return 0;
  for (int kind = 0; kind < 2; ++kind) {
    const ElfW(Rela)* relocation = dynamic.relocations[kind];
    if (relocation == nullptr || reinterpret_cast<uintptr_t>(relocation) < base) continue;
    const ElfW(Rela)* end = relocation + dynamic.relocation_bytes[kind] / sizeof(ElfW(Rela));
    for (; relocation != end; ++relocation) {
      const auto symbol = ELF64_R_SYM(relocation->r_info);
      if (symbol == 0 || !completes_in_fortran(dynamic.strings + dynamic.symbols[symbol].st_name))
        continue;
      *static_cast<bool*>(data) = true;
      return 1;
    }
  }
  return 0;
}

#if defined(LACUNA_MPI_FAMILY_OMPI)
// The writable segments of the program (the first object) and of the library, which holds
// `inside_library`.
struct DataSearch {
  uintptr_t inside_library;
  bool first = true;
};

int find_data(dl_phdr_info* info, size_t, void* data) {
  auto* search = static_cast<DataSearch*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) continue;
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    const bool in_library = search->inside_library - begin < segment.p_memsz;
    if (!search->first && !in_library) continue;
    Gate::Span& span = search->first ? g_gate.program_data : g_gate.library_data;
    span.begin.store(begin, std::memory_order_relaxed);
    span.bytes.store(segment.p_memsz, std::memory_order_relaxed);
  }
  search->first = false;
  return 0;
}

// A symbol that no program names, so that no linker has moved it.
void find_predefined_data() {
  DataSearch search{reinterpret_cast<uintptr_t>(mpi_data_symbol("ompi_mpi_cxx_ldblcplex"))};
  dl_iterate_phdr(find_data, &search);
}
#endif

}  // namespace

void find_mpi_code() noexcept {
  int count = 0;
  dl_iterate_phdr(add_code, &count);
  g_range_count.store(count, std::memory_order_release);
#if defined(LACUNA_MPI_FAMILY_OMPI)
  find_predefined_data();
#endif
}

bool called_by_mpi(const void* return_address) noexcept {
  const auto address = reinterpret_cast<uintptr_t>(return_address);
  const int count = g_range_count.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    if (address - g_ranges[i].begin < g_ranges[i].end - g_ranges[i].begin) return true;
  }
  return false;
}

namespace {

// Whether the first to answer to the name in this process is lacuna.
bool is_ours(const char* name) noexcept {
  const void* first = dlsym(RTLD_DEFAULT, name);
  if (first == nullptr) return true;  // newer than this ABI's libraries: nobody calls it
  Dl_info theirs{};
  Dl_info ours{};
  return dladdr(first, &theirs) != 0 &&
         dladdr(reinterpret_cast<const void*>(&find_mpi_code), &ours) != 0 &&
         theirs.dli_fbase == ours.dli_fbase;
}

bool all_are_ours(std::initializer_list<std::string_view> prefixes) noexcept {
  for (const char* name : wrapped_names()) {
    for (const std::string_view prefix : prefixes) {
      if (std::string_view(name).substr(0, prefix.size()) == prefix && !is_ours(name)) return false;
    }
  }
  return true;
}

}  // namespace

// A tool that stands before us and wraps completion, but not what starts it, would complete
// requests by PMPI.
bool completion_may_be_hidden() noexcept {
  if (!all_are_ours({"MPI_Wait", "MPI_Test", "MPI_Request_", "MPI_Start"})) return true;
  bool fortran = false;
  dl_iterate_phdr(look_for_fortran, &fortran);
  return fortran;
}

bool receives_may_be_hidden() noexcept {
  return !all_are_ours({"MPI_Recv", "MPI_Irecv", "MPI_Mrecv", "MPI_Imrecv", "MPI_Sendrecv",
                        "MPI_Isendrecv", "MPI_Probe", "MPI_Iprobe", "MPI_Mprobe", "MPI_Improbe"});
}

}  // namespace lacuna
