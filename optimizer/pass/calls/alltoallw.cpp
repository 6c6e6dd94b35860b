// SPDX-License-Identifier: BSD-3-Clause
#include "optimizer/pass/calls/alltoallw.hpp"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>

#include "optimizer/interface.hpp"
#include "optimizer/pass/calls/site.hpp"
#include "optimizer/pass/handles/fortran.hpp"
#include "optimizer/pass/handles/raise.hpp"

namespace lacuna::pass {

namespace {

constexpr llvm::StringLiteral kName = "MPI_Alltoallw";
// Fortran's call is not raised: all of its arguments stay addresses.
constexpr llvm::StringLiteral kBound = "mpi_alltoallw_";
constexpr unsigned kBoundArguments = 10;  // with ierror

bool is_bound(const llvm::CallBase& call) { return call.getCalledFunction()->getName() == kBound; }

// A handle that is stored into the array before the call. The template compares all elements with
// it at run time, so nothing has to be proven about other stores.
llvm::Value* written(llvm::Value* object, const llvm::CallBase& call, const Library& library,
                     const llvm::DominatorTree& tree) {
  const llvm::Type* handle_type =
      is_bound(call) ? llvm::Type::getInt32Ty(call.getContext()) : library.handle_type;
  llvm::SmallVector<llvm::Value*, 8> places = {object};
  for (unsigned looked = 0; !places.empty() && looked < 256; ++looked) {
    for (llvm::User* user : places.pop_back_val()->users()) {
      if (llvm::isa<llvm::GetElementPtrInst, llvm::PHINode>(user) && looked + places.size() < 256)
        places.push_back(user);
      auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
      if (store == nullptr || store->getValueOperand()->getType() != handle_type ||
          tree.dominates(&call, store)) {  // it comes later
        continue;
      }
      llvm::Value* handle = store->getValueOperand();
      if (library.basic(handle) == nullptr && !llvm::isa<llvm::Constant>(handle) &&
          tree.dominates(handle, &call)) {
        return handle;
      }
    }
  }
  return nullptr;
}

// The struct Each of optimizer/templates/calls/alltoallw.cpp for one side; null, with `why`, if its
// types are not known.
llvm::Value* side(llvm::CallBase& call, unsigned types, const Library& library, Resolver& resolver,
                  const llvm::DominatorTree& tree, Made& made, std::string& what,
                  std::string& why) {
  llvm::Value* object = llvm::getUnderlyingObject(call.getArgOperand(types));
  llvm::Value* handle = written(object, call, library, tree);
  if (handle == nullptr) {
    why = "its types come in an array in which no type is seen to be put";
    return nullptr;
  }
  const Type* type = resolver.resolve(handle);
  if (type == nullptr) {
    why = resolver.why();
    return nullptr;
  }
  llvm::IRBuilder<> builder(&call);
  Counted counted;
  if (!make_counted(*type, library, builder, counted, made, why)) return nullptr;
  // Other ranks may use the type itself, so the packed data must be of its signature.
  if (counted.unit == library.packed()) {
    why = "data of several types, which a collective may not send packed: " + type->text();
    return nullptr;
  }
  llvm::Value* numbers = in_frame(counted.numbers, builder);
  if (options::checks()) {
    llvm::Value* its = is_bound(call) ? c_type(handle, library, builder) : handle;
    check_counted(call, its, counted, numbers, library, builder);
  }
  using Member = interface::EachMember;
  llvm::Value* members[Member::kCount];
  members[Member::move] = types == 3 ? counted.pack : counted.unpack;
  members[Member::numbers] = numbers;
  members[Member::type] = handle;
  members[Member::bytes] = counted.bytes;
  members[Member::unit] = library.handle_of(counted.unit);
  members[Member::unit_bytes] = builder.getInt64(uint64_t(counted.unit->bytes));
  llvm::SmallVector<llvm::Type*, Member::kCount> kinds;
  for (llvm::Value* member : members) kinds.push_back(member->getType());
  auto* each = llvm::StructType::get(call.getContext(), kinds);
  llvm::IRBuilder<> entry(&*call.getFunction()->getEntryBlock().getFirstInsertionPt());
  llvm::Value* result = entry.CreateAlloca(each);
  for (unsigned i = 0; i < Member::kCount; ++i)
    builder.CreateStore(members[i], builder.CreateStructGEP(each, result, i));
  what += (what.empty() ? "" : " and ") + type->text();
  return result;
}

bool specialize(llvm::CallBase& call, const Library& library, Resolver& resolver,
                const llvm::DominatorTree& tree, llvm::OptimizationRemarkEmitter& remarks,
                Made& made) {
  llvm::Function* body =
      library.template_of(is_bound(call) ? (kName + "_fortran").str() : kName.str());
  const bool only_reports = options::mode() == options::Mode::kReport;
  const unsigned more = is_bound(call) ? 4 : 2;  // than the program gives
  if (body == nullptr || call.arg_size() + more != body->arg_size() || call.hasOperandBundles())
    return false;
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    if (call.getArgOperand(i)->getType() != body->getArg(i)->getType()) return false;
  }
  std::string what, why;
  llvm::Value* null =
      llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(call.getContext()));
  llvm::Value *sent = nullptr, *got = nullptr;
  if (!only_reports) {
    sent = side(call, 3, library, resolver, tree, made, what, why);
    got = side(call, 7, library, resolver, tree, made, what, why);
  }
  if (sent == nullptr && got == nullptr) {
    remark_left(call, kName, why, "Dynamic", remarks);
    return false;
  }
  remarks.emit([&] {
    return llvm::OptimizationRemark("lacuna", "Specialized", &call)
           << llvm::ore::NV("Function", kName) << " specialized: all types "
           << llvm::ore::NV("What", what) << "; size "
           << llvm::ore::NV("CommSize", words(CommSize::kShapeStatic));
  });
  llvm::SmallVector<llvm::Value*, 16> args(call.args());
  llvm::IRBuilder<> builder(&call);
  if (is_bound(call)) {
    args.push_back(call.getCalledOperand());
    llvm::Value* is_special = builder.CreateOr(is_special_buffer(args[0], library, builder),
                                               is_special_buffer(args[4], library, builder));
    args.push_back(builder.CreateZExt(is_special, builder.getInt32Ty()));
  }
  args.push_back(sent == nullptr ? null : sent);
  args.push_back(got == nullptr ? null : got);
  split_normal_edge(call);
  llvm::CallBase* replaced = same_kind(call, body, args, builder);
  call.replaceAllUsesWith(replaced);
  call.eraseFromParent();
  return true;
}

}  // namespace

bool specialize_alltoallw(llvm::Function& function, const Library& library, Resolver& resolver,
                          llvm::OptimizationRemarkEmitter& remarks, Made& made) {
  llvm::SmallVector<llvm::CallBase*, 4> calls;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
    if (callee == nullptr || !callee->isDeclaration()) continue;
    const bool is_fortrans =
        library.has_fortran() && is_bound(*call) && is_of_binding(*call, kBoundArguments);
    if (callee->getName() == kName || is_fortrans) calls.push_back(call);
  }
  if (calls.empty()) return false;
  const llvm::DominatorTree tree(function);
  bool any = false;
  for (llvm::CallBase* call : calls)
    any = specialize(*call, library, resolver, tree, remarks, made) || any;
  return any;
}

}  // namespace lacuna::pass
