// SPDX-License-Identifier: BSD-3-Clause
//
// A type made for one message: create, commit, pack (or unpack), free; the library's calls, and the
// same through lacuna's C API. There are calls for the three constructors that programs use in this
// way, of a predefined type; other problems are left out.
#include <climits>
#include <vector>

#include "bench/engine/rival.hpp"
#include "lacuna/lacuna.h"
#include "mpi/predefined.hpp"

namespace lacuna::bench {
namespace {

bool is_simple(const Problem& problem) {
  const Type& type = *problem.type();
  if (!problem.row().is_lifecycle || problem.packed_bytes() > INT_MAX) return false;
  for (const TypePtr& child : type.children) {
    if (child->combiner != Combiner::kNamed) return false;
  }
  return type.combiner == Combiner::kVector || type.combiner == Combiner::kSubarray ||
         type.combiner == Combiner::kStruct;
}

std::vector<int> ints(const std::vector<int64_t>& values) {
  std::vector<int> narrow;
  for (const int64_t value : values) narrow.push_back(static_cast<int>(value));
  return narrow;
}

class MpiLifecycle : public Rival {
 public:
  MpiLifecycle() : Rival("mpi-lifecycle") {}

  bool prepare(const Problem& problem) override {
    if (!is_simple(problem)) return false;
    type_ = problem.type().get();
    children_.clear();
    for (const TypePtr& child : type_->children) {
      children_.push_back(predefined_.handle_of(child->basic));
    }
    blocklengths_ = ints(type_->blocklengths);
    displacements_.assign(type_->displacements.begin(), type_->displacements.end());
    sizes_ = ints(type_->sizes);
    subsizes_ = ints(type_->subsizes);
    starts_ = ints(type_->starts);
    count_ = static_cast<int>(problem.count());
    bytes_ = static_cast<int>(problem.packed_bytes());
    return true;
  }

  void pack(const std::byte* mem, std::byte* packed, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) {
      MPI_Datatype made = create();
      int position = 0;
      MPI_Pack(mem, count_, made, packed, bytes_, &position, MPI_COMM_SELF);
      MPI_Type_free(&made);
    }
  }

  void unpack(const std::byte* packed, std::byte* mem, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) {
      MPI_Datatype made = create();
      int position = 0;
      MPI_Unpack(packed, bytes_, &position, mem, count_, made, MPI_COMM_SELF);
      MPI_Type_free(&made);
    }
  }

 private:
  MPI_Datatype create() const {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    switch (type_->combiner) {
      case Combiner::kVector:
        MPI_Type_vector(static_cast<int>(type_->count), static_cast<int>(type_->blocklength),
                        static_cast<int>(type_->stride), children_[0], &made);
        break;
      case Combiner::kSubarray:
        MPI_Type_create_subarray(
            static_cast<int>(sizes_.size()), sizes_.data(), subsizes_.data(), starts_.data(),
            type_->order == Order::kC ? MPI_ORDER_C : MPI_ORDER_FORTRAN, children_[0], &made);
        break;
      default:
        MPI_Type_create_struct(static_cast<int>(children_.size()), blocklengths_.data(),
                               displacements_.data(), children_.data(), &made);
        break;
    }
    MPI_Type_commit(&made);
    return made;
  }

  PredefinedTypes predefined_;
  const Type* type_ = nullptr;
  std::vector<MPI_Datatype> children_;
  std::vector<int> blocklengths_, sizes_, subsizes_, starts_;
  std::vector<MPI_Aint> displacements_;
  int count_ = 0;
  int bytes_ = 0;
};

class LacunaLifecycle : public Rival {
 public:
  LacunaLifecycle() : Rival("lacuna-lifecycle") {}

  bool prepare(const Problem& problem) override {
    if (!is_simple(problem)) return false;
    type_ = problem.type().get();
    // Predefined types are made once, as MPI's are.
    for (const TypePtr& child : type_->children) {
      lacuna_type* named = nullptr;
      if (lacuna_type_named(std::string(child->basic->name).c_str(), &named) != LACUNA_OK) {
        release();
        return false;
      }
      children_.push_back(named);
    }
    count_ = problem.count();
    return true;
  }

  void pack(const std::byte* mem, std::byte* packed, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) {
      lacuna_plan* plan = create();
      (void)!lacuna_pack(plan, mem, count_, packed);
      lacuna_plan_destroy(plan);
    }
  }

  void unpack(const std::byte* packed, std::byte* mem, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) {
      lacuna_plan* plan = create();
      (void)!lacuna_unpack(plan, packed, count_, mem);
      lacuna_plan_destroy(plan);
    }
  }

  void release() override {
    for (lacuna_type* child : children_) lacuna_type_destroy(child);
    children_.clear();
  }

 private:
  lacuna_plan* create() const {
    lacuna_type* made = nullptr;
    lacuna_status status = LACUNA_OK;
    switch (type_->combiner) {
      case Combiner::kVector:
        status = lacuna_type_vector(type_->count, type_->blocklength, type_->stride, children_[0],
                                    &made);
        break;
      case Combiner::kSubarray:
        status = lacuna_type_subarray(
            static_cast<int64_t>(type_->sizes.size()), type_->sizes.data(), type_->subsizes.data(),
            type_->starts.data(), type_->order == Order::kC ? LACUNA_ORDER_C : LACUNA_ORDER_FORTRAN,
            children_[0], &made);
        break;
      default:
        status =
            lacuna_type_struct(static_cast<int64_t>(children_.size()), type_->blocklengths.data(),
                               type_->displacements.data(), children_.data(), &made);
        break;
    }
    lacuna_plan* plan = nullptr;
    // A failure shows when the result is checked: pack refuses the null plan.
    if (status == LACUNA_OK) status = lacuna_plan_create(made, &plan);
    lacuna_type_destroy(made);
    return plan;
  }

  const Type* type_ = nullptr;
  std::vector<lacuna_type*> children_;
  int64_t count_ = 0;
};

}  // namespace

std::unique_ptr<Rival> mpi_lifecycle_rival() { return std::make_unique<MpiLifecycle>(); }
std::unique_ptr<Rival> lacuna_lifecycle_rival() { return std::make_unique<LacunaLifecycle>(); }

}  // namespace lacuna::bench
