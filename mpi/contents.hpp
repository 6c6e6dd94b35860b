// SPDX-License-Identifier: BSD-3-Clause
//
// Contents: what MPI_Type_get_envelope and MPI_Type_get_contents say about one datatype. Arguments
// are read in the order of its constructor, in both forms that a library may use. Owns the handles
// of the children.
//
// The two forms (MPI 4.1, 5.1.13): a type made by an int constructor has its counts among the
// integers and its byte displacements among the addresses; one made by a large-count constructor
// has both among the large counts, and keeps only ndims, order, size, rank, distribs, dargs and
// psizes among the integers.
#ifndef LACUNA_MPI_CONTENTS_HPP_
#define LACUNA_MPI_CONTENTS_HPP_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mpi/functions.hpp"
#include "mpi/predefined.hpp"
#include "type/type.hpp"

namespace lacuna {

// A list of arguments; up to kFew are kept without the heap.
template <typename T, size_t kFew>
class ArgumentList {
 public:
  void resize(size_t n, T value) {
    size_ = n;
    if (n <= kFew) {
      std::fill_n(few_, n, value);
    } else {
      many_.assign(n, value);
    }
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return size_ <= kFew ? few_ : many_.data(); }
  T& operator[](size_t i) { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }

 private:
  T few_[kFew];
  std::vector<T> many_;
  size_t size_ = 0;
};

class Contents {
 public:
  Contents(const MpiFunctions& mpi, const PredefinedTypes& predefined, MPI_Datatype handle);
  ~Contents();
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  // Whether the library answered and the combiner is known.
  bool ok() const { return ok_; }
  Combiner combiner() const { return combiner_; }

  // The next argument. Reading past the end gives 0 and sets failed().
  int64_t integer();
  int64_t count();    // or a displacement in elements
  int64_t address();  // bytes
  std::vector<int64_t> integers(int64_t n);
  std::vector<int64_t> counts(int64_t n);
  std::vector<int64_t> addresses(int64_t n);
  std::vector<Distribution> distributions(int64_t n);
  std::vector<int64_t> dargs(int64_t n);
  Order order();

  int64_t children() const { return static_cast<int64_t>(datatypes_.size()); }
  MPI_Datatype child(int64_t i);

  bool failed() const { return failed_; }

 private:
  bool read_envelope(MPI_Datatype handle, int* mpi_combiner);
  bool read_contents(MPI_Datatype handle);
  // Whether the type has n arguments at all. Checked before n elements are allocated, as the
  // library may report a wrong length.
  bool plausible(int64_t n);

  const MpiFunctions& mpi_;
  const PredefinedTypes& predefined_;
  bool ok_ = false;
  bool failed_ = false;
  bool integer_addresses_ = false;  // MPI-1's Fortran constructors: byte displacements are integers
  Combiner combiner_ = Combiner::kNamed;
  ArgumentList<int, 12> integers_;
  ArgumentList<MPI_Aint, 4> addresses_;
  ArgumentList<MPI_Count, 4> counts_;
  ArgumentList<MPI_Datatype, 4> datatypes_;
  size_t next_integer_ = 0;
  size_t next_address_ = 0;
  size_t next_count_ = 0;
};

}  // namespace lacuna

#endif  // LACUNA_MPI_CONTENTS_HPP_
