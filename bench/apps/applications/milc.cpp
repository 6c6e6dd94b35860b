// SPDX-License-Identifier: BSD-3-Clause
//
// MILC, quantum chromodynamics: the su3 vectors (three complex floats) of a 4-d lattice's face in
// direction -z, of the even sites and then of the odd ones, which the application keeps apart
// [Schneider2012, 2.1].
#include "bench/apps/applications/apps.hpp"
#include "bench/apps/applications/sites.hpp"

namespace lacuna::bench {
namespace {

struct Su3Vector {
  float c[6];
};

// shape: nx ny nz nt, sites of the lattice of one process.
struct Lattice {
  int nt;
  int face;   // sites of one parity with the same z and t: they are contiguous
  int slice;  // with the same t
};

Lattice lattice_of(const Input& input) {
  const int face = input.shape[0] * input.shape[1] / 2;
  return {input.shape[3], face, face * input.shape[2]};
}

template <class Move>
inline __attribute__((always_inline)) void sites(const Lattice& l, const Move& move) {
  size_t at = 0;
  for (int parity = 0; parity < 2; ++parity)
    for (int t = 0; t < l.nt; ++t) {
      const size_t first = size_t(parity * l.nt + t) * size_t(l.slice);
      for (int site = 0; site < l.face; ++site) move(first + size_t(site), at++);
    }
}

LACUNA_BY_HAND void pack(const Input& input, const std::byte* mem, std::byte* packed) {
  const auto* __restrict lattice = reinterpret_cast<const Su3Vector*>(mem);
  auto* __restrict buffer = reinterpret_cast<Su3Vector*>(packed);
  sites(lattice_of(input), [=](size_t from, size_t to) { buffer[to] = lattice[from]; });
}

LACUNA_BY_HAND void unpack(const Input& input, const std::byte* packed, std::byte* mem) {
  const auto* __restrict buffer = reinterpret_cast<const Su3Vector*>(packed);
  auto* __restrict lattice = reinterpret_cast<Su3Vector*>(mem);
  sites(lattice_of(input), [=](size_t to, size_t from) { lattice[to] = buffer[from]; });
}

MPI_Datatype make(const Input& input) {
  const Lattice l = lattice_of(input);
  MPI_Datatype su3_vector = MPI_DATATYPE_NULL;
  MPI_Datatype parity = MPI_DATATYPE_NULL;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(6, MPI_FLOAT, &su3_vector);
  MPI_Type_vector(l.nt, l.face, l.slice, su3_vector, &parity);
  const auto parity_bytes =
      static_cast<MPI_Aint>(size_t(l.nt) * size_t(l.slice) * sizeof(Su3Vector));
  MPI_Type_create_hvector(2, 1, parity_bytes, parity, &made);
  return outer(outer(made, parity), su3_vector);
}

}  // namespace

std::vector<App> LACUNA_APPS(milc)() {
  return {{"MILC_su3_zd", 4, 0, &kSites<make>, pack, unpack}};
}

}  // namespace lacuna::bench
