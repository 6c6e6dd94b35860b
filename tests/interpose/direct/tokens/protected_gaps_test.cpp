// SPDX-License-Identifier: BSD-3-Clause
//
// Receives into types whose gaps the program has protected: whether a token has come must be found
// out without reading them.
#include <sys/mman.h>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int64_t kPage = 4096;
constexpr int kPages = 8;  // every second one is protected

const auto Isendrecv =
    newer<int (*)(const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int,
                  MPI_Comm, MPI_Request*)>("MPI_Isendrecv");

class Pages {
 public:
  Pages() {
    void* const all =
        mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(all != MAP_FAILED);
    begin_ = static_cast<char*>(all);
    for (int i = 1; i < kPages; i += 2) mprotect(begin_ + i * kPage, kPage, PROT_NONE);
  }
  ~Pages() { munmap(begin_, kPages * kPage); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  double& at(int page, int index) {
    return reinterpret_cast<double*>(begin_ + page * kPage)[index];
  }
  void* begin() { return begin_; }

 private:
  char* begin_;
};

}  // namespace

// `kRun` doubles at the start of each page that can be read: the pages of one element, or an
// element for each page.
TOPIC(direct_protected_gaps) {
  constexpr int kBlocks = kPages / 2;
  constexpr int kPerPage = static_cast<int>(kPage / sizeof(double));
  for (const int run : {1, 5, 100, kPerPage}) {
    for (const bool is_one : {true, false}) {
      context(std::to_string(run) + (is_one ? ", one element" : ", several"));
      MPI_Datatype type, sparse, block;
      MPI_Type_contiguous(run, MPI_DOUBLE, &block);
      if (is_one)
        MPI_Type_create_hvector(kBlocks, 1, 2 * kPage, block, &type);
      else
        MPI_Type_create_resized(block, 0, 2 * kPage, &type);
      MPI_Type_commit(&type);
      MPI_Type_free(&block);
      MPI_Type_vector(kBlocks * run, 1, 2, MPI_DOUBLE, &sparse);
      MPI_Type_commit(&sparse);
      std::vector<double> sent(2 * static_cast<size_t>(kBlocks * run), g_rank + 1);
      Pages pages;
      const int other = 1 - g_rank;
      const int count = is_one ? 1 : kBlocks;
      MPI_Request request;
      if (Isendrecv != nullptr) {
        Isendrecv(sent.data(), 1, sparse, other, 3, pages.begin(), count, type, other, 3,
                  MPI_COMM_WORLD, &request);
      } else {
        MPI_Irecv(pages.begin(), count, type, other, 3, MPI_COMM_WORLD, &request);
        MPI_Send(sent.data(), 1, sparse, other, 3, MPI_COMM_WORLD);
      }
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      bool same = true;
      for (int i = 0; i < kBlocks; ++i)
        for (int j = 0; j < kPerPage; ++j)
          same = same && pages.at(2 * i, j) == (j < run ? other + 1 : 0);
      CHECK(same);
      MPI_Type_free(&type);
      MPI_Type_free(&sparse);
    }
  }
}
