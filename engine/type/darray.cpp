// SPDX-License-Identifier: BSD-3-Clause
//
// The constructors whose arguments describe an array: subarray and darray. Both are built from the
// fastest dimension to the slowest: each places copies of what the faster ones made. The result has
// markers at 0 and at the end of the whole array. Also what one process owns of a distributed
// dimension (darray_owned).
#include <string>
#include <utility>

#include "type/bounds.hpp"
#include "type/type.hpp"

namespace lacuna {
namespace {

using detail::Bounds;

constexpr std::string_view kPositive = "it must be 1 or more";

// The dimension that is `depth` steps from the fastest one.
size_t dimension(Order order, size_t dims, size_t depth) {
  return order == Order::kC ? dims - 1 - depth : depth;
}

int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

// Copies of the element after some dimensions: their number, the first and last of their
// displacements, and the extent of the array so far.
struct Grid {
  Checked copies = 1;
  Checked first = 0;
  Checked last = 0;
  Checked extent = 0;

  // Adds a dimension of `size`: `indices` copies of the grid so far, at indices `low` to `high`.
  void extend(int64_t size, int64_t indices, int64_t low, int64_t high) {
    copies = copies * indices;
    first = first + Checked(low) * extent;
    last = last + Checked(high) * extent;
    extent = extent * size;
  }
};

Result<TypePtr> finish_array(std::string_view name, const Grid& grid, Ref<Type> type) {
  Bounds bounds;
  bounds.add(*type->children[0], grid.copies, grid.first, grid.last);
  bounds.set_markers(0, grid.extent);
  return detail::finish(name, bounds, std::move(type));
}

Error no_dimensions(std::string_view name, std::string_view list) {
  return {LACUNA_INVALID_ARGUMENT, std::string(name) + ": " + std::string(list) +
                                       " is empty; an array has at least 1 dimension"};
}

// The block size that a distribution argument means.
int64_t block_size(int64_t gsize, Distribution distribution, int64_t darg, int64_t psize) {
  switch (distribution) {
    case Distribution::kNone:
      return gsize;
    case Distribution::kBlock:
      return darg == kDefaultDarg ? ceil_div(gsize, psize) : darg;
    case Distribution::kCyclic:
      return darg == kDefaultDarg ? 1 : darg;
  }
  return gsize;
}

// MPI's rules for the arguments of a darray, one dimension after the other.
Result<bool> check_darray(const Type& type) {
  const auto invalid_entry = [](std::string_view list, size_t i, int64_t value,
                                std::string_view rule) {
    return detail::invalid_entry("darray", list, i, value, rule);
  };
  if (type.darray_size < 1) return detail::invalid("darray", "size", type.darray_size, kPositive);
  if (type.darray_rank < 0 || type.darray_rank >= type.darray_size) {
    return detail::invalid(
        "darray", "rank", type.darray_rank,
        "it must be from 0 to size - 1 = " + std::to_string(type.darray_size - 1));
  }
  const size_t dims = type.sizes.size();
  for (const auto& [list, entries] :
       {std::pair("distribs", type.distribs.size()), std::pair("dargs", type.dargs.size()),
        std::pair("psizes", type.psizes.size())}) {
    if (entries != dims) return detail::unequal_lists("darray", "gsizes", dims, list, entries);
  }
  if (dims == 0) return no_dimensions("darray", "gsizes");
  Checked processes = 1;
  for (size_t i = 0; i < dims; ++i) {
    const int64_t gsize = type.sizes[i], darg = type.dargs[i], psize = type.psizes[i];
    if (gsize < 1) return invalid_entry("gsizes", i, gsize, kPositive);
    if (psize < 1) return invalid_entry("psizes", i, psize, kPositive);
    processes *= psize;
    if (type.distribs[i] == Distribution::kNone) {
      if (psize != 1) {
        return invalid_entry("psizes", i, psize, "it must be 1 where the distribution is none");
      }
      continue;  // darg has no meaning
    }
    if (darg != kDefaultDarg && darg < 1) {
      return invalid_entry("dargs", i, darg, "it must be 1 or more, or default");
    }
    if (type.distribs[i] == Distribution::kBlock && darg != kDefaultDarg) {
      const Checked capacity = Checked(darg) * psize;  // an overflow exceeds gsize, too
      if (capacity.ok() && capacity.value() < gsize) {
        return invalid_entry("dargs", i, darg,
                             "in a block distribution it must be at least gsize / psize, here " +
                                 std::to_string(ceil_div(gsize, psize)));
      }
    }
  }
  if (!processes.ok() || processes.value() != type.darray_size) {
    return detail::invalid("darray", "size", type.darray_size,
                           "it must be the product of psizes, here " +
                               (processes.ok() ? std::to_string(processes.value())
                                               : std::string("more than 64 bits hold")));
  }
  return true;
}

}  // namespace

OwnedBlocks darray_owned(int64_t gsize, Distribution distribution, int64_t darg, int64_t psize,
                         int64_t coord) {
  // No product below overflows: each is less than gsize.
  const int64_t block = block_size(gsize, distribution, darg, psize);
  const int64_t blocks = ceil_div(gsize, block);  // of all processes, distributed cyclically
  const int64_t mine = blocks / psize + (coord < blocks % psize);
  OwnedBlocks owned;
  if (mine == 0) return owned;
  owned.first = coord * block;
  owned.block = block;
  if (mine > 1) owned.period = psize * block;
  const int64_t last = owned.first + (mine - 1) * owned.period;
  const bool whole = gsize - last >= block;
  owned.full = whole ? mine : mine - 1;
  owned.tail = whole ? 0 : gsize - last;
  return owned;
}

std::vector<int64_t> darray_coords(const Type& darray) {
  std::vector<int64_t> coords(darray.psizes.size());
  int64_t rest = darray.darray_rank;
  for (size_t i = coords.size(); i-- > 0;) {
    coords[i] = rest % darray.psizes[i];
    rest /= darray.psizes[i];
  }
  return coords;
}

Result<TypePtr> make_subarray(std::vector<int64_t> sizes, std::vector<int64_t> subsizes,
                              std::vector<int64_t> starts, Order order, TypePtr oldtype) {
  constexpr std::string_view kName = "subarray";
  const size_t dims = sizes.size();
  if (subsizes.size() != dims) {
    return detail::unequal_lists(kName, "sizes", dims, "subsizes", subsizes.size());
  }
  if (starts.size() != dims) {
    return detail::unequal_lists(kName, "sizes", dims, "starts", starts.size());
  }
  if (dims == 0) return no_dimensions(kName, "sizes");
  for (size_t i = 0; i < dims; ++i) {
    if (sizes[i] < 1) return detail::invalid_entry(kName, "sizes", i, sizes[i], kPositive);
    if (subsizes[i] < 1 || subsizes[i] > sizes[i]) {
      return detail::invalid_entry(
          kName, "subsizes", i, subsizes[i],
          "it must be from 1 to sizes[" + std::to_string(i) + "] = " + std::to_string(sizes[i]));
    }
    if (starts[i] < 0 || starts[i] > sizes[i] - subsizes[i]) {
      return detail::invalid_entry(
          kName, "starts", i, starts[i],
          "it must be from 0 to sizes - subsizes = " + std::to_string(sizes[i] - subsizes[i]));
    }
  }
  auto type = detail::draft(Combiner::kSubarray, kName, std::move(oldtype));
  if (!type) return type.error();
  Grid grid;
  grid.extent = (*type)->children[0]->extent();
  for (size_t depth = 0; depth < dims; ++depth) {
    const size_t i = dimension(order, dims, depth);
    grid.extend(sizes[i], subsizes[i], starts[i], starts[i] + subsizes[i] - 1);
  }
  (*type)->sizes = std::move(sizes);
  (*type)->subsizes = std::move(subsizes);
  (*type)->starts = std::move(starts);
  (*type)->order = order;
  return finish_array(kName, grid, *std::move(type));
}

Result<TypePtr> make_darray(int64_t size, int64_t rank, std::vector<int64_t> gsizes,
                            std::vector<Distribution> distribs, std::vector<int64_t> dargs,
                            std::vector<int64_t> psizes, Order order, TypePtr oldtype) {
  auto type = detail::draft(Combiner::kDarray, "darray", std::move(oldtype));
  if (!type) return type.error();
  Type& made = **type;
  made.darray_size = size;
  made.darray_rank = rank;
  made.sizes = std::move(gsizes);
  made.distribs = std::move(distribs);
  made.dargs = std::move(dargs);
  made.psizes = std::move(psizes);
  made.order = order;
  const Result<bool> checked = check_darray(made);
  if (!checked) return checked.error();

  const std::vector<int64_t> coords = darray_coords(made);
  const size_t dims = made.sizes.size();
  Grid grid;
  grid.extent = made.children[0]->extent();
  for (size_t depth = 0; depth < dims; ++depth) {
    const size_t i = dimension(order, dims, depth);
    const OwnedBlocks owned =
        darray_owned(made.sizes[i], made.distribs[i], made.dargs[i], made.psizes[i], coords[i]);
    const int64_t last_length = owned.tail > 0 ? owned.tail : owned.block;
    const int64_t blocks = owned.full + (owned.tail > 0);
    grid.extend(made.sizes[i], owned.full * owned.block + owned.tail, owned.first,
                owned.first + (blocks - 1) * owned.period + last_length - 1);
  }
  return finish_array("darray", grid, *std::move(type));
}

}  // namespace lacuna
