// SPDX-License-Identifier: BSD-3-Clause
//
// One-sided versions of the ping-pong: the first partner puts its data into the other's window,
// then the other way round, with a fence after each.
#include "bench/apps/ways/way.hpp"

namespace lacuna::bench {
namespace {

class Put : public Way {
 public:
  Put(const Message& message, bool is_contiguous) : m_(message), is_contiguous_(is_contiguous) {}

  void create() override {
    if (is_contiguous_) {
      MPI_Type_contiguous(int(m_.problem->packed_bytes()), MPI_BYTE, &type_);
    } else {
      // The window begins with the first byte of the memory. Offset 0 of the type may lie before
      // it.
      MPI_Datatype type = m_.make();
      const MPI_Aint at = m_.received->buffer() - m_.received->dense();
      MPI_Type_create_hindexed_block(m_.count, 1, displacements(type, at).data(), type, &type_);
      MPI_Type_free(&type);
    }
    MPI_Type_commit(&type_);
    const MPI_Aint bytes = MPI_Aint(m_.received->span_bytes());
    MPI_Win_create(m_.received->dense(), std::max<MPI_Aint>(bytes, m_.received->packed_bytes()), 1,
                   MPI_INFO_NULL, MPI_COMM_WORLD, &window_);
    MPI_Win_fence(0, window_);
  }
  void destroy() override {
    MPI_Win_free(&window_);
    MPI_Type_free(&type_);
  }
  void round(Phases*) override {
    if (m_.rank % 2 == 0) put();
    MPI_Win_fence(0, window_);
    if (m_.rank % 2 != 0) put();
    MPI_Win_fence(0, window_);
  }
  std::string verify() override {
    const auto salt = [](int rank) { return static_cast<unsigned>(rank) + 1; };
    m_.problem->fill_memory(salt(m_.rank));
    m_.received->fill_memory(0);
    MPI_Win_fence(0, window_);
    round(nullptr);
    return is_contiguous_ ? m_.received->check_dense(salt(m_.partner))
                          : m_.received->check_moved(salt(m_.partner), 0);
  }

 private:
  // The displacements of `count` consecutive elements, the first `at` bytes behind the memory's
  // beginning.
  std::vector<MPI_Aint> displacements(MPI_Datatype type, MPI_Aint at) const {
    MPI_Aint lb = 0;
    MPI_Aint extent = 0;
    MPI_Type_get_extent(type, &lb, &extent);
    std::vector<MPI_Aint> found;
    for (int i = 0; i < m_.count; ++i) found.push_back(at + i * extent);
    return found;
  }

  void put() const { MPI_Put(m_.problem->dense(), 1, type_, m_.partner, 0, 1, type_, window_); }

  const Message& m_;
  bool is_contiguous_;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
};

}  // namespace

std::unique_ptr<Way> make_one_sided_way(const std::string& name, const Message& message) {
  if (name == "put") return std::make_unique<Put>(message, false);
  if (name == "put_contiguous") return std::make_unique<Put>(message, true);
  return nullptr;
}

}  // namespace lacuna::bench
