// SPDX-License-Identifier: BSD-3-Clause
//
// Decoding, after Byna et al. 2003, section 5.1 (envelope and contents). Prefers the large-count
// functions of MPI 4.0: the int forms fail on types that were made by large-count constructors, as
// all of mpi4py's are.
#include "mpi/decode.hpp"

#include <forward_list>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "mpi/contents.hpp"

namespace lacuna {
namespace {

// Deeper trees are declined: everything that walks a type here is recursive.
constexpr int kMaxDepth = 128;
// Trees of more nodes are declined. A type that two structs share is decoded for each of them, so a
// tree of n types may have 2^n nodes.
constexpr int kMaxNodes = 1 << 15;

Error decline(std::string reason) { return Error{LACUNA_UNSUPPORTED, std::move(reason)}; }

class Decoder {
 public:
  Decoder(const MpiFunctions& mpi, const PredefinedTypes& predefined)
      : mpi_(mpi), predefined_(predefined) {}

  Result<TypePtr> decode(MPI_Datatype handle, int depth);

  // Whether a node is from MPI_Type_create_f90_*. Such a type matches only one made with the same
  // arguments, so a message may not use a named type in its place.
  bool has_f90() const { return has_f90_; }

 private:
  // A constructor of one child.
  struct Link {
    Link(const MpiFunctions& mpi, const PredefinedTypes& predefined, MPI_Datatype made)
        : handle(made), contents(mpi, predefined, made) {}
    MPI_Datatype handle;
    Contents contents;
  };

  // Follows constructors of one child, which it adds to `links` (innermost first), down to a type
  // that has none or several children. Returns that type, decoded.
  Result<TypePtr> descend(MPI_Datatype handle, int depth, std::forward_list<Link>* links);
  // Not inlined: structs in structs recurse, and the stack may be small.
  [[gnu::noinline]] static Result<TypePtr> construct(Contents& contents, TypePtr child);
  [[gnu::noinline]] Result<TypePtr> build_named(const Predefined& known, MPI_Datatype handle);
  [[gnu::noinline]] Result<TypePtr> build_struct(Contents& contents, int depth);
  [[gnu::noinline]] Result<TypePtr> build_value_index(Contents& contents, int depth);
  [[gnu::noinline]] Result<TypePtr> build_f90(Contents& contents, MPI_Datatype handle);
  Result<TypePtr> checked(Result<TypePtr> type, const Link& link);
  [[gnu::noinline]] Result<TypePtr> compare_with_library(TypePtr type, MPI_Datatype handle);

  const MpiFunctions& mpi_;
  const PredefinedTypes& predefined_;
  bool has_f90_ = false;
  int nodes_ = 0;
};

Result<TypePtr> Decoder::decode(MPI_Datatype handle, int depth) {
  std::forward_list<Link> links;
  Result<TypePtr> type = descend(handle, depth, &links);
  for (; type.ok() && !links.empty(); links.pop_front()) {
    Link& link = links.front();
    type = checked(construct(link.contents, std::move(type).value()), link);
  }
  return type;
}

Result<TypePtr> Decoder::descend(MPI_Datatype handle, int depth, std::forward_list<Link>* links) {
  for (;; ++depth) {
    if (depth > kMaxDepth) return decline("it is nested deeper than 128 constructors");
    if (const Predefined* known = predefined_.find(handle)) return build_named(*known, handle);
    if (++nodes_ > kMaxNodes) return decline("it is made of more than 32768 derived types");
    Link& link = links->emplace_front(mpi_, predefined_, handle);
    Contents& contents = link.contents;
    if (!contents.ok()) return decline("the MPI library returned an error for its contents");
    const auto leaf = [&](Result<TypePtr> type) {
      Result<TypePtr> held = checked(std::move(type), link);
      links->pop_front();
      return held;
    };
    switch (contents.combiner()) {
      case Combiner::kStruct:
        return leaf(build_struct(contents, depth));
      case Combiner::kValueIndex:
        return leaf(build_value_index(contents, depth));
      case Combiner::kF90Real:
      case Combiner::kF90Complex:
      case Combiner::kF90Integer:
        return leaf(build_f90(contents, handle));
      case Combiner::kNamed:
        return decline("it holds a predefined type that lacuna does not know");
      default:
        handle = contents.child(0);
    }
  }
}

Result<TypePtr> Decoder::checked(Result<TypePtr> type, const Link& link) {
  if (!type) return type;
  if (link.contents.failed()) return decline("its contents differ from what the MPI standard says");
  return compare_with_library(std::move(type).value(), link.handle);
}

Result<TypePtr> Decoder::build_named(const Predefined& known, MPI_Datatype handle) {
  if (known.basic == nullptr) return decline("it uses MPI_LB or MPI_UB as a data type");
  if (predefined_.is_verified(known)) return make_named(*known.basic);
  Result<TypePtr> type = compare_with_library(make_named(*known.basic), handle);
  // A type whose bounds the library gives differently is not marked: it is resized each time.
  if (type.ok() && (*type)->combiner == Combiner::kNamed) predefined_.set_verified(known);
  return type;
}

Result<TypePtr> Decoder::build_value_index(Contents& contents, int depth) {
  Result<TypePtr> value = decode(contents.child(0), depth + 1);
  if (!value) return value;
  Result<TypePtr> index = decode(contents.child(1), depth + 1);
  if (!index) return index;
  return make_value_index(std::move(value).value(), std::move(index).value());
}

Result<TypePtr> Decoder::construct(Contents& contents, TypePtr child) {
  switch (contents.combiner()) {
    case Combiner::kDup:
      return make_dup(std::move(child));
    case Combiner::kContiguous:
      return make_contiguous(contents.count(), std::move(child));
    case Combiner::kVector: {
      const int64_t count = contents.count();
      const int64_t blocklength = contents.count();
      const int64_t stride = contents.count();
      return make_vector(count, blocklength, stride, std::move(child));
    }
    case Combiner::kHvector: {
      const int64_t count = contents.count();
      const int64_t blocklength = contents.count();
      const int64_t stride = contents.address();
      return make_hvector(count, blocklength, stride, std::move(child));
    }
    case Combiner::kIndexed: {
      const int64_t count = contents.count();
      std::vector<int64_t> blocklengths = contents.counts(count);
      std::vector<int64_t> displacements = contents.counts(count);
      return make_indexed(std::move(blocklengths), std::move(displacements), std::move(child));
    }
    case Combiner::kHindexed: {
      const int64_t count = contents.count();
      std::vector<int64_t> blocklengths = contents.counts(count);
      std::vector<int64_t> displacements = contents.addresses(count);
      return make_hindexed(std::move(blocklengths), std::move(displacements), std::move(child));
    }
    case Combiner::kIndexedBlock: {
      const int64_t count = contents.count();
      const int64_t blocklength = contents.count();
      return make_indexed_block(blocklength, contents.counts(count), std::move(child));
    }
    case Combiner::kHindexedBlock: {
      const int64_t count = contents.count();
      const int64_t blocklength = contents.count();
      return make_hindexed_block(blocklength, contents.addresses(count), std::move(child));
    }
    case Combiner::kSubarray: {
      const int64_t ndims = contents.integer();
      std::vector<int64_t> sizes = contents.counts(ndims);
      std::vector<int64_t> subsizes = contents.counts(ndims);
      std::vector<int64_t> starts = contents.counts(ndims);
      const Order order = contents.order();
      return make_subarray(std::move(sizes), std::move(subsizes), std::move(starts), order,
                           std::move(child));
    }
    case Combiner::kDarray: {
      const int64_t size = contents.integer();
      const int64_t rank = contents.integer();
      const int64_t ndims = contents.integer();
      std::vector<int64_t> gsizes = contents.counts(ndims);
      std::vector<Distribution> distribs = contents.distributions(ndims);
      std::vector<int64_t> dargs = contents.dargs(ndims);
      std::vector<int64_t> psizes = contents.integers(ndims);
      const Order order = contents.order();
      return make_darray(size, rank, std::move(gsizes), std::move(distribs), std::move(dargs),
                         std::move(psizes), order, std::move(child));
    }
    case Combiner::kResized: {
      const int64_t lb = contents.address();
      const int64_t extent = contents.address();
      return make_resized(lb, extent, std::move(child));
    }
    default:
      return decline("lacuna does not know its combiner");
  }
}

// Entries with MPI-1's markers are left out: they have no data, and compare_with_library sets the
// bounds that they give the struct.
Result<TypePtr> Decoder::build_struct(Contents& contents, int depth) {
  const int64_t count = contents.count();
  const std::vector<int64_t> blocklengths = contents.counts(count);
  const std::vector<int64_t> displacements = contents.addresses(count);
  if (contents.failed() || contents.children() != count) {
    return decline("its contents differ from what the MPI standard says");
  }
  std::vector<int64_t> kept_blocklengths;
  std::vector<int64_t> kept_displacements;
  std::vector<TypePtr> children;
  kept_blocklengths.reserve(blocklengths.size());
  kept_displacements.reserve(blocklengths.size());
  children.reserve(blocklengths.size());
  std::unordered_map<uintptr_t, TypePtr>
      seen;  // all handles are held meanwhile, so equal bits mean equal types
  for (int64_t i = 0; i < count; ++i) {
    const MPI_Datatype handle = contents.child(i);
    const Predefined* known = predefined_.find(handle);
    if (known != nullptr && known->basic == nullptr) continue;
    // A predefined type is always the same one; others are decoded once.
    TypePtr child = known != nullptr || seen.empty() ? nullptr : seen[handle_bits(handle)];
    if (child == nullptr) {
      Result<TypePtr> decoded = decode(handle, depth + 1);
      if (!decoded) return decoded;
      child = std::move(decoded).value();
      if (known == nullptr) seen[handle_bits(handle)] = child;
    }
    kept_blocklengths.push_back(blocklengths[static_cast<size_t>(i)]);
    kept_displacements.push_back(displacements[static_cast<size_t>(i)]);
    children.push_back(std::move(child));
  }
  return make_struct(std::move(kept_blocklengths), std::move(kept_displacements),
                     std::move(children));
}

// The library chooses the representation; its size says which it is.
Result<TypePtr> Decoder::build_f90(Contents& contents, MPI_Datatype handle) {
  has_f90_ = true;
  MPI_Count size = 0;
  if (mpi_.type_size_x(handle, &size) != MPI_SUCCESS)
    return decline("the MPI library returned an error for its size");
  const std::string bytes = std::to_string(static_cast<long long>(size));
  if (contents.combiner() == Combiner::kF90Integer) {
    const int64_t range = contents.integer();
    return make_f90_integer(range, find_basic("integer" + bytes));
  }
  const int64_t precision = contents.integer();
  const int64_t range = contents.integer();
  if (contents.combiner() == Combiner::kF90Complex) {
    return make_f90_complex(precision, range, find_basic("complex" + bytes));
  }
  return make_f90_real(precision, range, find_basic("real" + bytes));
}

// Compares a node with what the library says. Where only the bounds differ (it may pad structs by
// another rule), the node is resized to the library's. Where size or true extent differ, the
// library would move other bytes than the standard says, and lacuna declines.
Result<TypePtr> Decoder::compare_with_library(TypePtr type, MPI_Datatype handle) {
  MPI_Count size = 0, lb = 0, extent = 0, true_lb = 0, true_extent = 0;
  if (mpi_.type_size_x(handle, &size) != MPI_SUCCESS ||
      mpi_.type_get_extent_x(handle, &lb, &extent) != MPI_SUCCESS ||
      mpi_.type_get_true_extent_x(handle, &true_lb, &true_extent) != MPI_SUCCESS) {
    return decline("the MPI library returned an error for its size or extent");
  }
  if (size != type->size_bytes) {
    return decline("the MPI library gives one of its types another size than the standard");
  }
  if (size > 0 && (true_lb != type->true_lb || true_extent != type->true_extent())) {
    return decline("the MPI library gives one of its types another true extent than the standard");
  }
  if (lb == type->lb && extent == type->extent()) return type;
  return make_resized(lb, extent, std::move(type));
}

}  // namespace

Result<DecodedType> decode_type(MPI_Datatype handle, const MpiFunctions& mpi,
                                const PredefinedTypes& predefined) {
  Decoder decoder(mpi, predefined);
  Result<TypePtr> type = decoder.decode(handle, 0);
  if (!type) return type.error();
  DecodedType decoded{std::move(type).value(), predefined.null()};
  const Basic* basic = decoded.type->signature.uniform;
  if (basic != nullptr && basic->size_bytes == basic->extent_bytes && !decoder.has_f90()) {
    decoded.uniform = predefined.handle_of(basic);
  }
  return decoded;
}

}  // namespace lacuna
