// SPDX-License-Identifier: BSD-3-Clause
//
// Table: where packing first wins on one MPI library, as `lacuna tune` has measured it. A JSON file
// that each rank reads once, at MPI_Init; without one, the table that was shipped for the library
// (interpose/policy/tables/*.json, compiled in).
//
//   {"lacuna_table": 3, "mpi": "Open MPI v5.0.11", "cpu": "...", "provenance": {...},
//    "shared": {"send":    {"strided": [[2048, 32], [null, 0]], "listed": [...], "fields": [...],
//                           "transposed": [...], "pieces": [...]},
//               "receive": {...}, "direct": {...}},
//    "network": {...}, "device": {"shared": 65536, "network": null}, "evidence": ...}
//
// A rule is [most bytes of the message, most bytes of its mean run], perhaps with the least bytes
// of its mean run as a third number; null: any size. "shared" is between ranks of one node
// ("direct": which messages go by the direct path, neither packed nor as they are). "network" is
// between nodes, and may be missing. "device", which `lacuna tune --gpu` adds, says from how many
// bytes on packed data of a CUDA device are given to the library in the device's memory (null:
// never). Other members are for people. A file that is malformed, or is
// of another CPU or another version of the library, is ignored as a whole, with a sentence that
// says why.
#ifndef LACUNA_INTERPOSE_POLICY_TABLE_HPP_
#define LACUNA_INTERPOSE_POLICY_TABLE_HPP_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "interpose/policy/policy.hpp"

namespace lacuna {

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

struct Table {
  Rulebook shared;
  std::optional<Rulebook> network;
  // From so many bytes on, packed data of devices lie in their memory: between ranks of a node, and
  // of several.
  int64_t on_device_from_shared = kNever;
  int64_t on_device_from_network = kNever;
  std::string library;    // library_name() of the one that was loaded
  std::string place;      // where a file for this library and CPU would be; "": nowhere
  std::string source;     // the file, or "shipped for ..."
  std::string complaint;  // why a file was not used, and the remedy; or empty
};

// "MPICH Version: 5.0.2", "Open MPI v5.0.11": the first line of MPI_Get_library_version up to a
// comma, without needless spaces.
std::string library_name(std::string_view library_version);

// Where the table of a library on this host is kept: what LACUNA_TABLE says, else a file named
// after CPU and library in the user's cache folder. Empty if there is no such folder.
std::string table_place(std::string_view library_version);

// The table in a text, which must be of this library and CPU. The error does not name the file.
Result<Table> parse_table(std::string_view text, std::string_view library, std::string_view cpu);

// The table to use: the file at table_place(), or the shipped one. Throws bad_alloc.
Table load_table(std::string_view library_version);

// The rules for a job. On one node: those of shared memory. Else, as it is not known on which node
// the peer of a message is: what holds for both transports, or, if the network was not measured,
// the rules of shared memory.
Rulebook rules_for(const Table& table, bool on_one_node);

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_POLICY_TABLE_HPP_
