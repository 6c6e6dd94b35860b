// SPDX-License-Identifier: BSD-3-Clause
//
// A constructor call is removed if it cannot fail (its numbers are in MPI's ranges), its error code
// is not read, and its handle is only committed and freed. A template's fallback may still need the
// type: it is made again there, and freed. For a count that may be negative a check stays in the
// constructor's place, and the constructor is called if the count is, so that MPI reports the
// error.
#include "optimizer/pass/types/remove_types.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/DomTreeUpdater.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Support/KnownBits.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Local.h>

#include "optimizer/pass/handles/addresses.hpp"
#include "optimizer/pass/handles/fortran.hpp"
#include "optimizer/pass/handles/raise.hpp"
#include "optimizer/pass/types/shape.hpp"

namespace lacuna::pass {

namespace {

class Remover {
 public:
  Remover(llvm::Function& function, const Library& library, Resolver& resolver)
      : function_(function),
        library_(library),
        resolver_(resolver),
        tree_(function),
        loops_(tree_) {}

  bool run(llvm::OptimizationRemarkEmitter& remarks) {
    bool any = false;
    for (bool again = true; again;) {  // a type's parts may be unused after it is removed
      again = false;
      llvm::SmallVector<llvm::CallBase*, 8> calls;
      for (llvm::Instruction& instruction : llvm::instructions(function_)) {
        const Producer* row = raised(&instruction);
        if (row != nullptr && !row->text.empty())
          calls.push_back(llvm::cast<llvm::CallBase>(&instruction));
      }
      for (llvm::CallBase* call : calls) {
        if (anew_.contains(call) || !is_dead(*call)) continue;
        for (llvm::CallBase* made : made_) {
          remarks.emit([&] {
            return llvm::OptimizationRemark("lacuna", "Removed", made)
                   << llvm::ore::NV("Function", raised(made)->name)
                   << " removed: nothing needs the type any more";
          });
        }
        erase();
        any = again = true;
        break;
      }
    }
    return any;
  }

 private:
  // Whether a constructor call may be removed, with all calls whose handles meet its own in phis.
  // Collects what is to be removed.
  bool is_dead(llvm::CallBase& constructor) {
    calls_.clear();
    made_.clear();
    phis_.clear();
    fallbacks_.clear();
    perhaps_negative_.clear();
    llvm::SmallVector<llvm::Value*, 8> handles;
    if (!add_call(constructor, handles)) return false;
    while (!handles.empty()) {
      llvm::Value* handle = handles.pop_back_val();
      for (llvm::Use& use : handle->uses()) {
        if (!may_be_used(use, handles)) return false;
      }
    }
    return true;
  }

  // Adds a call to those that are removed together, and its handle to those whose uses are checked.
  bool add_call(llvm::CallBase& call, llvm::SmallVectorImpl<llvm::Value*>& handles) {
    if (!calls_.insert(&call)) return true;
    const Producer& row = *raised(&call);
    if (!row.text.empty()) {
      if (!cannot_fail(call)) return false;
      made_.push_back(&call);
    } else if (row.name != "MPI_Type_commit" && row.name != "MPI_Type_free") {
      return false;
    } else if (may_be_none(previous(call))) {
      return false;  // an error, which MPI reports
    }
    for (llvm::User* user : call.users()) {
      auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(user);
      if (extract == nullptr) return false;
      if (extract->getIndices()[0] != 0) {
        if (!extract->use_empty()) return false;  // its error code is read
      } else if (row.name != "MPI_Type_free") {   // after it there is no type
        handles.push_back(extract);
      }
    }
    return true;
  }

  bool may_be_used(llvm::Use& use, llvm::SmallVectorImpl<llvm::Value*>& handles) {
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(use.getUser())) {
      if (!phis_.insert(phi)) return true;
      handles.push_back(phi);
      return llvm::all_of(phi->incoming_values(),
                          [&](llvm::Value* value) { return may_come_in(value, handles); });
    }
    auto* call = llvm::dyn_cast<llvm::CallBase>(use.getUser());
    if (call == nullptr) return false;
    if (const Producer* row = raised(call)) {
      if (row->text.empty()) return add_call(*call, handles);
      return use.getOperandNo() + 1 ==
             call->arg_size();  // the old value of another type's variable
    }
    return may_be_made_anew(*call, use);
  }

  // Whether a handle may be MPI_DATATYPE_NULL, on one of the ways that lead here.
  bool may_be_none(llvm::Value* handle) const {
    llvm::SmallSetVector<llvm::Value*, 8> values;
    values.insert(handle);
    for (size_t i = 0; i < values.size(); ++i) {
      if (library_.is_type_null(values[i])) return true;
      if (auto* phi = llvm::dyn_cast<llvm::PHINode>(values[i])) {
        values.insert(phi->incoming_values().begin(), phi->incoming_values().end());
      } else if (auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(values[i])) {
        const Producer* row = raised(extract->getAggregateOperand());
        if (row == nullptr || !row->text.empty()) continue;
        if (row->name == "MPI_Type_free") return true;
        values.insert(previous(*llvm::cast<llvm::CallBase>(extract->getAggregateOperand())));
      }
    }
    return false;
  }

  // Whether a handle that meets a removed one in a phi may be removed, too.
  bool may_come_in(llvm::Value* value, llvm::SmallVectorImpl<llvm::Value*>& handles) {
    if (llvm::isa<llvm::UndefValue>(value) || library_.is_type_null(value)) return true;
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(value)) {
      if (!phis_.insert(phi)) return true;
      handles.push_back(phi);
      return llvm::all_of(phi->incoming_values(),
                          [&](llvm::Value* next) { return may_come_in(next, handles); });
    }
    auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(value);
    auto* call = extract == nullptr
                     ? nullptr
                     : llvm::dyn_cast<llvm::CallBase>(extract->getAggregateOperand());
    if (call == nullptr || raised(call) == nullptr) return false;
    if (raised(call)->text.empty() && !may_come_in(previous(*call), handles)) return false;
    return add_call(*call, handles);
  }

  // Whether a call is a template's fallback, where making the type again costs no more than before.
  bool may_be_made_anew(llvm::CallBase& call, llvm::Use& use) {
    const llvm::MDNode* mark = call.getMetadata(kFallback);
    const Mover* row = mover(call);
    if (mark == nullptr || row == nullptr || !call.isArgOperand(&use)) return false;
    const unsigned number = call.getArgOperandNo(&use);
    if (llvm::none_of(row->triples, [&](const Triple& triple) { return triple.type == number; }))
      return false;
    const Type* type = resolver_.resolve(use.get());
    if (type == nullptr || type->may_be_null || !can_be_made(*type, use->getType())) return false;
    const bool is_rare = is(llvm::mdconst::extract<llvm::ConstantInt>(mark->getOperand(0)), 1);
    const llvm::Loop* loop = loops_.getLoopFor(call.getParent());
    if (!is_rare && llvm::any_of(made_, [&](llvm::CallBase* made) {
          return loops_.getLoopFor(made->getParent()) != loop;
        })) {
      return false;
    }
    fallbacks_.insert({&call, number});
    return true;
  }

  bool can_be_made(const Type& type, llvm::Type* handle_type) const {
    return type.listed_by == nullptr &&
           (type.basic == nullptr || library_.handle_of(type.basic, handle_type) != nullptr) &&
           llvm::all_of(type.numbers,
                        [](const auto& list) { return list.size() <= kMostElements; }) &&
           llvm::all_of(type.parts,
                        [&](const Type* part) { return can_be_made(*part, handle_type); });
  }

  llvm::Value* make(const Type& type, bool of_fortran, llvm::IRBuilder<>& builder) {
    llvm::Type* handle_type = of_fortran ? builder.getInt32Ty() : library_.handle_type;
    if (type.basic != nullptr) return library_.handle_of(type.basic, handle_type);
    llvm::SmallVector<llvm::SmallVector<llvm::Value*, 4>, 8> args;
    llvm::SmallVector<llvm::Value*, 4> parts;
    const auto part = [&](const Type& its) {
      llvm::Value* handle = make(its, of_fortran, builder);
      if (its.basic == nullptr) parts.push_back(handle);
      return handle;
    };
    size_t number = 0;
    for (const char letter : type.made_by->parameters.drop_back()) {
      auto& values = args.emplace_back();
      if (letter == 'h') {
        values.push_back(part(*type.parts[0]));
      } else if (letter == 'H') {
        for (const Type* each : type.parts) values.push_back(part(*each));
      } else {
        values.append(type.numbers[number].begin(), type.numbers[number].end());
        ++number;
      }
    }
    llvm::CallBase* made =
        raised_call(*type.made_by, of_fortran, args, library_.type_null(handle_type), builder);
    anew_.insert(made);
    for (llvm::Value* handle : parts)  // MPI allows to free the parts of a type at once
      raised_call(*producer("MPI_Type_free"), of_fortran, {}, handle, builder);
    return builder.CreateExtractValue(made, 0);
  }

  void make_anew(llvm::CallBase& call, unsigned number) {
    const Type* type = resolver_.resolve(call.getArgOperand(number));
    llvm::IRBuilder<> builder(&call);
    builder.SetCurrentDebugLocation(call.getDebugLoc());
    const bool of_fortran = is_fortran(call);
    llvm::Value* handle = make(*type, of_fortran, builder);
    handle = builder.CreateExtractValue(
        raised_call(*producer("MPI_Type_commit"), of_fortran, {}, handle, builder), 0);
    call.setArgOperand(number, handle);
    builder.SetInsertPoint(after(call));
    raised_call(*producer("MPI_Type_free"), of_fortran, {}, handle, builder);
  }

  bool cannot_fail(llvm::CallBase& call) {
    const Producer& row = *raised(&call);
    if (!are_places(call)) return false;
    if (row.text == "subarray" && !lies_in_its_array(call)) return false;
    if (row.text == "dup" && may_have_attributes(call.getArgOperand(0))) return false;
    for (unsigned i = 0; i + 1 < row.parameters.size(); ++i) {
      llvm::SmallVector<llvm::Value*, 16> values;
      if (!arguments(call, i, values)) return false;
      const char letter = row.parameters[i];
      for (llvm::Value* value : values) {
        if (letter == 'h' || letter == 'H') {
          const Type* part = resolver_.resolve(value);
          if (part == nullptr || part->may_be_null) return false;
        } else if (row.text == "subarray") {
          continue;
        } else if (is_count(letter) && !is_place(row, i)) {
          const llvm::SimplifyQuery query(function_.getParent()->getDataLayout(), &call);
          // Nonnegative, and small enough for every library, if it fits an int.
          const llvm::KnownBits bits = llvm::computeKnownBits(value, /*Depth=*/0, query);
          if (bits.countMinLeadingZeros() + 31 >= bits.getBitWidth()) continue;
          if (!can_be_called_if_negative(call) || bits.getBitWidth() != 32) return false;
          perhaps_negative_.emplace_back(&call, value);
        }
      }
    }
    return true;
  }

  // Whether a type may have attributes: MPI_Type_dup calls the program's functions that copy them.
  // Other files may give predefined types attributes. A type that is made here, and passed only to
  // MPI functions of our tables, has none.
  static bool may_have_attributes(llvm::Value* handle) {
    auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(handle);
    const Producer* row = extract == nullptr ? nullptr : raised(extract->getAggregateOperand());
    if (row == nullptr) return true;
    auto& maker = *llvm::cast<llvm::CallBase>(extract->getAggregateOperand());
    const bool is_seen = llvm::all_of(maker.users(), [](const llvm::User* result) {
      const auto* part = llvm::dyn_cast<llvm::ExtractValueInst>(result);
      return part != nullptr &&
             (part->getIndices()[0] != 0 || llvm::all_of(part->users(), [](const llvm::User* user) {
                const auto* call = llvm::dyn_cast<llvm::CallBase>(user);
                return call != nullptr && (raised(call) != nullptr || mover(*call) != nullptr);
              }));
    });
    if (!is_seen) return true;
    if (row->name == "MPI_Type_commit") return may_have_attributes(previous(maker));
    if (row->text == "dup") return may_have_attributes(maker.getArgOperand(0));
    return row->text.empty();
  }

  // Whether the constructor can be called only if a count is negative, with MPI_PACKED for the
  // program's types: these may be removed, too, and MPI reports the error of the count all the
  // same.
  bool can_be_called_if_negative(llvm::CallBase& call) const {
    return llvm::isa<llvm::CallInst>(call) &&
           library_.handle_of(library_.packed(), previous(call)->getType()) != nullptr &&
           raised(&call)->text != "subarray";
  }

  void call_if_negative(llvm::CallBase& call, llvm::ArrayRef<llvm::Value*> values) {
    llvm::IRBuilder<> builder(&call);
    llvm::Value* is_negative = builder.getFalse();
    for (llvm::Value* value : values) {
      llvm::Value* one = builder.CreateICmpSLT(builder.CreateFreeze(value), builder.getInt32(0));
      is_negative = builder.CreateOr(is_negative, one);
    }
    llvm::DomTreeUpdater updater(tree_, llvm::DomTreeUpdater::UpdateStrategy::Eager);
    llvm::MDNode* rarely = llvm::MDBuilder(call.getContext()).createBranchWeights(1, 1 << 20);
    llvm::Instruction* place = llvm::SplitBlockAndInsertIfThen(
        is_negative, call.getIterator(), /*Unreachable=*/false, rarely, &updater, &loops_);
    auto* made = llvm::cast<llvm::CallBase>(call.clone());
    made->insertBefore(place);
    llvm::Type* handle_type = previous(call)->getType();
    unsigned argument = 0;
    for (const char letter : raised(&call)->parameters.drop_back()) {
      const bool is_list = is_array(letter) && expanded_length(call);
      for (uint64_t left = is_list ? *expanded_length(call) : 1; left > 0; --left, ++argument) {
        if (letter == 'h' || (letter == 'H' && is_list))
          made->setArgOperand(argument, library_.handle_of(library_.packed(), handle_type));
      }
    }
    made->setArgOperand(argument, library_.type_null(handle_type));
    anew_.insert(made);
  }

  bool lies_in_its_array(llvm::CallBase& call) {
    std::vector<std::vector<int64_t>> numbers;
    for (unsigned i = 0; i < 5; ++i) {
      llvm::SmallVector<llvm::Value*, 16> values;
      if (!arguments(call, i, values)) return false;
      auto& list = numbers.emplace_back();
      for (llvm::Value* value : values) {
        if (constant(value) == nullptr) return false;
        list.push_back(constant(value)->getSExtValue());
      }
    }
    const int64_t order = numbers[4][0];
    if (numbers[1].empty() || (order != library_.order_c && order != library_.order_fortran))
      return false;
    for (size_t dim = 0; dim < numbers[1].size(); ++dim) {
      const int64_t size = numbers[1][dim], subsize = numbers[2][dim], start = numbers[3][dim];
      if (size < 1 || subsize < 1 || start < 0 || start + subsize > size) return false;
    }
    return true;
  }

  void erase() {
    for (auto [call, number] : fallbacks_) make_anew(*call, number);
    for (llvm::CallBase* call : made_) {
      llvm::SmallVector<llvm::Value*, 4> values;
      for (auto [whose, value] : perhaps_negative_) {
        if (whose == call) values.push_back(value);
      }
      if (!values.empty()) call_if_negative(*call, values);
    }
    for (llvm::PHINode* phi : phis_) {
      phi->replaceAllUsesWith(library_.type_null(phi->getType()));
      phi->eraseFromParent();
    }
    for (llvm::CallBase* call : calls_) {
      for (llvm::User* user : llvm::make_early_inc_range(call->users())) {
        auto* extract = llvm::cast<llvm::ExtractValueInst>(user);
        if (extract->getIndices()[0] == 0)
          extract->replaceAllUsesWith(library_.type_null(extract->getType()));
        extract->eraseFromParent();
      }
    }
    for (llvm::CallBase* call : calls_) {
      auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(call);
      (invoke == nullptr ? call : llvm::changeToCall(invoke))->eraseFromParent();
    }
  }

  llvm::Function& function_;
  const Library& library_;
  Resolver& resolver_;
  llvm::DominatorTree tree_;
  llvm::LoopInfo loops_;
  llvm::SmallPtrSet<llvm::CallBase*, 8> anew_;  // calls made here, which stay
  // What is removed with the current constructor call.
  llvm::SmallSetVector<llvm::CallBase*, 8> calls_;
  llvm::SmallVector<llvm::CallBase*, 4> made_;
  llvm::SmallSetVector<llvm::PHINode*, 4> phis_;
  llvm::SmallSetVector<std::pair<llvm::CallBase*, unsigned>, 4> fallbacks_;
  llvm::SmallVector<std::pair<llvm::CallBase*, llvm::Value*>, 4> perhaps_negative_;
};

}  // namespace

bool remove_dead_types(llvm::Function& function, const Library& library, Resolver& resolver,
                       llvm::OptimizationRemarkEmitter& remarks) {
  llvm::SmallVector<llvm::CallBase*, 8> invokes;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (llvm::isa<llvm::InvokeInst>(instruction) && instruction.hasMetadata(kFallback))
      invokes.push_back(llvm::cast<llvm::CallBase>(&instruction));
  }
  for (llvm::CallBase* invoke : invokes) split_normal_edge(*invoke);
  return Remover(function, library, resolver).run(remarks);
}

}  // namespace lacuna::pass
