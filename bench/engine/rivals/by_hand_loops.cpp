// SPDX-License-Identifier: BSD-3-Clause
//
// Packing and unpacking loops as a good application programmer writes them: nested loops over typed
// elements, restrict pointers, small blocks of known length (the 3 coordinates of a particle, the 5
// unknowns of a grid point) unrolled by the compiler, structs copied field by field. No blocking,
// no intrinsics, no non-temporal stores. Compiled with -O3 once for each target
// (bench/CMakeLists.txt defines LACUNA_BY_HAND_TARGET and _NAME).
#include "bench/engine/rivals/by_hand_loops.hpp"

#include <string.h>

namespace lacuna::bench {
namespace {

// An application's types; may_alias makes it legal to read any memory as these.
typedef unsigned char U1;
typedef uint16_t __attribute__((may_alias)) U2;
typedef uint32_t __attribute__((may_alias)) U4;
typedef uint64_t __attribute__((may_alias)) U8;
struct __attribute__((may_alias)) U16 {
  double re, im;
};

// The direction is a parameter, so that pack and unpack are the same loop.
template <bool kUnpack, typename T>
inline void move(T& mem, T& packed) {
  if constexpr (kUnpack) {
    mem = packed;
  } else {
    packed = mem;
  }
}

// Blocks of kBlock elements; 0: as many as the part says.
template <bool kUnpack, typename T, int kBlock>
void box(const Part& part, char* mem_bytes, char* packed_bytes) {
  T* __restrict mem = reinterpret_cast<T*>(mem_bytes);
  T* __restrict packed = reinterpret_cast<T*>(packed_bytes);
  const int64_t block = kBlock != 0 ? kBlock : part.block;
  const int64_t n0 = part.count[0], n1 = part.count[1], n2 = part.count[2], n3 = part.count[3];
  const int64_t s0 = part.stride[0], s1 = part.stride[1], s2 = part.stride[2], s3 = part.stride[3];
  int64_t k = 0;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    for (int64_t i1 = 0; i1 < n1; ++i1) {
      for (int64_t i2 = 0; i2 < n2; ++i2) {
        T* __restrict from = mem + i0 * s0 + i1 * s1 + i2 * s2;
        for (int64_t i3 = 0; i3 < n3; ++i3) {
          for (int64_t b = 0; b < block; ++b) move<kUnpack>(from[i3 * s3 + b], packed[k + b]);
          k += block;
        }
      }
    }
  }
}

template <bool kUnpack, typename T, int kBlock>
void gather(const Part& part, char* mem_bytes, char* packed_bytes) {
  T* __restrict mem = reinterpret_cast<T*>(mem_bytes);
  T* __restrict packed = reinterpret_cast<T*>(packed_bytes);
  const int* __restrict index = part.index;
  const int64_t block = kBlock != 0 ? kBlock : part.block;
  const int64_t entries = part.entries;
  for (int64_t i = 0; i < entries; ++i) {
    for (int64_t b = 0; b < block; ++b) move<kUnpack>(mem[index[i] + b], packed[i * block + b]);
  }
}

template <bool kUnpack, typename T>
void ragged(const Part& part, char* mem_bytes, char* packed_bytes) {
  T* __restrict mem = reinterpret_cast<T*>(mem_bytes);
  T* __restrict packed = reinterpret_cast<T*>(packed_bytes);
  int64_t k = 0;
  for (int64_t i = 0; i < part.entries; ++i) {
    for (int64_t b = 0; b < part.lengths[i]; ++b)
      move<kUnpack>(mem[part.index[i] + b], packed[k++]);
  }
}

struct Field {
  int offset;
  int bytes;
};

template <bool kUnpack, int kBytes>
inline void copy_field(char* mem, char* packed) {
  if constexpr (kUnpack) {
    memcpy(mem, packed, kBytes);
  } else {
    memcpy(packed, mem, kBytes);
  }
}

// The structs of the corpus: what `buffer.write(s.id); buffer.write(s.x)` becomes.
template <bool kUnpack, Field... kField>
void structs(const Part& part, char* mem_bytes, char* packed_bytes) {
  char* __restrict mem = mem_bytes;
  char* __restrict packed = packed_bytes;
  const int64_t entries = part.entries;
  const int64_t extent = part.extent;
  for (int64_t i = 0; i < entries; ++i) {
    ((copy_field<kUnpack, kField.bytes>(mem + kField.offset, packed), packed += kField.bytes), ...);
    mem += extent;
  }
}

template <bool kUnpack, Field... kField>
void listed_structs(const Part& part, char* mem_bytes, char* packed_bytes) {
  char* __restrict packed = packed_bytes;
  const int* __restrict index = part.index;
  const int64_t entries = part.entries;
  const int64_t extent = part.extent;
  for (int64_t i = 0; i < entries; ++i) {
    char* __restrict mem = mem_bytes + index[i] * extent;
    ((copy_field<kUnpack, kField.bytes>(mem + kField.offset, packed), packed += kField.bytes), ...);
  }
}

template <Field... kField>
bool has_fields(const Part& part) {
  constexpr Field kAll[] = {kField...};
  if (part.fields != static_cast<int>(sizeof...(kField))) return false;
  for (int i = 0; i < part.fields; ++i) {
    if (part.field_offset[i] != kAll[i].offset || part.table_bytes[i] != kAll[i].bytes)
      return false;
  }
  return true;
}

template <bool kUnpack, Field... kField>
void find_structs(const Part& part, PartFn* found) {
  if (!has_fields<kField...>(part)) return;
  *found = part.index != nullptr ? listed_structs<kUnpack, kField...> : structs<kUnpack, kField...>;
}

template <bool kUnpack>
PartFn find_structs(const Part& part) {
  PartFn found = nullptr;
  find_structs<kUnpack, Field{0, 4}, Field{8, 24}, Field{32, 4}>(part, &found);
  find_structs<kUnpack, Field{0, 24}, Field{24, 24}, Field{48, 4}>(part, &found);
  find_structs<kUnpack, Field{0, 24}, Field{64, 4}>(part, &found);
  find_structs<kUnpack, Field{0, 8}, Field{8, 4}>(part, &found);
  find_structs<kUnpack, Field{0, 1}, Field{4, 4}>(part, &found);
  return found;
}

template <bool kUnpack, typename T>
PartFn find_typed(const Part& part) {
  if (part.kind == Part::kRagged) return ragged<kUnpack, T>;
  const bool is_box = part.kind == Part::kBox;
  switch (part.block) {
    case 1:
      return is_box ? box<kUnpack, T, 1> : gather<kUnpack, T, 1>;
    case 2:
      return is_box ? box<kUnpack, T, 2> : gather<kUnpack, T, 2>;
    case 3:
      return is_box ? box<kUnpack, T, 3> : gather<kUnpack, T, 3>;
    case 4:
      return is_box ? box<kUnpack, T, 4> : gather<kUnpack, T, 4>;
    case 5:
      return is_box ? box<kUnpack, T, 5> : gather<kUnpack, T, 5>;
    case 6:
      return is_box ? box<kUnpack, T, 6> : gather<kUnpack, T, 6>;
    case 8:
      return is_box ? box<kUnpack, T, 8> : gather<kUnpack, T, 8>;
    default:
      return is_box ? box<kUnpack, T, 0> : gather<kUnpack, T, 0>;
  }
}

template <bool kUnpack>
PartFn find_way(const Part& part) {
  if (part.kind == Part::kStructs) return find_structs<kUnpack>(part);
  switch (part.unit) {
    case 1:
      return find_typed<kUnpack, U1>(part);
    case 2:
      return find_typed<kUnpack, U2>(part);
    case 4:
      return find_typed<kUnpack, U4>(part);
    case 8:
      return find_typed<kUnpack, U8>(part);
    case 16:
      return find_typed<kUnpack, U16>(part);
    default:
      return nullptr;
  }
}

PartFn find_part(const Part& part, bool is_unpack) {
  return is_unpack ? find_way<true>(part) : find_way<false>(part);
}

}  // namespace

const ByHandTarget LACUNA_BY_HAND_TARGET = {LACUNA_BY_HAND_NAME, find_part};

}  // namespace lacuna::bench
