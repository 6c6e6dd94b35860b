// SPDX-License-Identifier: BSD-3-Clause
#include "optimizer/pass/calls/completion.hpp"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <optional>

#include "optimizer/pass/base/functions.hpp"
#include "optimizer/pass/handles/fortran.hpp"
#include "optimizer/pass/handles/raise.hpp"
#include "optimizer/pass/types/shape.hpp"

namespace lacuna::pass {

namespace {

// The requests in one local variable (one, or an array): which instructions write or wait for them.
class Requests {
 public:
  Requests(llvm::AllocaInst& variable, bool of_fortran, const Library& library)
      : variable_(variable),
        of_fortran_(of_fortran),
        bytes_(of_fortran ? 4
                          : static_cast<int64_t>(variable.getModule()
                                                     ->getDataLayout()
                                                     .getTypeStoreSize(library.handle_type)
                                                     .getFixedValue())) {}

  // Finds all uses; false where one is not understood, so that other code may have the address.
  bool gather() {
    llvm::SmallVector<llvm::Instruction*, 8> addresses = {&variable_};
    while (!addresses.empty()) {
      for (llvm::Use& use : addresses.pop_back_val()->uses()) {
        auto* user = llvm::cast<llvm::Instruction>(use.getUser());
        if (llvm::isa<llvm::GetElementPtrInst>(user)) {
          addresses.push_back(user);
        } else if (auto* call = llvm::dyn_cast<llvm::CallBase>(user)) {
          if (!call->isLifetimeStartOrEnd() && !is_known(*call, use)) return false;
        } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
          // Initialization with MPI_REQUEST_NULL.
          const auto offset = offset_of(store->getPointerOperand());
          if (use.getOperandNo() != llvm::StoreInst::getPointerOperandIndex() ||
              !offset.has_value() || !store->isSimple() ||
              !llvm::isa<llvm::Constant>(store->getValueOperand())) {
            return false;
          }
          const llvm::DataLayout& layout = variable_.getModule()->getDataLayout();
          starts_[store] = {
              *offset,
              int64_t(
                  layout.getTypeStoreSize(store->getValueOperand()->getType()).getFixedValue())};
        } else {
          return false;
        }
      }
    }
    return true;
  }

  int64_t bytes() const { return bytes_; }
  // The index, among those that the instruction waits for, of the request at that offset.
  std::optional<int64_t> waited(llvm::Instruction& instruction, int64_t offset) const {
    const auto found = waits_.find(&instruction);
    if (found == waits_.end()) return std::nullopt;
    const int64_t inside = offset - found->second.first;
    if (inside < 0 || inside >= found->second.second * bytes_ || inside % bytes_ != 0)
      return std::nullopt;
    return inside / bytes_;
  }
  bool starts(llvm::Instruction& instruction, int64_t offset) const {
    const auto found = starts_.find(&instruction);
    if (found == starts_.end()) return false;
    const auto [begin, bytes] = found->second;
    return begin < offset + bytes_ && offset < begin + bytes;
  }
  std::optional<int64_t> offset_of(llvm::Value* address) const {
    llvm::APInt offset(64, 0);
    const llvm::Value* base = address->stripAndAccumulateConstantOffsets(
        variable_.getModule()->getDataLayout(), offset, true);
    if (base != &variable_) return std::nullopt;
    return offset.getSExtValue();
  }

 private:
  bool is_known(llvm::CallBase& call, llvm::Use& use) {
    const llvm::Function* callee = call.getCalledFunction();
    if (callee == nullptr || !callee->isDeclaration() || !call.isArgOperand(&use)) return false;
    const unsigned number = call.getArgOperandNo(&use);
    const auto offset = offset_of(use.get());
    if (!offset.has_value()) return false;
    if (auto* fill = llvm::dyn_cast<llvm::MemIntrinsic>(&call)) {  // initialization, too
      const auto* length = constant(fill->getLength());
      if (number != 0 || length == nullptr || fill->isVolatile()) return false;
      starts_[&call] = {*offset, length->getSExtValue()};
      return true;
    }
    if (is_fortran(call) != of_fortran_) return false;
    const llvm::StringRef name = mpi_name(call);
    if (name == "MPI_Wait" && call.arg_size() == 2 && number == 0) {
      waits_[&call] = {*offset, 1};
      return true;
    }
    if (name == "MPI_Waitall" && call.arg_size() == 3 && number == 1) {
      const auto* count = constant(call.getArgOperand(0));
      if (count == nullptr || count->isNegative()) return false;
      waits_[&call] = {*offset, count->getSExtValue()};
      return true;
    }
    const Mover* row = mover(name);
    if (row != nullptr && row->request >= 0 && call.arg_size() == row->parameters &&
        number == unsigned(row->request)) {
      starts_[&call] = {*offset, bytes_};
      return true;
    }
    return false;
  }

  llvm::AllocaInst& variable_;
  const bool of_fortran_;
  const int64_t bytes_;
  llvm::DenseMap<llvm::Instruction*, std::pair<int64_t, int64_t>> waits_;   // first offset, count
  llvm::DenseMap<llvm::Instruction*, std::pair<int64_t, int64_t>> starts_;  // first offset, bytes
};

bool is_of_mpi(const llvm::CallBase& call) {
  return !mpi_name(call).empty() || raised(&call) != nullptr;
}

constexpr llvm::StringLiteral kJumps[] = {"longjmp",       "_longjmp",     "siglongjmp",
                                          "__longjmp_chk", "pthread_exit", "thrd_exit"};

// Whether functions of this file jump out of frames without throwing: then any function may.
bool may_jump(const llvm::Module& module) {
  return llvm::any_of(kJumps, [&](llvm::StringRef name) {
    const llvm::Function* function = module.getFunction(name);
    return function != nullptr && !function->use_empty();
  });
}

// The instruction as a call of a function that is neither MPI's nor an intrinsic; or nullptr.
const llvm::CallBase* foreign_call(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return call == nullptr || llvm::isa<llvm::IntrinsicInst>(call) || is_of_mpi(*call) ? nullptr
                                                                                     : call;
}

// Whether the frame may be left in the middle of a block. Calls of Fortran functions are not
// checked: Fortran does not throw, but flang does not mark its functions accordingly.
bool may_leave(const llvm::Instruction& instruction, bool jumps) {
  const llvm::CallBase* call = foreign_call(instruction);
  if (call == nullptr || jumps) return call != nullptr;
  return llvm::isa<llvm::CallInst>(call) && !call->doesNotThrow() &&
         !call->getFunction()->doesNotThrow();
}

// Whether a call may never return. LLVM infers for functions of this file that they return, and
// knows it of the C library's.
bool may_stay_away(const llvm::Instruction& instruction) {
  const llvm::CallBase* call = foreign_call(instruction);
  return call != nullptr && !call->willReturn();
}

// The blocks that may follow.
llvm::SmallVector<llvm::BasicBlock*, 2> next(llvm::Instruction& last) {
  auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(&last);
  if (invoke != nullptr && is_of_mpi(*invoke)) return {invoke->getNormalDest()};
  return llvm::SmallVector<llvm::BasicBlock*, 2>(llvm::successors(&last));
}

}  // namespace

Completion completions(llvm::CallBase& call, unsigned argument, const Library& library) {
  llvm::Value* address = call.getArgOperand(argument);
  auto* variable = llvm::dyn_cast<llvm::AllocaInst>(llvm::getUnderlyingObject(address));
  if (variable == nullptr || !variable->isStaticAlloca()) return {};
  Requests requests(*variable, is_fortran(call), library);
  const auto offset = requests.offset_of(address);
  if (!offset.has_value() || !requests.gather()) return {};
  const bool jumps = may_jump(*call.getModule());
  Completion found;
  llvm::SmallPtrSet<llvm::BasicBlock*, 16> seen;
  llvm::SmallVector<llvm::BasicBlock::iterator, 16> ways;
  if (call.isTerminator()) {
    for (llvm::BasicBlock* block : next(call)) ways.push_back(block->begin());
  } else {
    ways.push_back(std::next(call.getIterator()));
  }
  while (!ways.empty()) {
    llvm::BasicBlock::iterator at = ways.pop_back_val();
    llvm::BasicBlock* block = at->getParent();
    bool is_complete = false;
    for (; at != block->end() && !is_complete; ++at) {
      if (const auto number = requests.waited(*at, *offset)) {
        auto* wait = llvm::cast<llvm::CallBase>(&*at);
        if (llvm::none_of(found.waits, [&](const Wait& other) { return other.call == wait; }))
          found.waits.push_back({wait, *number});
        is_complete = true;
      } else if (requests.starts(*at, *offset) || (!is_fortran(call) && may_leave(*at, jumps))) {
        return {};  // the request is overwritten, or the frame may be left
      } else {
        found.may_be_left = found.may_be_left || may_stay_away(*at);
      }
    }
    if (is_complete) continue;
    llvm::Instruction* last = block->getTerminator();
    if (llvm::isa<llvm::UnreachableInst>(last)) continue;
    if (last->getNumSuccessors() == 0) return {};  // the function returns
    for (llvm::BasicBlock* way : next(*last)) {
      if (seen.insert(way).second) ways.push_back(way->begin());
    }
  }
  return found;
}

bool Pending::rewrite(const Library& library) {
  for (auto& [wait, ended] : waits_) {
    const llvm::StringRef name = mpi_name(*wait);
    const bool of_fortran = is_fortran(*wait);
    llvm::Function* received = library.template_of(of_fortran ? "received_fortran" : "received");
    llvm::Function* sent = library.template_of(of_fortran ? "sent_fortran" : "sent");
    llvm::IRBuilder<> entry(&*wait->getFunction()->getEntryBlock().getFirstInsertionPt());
    int64_t count = 1;
    if (name == "MPI_Waitall") count = constant(wait->getArgOperand(0))->getSExtValue();
    llvm::AllocaInst* own = entry.CreateAlloca(
        llvm::ArrayType::get(entry.getInt8Ty(), uint64_t(count * library.status_bytes)));
    own->setAlignment(llvm::Align(16));
    split_normal_edge(*wait);
    llvm::IRBuilder<> builder(wait);
    builder.SetCurrentDebugLocation(wait->getDebugLoc());
    llvm::SmallVector<llvm::Value*, 4> args(wait->args());
    llvm::Value* statuses = args.back();
    llvm::SmallVector<llvm::CallBase*, 4> to_inline;
    llvm::CallBase* made = nullptr;
    if (of_fortran) {
      llvm::Value* ignored = is_ignored(statuses, library, builder);
      args.back() = builder.CreateSelect(ignored, own, statuses);
      made = fortran_call(name, args, *wait, builder);
      statuses = args.back();
    } else {
      args.push_back(own);
      made = same_kind(*wait, library.template_of(name), args, builder);
      to_inline.push_back(made);
    }
    builder.SetInsertPoint(after(*made));
    wait->replaceAllUsesWith(made);
    for (const One& one : ended) {
      llvm::SmallVector<llvm::Value*, 6> given = {made, statuses, own,
                                                  builder.getInt32(uint32_t(one.number))};
      if (one.buffer != nullptr)
        given.push_back(builder.CreateLoad(builder.getPtrTy(), one.buffer));
      given.push_back(one.arg);
      to_inline.push_back(builder.CreateCall(one.buffer != nullptr ? received : sent, given));
    }
    wait->eraseFromParent();
    for (llvm::CallBase* call : to_inline) {
      llvm::InlineFunctionInfo info;
      llvm::InlineFunction(*call, info);
    }
  }
  return !waits_.empty();
}

}  // namespace lacuna::pass
