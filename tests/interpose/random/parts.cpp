// SPDX-License-Identifier: BSD-3-Clause
#include "tests/interpose/random/parts.hpp"

#include <cstddef>
#include <vector>

namespace test {
namespace {

template <typename First>
MPI_Datatype struct_of(MPI_Datatype first) {
  struct Pair {
    First first;
    int second;
  };
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {offsetof(Pair, first), offsetof(Pair, second)};
  const MPI_Datatype types[] = {first, MPI_INT};
  MPI_Datatype fields, type;
  MPI_Type_create_struct(2, lengths, places, types, &fields);
  MPI_Type_create_resized(fields, 0, sizeof(Pair), &type);
  MPI_Type_free(&fields);
  MPI_Type_commit(&type);
  return type;
}

}  // namespace

MPI_Datatype pairs(Pairs which) {
  switch (which) {
    case Pairs::kShortInt:
      return MPI_SHORT_INT;
    case Pairs::kFloatInt:
      return MPI_FLOAT_INT;
    case Pairs::kLongInt:
      return MPI_LONG_INT;
    case Pairs::kDoubleInt:
      return MPI_DOUBLE_INT;
    default:
      return MPI_2INT;
  }
}

MPI_Datatype struct_like(Pairs which) {
  switch (which) {
    case Pairs::kShortInt:
      return struct_of<short>(MPI_SHORT);
    case Pairs::kFloatInt:
      return struct_of<float>(MPI_FLOAT);
    case Pairs::kLongInt:
      return struct_of<long>(MPI_LONG);
    case Pairs::kDoubleInt:
      return struct_of<double>(MPI_DOUBLE);
    default:
      return struct_of<int>(MPI_INT);
  }
}

MPI_Comm make_topology(Topology which, MPI_Comm comm, Scene* scene) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  std::vector<int> sources, targets;
  switch (which) {
    case Topology::kRingAndSelf:
      sources = {left, rank};
      targets = {right, rank};
      break;
    case Topology::kTwice:
      sources = {left, left};
      targets = {right, right};
      break;
    case Topology::kStar:
      sources = {0};
      for (int i = 0; rank == 0 && i < size; ++i) targets.push_back(i);
      break;
    default:
      break;
  }
  MPI_Comm made;
  if (targets.empty() && sources.empty()) {
    const int periodic = which == Topology::kRing ? 1 : 0;
    MPI_Cart_create(comm, 1, &size, &periodic, 0, &made);
    scene->sources = scene->pairs = 2;
    return made;
  }
  scene->sources = static_cast<int>(sources.size());
  scene->pairs = static_cast<int>(targets.size());
  MPI_Dist_graph_create_adjacent(comm, scene->sources, sources.data(), MPI_UNWEIGHTED, scene->pairs,
                                 targets.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
  return made;
}

}  // namespace test
