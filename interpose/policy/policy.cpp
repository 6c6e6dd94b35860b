// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/policy/policy.hpp"

#include <algorithm>
#include <charconv>

namespace lacuna {
namespace {

// For MPI_Pack and MPI_Unpack the library has no pipeline that could win. Longer runs it copies as
// fast as lacuna does.
constexpr double kMostRunToPack = 1024;

// Files: the longest runs for which lacuna was always faster
// (docs/experiments/2026-11-27-file-access-runs.md). Reading wins less, because the memory is
// packed first (files/files.hpp).
constexpr int64_t kFewToFile = int64_t{64} << 10;
constexpr double kMostRunOfFew = 48;
constexpr double kMostRunToWrite = 32;
constexpr double kMostRunToRead = 16;

bool is_mpich(Flavour flavour) noexcept {
  return flavour == Flavour::kMpich || flavour == Flavour::kMvapich;
}

// Intel MPI 2021.19 moves_wrong_bytes rows of a darray (the test pack_darrays): within a block of a
// cyclic distribution, a row begins where this process's part of the row before ends. That is right
// only if the part has the extent of a row, as it has if the innermost dimension is not
// distributed, or is cyclic.
bool has_cut_rows(const Type& type) noexcept {
  if (type.combiner != Combiner::kDarray) return false;
  const size_t dims = type.sizes.size();
  const auto at = [&](size_t step) { return type.order == Order::kC ? dims - 1 - step : step; };
  for (size_t step = 1; step < dims; ++step) {
    const size_t dim = at(step), within = at(step - 1);
    const bool has_rows =
        type.distribs[within] == Distribution::kCyclic || type.psizes[within] == 1;
    if (type.distribs[dim] == Distribution::kCyclic && type.dargs[dim] > 1 &&
        !(step == 1 && has_rows)) {
      return true;
    }
  }
  return false;
}

// MPICH 5.0.2 treats m rows of n elements as one row of m * n, even if the extent of the elements
// is negative, where the extent of a row is not n times as much (the test pack_backward_rows). True
// if `type` is such a row of several elements.
bool is_backward_row(const Type& type) noexcept {
  int64_t blocks = 1, length = type.blocklength;
  const Type* child = type.children.empty() ? nullptr : type.children.front().get();
  switch (type.combiner) {
    case Combiner::kContiguous:
      length = type.count;
      break;
    case Combiner::kVector:
    case Combiner::kHvector:
    case Combiner::kIndexedBlock:
    case Combiner::kHindexedBlock:
      blocks = type.count;
      break;
    case Combiner::kIndexed:
    case Combiner::kHindexed:
    case Combiner::kStruct:
      blocks = 0;
      for (size_t i = 0; i < type.blocklengths.size(); ++i) {
        if (type.blocklengths[i] == 0) continue;
        ++blocks;
        length = type.blocklengths[i];
        if (type.combiner == Combiner::kStruct) child = type.children[i].get();
      }
      break;
    default:
      return false;
  }
  return blocks == 1 && length > 1 && child->extent() < 0;
}

// The rule for messages of this size.
Rule rule_for(const Rules& rules, int64_t bytes) noexcept {
  for (const Rule& rule : rules) {
    if (bytes <= rule.most_bytes) return rule;
  }
  return {bytes, 0};
}

Rules both(const Rules& one, const Rules& other) {
  Rules rules;
  for (const Rules* book : {&one, &other}) {
    for (const Rule& rule : *book) {
      const Rule a = rule_for(one, rule.most_bytes);
      const Rule b = rule_for(other, rule.most_bytes);
      rules.push_back({rule.most_bytes, std::min(a.most_mean_run_bytes, b.most_mean_run_bytes),
                       std::max(a.least_mean_run_bytes, b.least_mean_run_bytes)});
    }
  }
  std::sort(rules.begin(), rules.end(),
            [](const Rule& a, const Rule& b) { return a.most_bytes < b.most_bytes; });
  return rules;
}

}  // namespace

Flavour flavour_of(std::string_view library_version) {
  const auto says = [&](std::string_view name) {
    return library_version.find(name) != std::string_view::npos;
  };
  if (says("Intel(R) MPI")) return Flavour::kIntelMpi;
  if (says("MVAPICH")) return Flavour::kMvapich;
  if (says("Open MPI")) return Flavour::kOpenMpi;
  if (says("MPICH")) return Flavour::kMpich;
  return Flavour::kOther;
}

int mpich_major_of(std::string_view library_version) {
  constexpr std::string_view kBefore = "MPICH Version:";
  const size_t at = library_version.find(kBefore);
  if (at == std::string_view::npos) return 0;
  const size_t digit = library_version.find_first_of("0123456789", at + kBefore.size());
  int major = 0;
  if (digit != std::string_view::npos)
    std::from_chars(library_version.data() + digit, library_version.data() + library_version.size(),
                    major);
  return major;
}

void name_library(std::string_view library_version, std::span<char> name) noexcept {
  const std::string_view line = library_version.substr(0, library_version.find_first_of(",\n"));
  size_t end = 0;
  for (const char c : line) {
    const bool is_blank = c == ' ' || c == '\t';
    if (is_blank && end > 0 && name[end - 1] == ' ') continue;
    if (end + 1 < name.size()) name[end++] = is_blank ? ' ' : c;
  }
}

bool Rulebook::holds(Operation operation, const DataShape& load) const noexcept {
  const auto& rules = operation == Operation::kDirect ? direct
                      : operation == Operation::kSend ? send
                                                      : receive;
  const auto fits = [&](Pattern pattern, double run) {
    const Rule rule = rule_for(rules[static_cast<size_t>(pattern)], load.bytes);
    return run <= rule.most_mean_run_bytes && run >= rule.least_mean_run_bytes;
  };
  return fits(load.pattern, load.mean_run_bytes) ||
         (load.piece_bytes > 0 && fits(Pattern::kPieces, static_cast<double>(load.piece_bytes)));
}

Rulebook both(const Rulebook& one, const Rulebook& other) {
  Rulebook book;
  book.direct = one.direct;
  for (size_t i = 0; i < kPatterns; ++i) {
    book.send[i] = both(one.send[i], other.send[i]);
    book.receive[i] = both(one.receive[i], other.receive[i]);
  }
  return book;
}

bool pays(const Rulebook& messages, Operation operation, const DataShape& load) noexcept {
  if (operation == Operation::kPack || operation == Operation::kUnpack)
    return load.piece_bytes > 0 || load.mean_run_bytes <= kMostRunToPack;
  if (operation == Operation::kOneSided) return true;
  if (operation == Operation::kFileRead || operation == Operation::kFileWrite) {
    const double most = load.bytes <= kFewToFile             ? kMostRunOfFew
                        : operation == Operation::kFileWrite ? kMostRunToWrite
                                                             : kMostRunToRead;
    return load.mean_run_bytes <= most;
  }
  return messages.holds(operation, load);
}

bool pays_in_pieces(Flavour flavour, const Rulebook& messages, const DataShape& load) noexcept {
  if (load.bytes < kLeastPipelined) return false;
  DataShape part = load;
  part.bytes = kLeastPipelined;
  return flavour != Flavour::kOpenMpi || messages.holds(Operation::kSend, part);
}

// MPICH cuts a message into pieces, and where they meet inside a basic element, receiving them into
// a struct ends in "signature does not match" (docs/internals/defects.md: at which sizes). MPICH
// before 5 and MVAPICH are taken for alike. With a margin, for headers of other versions.
constexpr int64_t kMostOfStructs = 8000;  // bytes that are never cut; as in optimizer/interface.hpp

bool breaks_structs(Flavour flavour, int major, int64_t bytes) noexcept {
  constexpr int64_t kWholeFrom = 8192;  // MPICH 5 sends so many bytes in one piece again
  return is_mpich(flavour) && bytes > kMostOfStructs && (bytes < kWholeFrom || major < 5);
}

// To oneself, MPICH 5 cuts longer ones, too.
bool breaks_own_structs(Flavour flavour, int major, int64_t bytes) noexcept {
  return flavour == Flavour::kMpich && major >= 5 && bytes > kMostOfStructs;
}

bool has_long_double(const Type& type) noexcept {
  if (type.basic != nullptr) {
    const std::string_view name = type.basic->name;
    return name.find("long_double") != name.npos || name == "complex32" ||
           (type.basic->size_bytes >= 16 && name.find("complex") == name.npos);
  }
  return std::any_of(type.children.begin(), type.children.end(),
                     [](const TypePtr& child) { return has_long_double(*child); });
}

// MPICH and Open MPI move long double by value in some ways, so that its padding is not sent, and
// as bytes in others. If only one side of a message were packed, the padding received would be that
// of neither way.
bool drops_padding(Flavour flavour, const Type& type) noexcept {
  return flavour != Flavour::kIntelMpi && has_long_double(type);
}

// lacuna would place the bytes elsewhere, so both sides of a message must be left to the library.
bool moves_wrong_bytes(Flavour flavour, const Type& type) noexcept {
  if (flavour == Flavour::kIntelMpi && has_cut_rows(type)) return true;
  if (is_mpich(flavour) && is_backward_row(type)) return true;
  return std::any_of(type.children.begin(), type.children.end(),
                     [&](const TypePtr& child) { return moves_wrong_bytes(flavour, *child); });
}

// The test modes_bsend_room checks the libraries that are known.
bool buffers_bytes(Flavour flavour) noexcept { return flavour != Flavour::kOther; }

// Open MPI 4.1 sends from the program's memory from the second start on; under 5.0 large packed
// data that were overwritten after MPI_Request_free were seen to arrive so.
bool keeps_buffered(Flavour flavour) noexcept {
  return buffers_bytes(flavour) && flavour != Flavour::kOpenMpi;
}

// If the memory has gaps, MPICH 4.0.2 and 5.0.2 do the operation within the call, else
// asynchronously. A request of the second kind is gone when MPI_Request_get_status has found it
// complete, and the next call on it crashes.
bool keeps_file_requests(Flavour flavour) noexcept {
  return flavour == Flavour::kIntelMpi || flavour == Flavour::kOpenMpi;
}

// MPICH 4.0.2: where a side has gaps, MPI_Rget gives a request that is complete at once, and the
// data come with MPI_Win_flush or MPI_Win_unlock. Others before 5 are taken for the same.
bool completes_gets(Flavour flavour, int major) noexcept {
  return !is_mpich(flavour) || major >= 5;
}

// MPICH 4.0.2 and 5.0.2 and Intel MPI 2021.19 call that of MPI_COMM_WORLD.
bool raises_mrecv_errors_on_comm(Flavour flavour) noexcept { return flavour == Flavour::kOpenMpi; }

bool reports_errors_at_completion(Flavour flavour) noexcept { return flavour == Flavour::kOpenMpi; }

// Intel MPI is based on MPICH.
static bool has_mpich_inside(Flavour flavour) noexcept {
  return is_mpich(flavour) || flavour == Flavour::kIntelMpi;
}

// MPICH 4.0.2 and 5.0.2 and Intel MPI 2021.19; in MPI_Waitany and MPI_Testany, too.
bool raises_errors_of_several_on_none(Flavour flavour) noexcept {
  return has_mpich_inside(flavour);
}

// Open MPI 4.1.4 and 5.0.11. Intel MPI 2021.19 does not. MPICH 5.0.2 does so only for long messages
// with gaps, of which it then receives nothing.
bool counts_all_of_truncated(Flavour flavour) noexcept { return flavour == Flavour::kOpenMpi; }

// Open MPI 5.0.11; MPICH 5.0.2 and Intel MPI 2021.19 give what was in memory.
bool has_isendrecv_status(Flavour flavour) noexcept { return flavour == Flavour::kOpenMpi; }

bool overruns_short_receives(Flavour flavour) noexcept { return flavour == Flavour::kOpenMpi; }

// Open MPI does a barrier there and returns.
bool waits_in_disconnect(Flavour flavour) noexcept { return flavour != Flavour::kOpenMpi; }

bool unlocks_for_callbacks(Flavour flavour) noexcept { return has_mpich_inside(flavour); }

// MPICH 4.0.2 and Intel MPI 2021.19 copy a rank's data to itself when the request is made, and not
// at its starts. MPICH 4.0.2 also releases a reference to a datatype at each start.
bool repeats_collectives(Flavour flavour, int mpich_major) noexcept {
  return flavour == Flavour::kOpenMpi || (flavour == Flavour::kMpich && mpich_major >= 5);
}

}  // namespace lacuna
