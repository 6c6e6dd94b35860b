// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Pack and MPI_Unpack of the library that this program runs on, with the type made by the
// library's constructors and committed once.
#include <algorithm>
#include <climits>

#include "bench/engine/rival.hpp"
#include "bench/harness/build_mpi.hpp"

namespace lacuna::bench {
namespace {

class MpiPack : public Rival {
 public:
  MpiPack() : Rival("mpi") {}

  bool prepare(const Problem& problem) override {
    if (problem.packed_bytes() > INT_MAX || problem.count() > INT_MAX) return false;
    const auto built = build_mpi(*problem.type(), predefined_);
    if (!built) return false;
    type_ = *built;
    if (predefined_.find(type_) == nullptr) MPI_Type_commit(&type_);
    count_ = static_cast<int>(problem.count());
    bytes_ = static_cast<int>(problem.packed_bytes());
    return true;
  }

  void pack(const std::byte* mem, std::byte* packed, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) {
      int position = 0;
      MPI_Pack(mem, count_, type_, packed, bytes_, &position, MPI_COMM_SELF);
    }
  }

  void unpack(const std::byte* packed, std::byte* mem, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) {
      int position = 0;
      MPI_Unpack(packed, bytes_, &position, mem, count_, type_, MPI_COMM_SELF);
    }
  }

  void release() override { free_built(type_, predefined_); }

 private:
  PredefinedTypes predefined_;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  int count_ = 0;
  int bytes_ = 0;
};

}  // namespace

std::unique_ptr<Rival> mpi_rival() { return std::make_unique<MpiPack>(); }

}  // namespace lacuna::bench
