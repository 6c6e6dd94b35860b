// SPDX-License-Identifier: BSD-3-Clause
//
// App: one test of [Schneider2012, table 1]: the loops with which the application packs and unpacks
// by hand, and the calls that make its derived datatype. Both use the numbers of its input (a row
// of bench/corpus). The row's type text says independently which bytes they must move; every run
// compares (ways/way.hpp). A new test is an App in the file of its application, a line in apps.cpp,
// and rows in the corpus; for Fortran, in the folder of that name.
#ifndef LACUNA_BENCH_APPS_APPLICATIONS_APP_HPP_
#define LACUNA_BENCH_APPS_APPLICATIONS_APP_HPP_

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lacuna::bench {

// The arrays of an application. They are in one allocation, one after the other; every memory
// pointer below is its first byte.
struct Input {
  std::vector<int> shape;               // array bounds and faces, in the order of the application
  std::vector<std::vector<int>> lists;  // index lists, in blocks, in the order of the type text
};

// The data of a transfer, and the rank at the other end.
struct Ends {
  void* mem;
  int partner;
  bool is_first;  // sends, then receives
  // The receiver gets the data contiguous, as `elements` of this type; null: as they were sent.
  MPI_Datatype element;
  int elements;
  void* packed;
};
constexpr int kSiteTag = 3;

// The application's type, and the calls around it (sites.hpp).
struct Sites {
  // Not committed; the caller frees it.
  MPI_Datatype (*make)(const Input&);
  void (*send)(const Input&, const Ends&) = nullptr;
  void (*receive)(const Input&, const Ends&) = nullptr;
  double (*exchange)(const Input&, const Ends&, int rounds) = nullptr;
};

struct App {
  const char* test;
  size_t shape_size;  // how many numbers it needs
  size_t lists;       // how many index lists
  const Sites* sites;
  void (*pack)(const Input&, const std::byte* mem, std::byte* packed);
  void (*unpack)(const Input&, const std::byte* packed, std::byte* mem);
  bool receives_packed = false;              // the other side wants the data contiguous
  MPI_Datatype element = MPI_DATATYPE_NULL;  // as elements of this; none: of the type text's leaf
};

// nullptr: no such test.
const App* find_app(const std::string& test);
// The same, compiled by lacuna-c++; nullptr also if that was not available.
const App* find_specialised_app(const std::string& test);

// The loops are compiled for each level of instruction set and chosen when the program starts, so
// that packing by hand is as fast as if it was compiled for this machine. Not under sanitizers,
// whose runtime does not work yet at that moment; and not by lacuna-c++, whose loops are not
// called. (They must not call constructors: Clang 19 does not emit what only the clones name.)
#if defined(LACUNA_BENCH_SPECIALISED) || defined(__SANITIZE_ADDRESS__) || \
    defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
#define LACUNA_BY_HAND
#else
#define LACUNA_BY_HAND \
  __attribute__((target_clones("default", "arch=haswell", "arch=skylake-avx512")))
#endif

// Frees the inner type and returns the outer one, uncommitted: for nested constructors.
inline MPI_Datatype outer(MPI_Datatype made, MPI_Datatype inner) {
  MPI_Type_free(&inner);
  return made;
}

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_APPS_APPLICATIONS_APP_HPP_
