// SPDX-License-Identifier: BSD-3-Clause
//
// Alltoallw where all types of a side are one that is known. It stays the Alltoallw that it was:
// what is sent to each rank and got from it has the same signature, as so many of the one basic
// type, and as it says for each pair of ranks how much there is, no library can choose its way by
// that.
#include "optimizer/templates/part.hpp"

using lacuna::Counted;

namespace {

// As pass/alltoallw.cpp fills it.
struct Each {
  Counted* move;
  const int64_t* numbers;
  MPI_Datatype type;
  int64_t bytes;  // of one element
  MPI_Datatype unit;
  int64_t unit_bytes;
};

constexpr int kMostRanks = 64;
// For all ranks together, as of Alltoall (pass/site.cpp).
constexpr int64_t kMostBytes = 2048;

// One side of the call, as the library gets it.
class Side {
 public:
  // nullptr: it stays as it is.
  Side(const Each* each, const void* buffer, const int* counts, const int* places,
       const MPI_Datatype* types)
      : each_(each),
        buffer_(lacuna::bytes_of(buffer)),
        counts_(counts),
        places_(places),
        types_(types) {}

  // Whether all is of the type, and little enough; `ranks` of them.
  bool takes(int ranks) {
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

  char* buffer() { return each_ == nullptr ? buffer_ : staged_; }
  const int* counts() const { return each_ == nullptr ? counts_ : own_counts_; }
  const int* places() const { return each_ == nullptr ? places_ : own_places_; }
  const MPI_Datatype* types() const { return each_ == nullptr ? types_ : own_types_; }

 private:
  const Each* each_;
  char* buffer_;
  const int* counts_;
  const int* places_;
  const MPI_Datatype* types_;
  int own_counts_[kMostRanks];
  int own_places_[kMostRanks];
  MPI_Datatype own_types_[kMostRanks];
  alignas(64) char staged_[kMostBytes];
};

}  // namespace

// Not inlined: its kernels are called for each rank.
extern "C" [[gnu::noinline]] int lacuna_template_MPI_Alltoallw(
    const void* sendbuf, const int* sendcounts, const int* sdispls, const MPI_Datatype* sendtypes,
    void* recvbuf, const int* recvcounts, const int* rdispls, const MPI_Datatype* recvtypes,
    MPI_Comm comm, const Each* sent, const Each* got) {
  int is_between = 1, ranks = 0;
  if (sendbuf != MPI_IN_PLACE && !lacuna::may_have_devices() && comm != MPI_COMM_NULL &&
      MPI_Comm_test_inter(comm, &is_between) == MPI_SUCCESS && is_between == 0 &&
      MPI_Comm_size(comm, &ranks) == MPI_SUCCESS && ranks <= kMostRanks) {
    Side out(sent, sendbuf, sendcounts, sdispls, sendtypes);
    Side in(got, recvbuf, recvcounts, rdispls, recvtypes);
    if (out.takes(ranks) && in.takes(ranks)) {
      out.move(ranks);
      const int code = MPI_Alltoallw(out.buffer(), out.counts(), out.places(), out.types(),
                                     in.buffer(), in.counts(), in.places(), in.types(), comm);
      if (code == MPI_SUCCESS) in.move(ranks);
      return code;
    }
  }
  return MPI_Alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                       recvtypes, comm);
}
