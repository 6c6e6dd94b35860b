// SPDX-License-Identifier: BSD-3-Clause
//
// Draws types. Half of them are shapes of real programs with random numbers, half are random trees:
// a child is drawn first, then a constructor whose numbers fit it. A candidate that breaks an
// option (too large, too many entries, overlap) is dropped and drawn again; after some attempts its
// child is used.
#include "type/random/random.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/hash.hpp"
#include "type/random/draw.hpp"
#include "type/typemap.hpp"

namespace lacuna {
namespace {

__extension__ typedef unsigned __int128 Wide;

uint64_t rotate(uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }

using detail::Blocks;
using detail::List;

class Generator : detail::Draw {
 public:
  Generator(uint64_t seed, const RandomOptions& options) : Draw(seed, options) {}

  TypePtr draw() {
    for (int attempt = 0; attempt < 20; ++attempt) {
      TypePtr type = rng_.chance(50) ? tree(options_.max_depth) : scene();
      if (!type) continue;
      if (options_.overlap || !has_overlap(*type, 3)) return type;
      // Elements overlap each other: make the extent larger.
      const int64_t extent = type->true_extent() + rng_.magnitude(0, 64);
      type = accepted(make_resized(type->true_lb, extent, type));
      if (type && !has_overlap(*type, 3)) return type;
    }
    return make_named(*find_basic("double"));
  }

 private:
  // ---- whether a candidate may stay ----

  TypePtr accepted(const Result<TypePtr>& candidate) const {
    if (!candidate) return nullptr;
    const Type& type = **candidate;
    const int64_t most = options_.max_true_extent;
    for (const int64_t bound : {type.lb, type.ub, type.true_lb, type.true_ub}) {
      if (bound > most || bound < -most) return nullptr;
      if (!options_.negative && bound < 0) return nullptr;
    }
    if (type.true_extent() > most || type.depth > options_.max_depth) return nullptr;
    if (!typemap(type, 1, options_.max_entries).ok()) return nullptr;
    if (!options_.overlap && has_overlap(type, 1)) return nullptr;
    return *candidate;
  }

  // ---- random trees ----

  TypePtr tree(int depth) {
    if (depth <= 0 || rng_.chance(depth == options_.max_depth ? 3 : 25)) return leaf(depth);
    const TypePtr child = tree(depth - 1);
    for (int attempt = 0; attempt < 4; ++attempt) {
      if (TypePtr type = accepted(node(child, depth))) return type;
    }
    return child;
  }

  Result<TypePtr> node(const TypePtr& child, int depth) {
    const int64_t extent = std::max<int64_t>(1, std::abs(child->extent()));
    const int64_t most = room(*child);
    switch (weighted({3, 12, 14, 12, 8, 8, 7, 7, 13, 12, 9, 12})) {
      case 0:
        return make_dup(child);
      case 1:
        return make_contiguous(count(most), child);
      case 2: {
        const int64_t n = count(most);
        const int64_t length = count(std::min<int64_t>(most / std::max<int64_t>(n, 1), 64));
        return make_vector(n, length, stride(length, n, options_.max_true_extent / extent), child);
      }
      case 3: {
        const int64_t n = count(most);
        const int64_t length = count(std::min<int64_t>(most / std::max<int64_t>(n, 1), 64));
        return make_hvector(n, length, stride(length * extent, n, options_.max_true_extent), child);
      }
      case 4: {
        Blocks list = blocks(most, options_.max_true_extent / extent, false);
        return make_indexed(std::move(list.lengths), std::move(list.displacements), child);
      }
      case 5: {
        Blocks list = blocks(most, options_.max_true_extent / extent, false);
        return make_hindexed(std::move(list.lengths), in_bytes(list.displacements, *child), child);
      }
      case 6: {
        Blocks list = blocks(most, options_.max_true_extent / extent, true);
        const int64_t length = list.lengths.empty() ? count(8) : list.lengths[0];
        return make_indexed_block(length, std::move(list.displacements), child);
      }
      case 7: {
        Blocks list = blocks(most, options_.max_true_extent / extent, true);
        const int64_t length = list.lengths.empty() ? count(8) : list.lengths[0];
        return make_hindexed_block(length, in_bytes(list.displacements, *child), child);
      }
      case 8:
        return record(child, depth);
      case 9: {
        const bool face = rng_.chance(30);
        return subarray(child, static_cast<size_t>(rng_.between(1, 4)), face);
      }
      case 10:
        return darray(child);
      default:
        return resized(child);
    }
  }

  // A struct whose first entry is the child; the others come from trees of their own.
  Result<TypePtr> record(const TypePtr& child, int depth) {
    List lengths;
    List displacements;
    std::vector<TypePtr> children;
    const int64_t entries = rng_.chance(3) ? 0 : rng_.magnitude(1, 6);
    const bool natural = rng_.chance(40);  // as a C compiler would place the members
    int64_t at = rng_.chance(70) ? 0 : maybe_negative(rng_.magnitude(0, 64), 30);
    for (int64_t i = 0; i < entries; ++i) {
      TypePtr other = child;
      if (i > 0 && rng_.chance(80)) other = rng_.chance(60) ? leaf(depth - 1) : tree(depth - 1);
      children.push_back(std::move(other));
      const Type& entry = *children.back();
      lengths.push_back(rng_.chance(5) ? 0 : rng_.magnitude(1, std::min<int64_t>(8, room(entry))));
      const int64_t unit = entry.alignment_bytes;
      at += natural ? ((-at % unit) + unit) % unit : rng_.magnitude(0, 24);
      // Displacements place the origin; the data begin at true_lb.
      displacements.push_back(options_.negative ? at - entry.true_lb : at);
      at += std::max(entry.true_extent(), entry.extent()) * std::max<int64_t>(lengths.back(), 1);
    }
    if (entries > 1 && rng_.chance(10)) {
      std::swap(lengths[0], lengths.back());
      std::swap(displacements[0], displacements.back());
      std::swap(children[0], children.back());
    }
    return make_struct(std::move(lengths), std::move(displacements), std::move(children));
  }

  // Sizes of an array that fits the bounds.
  List shape(const TypePtr& child, size_t dims) {
    int64_t cells = options_.max_true_extent / std::max<int64_t>(1, std::abs(child->extent()));
    List sizes;
    for (size_t i = 0; i < dims; ++i) {
      sizes.push_back(rng_.magnitude(1, std::clamp<int64_t>(cells, 1, 64)));
      cells /= sizes.back();
    }
    return sizes;
  }

  Order order() { return rng_.chance(50) ? Order::kC : Order::kFortran; }

  // A part of an array; a face is thin in one dimension and takes most of the others.
  Result<TypePtr> subarray(const TypePtr& child, size_t dims, bool face) {
    List sizes = shape(child, dims);
    List subsizes;
    List starts;
    const auto thin = rng_.between(0, static_cast<int64_t>(dims) - 1);
    for (size_t i = 0; i < dims; ++i) {
      const int64_t size = sizes[i];
      int64_t subsize = rng_.between(1, size);
      if (face) {
        subsize = static_cast<int64_t>(i) == thin ? std::min(size, rng_.between(1, 2))
                                                  : std::max<int64_t>(1, size - 2);
      }
      subsizes.push_back(rng_.chance(15) ? size : subsize);
      starts.push_back(rng_.chance(40) ? size - subsizes[i] : rng_.between(0, size - subsizes[i]));
    }
    return make_subarray(std::move(sizes), std::move(subsizes), std::move(starts), order(), child);
  }

  Result<TypePtr> darray(const TypePtr& child) {
    const auto dims = static_cast<size_t>(rng_.between(1, 3));
    List gsizes = shape(child, dims);
    std::vector<Distribution> distributions;
    List dargs;
    List psizes;
    int64_t size = 1;
    for (size_t i = 0; i < dims; ++i) {
      const auto distribution = static_cast<Distribution>(weighted({20, 35, 45}));
      const int64_t psize = distribution == Distribution::kNone ? 1 : rng_.between(1, 4);
      const int64_t least = distribution == Distribution::kBlock ? (gsizes[i] - 1) / psize + 1 : 1;
      distributions.push_back(distribution);
      psizes.push_back(psize);
      dargs.push_back(rng_.chance(35) ? kDefaultDarg
                                      : rng_.magnitude(least, std::max(least, gsizes[i])));
      size *= psize;
    }
    const int64_t rank = rng_.between(0, size - 1);
    return make_darray(size, rank, std::move(gsizes), std::move(distributions), std::move(dargs),
                       std::move(psizes), order(), child);
  }

  Result<TypePtr> resized(const TypePtr& child) {
    const int64_t first = rng_.chance(60) ? child->lb : maybe_negative(rng_.magnitude(0, 64), 40);
    switch (weighted({25, 25, 15, 15, 8, 12})) {
      case 0:  // padded
        return make_resized(first, std::max<int64_t>(child->extent(), 0) + rng_.magnitude(0, 64),
                            child);
      case 1:  // elements interleave, as in a transpose
        return make_resized(first, child->alignment_bytes * rng_.magnitude(1, 4), child);
      case 2:  // no alignment at all
        return make_resized(
            first, std::max<int64_t>(child->extent(), 0) + 2 * rng_.magnitude(0, 16) + 1, child);
      case 3:
        return make_resized(first, child->true_extent(), child);
      case 4:
        return make_resized(first, 0, child);
      default:
        return make_resized(
            first, maybe_negative(std::max(child->true_extent(), child->extent()), 90), child);
    }
  }

  // ---- shapes of real programs ----

  TypePtr scene() {
    const TypePtr base = rng_.chance(85) ? common() : leaf(0);
    const int64_t side = square_side(room(*base));
    TypePtr type;
    switch (weighted({22, 10, 12, 16, 10, 10, 10, 10})) {
      case 0:
        type = transpose(base, side);
        break;
      case 1:  // some columns of a matrix
        type = columns(base, side);
        break;
      case 2:
        type = loops(base);
        break;
      case 3:
        type = accepted(subarray(base, static_cast<size_t>(rng_.between(2, 4)), true));
        break;
      case 4:
        type = accepted(darray(base));
        break;
      case 5:
        type = gather(base);
        break;
      case 6:
        type = fields(base);
        break;
      default:  // a subarray of small vectors
        if (TypePtr vector = accepted(make_contiguous(rng_.between(2, 9), base))) {
          type = accepted(subarray(vector, 3, true));
        }
    }
    // Sometimes inside a random constructor.
    if (type && rng_.chance(25)) {
      if (TypePtr outer = accepted(node(type, 1))) return outer;
    }
    return type;
  }

  TypePtr columns(const TypePtr& base, int64_t side) {
    const int64_t rows = rng_.magnitude(1, side);
    const int64_t width = rng_.magnitude(1, std::min<int64_t>(side, 8));
    const int64_t pitch = width + rng_.magnitude(0, side);
    return accepted(make_vector(rows, width, pitch, base));
  }

  // Columns of a matrix, one after the other: what another rank receives as rows.
  TypePtr transpose(const TypePtr& base, int64_t side) {
    const int64_t rows = rng_.magnitude(1, side);
    const int64_t columns = rng_.magnitude(1, side);
    const int64_t block = rng_.chance(80) ? 1 : rng_.between(2, 4);
    const int64_t pitch = columns * block + (rng_.chance(50) ? 0 : rng_.magnitude(0, 16));
    const int64_t width = block * base->extent();
    const TypePtr column = accepted(make_vector(rows, block, pitch, base));
    if (!column) return nullptr;
    if (rng_.chance(40)) return accepted(make_hvector(columns, 1, width, column));
    const TypePtr narrow = accepted(make_resized(0, width, column));
    if (!narrow || rng_.chance(20)) return narrow;
    return accepted(make_contiguous(columns, narrow));
  }

  // Two to four nested strides, not always the widest outermost.
  TypePtr loops(const TypePtr& base) {
    const auto depth = static_cast<size_t>(rng_.between(2, 4));
    List counts;
    List strides;
    int64_t bytes = std::max<int64_t>(1, base->extent());
    for (size_t i = 0; i < depth; ++i) {
      bytes += base->extent() * rng_.magnitude(0, 6);
      counts.push_back(rng_.magnitude(1, 9));
      strides.push_back(bytes);
      bytes *= counts.back();
    }
    if (rng_.chance(50)) {
      const auto i = static_cast<size_t>(rng_.between(1, static_cast<int64_t>(depth) - 1));
      std::swap(counts[i], counts[i - 1]);
      std::swap(strides[i], strides[i - 1]);
    }
    TypePtr type = base;
    for (size_t i = 0; i < depth && type; ++i) {
      type = accepted(make_hvector(counts[i], 1, maybe_negative(strides[i], 5), type));
    }
    return type;
  }

  // Some records of an array, or some of their members.
  TypePtr gather(const TypePtr& base) {
    const TypePtr member = common();
    const int64_t size = base->extent() + member->extent() * 3;
    const TypePtr fields =
        accepted(make_struct({1, rng_.between(1, 3)}, {0, base->extent()}, {base, member}));
    if (!fields) return nullptr;
    const TypePtr record = accepted(make_resized(0, size + rng_.magnitude(0, 32), fields));
    if (!record) return nullptr;
    Blocks list = blocks(room(*record), options_.max_true_extent / record->extent(), true);
    if (list.lengths.empty()) return record;
    return accepted(make_indexed_block(list.lengths[0], std::move(list.displacements), record));
  }

  // The same part of several arrays, as weather models send them.
  TypePtr fields(const TypePtr& base) {
    const TypePtr part = accepted(subarray(base, static_cast<size_t>(rng_.between(2, 3)), true));
    if (!part) return nullptr;
    const int64_t entries = rng_.magnitude(1, std::min<int64_t>(6, room(*part)));
    List displacements;
    for (int64_t i = 0; i < entries; ++i) {
      displacements.push_back(i * (part->extent() + rng_.magnitude(0, 64)));
    }
    const auto n = static_cast<size_t>(entries);
    return accepted(
        make_struct(List(n, 1), std::move(displacements), std::vector<TypePtr>(n, part)));
  }
};

}  // namespace

Random::Random(uint64_t seed) {
  for (uint64_t& word : state_) {
    seed += kGoldenRatio;
    uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    word = z ^ (z >> 31);
  }
}

uint64_t Random::next() {
  const uint64_t result = rotate(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = rotate(state_[3], 45);
  return result;
}

int64_t Random::between(int64_t low, int64_t high) {
  // The upper half of a product: uniform without a division, but for a bias of width / 2^64. (Width
  // 0 means all 64 bits.)
  const uint64_t width = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
  const uint64_t drawn = next();
  const uint64_t above = width == 0 ? drawn : static_cast<uint64_t>((Wide{drawn} * width) >> 64);
  return static_cast<int64_t>(static_cast<uint64_t>(low) + above);
}

int64_t Random::magnitude(int64_t low, int64_t high) {
  if (low >= high) return low;
  int64_t bits = 1;
  while (bits < 62 && (int64_t{1} << bits) <= high - low) ++bits;
  const int64_t limit = (int64_t{1} << between(1, bits)) - 1;
  return low + between(0, std::min(limit, high - low));
}

TypePtr random_type(uint64_t seed, const RandomOptions& options) {
  return Generator(seed, options).draw();
}

bool has_overlap(const Type& type, int64_t count) {
  Result<std::vector<TypemapEntry>> listed = typemap(type, count, int64_t{1} << 24);
  if (!listed) return true;
  std::vector<TypemapEntry> entries = *std::move(listed);
  const auto by_offset = [](const TypemapEntry& a, const TypemapEntry& b) {
    return a.offset_bytes < b.offset_bytes;
  };
  std::sort(entries.begin(), entries.end(), by_offset);
  return std::adjacent_find(entries.begin(), entries.end(),
                            [](const TypemapEntry& a, const TypemapEntry& b) {
                              return a.offset_bytes + a.size_bytes > b.offset_bytes;
                            }) != entries.end();
}

}  // namespace lacuna
