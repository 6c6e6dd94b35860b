// SPDX-License-Identifier: BSD-3-Clause
//
// Digests, random types and memory of random programs.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "bench/harness/build_mpi.hpp"
#include "chaos.hpp"
#include "type/text/text.hpp"
#include "type/typemap.hpp"

namespace chaos {

uint64_t mix(uint64_t one, uint64_t other) {
  uint64_t x = one * 0x9E3779B97F4A7C15 ^ (other + 0xD1B54A32D192ED03) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 29) * 0x94D049BB133111EB;
  return x ^ x >> 32;
}

void Digest::add(uint64_t label, const void* bytes, size_t size) {
  const auto* at = static_cast<const unsigned char*>(bytes);
  uint64_t hash = mix(label, size);
  for (; size >= 8; at += 8, size -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    hash = (hash ^ word) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 29;
  }
  uint64_t rest = 0;
  if (size > 0) std::memcpy(&rest, at, size);
  sum_ += mix(hash, rest);
}

// ---- types ------------------------------------------------------------------------------------

namespace {

// With up to so many elements, interleaved ones do not overlap.
constexpr int kInterleaved = 64;
constexpr int kPool = 150;

// Without the types that libraries copy by value or place wrongly: other tests have them
// (docs/internals/defects.md).
bool is_tame(const lacuna::Type& type) {
  if (type.combiner == lacuna::Combiner::kDarray) return false;
  if (type.basic != nullptr && (type.basic->size_bytes >= 16 || type.basic->part_count > 1))
    return false;
  if (type.combiner == lacuna::Combiner::kF90Real ||
      type.combiner == lacuna::Combiner::kF90Complex ||
      type.combiner == lacuna::Combiner::kF90Integer ||
      type.combiner == lacuna::Combiner::kValueIndex)
    return false;
  return std::all_of(type.children.begin(), type.children.end(),
                     [](const lacuna::TypePtr& child) { return is_tame(*child); });
}

// MPICH places elements of negative extent wrongly.
bool goes_up(const lacuna::Type& type) {
  return type.extent() >= 0 &&
         std::all_of(type.children.begin(), type.children.end(),
                     [](const lacuna::TypePtr& child) { return goes_up(*child); });
}

// Open MPI loses bytes of basics that do not lie at a multiple of their size.
bool is_aligned(const lacuna::Type& type) {
  const auto entries = lacuna::typemap(type, 2);
  return entries && std::all_of(entries->begin(), entries->end(), [](const auto& entry) {
           return entry.offset_bytes % entry.size_bytes == 0;
         });
}

Drawn of_type(lacuna::TypePtr type) {
  const bool apart = type->extent() >= type->true_extent() && type->extent() > 0;
  return {std::move(type), apart};
}

Drawn random_one(int number) {
  static std::map<int, Drawn> known;
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = known.find(number);
  if (found != known.end()) return found->second;
  Random random(static_cast<uint64_t>(number) + 77);
  lacuna::RandomOptions options;
  options.overlap = false;
  options.max_entries = 200;
  options.max_true_extent = 1 << 13;
  for (;;) {
    options.max_depth = static_cast<int>(random.between(1, 4));
    const lacuna::TypePtr type = lacuna::random_type(random.next(), options);
    if (type->size_bytes > 0 && is_tame(*type) && goes_up(*type) && is_aligned(*type) &&
        !lacuna::has_overlap(*type, kInterleaved))
      return known[number] = of_type(type);
  }
}

const char* const kBasics[] = {"int", "double", "char", "short", "float", "int64_t"};

}  // namespace

Drawn draw_type(Random* draw) {
  const int64_t kind = draw->between(0, 9), number = draw->between(0, kPool - 1);
  const int64_t many = draw->magnitude(1, 4000), block = draw->magnitude(1, 6);
  const int64_t gap = draw->magnitude(1, 9), basic = draw->between(0, 5);
  if (kind < 4) return random_one(static_cast<int>(number));
  const std::string child = kBasics[basic];
  const auto text = [](int64_t n) { return std::to_string(n); };
  const std::string vector =
      "vector(" + text(many) + ", " + text(block) + ", " + text(block + gap) + ", " + child + ")";
  // With the trailing gap, or without it.
  const auto vector_type = lacuna::parse_type(vector);
  if (kind < 7 || !vector_type)
    return of_type(vector_type ? *vector_type : lacuna::make_named(*lacuna::find_basic("int")));
  const int64_t extent = ((*vector_type)->ub + 63) / 64 * 64;
  const auto resized = lacuna::make_resized(0, extent, *vector_type);
  return of_type(resized ? *resized : *vector_type);
}

int64_t draw_size(Random* draw) {
  const int64_t size = draw->between(0, 999);
  return size < 600 ? 1000 : size < 850 ? 6000 : size < 970 ? 70000 : size < 996 ? 500000 : 3000000;
}

std::string Drawn::text() const { return lacuna::print_type(*type).substr(0, 120); }

int Drawn::most(int64_t bytes) const {
  const int64_t by_size = std::max<int64_t>(1, bytes / std::max<int64_t>(1, type->size_bytes));
  const int64_t by_extent = std::max<int64_t>(1, 4 * bytes / std::max<int64_t>(1, type->extent()));
  return static_cast<int>(std::min({by_size, by_extent, int64_t{apart ? 400 : kInterleaved - 8}}));
}

Handle::Handle(const Drawn& drawn, bool plain) {
  static const lacuna::PredefinedTypes predefined;
  const lacuna::Basic* uniform = drawn.type->signature.uniform;
  if (plain && uniform != nullptr) {
    const auto basic = lacuna::bench::build_mpi(*lacuna::make_named(*uniform), predefined);
    if (basic) {
      MPI_Type_contiguous(static_cast<int>(drawn.type->signature.length), *basic, &type_);
      MPI_Type_commit(&type_);
      return;
    }
  }
  const auto built = lacuna::bench::build_mpi(*drawn.type, predefined);
  if (!built) {
    MPI_Type_vector(9, 1, 3, MPI_INT, &type_);
  } else if (predefined.find(*built) != nullptr) {
    MPI_Type_contiguous(1, *built, &type_);
  } else {
    type_ = *built;
  }
  MPI_Type_commit(&type_);
}

Handle::Handle(Handle&& other) noexcept : type_(other.type_) { other.type_ = MPI_DATATYPE_NULL; }
Handle& Handle::operator=(Handle&& other) noexcept {
  std::swap(type_, other.type_);
  return *this;
}
void Handle::free() {
  if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
}

// ---- memory ------------------------------------------------------------------------------------

constexpr MPI_Aint kMargin = 64;

Memory::Memory(MPI_Datatype type, int count, uint64_t seed) {
  MPI_Aint lb = 0, extent = 0, true_lb = 0, true_extent = 0;
  MPI_Type_get_extent(type, &lb, &extent);
  MPI_Type_get_true_extent(type, &true_lb, &true_extent);
  const MPI_Aint last = count > 0 ? (count - 1) * extent : 0;
  const MPI_Aint low = std::min<MPI_Aint>({0, true_lb, last + true_lb});
  const MPI_Aint high =
      std::max<MPI_Aint>({0, true_lb + true_extent, last + true_lb + true_extent});
  size_ = static_cast<size_t>(high - low + 2 * kMargin);
  offset_ = static_cast<size_t>(kMargin - low);
  // With --devices half of all memory is a device's.
  unsigned char* const on_device = mix(seed, 6) % 2 == 0 ? device_memory(size_) : nullptr;
  bytes_ = {on_device != nullptr ? on_device : new unsigned char[size_],
            Freed{.on_device = on_device != nullptr}};
  uint64_t state = mix(seed, 5);
  size_t at = 0;
  for (; at + 8 <= size_; at += 8) {
    state = state * 6364136223846793005 + 1442695040888963407;
    const uint64_t word = state ^ state >> 31;
    std::memcpy(bytes_.get() + at, &word, 8);
  }
  for (; at < size_; ++at) bytes_[at] = static_cast<unsigned char>(state >> (at % 8 * 8));
}

void Memory::digest_margins(Digest* digest, uint64_t label) const {
  digest->add(mix(label, 1), bytes_.get(), kMargin);
  digest->add(mix(label, 2), bytes_.get() + size_ - kMargin, kMargin);
}

}  // namespace chaos
