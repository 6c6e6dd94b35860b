// SPDX-License-Identifier: BSD-3-Clause
//
// The list of predefined datatypes under MPI's names. There is no entry for a name that mpi.h does
// not have, or whose symbol the library lacks.
#include "mpi/predefined.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

// Names that not every mpi.h has.
#ifndef MPI_INTEGER16
#define MPI_INTEGER16 MPI_DATATYPE_NULL
#endif
#ifndef MPI_REAL2
#define MPI_REAL2 MPI_DATATYPE_NULL
#endif
#ifndef MPI_COMPLEX4
#define MPI_COMPLEX4 MPI_DATATYPE_NULL
#endif
#ifndef MPI_LOGICAL16
#define MPI_LOGICAL16 MPI_DATATYPE_NULL
#endif
#ifndef MPI_2COMPLEX
#define MPI_2COMPLEX MPI_DATATYPE_NULL
#endif
#ifndef MPI_2DOUBLE_COMPLEX
#define MPI_2DOUBLE_COMPLEX MPI_DATATYPE_NULL
#endif

// The markers, removed in MPI 3.0. Open MPI's library still has them, but its header makes their
// names compile-time errors.
#if defined(LACUNA_MPI_FAMILY_OMPI)
#define LACUNA_MPI_LB OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_lb)
#define LACUNA_MPI_UB OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_ub)
#elif defined(MPI_LB)
#define LACUNA_MPI_LB MPI_LB
#define LACUNA_MPI_UB MPI_UB
#else
#define LACUNA_MPI_LB MPI_DATATYPE_NULL
#define LACUNA_MPI_UB MPI_DATATYPE_NULL
#endif

namespace lacuna {
namespace {

struct Name {
  std::string_view basic;
  MPI_Datatype handle;
};

}  // namespace

PredefinedTypes::PredefinedTypes() : null_(MPI_DATATYPE_NULL) {
  const Name names[] = {
      {"char", MPI_CHAR},
      {"signed_char", MPI_SIGNED_CHAR},
      {"unsigned_char", MPI_UNSIGNED_CHAR},
      {"byte", MPI_BYTE},
      {"wchar", MPI_WCHAR},
      {"short", MPI_SHORT},
      {"unsigned_short", MPI_UNSIGNED_SHORT},
      {"int", MPI_INT},
      {"unsigned", MPI_UNSIGNED},
      {"long", MPI_LONG},
      {"unsigned_long", MPI_UNSIGNED_LONG},
      {"long_long_int", MPI_LONG_LONG_INT},
      {"unsigned_long_long", MPI_UNSIGNED_LONG_LONG},
      {"float", MPI_FLOAT},
      {"double", MPI_DOUBLE},
      {"long_double", MPI_LONG_DOUBLE},
      {"int8_t", MPI_INT8_T},
      {"int16_t", MPI_INT16_T},
      {"int32_t", MPI_INT32_T},
      {"int64_t", MPI_INT64_T},
      {"uint8_t", MPI_UINT8_T},
      {"uint16_t", MPI_UINT16_T},
      {"uint32_t", MPI_UINT32_T},
      {"uint64_t", MPI_UINT64_T},
      {"aint", MPI_AINT},
      {"count", MPI_COUNT},
      {"offset", MPI_OFFSET},
      {"c_bool", MPI_C_BOOL},
      {"c_complex", MPI_C_COMPLEX},
      {"c_double_complex", MPI_C_DOUBLE_COMPLEX},
      {"c_long_double_complex", MPI_C_LONG_DOUBLE_COMPLEX},
      {"cxx_bool", MPI_CXX_BOOL},
      {"cxx_float_complex", MPI_CXX_FLOAT_COMPLEX},
      {"cxx_double_complex", MPI_CXX_DOUBLE_COMPLEX},
      {"cxx_long_double_complex", MPI_CXX_LONG_DOUBLE_COMPLEX},
      {"packed", MPI_PACKED},
      {"integer", MPI_INTEGER},
      {"logical", MPI_LOGICAL},
      {"real", MPI_REAL},
      {"double_precision", MPI_DOUBLE_PRECISION},
      {"complex", MPI_COMPLEX},
      {"double_complex", MPI_DOUBLE_COMPLEX},
      {"character", MPI_CHARACTER},
      {"integer1", MPI_INTEGER1},
      {"integer2", MPI_INTEGER2},
      {"integer4", MPI_INTEGER4},
      {"integer8", MPI_INTEGER8},
      {"integer16", MPI_INTEGER16},
      {"real2", MPI_REAL2},
      {"real4", MPI_REAL4},
      {"real8", MPI_REAL8},
      {"real16", MPI_REAL16},
      {"complex4", MPI_COMPLEX4},
      {"complex8", MPI_COMPLEX8},
      {"complex16", MPI_COMPLEX16},
      {"complex32", MPI_COMPLEX32},
      {"logical1", MPI_LOGICAL1},
      {"logical2", MPI_LOGICAL2},
      {"logical4", MPI_LOGICAL4},
      {"logical8", MPI_LOGICAL8},
      {"logical16", MPI_LOGICAL16},
      {"float_int", MPI_FLOAT_INT},
      {"double_int", MPI_DOUBLE_INT},
      {"long_int", MPI_LONG_INT},
      {"short_int", MPI_SHORT_INT},
      {"2int", MPI_2INT},
      {"long_double_int", MPI_LONG_DOUBLE_INT},
      {"2real", MPI_2REAL},
      {"2double_precision", MPI_2DOUBLE_PRECISION},
      {"2integer", MPI_2INTEGER},
      {"2complex", MPI_2COMPLEX},
      {"2double_complex", MPI_2DOUBLE_COMPLEX},
      {"", LACUNA_MPI_LB},
      {"", LACUNA_MPI_UB},
  };
  entries_.reserve(std::size(names));
  for (const Name& name : names) {
    if (name.handle == null_ || handle_bits(name.handle) == 0) continue;
    const Basic* basic = name.basic.empty() ? nullptr : find_basic(name.basic);
    if (!name.basic.empty() && basic == nullptr) continue;
    entries_.push_back({name.handle, basic});
  }
  const auto before = [](const Predefined& a, const Predefined& b) {
    return handle_bits(a.handle) < handle_bits(b.handle);
  };
  const auto same = [](const Predefined& a, const Predefined& b) { return a.handle == b.handle; };
  std::stable_sort(entries_.begin(), entries_.end(), before);
  entries_.erase(std::unique(entries_.begin(), entries_.end(), same), entries_.end());
  // At most 255, which a slot can name; less than half of the slots.
  entries_.resize(std::min<size_t>(entries_.size(), UINT8_MAX), {null_, nullptr});
  for (size_t i = 0; i < entries_.size(); ++i) {
    size_t slot = first_slot(entries_[i].handle);
    while (slots_[slot] != 0) slot = (slot + 1) % slots_.size();
    slots_[slot] = static_cast<uint8_t>(i + 1);
  }
  verified_ = std::make_unique<std::atomic<bool>[]>(entries_.size());
  handles_.assign(all_basics().size(), null_);
  for (const Predefined& entry : entries_) {
    if (entry.basic == nullptr) continue;
    MPI_Datatype& first = handles_[static_cast<size_t>(entry.basic - all_basics().data())];
    if (first == null_) first = entry.handle;
  }
}

const Predefined* PredefinedTypes::find(MPI_Datatype handle) const {
  for (size_t slot = first_slot(handle); slots_[slot] != 0; slot = (slot + 1) % slots_.size()) {
    const Predefined& entry = entries_[slots_[slot] - 1U];
    if (entry.handle == handle) return &entry;
  }
  return nullptr;
}

MPI_Datatype PredefinedTypes::handle_of(const Basic* basic) const {
  return basic != nullptr ? handles_[static_cast<size_t>(basic - all_basics().data())] : null_;
}

}  // namespace lacuna
