// SPDX-License-Identifier: BSD-3-Clause
//
// The MPI functions that the pass knows, as two tables. A function whose prototype in the program
// is not the one of the table is not that function, and is left alone.
#ifndef LACUNA_OPTIMIZER_PASS_FUNCTIONS_HPP_
#define LACUNA_OPTIMIZER_PASS_FUNCTIONS_HPP_

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>

#include <vector>

namespace lacuna {

// A function that writes one result through its last argument: `parameters` has a letter for each.
//   i int   n MPI_Count   a MPI_Aint, or an MPI_Count that may be negative   h handle
//   I N A H arrays of them, as long as the first argument says
//   o the result: a handle   r the result: an int
struct Producer {
  llvm::StringRef name;
  llvm::StringRef text;  // as docs/user/types.md writes the constructor; empty if it is none
  llvm::StringRef parameters;
};
llvm::ArrayRef<Producer> producers();
const Producer* producer(llvm::StringRef name);
// Whether that parameter is a stride or a displacement, which may be negative.
bool is_place(const Producer& row, unsigned index);
inline bool is_count(char letter) {
  return letter == 'i' || letter == 'I' || letter == 'n' || letter == 'N';
}
// Whether it is one of MPI-4's functions with MPI_Count, which Fortran has in mpi_f08 only.
inline bool has_large_counts(const Producer& row) { return row.name.ends_with("_c"); }

// A (buffer, count, type) of a call, by the numbers of its arguments.
struct Triple {
  unsigned buffer, count, type;
};

// Who takes part in a call, besides the process and its peer.
enum class Collective {
  kNone,
  kAll,  // all ranks, with the same data
  kEach  // each rank has data for each: count elements for every rank, one after the other
};

// A function that moves data, and has a template.
struct Mover {
  llvm::StringRef name;
  llvm::StringRef form;  // the template's name; another one where counts are MPI_Counts
  unsigned parameters = 0;
  std::vector<Triple> triples = {};
  int peer = -1;  // the number of the argument that is a rank; -1: none
  int comm = -1;
  int request = -1;  // of a nonblocking one
  Collective collective = Collective::kNone;
};
llvm::ArrayRef<Mover> movers();
const Mover* mover(llvm::StringRef name);
// Whether counts are MPI_Counts, and the template's are ints.
inline bool has_large_counts(const Mover& row) { return row.name != row.form; }

}  // namespace lacuna

#endif  // LACUNA_OPTIMIZER_PASS_FUNCTIONS_HPP_
