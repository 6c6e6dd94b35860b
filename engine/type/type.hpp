// SPDX-License-Identifier: BSD-3-Clause
//
// Type: a decoded datatype, a tree of MPI constructors with MPI's own fields (MPI 5.0, chapter 5).
// Comes from text/parse.cpp, from the constructors below, or from mpi/decode.cpp; goes to
// layout/lower.cpp. Nothing here depends on how bytes are moved.
//
// Terms:
//   basic     a predefined datatype as data: name, size, alignment.
//   typemap   the meaning of a type: the ordered list of (basic, displacement) (typemap.hpp).
//   marker    an explicit lower or upper bound (resized, subarray, darray).
//
// Invariants: size = sum of the basics' sizes; extent = ub - lb; true_lb <= true_ub; an empty
// typemap has true_lb = true_ub = 0. A type has both markers or none. Markers are sticky: where a
// copy of a child has them, lb and ub are the least and the greatest of the markers alone (MPI 5.0,
// 5.1.7). Without any, they are the least lb and the greatest ub of the copies, 0 where there are
// none; a struct then adds what makes its extent a multiple of its alignment, as C would.
#ifndef LACUNA_ENGINE_TYPE_TYPE_HPP_
#define LACUNA_ENGINE_TYPE_TYPE_HPP_

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/ref.hpp"
#include "base/result.hpp"

namespace lacuna {

enum class Combiner : uint8_t {
  kNamed,
  kDup,
  kContiguous,
  kVector,
  kHvector,
  kIndexed,
  kHindexed,
  kIndexedBlock,
  kHindexedBlock,
  kStruct,
  kSubarray,
  kDarray,
  kResized,
  kValueIndex,  // MPI_Type_get_value_index (4.1): a pair type such as double_int
  kF90Real,     // MPI_Type_create_f90_real(p, r)
  kF90Complex,  // MPI_Type_create_f90_complex(p, r)
  kF90Integer,  // MPI_Type_create_f90_integer(r)
};

enum class Order : uint8_t { kC = LACUNA_ORDER_C, kFortran = LACUNA_ORDER_FORTRAN };
enum class Distribution : uint8_t {
  kNone = LACUNA_DISTRIBUTE_NONE,
  kBlock = LACUNA_DISTRIBUTE_BLOCK,
  kCyclic = LACUNA_DISTRIBUTE_CYCLIC,
};
inline constexpr int64_t kDefaultDarg = LACUNA_DISTRIBUTE_DFLT_DARG;
// MPI_UNDEFINED (the same in every MPI): a precision or range of f90_real or f90_complex that is
// not given.
inline constexpr int64_t kUndefined = -32766;
// Deeper trees are declined (LACUNA_UNSUPPORTED), so that every walk of a tree may recurse.
inline constexpr int kMaxDepth = 256;
// Trees of more constructors are declined. A shared child counts as often as it appears: n structs,
// each with the one before twice, are 2^n constructors, too many for any walk.
inline constexpr int64_t kMaxParts = int64_t{1} << 22;

// One run of a basic's bytes inside it: most have one; a pair type such as double_int has two with
// a gap (8 bytes at 0, 4 bytes at 8, extent 16).
struct BasicPart {
  int64_t offset_bytes;
  int64_t size_bytes;
};

// A predefined datatype. Basics are static data, compared by address.
struct Basic {
  std::string_view name;  // MPI's name without "MPI_", lower case: "double", "c_complex", "2int"
  int64_t size_bytes;     // data bytes
  int64_t extent_bytes;
  int64_t alignment_bytes;
  BasicPart parts[2];
  int part_count;  // 1 or 2
};

// The basic of that name (case-insensitive, with or without "MPI_"; MPI's second names, such as
// long_long for long_long_int, are known too), or nullptr.
const Basic* find_basic(std::string_view name);
// All of them, in a fixed order.
std::span<const Basic> all_basics();

// The part of a signature that a type stores.
struct SignatureOutline {
  int64_t length = 0;  // basics in the sequence (a pair type counts as one)
  const Basic* uniform =
      nullptr;  // the one basic that all entries are, or nullptr (also when empty)
};

// The sequence of basics of a type, as a hash that can be concatenated and repeated in O(log count)
// without enumeration. Signatures that differ have equal hashes with a probability of about 2^-61.
struct Signature : SignatureOutline {
  uint64_t hash = 0;  // of the sequence; 0 for the empty one
};
Signature signature_of(const Basic& basic);
Signature concat(const Signature& first, const Signature& second);
Signature repeat(const Signature& once,
                 int64_t count);  // count >= 0, count * once.length fits int64

class Type;
using TypePtr = Ref<const Type>;

class Type : public RefCounted {
 public:
  Combiner combiner = Combiner::kNamed;

  // The constructor's arguments under MPI's names; those a combiner does not have are 0 or empty.
  int64_t count = 0;        // contiguous, vector, hvector, indexed*, struct
  int64_t blocklength = 0;  // vector, hvector, (h)indexed_block
  int64_t stride = 0;       // vector: in extents of the child; hvector: in bytes
  int64_t resized_lb = 0;   // resized: the lb and extent it was given
  int64_t resized_extent = 0;
  std::vector<int64_t> blocklengths;  // indexed, hindexed, struct
  std::vector<int64_t>
      displacements;  // indexed, indexed_block: in extents of the child; h*, struct: in bytes
  std::vector<int64_t> sizes;     // subarray: sizes; darray: gsizes
  std::vector<int64_t> subsizes;  // subarray
  std::vector<int64_t> starts;    // subarray
  Order order = Order::kC;        // subarray, darray
  int64_t darray_size = 0;        // darray: processes, and which one
  int64_t darray_rank = 0;
  std::vector<Distribution> distribs;  // darray
  std::vector<int64_t> dargs;          // darray
  std::vector<int64_t> psizes;         // darray
  int64_t precision = 0;               // f90_real, f90_complex
  int64_t range = 0;                   // f90_*
  const Basic* basic =
      nullptr;  // named, f90_* (its representation); value_index: the pair, where it has a name
  std::vector<TypePtr> children;  // struct: one an entry; value_index: {value, index}; others: one

  // Derived from the arguments above.
  int64_t size_bytes = 0;
  int64_t lb = 0;
  int64_t ub = 0;
  int64_t true_lb = 0;
  int64_t true_ub = 0;
  int64_t alignment_bytes = 1;
  bool lb_marker = false;
  bool ub_marker = false;
  int depth = 0;  // constructors on the longest path down to a basic; named and f90_*: 0
  // Constructors in all; those of a shared child as often as it appears; named and f90_*: 0.
  int64_t parts = 0;
  SignatureOutline signature;
  uint64_t hash = 0;       // of the structure: equal types have equal hashes
  int64_t tree_bytes = 0;  // memory of all its nodes, approximately; saturates at INT64_MAX

  int64_t extent() const { return ub - lb; }
  int64_t true_extent() const { return true_ub - true_lb; }
};

// The range of memory [low, high) that holds all data of some elements, in bytes from the origin of
// the first.
struct DataSpan {
  int64_t low = 0;
  int64_t high = 0;
  int64_t bytes() const { return high - low; }
};
// For `count` >= 1 elements; the result must fit int64.
inline DataSpan data_span(const Type& type, int64_t count) {
  const int64_t last = (count - 1) * type.extent();
  return {type.true_lb + std::min<int64_t>(0, last), type.true_ub + std::max<int64_t>(0, last)};
}

// The constructors (build.cpp). They check what MPI demands of the arguments (non-negative counts
// and blocklengths, lists of equal length, subarrays inside the array, darray's process grid) and
// that no size or bound overflows int64; the message says which argument is wrong and what it must
// be. Cost: O(list entries), with no enumeration of children.
TypePtr make_named(const Basic& basic);  // always the same one
Result<TypePtr> make_dup(TypePtr oldtype);
Result<TypePtr> make_contiguous(int64_t count, TypePtr oldtype);
Result<TypePtr> make_vector(int64_t count, int64_t blocklength, int64_t stride, TypePtr oldtype);
Result<TypePtr> make_hvector(int64_t count, int64_t blocklength, int64_t stride_bytes,
                             TypePtr oldtype);
Result<TypePtr> make_indexed(std::vector<int64_t> blocklengths, std::vector<int64_t> displacements,
                             TypePtr oldtype);
Result<TypePtr> make_hindexed(std::vector<int64_t> blocklengths,
                              std::vector<int64_t> displacements_bytes, TypePtr oldtype);
Result<TypePtr> make_indexed_block(int64_t blocklength, std::vector<int64_t> displacements,
                                   TypePtr oldtype);
Result<TypePtr> make_hindexed_block(int64_t blocklength, std::vector<int64_t> displacements_bytes,
                                    TypePtr oldtype);
Result<TypePtr> make_struct(std::vector<int64_t> blocklengths,
                            std::vector<int64_t> displacements_bytes,
                            std::vector<TypePtr> oldtypes);
Result<TypePtr> make_subarray(std::vector<int64_t> sizes, std::vector<int64_t> subsizes,
                              std::vector<int64_t> starts, Order order, TypePtr oldtype);
Result<TypePtr> make_darray(int64_t size, int64_t rank, std::vector<int64_t> gsizes,
                            std::vector<Distribution> distribs, std::vector<int64_t> dargs,
                            std::vector<int64_t> psizes, Order order, TypePtr oldtype);
Result<TypePtr> make_resized(int64_t lb, int64_t extent, TypePtr oldtype);
Result<TypePtr> make_value_index(TypePtr value, TypePtr index);
// The representation follows gfortran's kinds on LP64: p <= 6, r <= 37: 4 bytes; p <= 15, r <= 307:
// 8; else 16. Where the representation is known from elsewhere (an MPI library's answer), give it
// as `basic`. Precision or range, not both, may be kUndefined.
Result<TypePtr> make_f90_real(int64_t precision, int64_t range, const Basic* basic = nullptr);
Result<TypePtr> make_f90_complex(int64_t precision, int64_t range, const Basic* basic = nullptr);
Result<TypePtr> make_f90_integer(int64_t range, const Basic* basic = nullptr);

// One dimension of a darray (MPI 5.0, 5.1.4): the blocks of the global index range [0, gsize) that
// coordinate `coord` of `psize` processes owns. These are `full` blocks of `block` indices, the
// first at `first`, the others `period` apart; then a last block of `tail` < block indices (0:
// none), `period` after the last full one, or at `first` if there is none. All members are 0 if it
// owns nothing; `period` is 0 if it owns at most one block.
struct OwnedBlocks {
  int64_t first = 0;
  int64_t block = 0;
  int64_t period = 0;
  int64_t full = 0;
  int64_t tail = 0;
};
OwnedBlocks darray_owned(int64_t gsize, Distribution distribution, int64_t darg, int64_t psize,
                         int64_t coord);
// The coordinates of the process in the grid: rank in row-major order of psizes, whatever `order`
// says.
std::vector<int64_t> darray_coords(const Type& darray);

// Makes any of the above types from the combiner, arguments and children of `fields`; its derived
// members are not read.
Result<TypePtr> make_from_fields(const Type& fields);

// O(nodes). Not stored: most messages need the outline only.
Signature signature_of(const Type& type);

// Structural equality: same constructors with the same arguments.
bool equal(const Type& a, const Type& b);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_TYPE_TYPE_HPP_
