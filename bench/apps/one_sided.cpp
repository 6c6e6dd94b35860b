// SPDX-License-Identifier: BSD-3-Clause
//
// One-sided versions of the ping-pong: the first partner puts its data into the other's window,
// then the other way round, with a fence after each.
#include "bench/apps/way.hpp"

namespace lacuna::bench {
namespace {

class Put : public Way {
 public:
  Put(const Message& message, bool is_contiguous) : m_(message), is_contiguous_(is_contiguous) {}

  void create() override {
    if (is_contiguous_) {
      MPI_Type_contiguous(int(m_.problem->packed_bytes()), MPI_BYTE, &type_);
    } else {
      type_ = m_.make();
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
  void put() const {
    const std::byte* from = is_contiguous_ ? m_.problem->dense() : m_.problem->buffer();
    const MPI_Aint at = is_contiguous_ ? 0 : m_.received->buffer() - m_.received->dense();
    const int count = is_contiguous_ ? 1 : m_.count;
    MPI_Put(from, count, type_, m_.partner, at, count, type_, window_);
  }

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
