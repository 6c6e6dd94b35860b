// SPDX-License-Identifier: BSD-3-Clause
//
// The MPI functions that the pass knows, as two tables. A function that the program declares with
// another prototype is left alone.
#ifndef LACUNA_OPTIMIZER_PASS_BASE_FUNCTIONS_HPP_
#define LACUNA_OPTIMIZER_PASS_BASE_FUNCTIONS_HPP_

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>

#include <vector>

namespace lacuna::pass {

// A function that writes one result to the address in its last argument. `parameters` has a letter
// for each:
//   i int   n MPI_Count   a MPI_Aint, or an MPI_Count that may be negative   h handle
//   I N A H arrays of these; the first argument is their length
//   o the result: a handle   r the result: an int
struct Producer {
  llvm::StringRef name;
  llvm::StringRef text;  // as docs/user/types.md writes the constructor; empty if it is none
  llvm::StringRef parameters;
};
llvm::ArrayRef<Producer> producers();
const Producer* producer(llvm::StringRef name);
// Whether that parameter is a stride or a displacement: these may be negative.
bool is_place(const Producer& row, unsigned index);
inline bool is_count(char letter) {
  return letter == 'i' || letter == 'I' || letter == 'n' || letter == 'N';
}
// Whether it is a function with MPI_Count (MPI-4). In Fortran only mpi_f08 has them.
inline bool has_large_counts(const Producer& row) { return row.name.ends_with("_c"); }

// The indices of the arguments (buffer, count, type) of a call.
struct Triple {
  unsigned buffer, count, type;
};

// Which ranks take part in a call.
enum class Collective {
  kNone,  // this process and its peer
  kAll,   // all ranks, with the same data
  kEach   // all ranks, each with `count` elements for every rank
};

// A function that moves data, and has a template.
struct Mover {
  llvm::StringRef name;
  llvm::StringRef form;  // the template's name: that of the function with int counts
  unsigned parameters = 0;
  std::vector<Triple> triples = {};
  int peer = -1;  // the index of the argument that is a rank; the tag is the next. -1: none
  int comm = -1;
  int request = -1;  // of a nonblocking call
  Collective collective = Collective::kNone;
};
llvm::ArrayRef<Mover> movers();
const Mover* mover(llvm::StringRef name);
// Whether counts are MPI_Counts, where the template's are ints.
inline bool has_large_counts(const Mover& row) { return row.name != row.form; }

}  // namespace lacuna::pass

#endif  // LACUNA_OPTIMIZER_PASS_BASE_FUNCTIONS_HPP_
