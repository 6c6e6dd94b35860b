// SPDX-License-Identifier: BSD-3-Clause
//
// Policy: whether the work of a call pays. For packing alone a rule; for messages a table that was
// measured (table.hpp). A library that packs fragment by fragment while the receiver unpacks the
// one before is not always slower; where the table does not say that packing first wins, lacuna
// declines.
#ifndef LACUNA_INTERPOSE_POLICY_POLICY_HPP_
#define LACUNA_INTERPOSE_POLICY_POLICY_HPP_

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "plan/pattern.hpp"
#include "type/type.hpp"

namespace lacuna {

enum class Flavour : uint8_t { kMpich, kIntelMpi, kMvapich, kOpenMpi, kOther };

// From the first line of MPI_Get_library_version.
Flavour flavour_of(std::string_view library_version);
// Of MPICH's version; 0: it does not say so.
int mpich_major_of(std::string_view library_version);
// For people: the first words of the version, with one blank between them.
void name_library(std::string_view library_version, std::span<char> name) noexcept;

// One-sided operations have rules of their own (rma_rules.hpp).
enum class Operation : uint8_t {
  kPack,
  kUnpack,
  kSend,
  kReceive,
  kDirect,
  kOneSided,
  kFileRead,
  kFileWrite
};

// What there is to move in a call.
struct Load {
  int64_t bytes;
  double mean_run_bytes;
  Pattern pattern;
  int64_t piece_bytes = 0;  // plan/pattern.hpp
};

// Messages up to a size, for which no rule before it holds: packing first wins where the runs are
// not longer than that (0: nowhere), and not shorter than this. Of kPieces: the pieces.
struct Rule {
  int64_t most_bytes;
  double most_mean_run_bytes;
  double least_mean_run_bytes = 0;
};
// In ascending order of the sizes. Larger messages than the last one's: nowhere.
using Rules = std::vector<Rule>;

// The rules of each side and pattern, and of messages by the direct path (which the sender
// chooses).
struct Rulebook {
  std::array<Rules, kPatterns> send;
  std::array<Rules, kPatterns> receive;
  std::array<Rules, kPatterns> direct;

  bool holds(Operation operation, const Load& load) const noexcept;
};

// Where both say yes; the direct path is that of the first.
Rulebook both(const Rulebook& one, const Rulebook& other);

// Whether packing it first pays; `messages` is for sends and receives.
bool pays(const Rulebook& messages, Operation operation, const Load& load) noexcept;

// Whether the library moves other bytes of the type, or of one in it, than the standard says.
bool misplaces(Flavour flavour, const Type& type) noexcept;
// Whether there are basic types in it with bytes that are no part of a number.
bool has_long_double(const Type& type) noexcept;
// Whether the library sends those bytes in some messages and not in others.
bool drops_padding(Flavour flavour, const Type& type) noexcept;

// Whether a library fails to receive so many bytes into a struct where they were sent packed: then
// a send with more than one basic type must be left as it is, since the other side may be the
// library's.
bool breaks_structs(Flavour flavour, int major, int64_t bytes) noexcept;
// The same of messages of a rank to itself.
bool breaks_own_structs(Flavour flavour, int major, int64_t bytes) noexcept;

// Whether a buffered send takes the bytes of its data out of the attached buffer (and a constant),
// whatever their type: then packed data need no more room than the program has reckoned with by
// MPI_Pack_size and MPI_BSEND_OVERHEAD.
bool buffers_bytes(Flavour flavour) noexcept;
// Whether the data of a persistent buffered send are in the attached buffer once it is complete, so
// that they may be overwritten.
bool keeps_buffered(Flavour flavour) noexcept;
// Whether an error of MPI_Mrecv is told the error handler of the message's communicator.
bool tells_owner(Flavour flavour) noexcept;
// Whether what is wrong with a message is told by the call that ends its request alone, and not by
// those that only ask.
bool tells_when_it_ends(Flavour flavour) noexcept;
// Whether the status of a message that is too long has all of its bytes, and not those received.
bool tells_all_of_truncated(Flavour flavour) noexcept;
// Whether the status of a request of MPI_Isendrecv is that of what was received.
bool tells_of_isendrecv(Flavour flavour) noexcept;
// Whether a receive into contiguous memory that is too short is written past its end
// (guard.hpp).
bool overruns_short_receives(Flavour flavour) noexcept;
// Whether errors of calls that complete several requests are of no communicator.
bool tells_none_of_several(Flavour flavour) noexcept;
// Whether MPI_Comm_disconnect waits until no request is left on the communicator, also of those
// that are complete.
bool waits_in_disconnect(Flavour flavour) noexcept;
// Whether the library gives up its lock while it calls back that an attribute goes.
bool unlocks_for_callbacks(Flavour flavour) noexcept;
// Whether a persistent collective does at each start what it should: known of those of which it is
// tested.
bool repeats_collectives(Flavour flavour, int mpich_major) noexcept;

// Whether requests of operations on files with contiguous memory are as sound as those with gaps.
bool keeps_file_requests(Flavour flavour) noexcept;
// Whether the request of MPI_Rget and MPI_Rget_accumulate is complete when the data are there, and
// not before.
bool completes_gets(Flavour flavour, int major) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_POLICY_POLICY_HPP_
