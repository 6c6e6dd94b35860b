// SPDX-License-Identifier: BSD-3-Clause
//
// Policy: where packing first wins against the library's own way, as data. A library that packs
// fragment by fragment while the receiver unpacks the one before is not always slower; where the
// table says that it is as good, lacuna declines.
#ifndef LACUNA_INTERPOSE_POLICY_HPP_
#define LACUNA_INTERPOSE_POLICY_HPP_

#include <cstdint>
#include <string_view>

namespace lacuna {

enum class Flavour : uint8_t { kMpich, kIntelMpi, kMvapich, kOpenMpi, kOther };

// From the first line of MPI_Get_library_version.
Flavour flavour_of(std::string_view library_version);

enum class Operation : uint8_t { kPack, kUnpack, kSend, kReceive, kDirect };

// What there is to move in a call.
struct Load {
  int64_t bytes;
  double mean_run_bytes;
  bool transposed;  // neighbours in memory are far apart in the packed stream (Plan::is_transpose)
};

// Whether packing it first pays.
bool pays(Flavour flavour, Operation operation, const Load& load) noexcept;

// Whether a buffered send takes the bytes of its data out of the attached buffer (and a constant),
// whatever their type: then packed data need no more room than the program has reckoned with by
// MPI_Pack_size and MPI_BSEND_OVERHEAD.
bool buffers_bytes(Flavour flavour) noexcept;
// Whether the data of a persistent buffered send are in the attached buffer once it is complete, so
// that they may be overwritten.
bool keeps_buffered(Flavour flavour) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_POLICY_HPP_
