// SPDX-License-Identifier: BSD-3-Clause
//
// The table of options and its one reading of the environment.
#include "base/options.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <new>

#include "base/spelling.hpp"

namespace lacuna {
namespace {

constexpr Option kTable[] = {
    {OptionId::kDisable, "LACUNA_DISABLE", OptionKind::kFlag, "0",
     "All MPI calls go to the MPI library unchanged, as if lacuna were not loaded."},
    {OptionId::kDisablePack, "LACUNA_DISABLE_PACK", OptionKind::kFlag, "0",
     "As LACUNA_DISABLE, for MPI_Pack and MPI_Unpack only."},
    {OptionId::kDisableP2p, "LACUNA_DISABLE_P2P", OptionKind::kFlag, "0",
     "As LACUNA_DISABLE, for point-to-point communication only (MPI_Send, MPI_Isend, ...)."},
    {OptionId::kDisableCollectives, "LACUNA_DISABLE_COLLECTIVES", OptionKind::kFlag, "0",
     "As LACUNA_DISABLE, for collectives only (MPI_Bcast, MPI_Neighbor_alltoall, ...)."},
    {OptionId::kDisableFiles, "LACUNA_DISABLE_FILES", OptionKind::kFlag, "0",
     "As LACUNA_DISABLE, for files only (MPI_File_read, MPI_File_write_all, ...)."},
    {OptionId::kDisableRma, "LACUNA_DISABLE_RMA", OptionKind::kFlag, "0",
     "As LACUNA_DISABLE, for one-sided communication only (MPI_Put, MPI_Accumulate, ...)."},
    {OptionId::kIsa, "LACUNA_ISA", OptionKind::kText, "",
     "The instruction set that packing uses, e.g. `reference`, `ssse3`, `avx2`, `avx512`. "
     "Unset, or one that this CPU does not have: the best it has."},
    {OptionId::kCpu, "LACUNA_CPU", OptionKind::kText, "",
     "The CPU for which lacuna chooses how to pack: `generic`, `golden-cove`, `zen3`, `zen4`, "
     "`zen5` or `neoverse`. Unset, or another name: this CPU's own row, which "
     "`lacuna machine` names."},
    {OptionId::kPoolMb, "LACUNA_POOL_MB", OptionKind::kInteger, "1024",
     "The most memory, in MiB, that one rank holds for packed data. A call that would need more "
     "goes to the MPI library. Receives whose message may come through shared memory may exceed "
     "it: only lacuna can unpack them.",
     0, int64_t{1} << 24},
    {OptionId::kStreamMb, "LACUNA_STREAM_MB", OptionKind::kInteger, "16",
     "The most memory, in MiB, that a stream of the C interface (lacuna.h) keeps when its slices "
     "are taken out of order. It counts toward LACUNA_POOL_MB.",
     0, int64_t{1} << 24},
    {OptionId::kThreads, "LACUNA_THREADS", OptionKind::kInteger, "1",
     "The most threads that pack one message. Each gets 1 MiB or more of it. They are the "
     "calling thread and helpers, which sleep between messages. Use it only where ranks have "
     "several cores.",
     1, 256},
    {OptionId::kDirect, "LACUNA_DIRECT", OptionKind::kFlag, "0",
     "Messages with gaps between ranks of one node go through shared memory. All ranks of a node "
     "must have it on; they agree in MPI_Init. `lacuna run` sets it to 1 if all ranks will run "
     "lacuna, unless it is set."},
    {OptionId::kDirectWait, "LACUNA_DIRECT_WAIT", OptionKind::kInteger, "30",
     "With LACUNA_DIRECT: how many seconds the ranks of a node wait in MPI_Init for a rank that "
     "runs without lacuna. Then they report it on stderr and go on without shared memory.",
     1, 86400},
    {OptionId::kArenaMb, "LACUNA_ARENA_MB", OptionKind::kInteger, "128",
     "The most shared memory, in MiB, for the messages in transit that one rank has sent. A "
     "message that does not fit is sent without it.",
     1, int64_t{1} << 20},
    {OptionId::kReadPeers, "LACUNA_READ_PEERS", OptionKind::kFlag, "1",
     "With LACUNA_DIRECT: in blocking collectives, ranks read long runs directly from each "
     "other's memory (process_vm_readv), if the system allows it to all ranks of a node."},
    {OptionId::kDistance, "LACUNA_DISTANCE", OptionKind::kText, "",
     "With LACUNA_DIRECT: `close` or `far` says how far apart the cores of ranks are, which "
     "decides how messages are copied; `alternate` changes it from message to message. Unset: it "
     "is measured. For tests and experiments."},
    {OptionId::kPipeline, "LACUNA_PIPELINE", OptionKind::kText, "auto",
     "With LACUNA_DIRECT, messages with gaps to other nodes are sent in pieces, each of which is on "
     "its way while the next is packed. `auto`: if the launcher tells that all ranks run lacuna. "
     "1: without asking; all ranks must run lacuna with this value. 0: never. `all`: between ranks "
     "of a node, too, for tests."},
    {OptionId::kPipelineMb, "LACUNA_PIPELINE_MB", OptionKind::kInteger, "64",
     "The most memory, in MiB, that a rank lets messages in pieces take that it has not received "
     "yet: the MPI library keeps them. Of different values, all ranks use the least.",
     1, 1 << 20},
    {OptionId::kGpu, "LACUNA_GPU", OptionKind::kFlag, "1",
     "Data with gaps in a CUDA device's memory are packed and unpacked on the device, by "
     "liblacuna-cuda.so beside the preload library. 0: such calls go to the MPI library."},
    {OptionId::kGpuIpc, "LACUNA_GPU_IPC", OptionKind::kText, "auto",
     "With LACUNA_DIRECT, data that go from a CUDA device's memory to a device's memory go through "
     "device memory that both ranks have mapped, instead of shared memory of the host. It takes 64 "
     "MiB of a rank's device. `auto`: between ranks that share a device. 1: also between devices, "
     "which was not tried yet. 0: never."},
    {OptionId::kGpuStaging, "LACUNA_GPU_STAGING", OptionKind::kText, "auto",
     "Where packed data of a CUDA device lie for the MPI library. `host`: in pinned memory, which "
     "any library takes. `device`: in memory of the device; the library must take its addresses. "
     "`auto`: as `lacuna tune --gpu` has measured, if the library says that it takes them "
     "(MPIX_Query_cuda_support); else on the host."},
    {OptionId::kInside, "LACUNA_INSIDE", OptionKind::kFlag, "1",
     "lacuna also moves the fragments of messages with gaps that the MPI library sends and "
     "receives itself: nonblocking, one-sided, to other nodes. With Open MPI 4.1 and 5.0, if "
     "MPI_Init finds them as they are known."},
    {OptionId::kAlways, "LACUNA_ALWAYS", OptionKind::kFlag, "0",
     "lacuna handles every call that it can, also where this is not expected to be faster. For "
     "tests and experiments."},
    {OptionId::kLog, "LACUNA_LOG", OptionKind::kFlag, "0",
     "Prints on stderr that lacuna is on (rank 0), and a line `lacuna[rank]: ...` for each type "
     "with what lacuna did with calls on it: handled, by which kernels, or declined and why."},
    {OptionId::kPatience, "LACUNA_PATIENCE", OptionKind::kInteger, "0",
     "If a rank has waited inside lacuna for another rank for so many seconds, it reports on "
     "stderr for which rank and in which call, and again each time the wait has doubled. It goes "
     "on waiting. 0: no report. `lacuna doctor` shows the same from outside. Waits in the MPI "
     "library (MPI_Recv, MPI_Wait) are not reported.",
     0, 86400},
    {OptionId::kProfile, "LACUNA_PROFILE", OptionKind::kText, "",
     "The file with this machine's numbers, which `lacuna machine --measure` writes. Unset: the "
     "file for this CPU in the user's cache folder, if there is one. `none`: no file; lacuna uses "
     "what the system reports, and defaults."},
    {OptionId::kTable, "LACUNA_TABLE", OptionKind::kText, "",
     "The file that says which messages lacuna packs before sending; `lacuna tune` writes it. "
     "Unset: the file for this MPI library and CPU in the user's cache folder, if there is one. "
     "`none`: no file; lacuna uses the table that it was shipped with."},
    {OptionId::kReport, "LACUNA_REPORT", OptionKind::kText, "",
     "1: at the end, a table on stderr of the calls of all ranks, by function and type: which "
     "lacuna handled, why it declined others, and what to do. A file name: rank 0 writes the same "
     "to this file as JSON."},
    {OptionId::kReportWait, "LACUNA_REPORT_WAIT", OptionKind::kInteger, "120",
     "How many seconds a rank waits in MPI_Finalize for the numbers of the other ranks. After "
     "that rank 0 reports only its own.",
     0, 86400},
    {OptionId::kCosts, "LACUNA_COSTS", OptionKind::kFlag, "0",
     "With LACUNA_REPORT: also how long each call took, by the place in the program, and how "
     "much of that was copying, packing, the MPI library, the network and waiting. It includes "
     "calls on predefined types."},
    {OptionId::kVerify, "LACUNA_VERIFY", OptionKind::kFlag, "0",
     "lacuna and the MPI library both pack and unpack all data. Where they differ, lacuna says "
     "so on stderr and uses the bytes of the library."},
};

struct Value {
  bool flag = false;
  int64_t integer = 0;
  std::string text;
};

struct Values {
  Value of[std::size(kTable)];
  std::vector<std::string> complaints;
};

char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal_any_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (lower_case(a[i]) != lower_case(b[i])) return false;
  }
  return true;
}

bool read(const Option& option, std::string_view text, Value* value) {
  switch (option.kind) {
    case OptionKind::kFlag:
      return detail::read_flag(text, &value->flag);
    case OptionKind::kInteger:
      return detail::read_integer(text, option.least, option.most, &value->integer);
    case OptionKind::kText:
      value->text = text;
      return true;
  }
  return false;
}

std::string complaint(const Option& option, std::string_view text) {
  std::string sentence =
      std::string(option.name) + "=" + std::string(text) + " is not understood: it must be ";
  if (option.kind == OptionKind::kFlag) {
    sentence += "1 or 0";
  } else {
    sentence +=
        "an integer from " + std::to_string(option.least) + " to " + std::to_string(option.most);
  }
  return sentence + "; " + std::string(option.fallback) + " is used";
}

// Texts that must be one of a few words, or, with `is_flag`, a flag's.
struct Choice {
  OptionId id;
  bool is_flag;
  std::array<std::string_view, 4> words;
  std::string_view sentence;  // what it must be, and what another text is taken for
};
constexpr Choice kChoices[] = {
    {OptionId::kDistance,
     false,
     {"close", "far", "alternate", "turns"},  // "turns": the old name of "alternate"
     "close, far or alternate; it is measured"},
    {OptionId::kPipeline, true, {"auto", "all"}, "auto, 1, 0 or all; it is taken for auto"},
    {OptionId::kGpuIpc, true, {"auto"}, "auto, 1 or 0; it is taken for auto"},
    {OptionId::kGpuStaging,
     false,
     {"auto", "host", "device"},
     "auto, host or device; it is taken for auto"},
};

void complain_of_text(const Option& option, std::string_view text,
                      std::vector<std::string>* complaints) {
  for (const Choice& choice : kChoices) {
    bool flag = false;
    if (choice.id != option.id || text.empty() || std::ranges::count(choice.words, text) != 0 ||
        (choice.is_flag && detail::read_flag(text, &flag)))
      continue;
    complaints->push_back(std::string(option.name)
                              .append("=")
                              .append(text)
                              .append(" is not understood: it must be ")
                              .append(choice.sentence));
  }
}

// Only near misses: commands and tests have variables of their own, so an unknown name is no
// mistake by itself.
void complain_of_misspelt(std::vector<std::string>* complaints) {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line(*entry);
    const std::string_view name = line.substr(0, line.find('='));
    const std::string_view meant = detail::misspelt_option(name);
    if (meant.empty()) continue;
    complaints->push_back(
        std::string(name).append(" is not an option; did you mean ").append(meant).append("?"));
  }
}

// If there is no memory for a text or a complaint, the option counts as unset.
void take(const Option& option, Value* value, std::vector<std::string>* complaints) noexcept try {
  read(option, option.fallback, value);
  const char* text = std::getenv(option.name.data());  // a literal, which ends with 0
  if (text == nullptr) return;
  if (!read(option, text, value)) complaints->push_back(complaint(option, text));
  complain_of_text(option, text, complaints);
} catch (const std::bad_alloc&) {
}

// Never destroyed: MPI calls may come from other libraries' destructors. Flags and numbers need no
// memory: ranks must agree on them.
const Values& values() {
  static const Values* const all = [] {
    alignas(Values) static std::byte place[sizeof(Values)];
    auto* result = new (place) Values;
    for (size_t i = 0; i < std::size(kTable); ++i)
      take(kTable[i], &result->of[i], &result->complaints);
    try {
      complain_of_misspelt(&result->complaints);
    } catch (const std::bad_alloc&) {
    }
    return result;
  }();
  return *all;
}

const Value& value_of(OptionId id) { return values().of[static_cast<size_t>(id)]; }

}  // namespace

std::span<const Option> option_table() { return kTable; }

bool option_flag(OptionId id) { return value_of(id).flag; }

int64_t option_integer(OptionId id) { return value_of(id).integer; }

const std::string& option_text(OptionId id) { return value_of(id).text; }

const std::vector<std::string>& option_complaints() { return values().complaints; }

namespace detail {

std::string_view misspelt_option(std::string_view name) {
  if (!name.starts_with("LACUNA_")) return {};
  NearestName nearest(name, 2);
  for (const Option& option : kTable) {
    if (option.name == name) return {};
    nearest.offer(option.name);
  }
  return nearest.name();
}

bool read_flag(std::string_view text, bool* value) {
  for (const std::string_view word : {"1", "true", "yes", "on"}) {
    if (equal_any_case(text, word)) {
      *value = true;
      return true;
    }
  }
  for (const std::string_view word : {"", "0", "false", "no", "off"}) {
    if (equal_any_case(text, word)) {
      *value = false;
      return true;
    }
  }
  return false;
}

bool read_integer(std::string_view text, int64_t least, int64_t most, int64_t* value) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most)
    return false;
  *value = number;
  return true;
}

}  // namespace detail
}  // namespace lacuna
