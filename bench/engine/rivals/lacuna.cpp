// SPDX-License-Identifier: BSD-3-Clause
//
// lacuna: through the C API of the shared library, as a program uses it; and by the C++ below it
// with the kernels of one instruction set, which the C API does not choose. slices.cpp has the
// slices.
#include "bench/engine/rival.hpp"
#include "bench/engine/rivals/through_api.hpp"
#include "exec/exec.hpp"
#include "plan/plan.hpp"

namespace lacuna::bench {
namespace {

class OneIsa : public Rival {
 public:
  explicit OneIsa(const std::string& isa) : Rival("lacuna-" + isa), table_(find_table(isa)) {}

  bool prepare(const Problem& problem) override {
    if (table_ == nullptr) return false;
    plan_ = make_plan(problem.type(), *table_);
    count_ = problem.count();
    return true;
  }

  void pack(const std::byte* mem, std::byte* packed, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) lacuna::pack(*plan_, mem, count_, packed);
  }

  void unpack(const std::byte* packed, std::byte* mem, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) lacuna::unpack(*plan_, packed, count_, mem);
  }

  void release() override { plan_.reset(); }

 private:
  const KernelTable* table_;
  PlanPtr plan_;
  int64_t count_ = 0;
};

}  // namespace

std::unique_ptr<Rival> lacuna_rival() { return std::make_unique<ThroughApi>(); }

std::unique_ptr<Rival> lacuna_again_rival() { return std::make_unique<ThroughApi>("lacuna-again"); }

std::unique_ptr<Rival> lacuna_isa_rival(const std::string& isa) {
  return std::make_unique<OneIsa>(isa);
}

}  // namespace lacuna::bench
