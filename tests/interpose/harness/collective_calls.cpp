// SPDX-License-Identifier: BSD-3-Clause
#include "tests/interpose/harness/collective_calls.hpp"

#include <type_traits>

namespace test {
namespace {

// Open MPI 4 has no persistent collectives, and no Open MPI large counts.
#if defined(LACUNA_MPI_FAMILY_OMPI) && OMPI_MAJOR_VERSION < 5
#define INIT(function, ...) MPI_ERR_OTHER
#else
#define INIT(function, ...) function(__VA_ARGS__, MPI_INFO_NULL, request)
#endif
// The form of the function for Count (int or MPI_Count) and the way (blocking, ...).
#define WAY(name, iname, iinit, ...)            \
  switch (s.way) {                              \
    case Way::kNonblocking:                     \
      return MPI_##iname(__VA_ARGS__, request); \
    case Way::kPersistent:                      \
      return INIT(MPI_##iinit, __VA_ARGS__);    \
    default:                                    \
      return MPI_##name(__VA_ARGS__);           \
  }
#if defined(LACUNA_MPI_FAMILY_OMPI)
#define FORM(name, iname, ...) WAY(name, iname, name##_init, __VA_ARGS__)
#else
#define FORM(name, iname, ...)                           \
  if constexpr (std::is_same_v<Count, int>) {            \
    WAY(name, iname, name##_init, __VA_ARGS__)           \
  } else {                                               \
    WAY(name##_c, iname##_c, name##_init_c, __VA_ARGS__) \
  }
#endif

// How many elements go between two ranks, in each direction, if counts vary.
int amount(const Scene& s, int one, int other) { return (one + other + s.count) % (s.count + 1); }

// Counts and displacements, in descending order and an element apart. They live as long as the
// test, as nonblocking calls need them.
template <typename Count, typename Displacement>
struct Lists {
  std::vector<Count> counts;
  std::vector<Displacement> places;  // in elements
  std::vector<Displacement> bytes;
  std::vector<MPI_Datatype> types;
};

template <typename Count, typename Displacement>
const Lists<Count, Displacement>& lists(const Scene& s, int pairs, bool zeros = false) {
  static std::vector<Lists<Count, Displacement>*> all;
  auto* made = new Lists<Count, Displacement>;
  all.push_back(made);
  MPI_Aint lb = 0, extent = 0;
  MPI_Type_get_extent(s.type, &lb, &extent);
  made->counts.reserve(1);  // Open MPI wants an address even if there are none
  made->places.reserve(1);
  made->bytes.reserve(1);
  made->types.reserve(1);
  for (int i = 0; i < pairs; ++i) {
    const int count = zeros ? 0 : amount(s, s.rank, i);
    const int place = (pairs - 1 - i) * (s.count + 1);
    made->counts.push_back(count);
    made->places.push_back(static_cast<Displacement>(place));
    made->bytes.push_back(static_cast<Displacement>(place * extent));
    made->types.push_back(count == 0 ? MPI_DOUBLE : i % 2 == 0 ? s.type : s.same);
  }
  return *made;
}

// A value for arguments that must be ignored.
void* garbage() { return reinterpret_cast<void*>(8); }

template <typename Count>
int bcast(const Scene& s, MPI_Request* request) {
  void* buf = s.is_root ? s.send : s.recv;
  const Count count = s.count;
  FORM(Bcast, Ibcast, buf, count, s.type, s.root, s.comm);
}

template <typename Count>
int gather(const Scene& s, MPI_Request* request) {
  const Count count = s.count;
  if (s.is_root) {
    FORM(Gather, Igather, s.send, count, s.type, s.recv, count, s.same, s.root, s.comm);
  }
  FORM(Gather, Igather, s.send, count, s.type, garbage(), -7, MPI_DATATYPE_NULL, s.root, s.comm);
}

template <typename Count>
int gather_in_place(const Scene& s, MPI_Request* request) {
  const Count count = s.count;
  if (s.is_root) {
    FORM(Gather, Igather, MPI_IN_PLACE, -7, MPI_DATATYPE_NULL, s.recv, count, s.type, s.root,
         s.comm);
  }
  FORM(Gather, Igather, s.send, count, s.type, nullptr, 0, MPI_DATATYPE_NULL, s.root, s.comm);
}

template <typename Count,
          typename D = std::conditional_t<std::is_same_v<Count, int>, int, MPI_Aint>>
int gatherv(const Scene& s, MPI_Request* request) {
  const auto& in = lists<Count, D>(s, s.pairs);
  const Count count = amount(s, s.rank, 0);  // the root is rank 0 where counts vary
  FORM(Gatherv, Igatherv, s.send, count, s.type, s.recv, s.is_root ? in.counts.data() : nullptr,
       s.is_root ? in.places.data() : nullptr, s.type, s.root, s.comm);
}

template <typename Count,
          typename D = std::conditional_t<std::is_same_v<Count, int>, int, MPI_Aint>>
int gatherv_in_place(const Scene& s, MPI_Request* request) {
  const auto& in = lists<Count, D>(s, s.pairs);
  const Count count = amount(s, s.rank, 0);
  FORM(Gatherv, Igatherv, s.is_root ? MPI_IN_PLACE : s.send, count, s.type, s.recv,
       in.counts.data(), in.places.data(), s.type, s.root, s.comm);
}

template <typename Count>
int scatter(const Scene& s, MPI_Request* request) {
  const Count count = s.count;
  if (s.is_root) {
    FORM(Scatter, Iscatter, s.send, count, s.type, s.recv, count, s.same, s.root, s.comm);
  }
  FORM(Scatter, Iscatter, garbage(), -7, MPI_DATATYPE_NULL, s.recv, count, s.type, s.root, s.comm);
}

template <typename Count>
int scatter_in_place(const Scene& s, MPI_Request* request) {
  const Count count = s.count;
  if (s.is_root) {
    FORM(Scatter, Iscatter, s.send, count, s.type, MPI_IN_PLACE, -7, MPI_DATATYPE_NULL, s.root,
         s.comm);
  }
  FORM(Scatter, Iscatter, nullptr, 0, MPI_DATATYPE_NULL, s.recv, count, s.type, s.root, s.comm);
}

template <typename Count,
          typename D = std::conditional_t<std::is_same_v<Count, int>, int, MPI_Aint>>
int scatterv(const Scene& s, MPI_Request* request) {
  const auto& out = lists<Count, D>(s, s.pairs);
  const Count count = amount(s, s.rank, 0);
  FORM(Scatterv, Iscatterv, s.send, s.is_root ? out.counts.data() : nullptr,
       s.is_root ? out.places.data() : nullptr, s.type, s.recv, count, s.type, s.root, s.comm);
}

template <typename Count>
int allgather(const Scene& s, MPI_Request* request) {
  const Count count = s.count;
  FORM(Allgather, Iallgather, s.send, count, s.type, s.recv, count, s.same, s.comm);
}

template <typename Count>
int allgather_in_place(const Scene& s, MPI_Request* request) {
  const Count count = s.count;
  FORM(Allgather, Iallgather, MPI_IN_PLACE, -7, MPI_DATATYPE_NULL, s.recv, count, s.type, s.comm);
}

// Each rank sends the same number of elements to all.
template <typename Count, typename D>
const Lists<Count, D>& gathered(const Scene& s) {
  auto& in = const_cast<Lists<Count, D>&>(lists<Count, D>(s, s.pairs));
  for (int i = 0; i < s.pairs; ++i) in.counts[static_cast<size_t>(i)] = amount(s, i, 0);
  return in;
}

template <typename Count,
          typename D = std::conditional_t<std::is_same_v<Count, int>, int, MPI_Aint>>
int allgatherv(const Scene& s, MPI_Request* request) {
  const auto& in = gathered<Count, D>(s);
  const Count count = amount(s, s.rank, 0);
  FORM(Allgatherv, Iallgatherv, s.send, count, s.type, s.recv, in.counts.data(), in.places.data(),
       s.type, s.comm);
}

template <typename Count,
          typename D = std::conditional_t<std::is_same_v<Count, int>, int, MPI_Aint>>
int allgatherv_in_place(const Scene& s, MPI_Request* request) {
  const auto& in = gathered<Count, D>(s);
  FORM(Allgatherv, Iallgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, s.recv, in.counts.data(),
       in.places.data(), s.type, s.comm);
}

template <typename Count>
int alltoall(const Scene& s, MPI_Request* request) {
  const Count count = s.count;
  FORM(Alltoall, Ialltoall, s.send, count, s.type, s.recv, count, s.same, s.comm);
}

template <typename Count>
int alltoall_in_place(const Scene& s, MPI_Request* request) {
  const Count count = s.count;
  FORM(Alltoall, Ialltoall, MPI_IN_PLACE, -7, MPI_DATATYPE_NULL, s.recv, count, s.type, s.comm);
}

template <typename Count,
          typename D = std::conditional_t<std::is_same_v<Count, int>, int, MPI_Aint>>
int alltoallv(const Scene& s, MPI_Request* request) {
  const auto& each = lists<Count, D>(s, s.pairs);
  FORM(Alltoallv, Ialltoallv, s.send, each.counts.data(), each.places.data(), s.type, s.recv,
       each.counts.data(), each.places.data(), s.same, s.comm);
}

template <typename Count,
          typename D = std::conditional_t<std::is_same_v<Count, int>, int, MPI_Aint>>
int alltoallv_in_place(const Scene& s, MPI_Request* request) {
  const auto& each = lists<Count, D>(s, s.pairs);
  FORM(Alltoallv, Ialltoallv, MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL, s.recv,
       each.counts.data(), each.places.data(), s.type, s.comm);
}

template <typename Count,
          typename D = std::conditional_t<std::is_same_v<Count, int>, int, MPI_Aint>>
int alltoallw(const Scene& s, MPI_Request* request) {
  const auto& each = lists<Count, D>(s, s.pairs);
  FORM(Alltoallw, Ialltoallw, s.send, each.counts.data(), each.bytes.data(), each.types.data(),
       s.recv, each.counts.data(), each.bytes.data(), each.types.data(), s.comm);
}

template <typename Count,
          typename D = std::conditional_t<std::is_same_v<Count, int>, int, MPI_Aint>>
int alltoallw_in_place(const Scene& s, MPI_Request* request) {
  const auto& each = lists<Count, D>(s, s.pairs);
  FORM(Alltoallw, Ialltoallw, MPI_IN_PLACE, nullptr, nullptr, nullptr, s.recv, each.counts.data(),
       each.bytes.data(), each.types.data(), s.comm);
}

template <typename Count>
int neighbor_allgather(const Scene& s, MPI_Request* request) {
  const Count count = s.count;
  FORM(Neighbor_allgather, Ineighbor_allgather, s.send, count, s.type, s.recv, count, s.same,
       s.comm);
}

// The same number of elements for all neighbours, each at its own displacement.
template <typename Count, typename D>
const Lists<Count, D>& neighbors(const Scene& s, int pairs) {
  auto& each = const_cast<Lists<Count, D>&>(lists<Count, D>(s, pairs));
  for (size_t i = 0; i < each.counts.size(); ++i) {
    each.counts[i] = s.count;
    each.types[i] = i % 2 == 0 ? s.type : s.same;
  }
  return each;
}

template <typename Count,
          typename D = std::conditional_t<std::is_same_v<Count, int>, int, MPI_Aint>>
int neighbor_allgatherv(const Scene& s, MPI_Request* request) {
  const auto& in = neighbors<Count, D>(s, s.sources);
  const Count count = s.count;
  FORM(Neighbor_allgatherv, Ineighbor_allgatherv, s.send, count, s.type, s.recv, in.counts.data(),
       in.places.data(), s.type, s.comm);
}

template <typename Count>
int neighbor_alltoall(const Scene& s, MPI_Request* request) {
  const Count count = s.count;
  FORM(Neighbor_alltoall, Ineighbor_alltoall, s.send, count, s.type, s.recv, count, s.same, s.comm);
}

template <typename Count,
          typename D = std::conditional_t<std::is_same_v<Count, int>, int, MPI_Aint>>
int neighbor_alltoallv(const Scene& s, MPI_Request* request) {
  const auto& out = neighbors<Count, D>(s, s.pairs);
  const auto& in = neighbors<Count, D>(s, s.sources);
  FORM(Neighbor_alltoallv, Ineighbor_alltoallv, s.send, out.counts.data(), out.places.data(),
       s.type, s.recv, in.counts.data(), in.places.data(), s.same, s.comm);
}

template <typename Count>
int neighbor_alltoallw(const Scene& s, MPI_Request* request) {
  const auto& out = neighbors<Count, MPI_Aint>(s, s.pairs);
  const auto& in = neighbors<Count, MPI_Aint>(s, s.sources);
  FORM(Neighbor_alltoallw, Ineighbor_alltoallw, s.send, out.counts.data(), out.bytes.data(),
       out.types.data(), s.recv, in.counts.data(), in.bytes.data(), in.types.data(), s.comm);
}

#if defined(LACUNA_MPI_FAMILY_OMPI)
#define ROW(name, how, inter, run) {name, how, inter, run<int>, nullptr}
#else
#define ROW(name, how, inter, run) {name, how, inter, run<int>, run<MPI_Count>}
#endif

constexpr CollectiveCall kCalls[] = {
    ROW("Bcast", "", true, bcast),
    ROW("Gather", "", true, gather),
    ROW("Gather", " in place", false, gather_in_place),
    ROW("Gatherv", "", true, gatherv),
    ROW("Gatherv", " in place", false, gatherv_in_place),
    ROW("Scatter", "", true, scatter),
    ROW("Scatter", " in place", false, scatter_in_place),
    ROW("Scatterv", "", true, scatterv),
    ROW("Allgather", "", true, allgather),
    ROW("Allgather", " in place", false, allgather_in_place),
    ROW("Allgatherv", "", true, allgatherv),
    ROW("Allgatherv", " in place", false, allgatherv_in_place),
    ROW("Alltoall", "", true, alltoall),
    ROW("Alltoall", " in place", false, alltoall_in_place),
    ROW("Alltoallv", "", true, alltoallv),
    ROW("Alltoallv", " in place", false, alltoallv_in_place),
    ROW("Alltoallw", "", true, alltoallw),
    ROW("Alltoallw", " in place", false, alltoallw_in_place),
};

constexpr CollectiveCall kNeighborCalls[] = {
    ROW("Neighbor_allgather", "", false, neighbor_allgather),
    ROW("Neighbor_allgatherv", "", false, neighbor_allgatherv),
    ROW("Neighbor_alltoall", "", false, neighbor_alltoall),
    ROW("Neighbor_alltoallv", "", false, neighbor_alltoallv),
    ROW("Neighbor_alltoallw", "", false, neighbor_alltoallw),
};

}  // namespace

std::span<const CollectiveCall> neighbor_calls() { return kNeighborCalls; }

std::span<const CollectiveCall> collective_calls() { return kCalls; }

}  // namespace test
