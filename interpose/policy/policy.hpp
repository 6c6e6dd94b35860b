// SPDX-License-Identifier: BSD-3-Clause
//
// Policy: whether it pays to handle a call. For packing alone there is one rule; for messages a
// measured table (table.hpp). A library that packs fragment by fragment, while the receiver unpacks
// the fragment before, is not always slower; lacuna declines unless the table says that packing
// first wins.
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
// MPICH's major version; 0: unknown, or not MPICH.
int mpich_major_of(std::string_view library_version);
// For log and report: the version up to a comma or line break, with single blanks.
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
struct DataShape {
  int64_t bytes;
  double mean_run_bytes;
  Pattern pattern;
  int64_t piece_bytes = 0;  // plan/pattern.hpp
};

// A rule for messages of at most most_bytes that no rule before it covers: packing first wins if
// the mean run lies between the two limits (most_mean_run_bytes 0: never). For kPieces, the limits
// are of the pieces.
struct Rule {
  int64_t most_bytes;
  double most_mean_run_bytes;
  double least_mean_run_bytes = 0;
};
// In ascending order of most_bytes. For larger messages than the last one's, it never wins.
using Rules = std::vector<Rule>;

// The rules of each side and pattern, and of messages by the direct path (which the sender
// chooses).
struct Rulebook {
  std::array<Rules, kPatterns> send;
  std::array<Rules, kPatterns> receive;
  std::array<Rules, kPatterns> direct;

  bool holds(Operation operation, const DataShape& load) const noexcept;
};

// What holds in both; the rules of the direct path are those of `one`.
Rulebook both(const Rulebook& one, const Rulebook& other);

// Between nodes, smaller data take no less time in pieces (direct/pipeline/).
inline constexpr int64_t kLeastPipelined = int64_t{64} << 10;
// Data of a device go by the direct path from so many bytes on. It saves two copies on the host. An
// estimate: copies of fewer bytes take little beside the two kernels and the waits for them.
inline constexpr int64_t kLeastDirectOfDevice = int64_t{16} << 10;

// Whether packing first pays; `messages` is for sends, receives and the direct path.
bool pays(const Rulebook& messages, Operation operation, const DataShape& load) noexcept;
// Whether sending in pieces does. Open MPI packs one part of a message while another is on its way,
// as pieces do. So there it pays where packing a short message first does: pieces are short
// (docs/experiments/2026-11-29-pieces-on-open-mpi.md).
bool pays_in_pieces(Flavour flavour, const Rulebook& messages, const DataShape& load) noexcept;

// Whether the library moves other bytes of the type, or of one in it, than the standard says.
bool moves_wrong_bytes(Flavour flavour, const Type& type) noexcept;
// Whether it contains a basic type with padding, as x87's long double has.
bool has_long_double(const Type& type) noexcept;
// Whether the library sends the padding in some messages and not in others.
bool drops_padding(Flavour flavour, const Type& type) noexcept;

// Whether a library fails to receive so many bytes into a struct where they were sent packed: then
// a send with more than one basic type must be left as it is, since the other side may be the
// library's.
bool breaks_structs(Flavour flavour, int major, int64_t bytes) noexcept;
// The same of messages of a rank to itself.
bool breaks_own_structs(Flavour flavour, int major, int64_t bytes) noexcept;

// Whether a buffered send uses as many bytes of the attached buffer as its data have (and a
// constant), whatever their type. Then packed data need no more than the program has reserved by
// MPI_Pack_size and MPI_BSEND_OVERHEAD.
bool buffers_bytes(Flavour flavour) noexcept;
// Whether the data of a persistent buffered send are in the attached buffer once it is complete, so
// that they may be overwritten.
bool keeps_buffered(Flavour flavour) noexcept;
// Whether an error of MPI_Mrecv calls the error handler of the message's communicator.
bool raises_mrecv_errors_on_comm(Flavour flavour) noexcept;
// Whether an error of a message is reported only by the call that ends its request, and not by
// MPI_Request_get_status.
bool reports_errors_at_completion(Flavour flavour) noexcept;
// Whether the status of a truncated message counts all of its bytes, and not those received.
bool counts_all_of_truncated(Flavour flavour) noexcept;
// Whether the status of a request of MPI_Isendrecv is that of the receive.
bool has_isendrecv_status(Flavour flavour) noexcept;
// Whether a receive into contiguous memory that is too short is written past its end
// (guard.hpp).
bool overruns_short_receives(Flavour flavour) noexcept;
// Whether errors of calls that complete several requests are raised on no request's communicator
// (comm_of_unattached_errors(), library/communicator.hpp).
bool raises_errors_of_several_on_none(Flavour flavour) noexcept;
// Whether MPI_Comm_disconnect waits until no request is left on the communicator, complete ones
// included.
bool waits_in_disconnect(Flavour flavour) noexcept;
// Whether the library releases its lock while it calls an attribute's delete callback.
bool unlocks_for_callbacks(Flavour flavour) noexcept;
// Whether a persistent collective moves all data at each start. True only for libraries of which
// that is tested.
bool repeats_collectives(Flavour flavour, int mpich_major) noexcept;

// Whether the library's requests for files work with contiguous memory as they do with gaps.
bool keeps_file_requests(Flavour flavour) noexcept;
// Whether the request of MPI_Rget and MPI_Rget_accumulate is complete when the data are there, and
// not before.
bool completes_gets(Flavour flavour, int major) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_POLICY_POLICY_HPP_
