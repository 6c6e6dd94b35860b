// SPDX-License-Identifier: BSD-3-Clause
//
// Exchanges of all with all through shared memory (direct/rooms/room.hpp): handled if one rank has
// data with gaps and none votes no, with the same bytes either way.
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <numeric>
#include <vector>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

int64_t g_reads = 0;
int64_t g_most_read = -1;  // bytes that process_vm_readv() reads at most; -1: no limit

}  // namespace

// lacuna finds this one before the system's.
extern "C" __attribute__((visibility("default"))) ssize_t
process_vm_readv(pid_t pid, const iovec* ours, unsigned long our_count, const iovec* theirs,
                 unsigned long their_count, unsigned long flags) {
  ++g_reads;
  if (g_most_read == 0) {
    errno = EFAULT;
    return -1;
  }
  iovec first = *ours;
  if (g_most_read > 0) {
    first.iov_len = std::min(first.iov_len, static_cast<size_t>(g_most_read));
    ours = &first;
    our_count = 1;
  }
  return syscall(SYS_process_vm_readv, pid, ours, our_count, theirs, their_count, flags);
}

namespace {

// A turn of an n x n array of doubles, from rows to columns, among the ranks of a communicator:
// each rank has `mine` rows of it and gets as many columns. Some ranks may have none.
class Turned {
 public:
  Turned(MPI_Comm comm, int n) : comm_(comm), n_(n) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    const size_t all = static_cast<size_t>(n) * static_cast<size_t>(count(rank_));
    rows_.resize(all);
    columns_.assign(all + 1, -1);
    for (size_t i = 0; i < all; ++i) rows_[i] = 1000.0 * n * begin(rank_) + static_cast<double>(i);
    for (int i = 0; i < size_; ++i) {
      MPI_Datatype out = MPI_DOUBLE, in = MPI_DOUBLE;
      const bool any = count(rank_) > 0 && count(i) > 0;
      // Columns of my rows, and rows of my columns: both with gaps, but for those of one column.
      if (any) out = block(count(rank_), n, count(i), begin(i));
      if (any) in = block(n, count(rank_), count(rank_), 0, begin(i), count(i));
      out_.push_back(out);
      in_.push_back(in);
      ones_.push_back(any ? 1 : 0);
    }
    zeros_.assign(static_cast<size_t>(size_), 0);
  }
  ~Turned() {
    for (size_t i = 0; i < ones_.size(); ++i) {
      if (ones_[i] == 0) continue;
      MPI_Type_free(&out_[i]);
      MPI_Type_free(&in_[i]);
    }
  }
  Turned(const Turned&) = delete;
  Turned& operator=(const Turned&) = delete;

  int exchange() {
    return MPI_Alltoallw(rows_.data(), ones_.data(), zeros_.data(), out_.data(), columns_.data(),
                         ones_.data(), zeros_.data(), in_.data(), comm_);
  }
  void clear() { std::fill(columns_.begin(), columns_.end(), -1); }
  bool is_right() const {
    const int mine = count(rank_);
    for (int i = 0; i < n_; ++i) {
      int owner = 0;
      while (begin(owner) + count(owner) <= i) ++owner;
      for (int j = 0; j < mine; ++j) {
        const double sent = 1000.0 * n_ * begin(owner) +
                            static_cast<double>(n_) * (i - begin(owner)) + begin(rank_) + j;
        if (columns_[static_cast<size_t>(i) * static_cast<size_t>(mine) + static_cast<size_t>(j)] !=
            sent)
          return false;
      }
    }
    return columns_.back() == -1;
  }

 private:
  int begin(int rank) const { return n_ * rank / size_; }
  int count(int rank) const { return begin(rank + 1) - begin(rank); }
  static MPI_Datatype block(int rows, int columns, int width, int at, int first = 0,
                            int height = -1) {
    const int sizes[2] = {rows, columns};
    const int parts[2] = {height < 0 ? rows : height, width};
    const int places[2] = {first, at};
    MPI_Datatype type;
    MPI_Type_create_subarray(2, sizes, parts, places, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
  }

  MPI_Comm comm_;
  int n_;
  int rank_ = 0;
  int size_ = 0;
  std::vector<double> rows_, columns_;
  std::vector<MPI_Datatype> out_, in_;
  std::vector<int> ones_, zeros_;
};

bool turns(MPI_Comm comm, int n) {
  Turned turned(comm, n);
  return turned.exchange() == MPI_SUCCESS && turned.is_right();
}

}  // namespace

// Few bytes and many windows full, some ranks without any, over and over.
TOPIC(rooms_alltoallw) {
  const int sizes[] = {1, 2, 3, g_size, 17, 64, 333, 1024, 40};
  for (const int n : sizes) {
    context(std::to_string(n));
    CHECK(turns(MPI_COMM_WORLD, n));
  }
  context("again");
  bool right = true;
  const int64_t took = taken_by("MPI_Alltoallw", [&] {
    for (int i = 0; i < 200; ++i) right = turns(MPI_COMM_WORLD, 16) && right;
  });
  CHECK(right);
  CHECK(took >= 150);  // some of the first may be declined, as single doubles did not pay before
}

// Back-off: after some calls that did not pay, calls are declined without a vote, in ever longer
// series; on all ranks the same ones.
TOPIC(rooms_passes) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const auto taken_of = [&](int calls, int n) {
    const int mine = static_cast<int>(taken_by("MPI_Alltoallw", [&] {
      for (int i = 0; i < calls; ++i) {
        CHECK(turns(comm, n));
        MPI_Barrier(comm);  // nobody goes on before all know that it does not pay
      }
    }));
    int least = 0, most = 0;
    MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(least == most);
    return mine;
  };
  const int none = 1, some = 8 * g_size;
  CHECK(taken_of(3, none) == 0);
  CHECK(taken_of(1, some) == 1);
  CHECK(taken_of(4, none) == 0);
  CHECK(taken_of(32, some) > 0);
  CHECK(taken_of(3, some) == 3);
  // 4 votes, and one at the end of each series of 32, 64, 128 and 256 calls.
  CHECK(taken_of(4 + 32 + 64 + 128 + 1, none) == 0);
  CHECK(taken_of(100, some) < 100);
  CHECK(taken_of(256, some) > 0);
  CHECK(taken_of(3, some) == 3);
  MPI_Comm_free(&comm);
}

// Calls without gaps, which are always declined, cause no back-off for those with gaps.
TOPIC(rooms_plain_calls) {
  const int n = 2048;
  MPI_Datatype gaps;
  MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &gaps);
  MPI_Type_commit(&gaps);
  const size_t all = static_cast<size_t>(g_size) * n;
  std::vector<double> from(2 * all), to(2 * all);
  std::iota(from.begin(), from.end(), 1e6 * g_rank);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  CHECK(taken_by("MPI_Allgather", [&] {
          for (int i = 0; i < 20; ++i) {
            MPI_Allgather(from.data(), n, MPI_DOUBLE, to.data(), n, MPI_DOUBLE, comm);
            MPI_Barrier(comm);
          }
        }) == 0);
  CHECK(taken_by("MPI_Allgather", [&] {
          for (int i = 0; i < 3; ++i) {
            std::fill(to.begin(), to.end(), 0);
            MPI_Allgather(from.data(), 1, gaps, to.data(), n, MPI_DOUBLE, comm);
            for (size_t j = 0; j < all; ++j)
              CHECK(to[j] == 1e6 * static_cast<double>(j / n) + 2 * static_cast<double>(j % n));
          }
        }) == 3);
  MPI_Comm_free(&comm);
  MPI_Type_free(&gaps);
}

// Other communicators, more of them than there are rooms, some freed between.
TOPIC(rooms_communicators) {
  MPI_Comm turned;
  MPI_Comm_split(MPI_COMM_WORLD, 0, g_size - g_rank, &turned);
  CHECK(turns(turned, 50));
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, g_rank % 2, g_rank, &part);
  CHECK(turns(part, 50));
  CHECK(turns(MPI_COMM_SELF, 50));
  MPI_Comm_free(&turned);
  std::vector<MPI_Comm> many(40);
  for (MPI_Comm& comm : many) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    CHECK(turns(comm, 20));
  }
  for (size_t i = 0; i < many.size(); i += 2) MPI_Comm_free(&many[i]);
  for (size_t i = 0; i < many.size(); i += 2) {
    MPI_Comm_dup(part, &many[i]);
    CHECK(turns(many[i], 20));
  }
  for (MPI_Comm& comm : many) {
    CHECK(turns(comm, 30));
    MPI_Comm_free(&comm);
  }
  CHECK(turns(part, 50));
  MPI_Comm_free(&part);
}

// One rank without lacuna is enough for all; one with gaps, too.
TOPIC(rooms_votes) {
  const std::vector<int> ones(static_cast<size_t>(g_size), 1);
  for (int off = 0; off < g_size; ++off) {
    context("rank " + std::to_string(off));
    if (g_rank == off) MPI_Pcontrol(0);
    CHECK(turns(MPI_COMM_WORLD, 40));
    if (g_rank == off) MPI_Pcontrol(1);
    CHECK(turns(MPI_COMM_WORLD, 40));
  }
  const int n = 600;
  MPI_Datatype column;
  MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  const size_t size = static_cast<size_t>(g_size);
  std::vector<double> from(size * n * 2), to(size * n);
  std::iota(from.begin(), from.end(), 1e6 * g_rank);
  std::vector<int> places, into, counts(size, g_rank == 0 ? 1 : n), whole(size, n);
  std::vector<MPI_Datatype> types(size, g_rank == 0 ? column : MPI_DOUBLE),
      doubles(size, MPI_DOUBLE);
  for (int i = 0; i < g_size; ++i) {
    places.push_back(i * n * 16);
    into.push_back(i * n * 8);
  }
  const auto arrived = [&] {
    bool right = true;
    for (int i = 0; i < g_size; ++i) {
      for (int j = 0; j < n; ++j) {
        const double sent = 1e6 * i + 2.0 * n * g_rank + (i == 0 ? 2 * j : j);
        right = right && to[static_cast<size_t>(i * n + j)] == sent;
      }
    }
    return right;
  };
  context("one with gaps");
  CHECK(taken_by("MPI_Alltoallw", [&] {
          MPI_Alltoallw(from.data(), counts.data(), places.data(), types.data(), to.data(),
                        whole.data(), into.data(), doubles.data(), MPI_COMM_WORLD);
        }) == 1);
  CHECK(arrived());
  context("nobody with gaps");
  std::fill(to.begin(), to.end(), 0);
  CHECK(taken_by("MPI_Alltoallw", [&] {
          MPI_Alltoallw(from.data(), whole.data(), into.data(), doubles.data(), to.data(),
                        whole.data(), into.data(), doubles.data(), MPI_COMM_WORLD);
        }) == 0);
  MPI_Type_free(&column);
}

// Long runs are read from the peer's memory. If the system refuses that, or reads only a part, they
// go through the windows, and it is not tried again.
TOPIC(rooms_reading) {
  const int n = 512 * g_size;
  Turned turned(MPI_COMM_WORLD, n);
  const auto reads = [&] {
    const int64_t before = g_reads;
    CHECK(taken_by("MPI_Alltoallw", [&] { turned.exchange(); }) == 1);
    CHECK(turned.is_right());
    return g_reads - before;
  };
  CHECK(reads() >= g_size - 1);
  turned.clear();
  const int refused = g_size - 1;
  if (g_rank == refused) g_most_read = 5000;
  CHECK(g_rank == refused ? reads() == 1 : reads() >= g_size - 1);
  g_most_read = -1;
  turned.clear();
  CHECK(g_rank == refused ? reads() == 0 : reads() >= g_size - 1);
  turned.clear();
  g_most_read = 0;
  CHECK(g_rank == refused ? reads() == 0 : reads() == 1);
  g_most_read = -1;
}

// Of the ranks that read one rank's runs, one is not allowed to: it gets them packed when the
// others have finished.
TOPIC(rooms_reading_by_all) {
  constexpr int kRuns = 40, kRun = 600;
  MPI_Datatype rows;
  MPI_Type_vector(kRuns, kRun, 2 * kRun, MPI_DOUBLE, &rows);
  MPI_Type_commit(&rows);
  std::vector<double> data(2 * kRuns * kRun);
  for (const int most : {-1, 5000, -1}) {
    context(std::to_string(most));
    if (g_rank == g_size - 1) g_most_read = most;
    std::fill(data.begin(), data.end(), -1);
    if (g_rank == 0) std::iota(data.begin(), data.end(), 0.0);
    CHECK(taken_by("MPI_Bcast", [&] { MPI_Bcast(data.data(), 1, rows, 0, MPI_COMM_WORLD); }) == 1);
    bool right = true;
    for (size_t i = 0; i < data.size(); ++i) {
      const bool sent = g_rank == 0 || i % (2 * kRun) < kRun;
      right = right && data[i] == (sent ? static_cast<double>(i) : -1);
    }
    CHECK(right);
  }
  g_most_read = -1;
  MPI_Type_free(&rows);
}

// The same number of bytes for all, in columns on one side and rows on the other; small calls are
// declined.
TOPIC(rooms_alltoall) {
  for (const int n : {4, 511, 512, 513, 5000}) {
    context(std::to_string(n));
    MPI_Datatype vector, column;
    MPI_Type_vector(n, 1, g_size, MPI_DOUBLE, &vector);
    MPI_Type_create_resized(vector, 0, sizeof(double), &column);
    MPI_Type_commit(&column);
    const size_t all = static_cast<size_t>(n) * static_cast<size_t>(g_size);
    std::vector<double> from(all), to(all + 1, -1);
    std::iota(from.begin(), from.end(), 1e7 * g_rank);
    const int64_t took = taken_by("MPI_Alltoall", [&] {
      if (g_rank % 2 == 0) {
        MPI_Alltoall(from.data(), 1, column, to.data(), n, MPI_DOUBLE, MPI_COMM_WORLD);
      } else {
        MPI_Alltoall(from.data(), n, MPI_DOUBLE, to.data(), 1, column, MPI_COMM_WORLD);
      }
    });
    bool right = to.back() == -1;
    for (int i = 0; i < g_size; ++i) {
      for (int j = 0; j < n; ++j) {
        const double sent = 1e7 * i + (i % 2 == 0 ? j * g_size + g_rank : g_rank * n + j);
        const int at = g_rank % 2 == 0 ? i * n + j : j * g_size + i;
        right = right && to[static_cast<size_t>(at)] == sent;
      }
    }
    CHECK(right);
    if (n >= 512) CHECK(took == 1);
    MPI_Type_free(&vector);
    MPI_Type_free(&column);
  }
}

// A rank that comes late, because it is still in a call that needs progress of the other ranks.
TOPIC(rooms_progress) {
  const int n = 1 << 20;
  std::vector<double> data(n, g_rank);
  for (int round = 0; round < 3; ++round) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (g_rank == 0) MPI_Irecv(data.data(), n, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank == 1) MPI_Ssend(data.data(), n, MPI_DOUBLE, 0, 5, MPI_COMM_WORLD);
    CHECK(turns(MPI_COMM_WORLD, 100));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(g_rank != 0 || (data[0] == 1 && data[n - 1] == 1));
  }
}
