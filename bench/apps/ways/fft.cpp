// SPDX-License-Identifier: BSD-3-Clause
//
// The transpose between the two halves of a 2-d FFT [Schneider2012, 2.3 and figure 3]: an n x n
// matrix of complex numbers, distributed by rows, is transposed by one alltoall. The sending type
// has the columns for a peer one after the other; the receiving type places the data of the peers
// side by side.
#include <complex>
#include <vector>

#include "bench/apps/ways/way.hpp"

namespace lacuna::bench {

using Complex = std::complex<double>;

struct FftArrays {
  explicit FftArrays(int order) : n(order) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    rows = n / ranks;
    const size_t elements = size_t(n) * size_t(rows);
    for (auto* all : {&mine, &received, &out, &in}) all->assign(elements, Complex(-1, -1));
  }
  int n;
  int rank = 0;
  int ranks = 1;
  int rows = 0;                         // of one rank
  std::vector<Complex> mine, received;  // rows of the matrix, and of its transpose
  std::vector<Complex> out, in;         // packed
};

std::shared_ptr<FftArrays> make_fft_arrays(int n) { return std::make_shared<FftArrays>(n); }

namespace {

LACUNA_BY_HAND void pack_columns(const Complex* __restrict matrix, size_t n, size_t rows,
                                 Complex* __restrict packed) {
  size_t at = 0;
  for (size_t column = 0; column < n; ++column)
    for (size_t row = 0; row < rows; ++row) packed[at++] = matrix[row * n + column];
}

LACUNA_BY_HAND void unpack_rows(const Complex* __restrict packed, size_t n, size_t rows,
                                Complex* __restrict matrix) {
  size_t at = 0;
  for (size_t peer = 0; peer < n / rows; ++peer)
    for (size_t row = 0; row < rows; ++row)
      for (size_t i = 0; i < rows; ++i) matrix[row * n + peer * rows + i] = packed[at++];
}

class Fft : public Way {
 public:
  explicit Fft(FftArrays& arrays) : a_(arrays) {}

  int transfers() const override { return 1; }

  std::string verify() override {
    for (int row = 0; row < a_.rows; ++row)
      for (int column = 0; column < a_.n; ++column)
        a_.mine[at(row, column)] = {double(a_.rank * a_.rows + row), double(column)};
    a_.received.assign(a_.received.size(), Complex(-1, -1));
    a_.out = a_.received;
    a_.in = a_.received;
    round(nullptr);
    for (int row = 0; row < a_.rows; ++row)
      for (int column = 0; column < a_.n; ++column)
        if (a_.received[at(row, column)] != expected(row, column))
          return "the matrix is wrong in row " + std::to_string(a_.rank * a_.rows + row) +
                 ", column " + std::to_string(column);
    return "";
  }

 protected:
  virtual Complex expected(int row, int column) const {
    return {double(column), double(a_.rank * a_.rows + row)};
  }
  size_t at(int row, int column) const { return size_t(row) * size_t(a_.n) + size_t(column); }
  int block() const { return a_.rows * a_.rows; }  // elements from one rank to one rank

  void exchange(const std::vector<Complex>& from, std::vector<Complex>& to) const {
    MPI_Alltoall(from.data(), block(), MPI_C_DOUBLE_COMPLEX, to.data(), block(),
                 MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD);
  }

  FftArrays& a_;
};

class DerivedFft : public Fft {
 public:
  using Fft::Fft;

  void create() override {
    MPI_Datatype column = MPI_DATATYPE_NULL;
    MPI_Datatype next_column = MPI_DATATYPE_NULL;
    MPI_Type_vector(a_.rows, 1, a_.n, MPI_C_DOUBLE_COMPLEX, &column);
    MPI_Type_create_resized(column, 0, sizeof(Complex), &next_column);
    MPI_Type_contiguous(a_.rows, next_column, &columns_);
    MPI_Type_commit(&columns_);
    MPI_Datatype block = MPI_DATATYPE_NULL;
    MPI_Type_vector(a_.rows, a_.rows, a_.n, MPI_C_DOUBLE_COMPLEX, &block);
    MPI_Type_create_resized(block, 0, MPI_Aint(sizeof(Complex)) * a_.rows, &beside_);
    MPI_Type_commit(&beside_);
    for (MPI_Datatype* inner : {&column, &next_column, &block}) MPI_Type_free(inner);
  }
  void destroy() override {
    MPI_Type_free(&columns_);
    MPI_Type_free(&beside_);
  }
  void round(Phases*) override {
    MPI_Alltoall(a_.mine.data(), 1, columns_, a_.received.data(), 1, beside_, MPI_COMM_WORLD);
  }

 protected:
  MPI_Datatype columns_ = MPI_DATATYPE_NULL;
  MPI_Datatype beside_ = MPI_DATATYPE_NULL;
};

class MpiPackFft : public DerivedFft {
 public:
  using DerivedFft::DerivedFft;
  bool has_phases() const override { return true; }
  void round(Phases* phases) override {
    const int bytes = int(a_.out.size() * sizeof(Complex));
    Laps laps(phases);
    int position = 0;
    MPI_Pack(a_.mine.data(), a_.ranks, columns_, a_.out.data(), bytes, &position, MPI_COMM_WORLD);
    laps.end(&Phases::pack);
    const int each = bytes / a_.ranks;
    MPI_Alltoall(a_.out.data(), each, MPI_PACKED, a_.in.data(), each, MPI_PACKED, MPI_COMM_WORLD);
    laps.end(&Phases::communicate);
    position = 0;
    MPI_Unpack(a_.in.data(), bytes, &position, a_.received.data(), a_.ranks, beside_,
               MPI_COMM_WORLD);
    laps.end(&Phases::unpack);
  }
};

class ByHandFft : public Fft {
 public:
  using Fft::Fft;
  bool has_phases() const override { return true; }
  void round(Phases* phases) override {
    Laps laps(phases);
    pack_columns(a_.mine.data(), size_t(a_.n), size_t(a_.rows), a_.out.data());
    laps.end(&Phases::pack);
    exchange(a_.out, a_.in);
    laps.end(&Phases::communicate);
    unpack_rows(a_.in.data(), size_t(a_.n), size_t(a_.rows), a_.received.data());
    laps.end(&Phases::unpack);
  }
};

// The same bytes, without a transpose.
class ContiguousFft : public Fft {
 public:
  using Fft::Fft;
  void round(Phases*) override { exchange(a_.mine, a_.received); }

 protected:
  Complex expected(int row, int column) const override {
    // This rank's block of the peer's rows, seen as one run of elements.
    const size_t place = at(row, column);
    const size_t peer = place / size_t(block());
    const size_t sent = size_t(a_.rank) * size_t(block()) + place % size_t(block());
    return {double(peer * size_t(a_.rows) + sent / size_t(a_.n)), double(sent % size_t(a_.n))};
  }
};

}  // namespace

std::unique_ptr<Way> make_fft_way(const std::string& name, FftArrays& arrays) {
  if (name == "derived") return std::make_unique<DerivedFft>(arrays);
  if (name == "mpi_pack") return std::make_unique<MpiPackFft>(arrays);
  if (name == "by_hand") return std::make_unique<ByHandFft>(arrays);
  if (name == "contiguous") return std::make_unique<ContiguousFft>(arrays);
  return nullptr;
}

}  // namespace lacuna::bench
