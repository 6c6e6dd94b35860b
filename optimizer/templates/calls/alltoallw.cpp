// SPDX-License-Identifier: BSD-3-Clause
//
// Alltoallw where all types of the send side, or of the receive side, are one type that is known.
// The call stays an Alltoallw: the packed data go as so many of the basic type, which has the same
// signature. Sizes differ between ranks, so no library can choose its algorithm by them, and ranks
// that pack work together with ranks that do not.
#include <type_traits>

#include "optimizer/templates/buffer_arg.hpp"

using lacuna::compiled::Counted;

namespace {

// One side, as pass/calls/alltoallw.cpp fills it: its members are those of LACUNA_EACH, in that
// order. `Handle` is the program's: C's, or Fortran's INTEGER.
template <class Handle>
struct Each {
  Counted* move;
  const int64_t* numbers;
  Handle type;
  int64_t bytes;  // of one element
  MPI_Datatype unit;
  int64_t unit_bytes;
};
#define LACUNA_CHECK(kind, name)                                                     \
  LACUNA_CHECK_MEMBER(Each<MPI_Datatype>, lacuna::interface::EachMember, kind, name) \
  LACUNA_CHECK_MEMBER(Each<int>, lacuna::interface::EachMember, kind, name)
LACUNA_EACH(LACUNA_CHECK)
#undef LACUNA_CHECK
static_assert(sizeof(Each<int>) == 8 * size_t(lacuna::interface::EachMember::kCount));

constexpr int kMostRanks = 64;
constexpr int64_t kMostBytes = lacuna::interface::kMostToEachBytes;

// Whether the call is within one group of at most kMostRanks; `ranks`: how many.
bool is_among(MPI_Comm comm, int& ranks) {
  int is_between = 1;
  return comm != MPI_COMM_NULL && MPI_Comm_test_inter(comm, &is_between) == MPI_SUCCESS &&
         is_between == 0 && MPI_Comm_size(comm, &ranks) == MPI_SUCCESS && ranks <= kMostRanks;
}

// One side of the call, as the library gets it.
template <class Handle>
class Side {
 public:
  // `each` is nullptr where the side stays as it is.
  Side(const Each<Handle>* each, const void* buffer, const int* counts, const int* places,
       const Handle* types)
      : each_(each),
        buffer_(lacuna::compiled::bytes_of(buffer)),
        counts_(counts),
        places_(places),
        types_(types) {}

  // Whether all `ranks` types are that type, and all data together small enough.
  bool takes(int ranks) {
    if constexpr (!kIsC) {
      for (int i = 0; each_ == nullptr && i < ranks; ++i) own_types_[i] = MPI_Type_f2c(types_[i]);
    }
    if (each_ == nullptr) return true;
    if (buffer_ == nullptr || counts_ == nullptr || places_ == nullptr || types_ == nullptr)
      return false;
    int64_t all = 0;
    for (int i = 0; i < ranks; ++i) {
      if (types_[i] != each_->type || counts_[i] < 0) return false;
      const int64_t bytes = counts_[i] * each_->bytes;
      if (uint64_t(each_->bytes) > uint64_t(kMostBytes) || bytes > kMostBytes - all) return false;
      own_places_[i] = int(all);
      own_counts_[i] = int(bytes / each_->unit_bytes);
      own_types_[i] = each_->unit;
      all += bytes;
    }
    return true;
  }
  void move(int ranks) {
    if (each_ == nullptr) return;
    for (int i = 0; i < ranks; ++i) {
      if (counts_[i] > 0)
        each_->move(each_->numbers, buffer_ + places_[i], counts_[i], staged_ + own_places_[i]);
    }
  }

  bool is_packed() const { return each_ != nullptr; }
  char* buffer() { return each_ == nullptr ? buffer_ : staged_; }
  const int* counts() const { return each_ == nullptr ? counts_ : own_counts_; }
  const int* places() const { return each_ == nullptr ? places_ : own_places_; }
  const MPI_Datatype* types() const {
    if constexpr (kIsC) {
      if (each_ == nullptr) return types_;
    }
    return own_types_;
  }

 private:
  static constexpr bool kIsC = std::is_same_v<Handle, MPI_Datatype>;
  const Each<Handle>* each_;
  char* buffer_;
  const int* counts_;
  const int* places_;
  const Handle* types_;
  int own_counts_[kMostRanks];
  int own_places_[kMostRanks];
  MPI_Datatype own_types_[kMostRanks];
  alignas(64) char staged_[kMostBytes];
};

// Whether the call was made; `code`: what it returned.
template <class Handle>
bool exchange(Side<Handle>& out, Side<Handle>& in, MPI_Comm comm, int ranks, int& code) {
  if (!out.takes(ranks) || !in.takes(ranks)) return false;
  if (in.is_packed() && lacuna::compiled::may_overrun(comm)) return false;
  out.move(ranks);
  code = MPI_Alltoallw(out.buffer(), out.counts(), out.places(), out.types(), in.buffer(),
                       in.counts(), in.places(), in.types(), comm);
  if (code == MPI_SUCCESS) in.move(ranks);
  return true;
}

}  // namespace

// Not inlined into the program: its kernels are called for each rank in any case.
extern "C" [[gnu::noinline]] int lacuna_template_MPI_Alltoallw(
    const void* sendbuf, const int* sendcounts, const int* sdispls, const MPI_Datatype* sendtypes,
    void* recvbuf, const int* recvcounts, const int* rdispls, const MPI_Datatype* recvtypes,
    MPI_Comm comm, const Each<MPI_Datatype>* sent, const Each<MPI_Datatype>* got) {
  int ranks = 0, code = MPI_SUCCESS;
  if (sendbuf != MPI_IN_PLACE && !lacuna::compiled::may_have_devices() && is_among(comm, ranks)) {
    Side out(sent, sendbuf, sendcounts, sdispls, sendtypes);
    Side in(got, recvbuf, recvcounts, rdispls, recvtypes);
    if (exchange(out, in, comm, ranks, code)) return code;
  }
  return MPI_Alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                       recvtypes, comm);
}

#if defined(OPEN_MPI) || defined(MPICH_NUMVERSION)
namespace {

// The function of the MPI library's Fortran binding.
using Bound = void(const void*, const int*, const int*, const int*, void*, const int*, const int*,
                   const int*, const int*, int*);

}  // namespace

// The same for Fortran's, where handles are INTEGERs; `is_special`: a buffer is MPI_IN_PLACE or
// MPI_BOTTOM.
extern "C" [[gnu::noinline]] void lacuna_template_MPI_Alltoallw_fortran(
    const void* sendbuf, const int* sendcounts, const int* sdispls, const int* sendtypes,
    void* recvbuf, const int* recvcounts, const int* rdispls, const int* recvtypes, const int* comm,
    int* ierror, Bound* original, int is_special, const Each<int>* sent, const Each<int>* got) {
  int ranks = 0;
  const MPI_Comm its = MPI_Comm_f2c(*comm);
  if (is_special == 0 && !lacuna::compiled::may_have_devices() && is_among(its, ranks)) {
    Side out(sent, sendbuf, sendcounts, sdispls, sendtypes);
    Side in(got, recvbuf, recvcounts, rdispls, recvtypes);
    if (exchange(out, in, its, ranks, *ierror)) return;
  }
  original(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm,
           ierror);
}
#endif
