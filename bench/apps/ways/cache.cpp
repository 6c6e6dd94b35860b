// SPDX-License-Identifier: BSD-3-Clause
//
// How much of a following computation's cache the packing evicts, future work of [Schneider2012,
// 4]: rank 0 reads a working set, packs, and reads the working set again; the phase "communicate"
// is that second reading, and what it takes longer than after no packing was evicted.
#include <numeric>

#include "bench/apps/ways/way.hpp"

namespace lacuna::bench {
namespace {

class Evict : public Way {
 public:
  explicit Evict(const Message& message) : m_(message) {
    set_.resize(size_t(m_.work_kib) * 1024 / sizeof(int64_t));
    std::iota(set_.begin(), set_.end(), 0);
  }
  int transfers() const override { return 1; }
  bool is_alone() const override { return true; }
  bool has_phases() const override { return true; }
  void round(Phases* phases) override {
    if (m_.rank != 0) return;
    read();
    read();  // twice, so that the set is where later rounds find it in the caches
    Laps laps(phases);
    pack();
    laps.end(&Phases::pack);
    read();
    laps.end(&Phases::communicate);
  }
  std::string verify() override {
    m_.problem->fill_memory(1);
    m_.problem->fill_packed(2);
    round(nullptr);
    return m_.rank == 0 && packs() ? m_.problem->check_packed(1) : "";
  }

 protected:
  virtual void pack() {}
  virtual bool packs() const { return false; }
  const Message& m_;

 private:
  void read() const {
    int64_t sum = 0;
    for (size_t i = 0; i < set_.size(); i += 8) sum += set_[i];  // one number of each cache line
    asm volatile("" : : "r"(sum) : "memory");
  }
  std::vector<int64_t> set_;
};

class EvictByMpi : public Evict {
 public:
  using Evict::Evict;
  void create() override {
    type_ = m_.make();
    MPI_Type_commit(&type_);
  }
  void destroy() override { MPI_Type_free(&type_); }

 protected:
  void pack() override {
    int position = 0;
    MPI_Pack(m_.problem->buffer(), m_.count, type_, m_.problem->packed(),
             int(m_.problem->packed_bytes()), &position, MPI_COMM_WORLD);
  }
  bool packs() const override { return true; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

class EvictByHand : public Evict {
 public:
  using Evict::Evict;

 protected:
  void pack() override { m_.app->pack(m_.input, m_.problem->buffer(), m_.problem->packed()); }
  bool packs() const override { return true; }
};

}  // namespace

std::unique_ptr<Way> make_cache_way(const std::string& name, const Message& message) {
  if (name == "evict_nothing") return std::make_unique<Evict>(message);
  if (name == "evict_mpi_pack") return std::make_unique<EvictByMpi>(message);
  if (name == "evict_by_hand" && message.app != nullptr)
    return std::make_unique<EvictByHand>(message);
  return nullptr;
}

}  // namespace lacuna::bench
