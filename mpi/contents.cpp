// SPDX-License-Identifier: BSD-3-Clause
//
// Reads envelope and contents in both forms, and frees the children's handles.
#include "mpi/contents.hpp"

#include <limits>

// The combiners of constructors that MPI 3.0 removed; types made by Fortran programs may still have
// them. In Open MPI's header the standard's names are compile-time errors.
#if defined(LACUNA_MPI_FAMILY_OMPI)
#define LACUNA_COMBINER_HVECTOR_INTEGER OMPI_WAS_MPI_COMBINER_HVECTOR_INTEGER
#define LACUNA_COMBINER_HINDEXED_INTEGER OMPI_WAS_MPI_COMBINER_HINDEXED_INTEGER
#define LACUNA_COMBINER_STRUCT_INTEGER OMPI_WAS_MPI_COMBINER_STRUCT_INTEGER
#elif defined(LACUNA_MPI_FAMILY_MPICH)
#define LACUNA_COMBINER_HVECTOR_INTEGER MPI_COMBINER_HVECTOR_INTEGER
#define LACUNA_COMBINER_HINDEXED_INTEGER MPI_COMBINER_HINDEXED_INTEGER
#define LACUNA_COMBINER_STRUCT_INTEGER MPI_COMBINER_STRUCT_INTEGER
#endif

namespace lacuna {
namespace {

// From MPI's constant of a combiner to lacuna's. `integer_addresses`: byte displacements are among
// the integers.
bool translate(int mpi_combiner, Combiner* combiner, bool* integer_addresses) {
  *integer_addresses = false;
  switch (mpi_combiner) {
    case MPI_COMBINER_NAMED:
      *combiner = Combiner::kNamed;
      return true;
    case MPI_COMBINER_DUP:
      *combiner = Combiner::kDup;
      return true;
    case MPI_COMBINER_CONTIGUOUS:
      *combiner = Combiner::kContiguous;
      return true;
    case MPI_COMBINER_VECTOR:
      *combiner = Combiner::kVector;
      return true;
    case MPI_COMBINER_HVECTOR:
      *combiner = Combiner::kHvector;
      return true;
    case MPI_COMBINER_INDEXED:
      *combiner = Combiner::kIndexed;
      return true;
    case MPI_COMBINER_HINDEXED:
      *combiner = Combiner::kHindexed;
      return true;
    case MPI_COMBINER_INDEXED_BLOCK:
      *combiner = Combiner::kIndexedBlock;
      return true;
    case MPI_COMBINER_HINDEXED_BLOCK:
      *combiner = Combiner::kHindexedBlock;
      return true;
    case MPI_COMBINER_STRUCT:
      *combiner = Combiner::kStruct;
      return true;
    case MPI_COMBINER_SUBARRAY:
      *combiner = Combiner::kSubarray;
      return true;
    case MPI_COMBINER_DARRAY:
      *combiner = Combiner::kDarray;
      return true;
    case MPI_COMBINER_F90_REAL:
      *combiner = Combiner::kF90Real;
      return true;
    case MPI_COMBINER_F90_COMPLEX:
      *combiner = Combiner::kF90Complex;
      return true;
    case MPI_COMBINER_F90_INTEGER:
      *combiner = Combiner::kF90Integer;
      return true;
    case MPI_COMBINER_RESIZED:
      *combiner = Combiner::kResized;
      return true;
#if !defined(LACUNA_MPI_FAMILY_OMPI)  // Open MPI 5 has no MPI_Type_get_value_index
    case MPI_COMBINER_VALUE_INDEX:
      *combiner = Combiner::kValueIndex;
      return true;
#endif
#if defined(LACUNA_COMBINER_STRUCT_INTEGER)
    case LACUNA_COMBINER_HVECTOR_INTEGER:
      *combiner = Combiner::kHvector;
      *integer_addresses = true;
      return true;
    case LACUNA_COMBINER_HINDEXED_INTEGER:
      *combiner = Combiner::kHindexed;
      *integer_addresses = true;
      return true;
    case LACUNA_COMBINER_STRUCT_INTEGER:
      *combiner = Combiner::kStruct;
      *integer_addresses = true;
      return true;
#endif
    default:
      return false;
  }
}

}  // namespace

Contents::Contents(const MpiFunctions& mpi, const PredefinedTypes& predefined, MPI_Datatype handle)
    : mpi_(mpi), predefined_(predefined) {
  int mpi_combiner = 0;
  if (!read_envelope(handle, &mpi_combiner)) return;
  if (!translate(mpi_combiner, &combiner_, &integer_addresses_)) return;
  // MPI_Type_get_contents of a named type is an error.
  ok_ = combiner_ == Combiner::kNamed || read_contents(handle);
}

bool Contents::read_envelope(MPI_Datatype handle, int* mpi_combiner) {
  MPI_Count integers = 0, addresses = 0, counts = 0, datatypes = 0;
  if (mpi_.type_get_envelope_c != nullptr && mpi_.type_get_contents_c != nullptr) {
    if (mpi_.type_get_envelope_c(handle, &integers, &addresses, &counts, &datatypes,
                                 mpi_combiner) != MPI_SUCCESS) {
      return false;
    }
  } else {
    int few_integers = 0, few_addresses = 0, few_datatypes = 0;
    if (mpi_.type_get_envelope(handle, &few_integers, &few_addresses, &few_datatypes,
                               mpi_combiner) != MPI_SUCCESS) {
      return false;
    }
    integers = few_integers;
    addresses = few_addresses;
    datatypes = few_datatypes;
  }
  if (integers < 0 || addresses < 0 || counts < 0 || datatypes < 0) return false;
  integers_.resize(static_cast<size_t>(integers), 0);
  addresses_.resize(static_cast<size_t>(addresses), 0);
  counts_.resize(static_cast<size_t>(counts), 0);
  datatypes_.resize(static_cast<size_t>(datatypes), predefined_.null());
  return true;
}

bool Contents::read_contents(MPI_Datatype handle) {
  int code = MPI_SUCCESS;
  if (mpi_.type_get_envelope_c != nullptr && mpi_.type_get_contents_c != nullptr) {
    code = mpi_.type_get_contents_c(
        handle, static_cast<MPI_Count>(integers_.size()), static_cast<MPI_Count>(addresses_.size()),
        static_cast<MPI_Count>(counts_.size()), static_cast<MPI_Count>(datatypes_.size()),
        integers_.data(), addresses_.data(), counts_.data(), datatypes_.data());
  } else {
    code = mpi_.type_get_contents(handle, static_cast<int>(integers_.size()),
                                  static_cast<int>(addresses_.size()),
                                  static_cast<int>(datatypes_.size()), integers_.data(),
                                  addresses_.data(), datatypes_.data());
  }
  return code == MPI_SUCCESS;
}

// Handles of predefined types must not be freed: named ones, and those of MPI_Type_create_f90_* and
// MPI_Type_get_value_index.
Contents::~Contents() {
  for (MPI_Datatype& child : datatypes_) {
    if (child == predefined_.null() || predefined_.find(child) != nullptr) continue;
    int combiner = MPI_COMBINER_NAMED;
    if (mpi_.type_get_envelope_c != nullptr) {
      MPI_Count integers = 0, addresses = 0, counts = 0, datatypes = 0;
      if (mpi_.type_get_envelope_c(child, &integers, &addresses, &counts, &datatypes, &combiner) !=
          MPI_SUCCESS)
        continue;
    } else {
      int integers = 0, addresses = 0, datatypes = 0;
      if (mpi_.type_get_envelope(child, &integers, &addresses, &datatypes, &combiner) !=
          MPI_SUCCESS)
        continue;
    }
    Combiner ours = Combiner::kNamed;
    bool ignored = false;
    if (translate(combiner, &ours, &ignored) &&
        (ours == Combiner::kNamed || ours == Combiner::kF90Real || ours == Combiner::kF90Complex ||
         ours == Combiner::kF90Integer || ours == Combiner::kValueIndex)) {
      continue;
    }
    mpi_.type_free(&child);
  }
}

int64_t Contents::integer() {
  if (next_integer_ < integers_.size()) return integers_[next_integer_++];
  failed_ = true;
  return 0;
}

int64_t Contents::count() {
  if (counts_.empty()) return integer();
  if (next_count_ < counts_.size()) return counts_[next_count_++];
  failed_ = true;
  return 0;
}

int64_t Contents::address() {
  if (!counts_.empty()) return count();
  if (integer_addresses_) return integer();
  if (next_address_ < addresses_.size()) return addresses_[next_address_++];
  failed_ = true;
  return 0;
}

bool Contents::plausible(int64_t n) {
  const size_t all = integers_.size() + addresses_.size() + counts_.size();
  if (n >= 0 && static_cast<size_t>(n) <= all) return true;
  failed_ = true;
  return false;
}

std::vector<int64_t> Contents::integers(int64_t n) {
  std::vector<int64_t> list;
  if (!plausible(n)) return list;
  list.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) list.push_back(integer());
  return list;
}

std::vector<int64_t> Contents::counts(int64_t n) {
  std::vector<int64_t> list;
  if (!plausible(n)) return list;
  list.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) list.push_back(count());
  return list;
}

std::vector<int64_t> Contents::addresses(int64_t n) {
  std::vector<int64_t> list;
  if (!plausible(n)) return list;
  list.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) list.push_back(address());
  return list;
}

std::vector<Distribution> Contents::distributions(int64_t n) {
  std::vector<Distribution> list;
  for (const int64_t value : integers(n)) {
    if (value == MPI_DISTRIBUTE_BLOCK) {
      list.push_back(Distribution::kBlock);
    } else if (value == MPI_DISTRIBUTE_CYCLIC) {
      list.push_back(Distribution::kCyclic);
    } else {
      if (value != MPI_DISTRIBUTE_NONE) failed_ = true;
      list.push_back(Distribution::kNone);
    }
  }
  return list;
}

std::vector<int64_t> Contents::dargs(int64_t n) {
  std::vector<int64_t> list = integers(n);
  for (int64_t& value : list) {
    if (value == MPI_DISTRIBUTE_DFLT_DARG) value = kDefaultDarg;
  }
  return list;
}

Order Contents::order() {
  const int64_t value = integer();
  if (value == MPI_ORDER_FORTRAN) return Order::kFortran;
  if (value != MPI_ORDER_C) failed_ = true;
  return Order::kC;
}

MPI_Datatype Contents::child(int64_t i) {
  if (i >= 0 && i < children()) return datatypes_[static_cast<size_t>(i)];
  failed_ = true;
  return predefined_.null();
}

}  // namespace lacuna
