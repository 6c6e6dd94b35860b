// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/build_mpi.hpp"

#include <climits>
#include <vector>

namespace lacuna::bench {
namespace {

bool narrow(const std::vector<int64_t>& wide, std::vector<int>& out) {
  for (int64_t value : wide) {
    if (value < INT_MIN || value > INT_MAX) return false;
    out.push_back(static_cast<int>(value));
  }
  return true;
}

bool fits(int64_t value) { return value >= INT_MIN && value <= INT_MAX; }

std::vector<MPI_Aint> aints(const std::vector<int64_t>& values) {
  return {values.begin(), values.end()};
}

int order_of(Order order) { return order == Order::kC ? MPI_ORDER_C : MPI_ORDER_FORTRAN; }

int distribution_of(Distribution distribution) {
  switch (distribution) {
    case Distribution::kNone:
      return MPI_DISTRIBUTE_NONE;
    case Distribution::kBlock:
      return MPI_DISTRIBUTE_BLOCK;
    case Distribution::kCyclic:
      break;
  }
  return MPI_DISTRIBUTE_CYCLIC;
}

// Calls a type's constructor on handles of its children. If MPI returns an error, there is no type.
class Constructor {
 public:
  Constructor(const Type& type, std::vector<MPI_Datatype> children)
      : type_(type), children_(std::move(children)) {}

  bool run(MPI_Datatype* made) {
    if (!fits(type_.count) || !fits(type_.blocklength) ||
        !narrow(type_.blocklengths, blocklengths_))
      return false;
    const int count = static_cast<int>(type_.displacements.empty()
                                           ? type_.count
                                           : static_cast<int64_t>(type_.displacements.size()));
    const int blocklength = static_cast<int>(type_.blocklength);
    const MPI_Datatype child = children_.empty() ? MPI_DATATYPE_NULL : children_[0];
    std::vector<int> in_extents;
    std::vector<MPI_Aint> in_bytes = aints(type_.displacements);
    switch (type_.combiner) {
      case Combiner::kDup:
        return MPI_Type_dup(child, made) == MPI_SUCCESS;
      case Combiner::kContiguous:
        return MPI_Type_contiguous(count, child, made) == MPI_SUCCESS;
      case Combiner::kVector:
        return fits(type_.stride) &&
               MPI_Type_vector(count, blocklength, static_cast<int>(type_.stride), child, made) ==
                   MPI_SUCCESS;
      case Combiner::kHvector:
        return MPI_Type_create_hvector(count, blocklength, type_.stride, child, made) ==
               MPI_SUCCESS;
      case Combiner::kIndexed:
        return narrow(type_.displacements, in_extents) &&
               MPI_Type_indexed(count, blocklengths_.data(), in_extents.data(), child, made) ==
                   MPI_SUCCESS;
      case Combiner::kHindexed:
        return MPI_Type_create_hindexed(count, blocklengths_.data(), in_bytes.data(), child,
                                        made) == MPI_SUCCESS;
      case Combiner::kIndexedBlock:
        return narrow(type_.displacements, in_extents) &&
               MPI_Type_create_indexed_block(count, blocklength, in_extents.data(), child, made) ==
                   MPI_SUCCESS;
      case Combiner::kHindexedBlock:
        return MPI_Type_create_hindexed_block(count, blocklength, in_bytes.data(), child, made) ==
               MPI_SUCCESS;
      case Combiner::kStruct:
        return MPI_Type_create_struct(count, blocklengths_.data(), in_bytes.data(),
                                      children_.data(), made) == MPI_SUCCESS;
      case Combiner::kResized:
        return MPI_Type_create_resized(child, type_.resized_lb, type_.resized_extent, made) ==
               MPI_SUCCESS;
      case Combiner::kSubarray:
        return subarray(child, made);
      case Combiner::kDarray:
        return darray(child, made);
      default:
        return false;
    }
  }

 private:
  bool subarray(MPI_Datatype child, MPI_Datatype* made) {
    std::vector<int> sizes, subsizes, starts;
    return narrow(type_.sizes, sizes) && narrow(type_.subsizes, subsizes) &&
           narrow(type_.starts, starts) &&
           MPI_Type_create_subarray(static_cast<int>(sizes.size()), sizes.data(), subsizes.data(),
                                    starts.data(), order_of(type_.order), child,
                                    made) == MPI_SUCCESS;
  }

  bool darray(MPI_Datatype child, MPI_Datatype* made) {
    std::vector<int> gsizes, dargs, psizes, distribs;
    if (!narrow(type_.sizes, gsizes) || !narrow(type_.dargs, dargs) ||
        !narrow(type_.psizes, psizes))
      return false;
    for (size_t i = 0; i < dargs.size(); ++i) {
      // In the standard ABI the constant is 19, which may also be meant as a number: such a type
      // cannot be built.
      if (dargs[i] == MPI_DISTRIBUTE_DFLT_DARG && type_.dargs[i] != kDefaultDarg) return false;
      if (type_.dargs[i] == kDefaultDarg) dargs[i] = MPI_DISTRIBUTE_DFLT_DARG;
      distribs.push_back(distribution_of(type_.distribs[i]));
    }
    return MPI_Type_create_darray(
               static_cast<int>(type_.darray_size), static_cast<int>(type_.darray_rank),
               static_cast<int>(gsizes.size()), gsizes.data(), distribs.data(), dargs.data(),
               psizes.data(), order_of(type_.order), child, made) == MPI_SUCCESS;
  }

  const Type& type_;
  std::vector<MPI_Datatype> children_;
  std::vector<int> blocklengths_;
};

}  // namespace

void free_built(MPI_Datatype datatype, const PredefinedTypes& predefined) {
  if (predefined.find(datatype) == nullptr) MPI_Type_free(&datatype);
}

std::optional<MPI_Datatype> build_mpi(const Type& type, const PredefinedTypes& predefined) {
  if (type.children.empty() || type.combiner == Combiner::kValueIndex) {
    // Types made by precision and range stand here as the predefined type of the same
    // representation.
    if (type.combiner != Combiner::kStruct) {
      const MPI_Datatype handle =
          type.basic != nullptr ? predefined.handle_of(type.basic) : MPI_DATATYPE_NULL;
      if (handle == MPI_DATATYPE_NULL) return std::nullopt;
      int size = 0;
      if (MPI_Type_size(handle, &size) != MPI_SUCCESS || size != type.basic->size_bytes)
        return std::nullopt;
      return handle;
    }
  }
  std::vector<MPI_Datatype> children;
  bool complete = true;
  for (const TypePtr& child : type.children) {
    auto built = build_mpi(*child, predefined);
    complete = built.has_value();
    if (!complete) break;
    children.push_back(*built);
  }
  MPI_Datatype made = MPI_DATATYPE_NULL;
  complete = complete && Constructor(type, children).run(&made);
  for (MPI_Datatype child : children) free_built(child, predefined);
  if (!complete) return std::nullopt;
  return made;
}

}  // namespace lacuna::bench
