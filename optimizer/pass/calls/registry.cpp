// SPDX-License-Identifier: BSD-3-Clause
//
// The preload gets the type's text with its kernels, with places for numbers, so that it can check
// that a handle is of this type.
#include "optimizer/pass/calls/registry.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "optimizer/interface.hpp"
#include "optimizer/pass/calls/site.hpp"
#include "optimizer/pass/handles/fortran.hpp"
#include "optimizer/pass/handles/raise.hpp"
#include "optimizer/pass/types/kernel.hpp"

namespace lacuna::pass {

namespace {

llvm::cl::opt<bool> offers_kernels("lacuna-register", llvm::cl::init(true), llvm::cl::Hidden,
                                   llvm::cl::desc("Whether kernels are offered to the preload"));
llvm::cl::opt<bool> registers(
    "lacuna-note", llvm::cl::init(true), llvm::cl::Hidden,
    llvm::cl::desc("Whether types are registered for calls that look them up"));

// As the preload has room for (interpose/types/compiled.cpp).
constexpr size_t kMostNumbers = interface::kMostNumbers;
constexpr size_t kMostText = 2048;

bool has_list(const Type& type) {
  return type.listed_by != nullptr ||
         llvm::any_of(type.parts, [](const Type* part) { return has_list(*part); });
}

// Whether a handle may be used by calls that are not specialized. `not_by_mpi`: by other code than
// MPI functions that it is passed to here.
bool escapes(llvm::Value* handle, bool not_by_mpi, llvm::SmallPtrSetImpl<llvm::Value*>& seen) {
  if (!seen.insert(handle).second) return false;
  return llvm::any_of(handle->users(), [&](llvm::User* user) {
    if (llvm::isa<llvm::PHINode, llvm::SelectInst>(user)) return escapes(user, not_by_mpi, seen);
    if (llvm::isa<llvm::CmpInst>(user)) return false;
    auto* call = llvm::dyn_cast<llvm::CallBase>(user);
    if (call == nullptr) return true;
    const llvm::Function* callee = call->getCalledFunction();
    if (not_by_mpi && callee != nullptr &&
        (callee->getName().starts_with("MPI_") || is_fortran(*call))) {
      return false;
    }
    return raised(call) == nullptr && !call->hasMetadata(kFallback);
  });
}
bool escapes(llvm::Value* handle, bool not_by_mpi) {
  llvm::SmallPtrSet<llvm::Value*, 8> seen;
  return escapes(handle, not_by_mpi, seen);
}

llvm::Function* declared(llvm::Function& like, bool is_prefix = false) {
  llvm::LLVMContext& context = like.getContext();
  llvm::Type *pointer = llvm::PointerType::getUnqual(context),
             *number = llvm::Type::getInt64Ty(context);
  llvm::SmallVector<llvm::Type*, 5> types = {pointer, pointer, number, pointer};
  if (is_prefix) types.push_back(number);
  auto* type = llvm::FunctionType::get(llvm::Type::getInt32Ty(context), types, false);
  auto* result = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage,
                                        "lacuna.kernel.counted", *like.getParent());
  result->setDoesNotThrow();
  // The program's target, not that of the templates.
  for (const char* name : {"target-cpu", "target-features", "tune-cpu", "frame-pointer"}) {
    if (like.hasFnAttribute(name)) result->addFnAttr(like.getFnAttribute(name));
  }
  return result;
}

// Defines `result` to call the kernel, or replaces it by the function that an earlier type has made
// for the same kernel; `place`: the index of the count among the kernel's numbers.
void define(llvm::Function*& result, llvm::Function* kernel, size_t numbers, size_t place,
            Made& made) {
  const std::string name = (kernel->getName() + ".counted").str();
  if (llvm::Function* known = kernel->getParent()->getFunction(name)) {
    result->eraseFromParent();
    result = known;
    return;
  }
  result->setName(name);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(kernel->getContext(), "", result));
  llvm::Type* type = builder.getInt64Ty();
  llvm::Value* own = builder.CreateAlloca(llvm::ArrayType::get(type, numbers));
  for (size_t i = 0; i < numbers; ++i) {
    llvm::Value* value = result->getArg(2);
    if (i != place) {
      value =
          builder.CreateLoad(type, builder.CreateConstInBoundsGEP1_64(type, result->getArg(0), i));
    }
    builder.CreateStore(value, builder.CreateConstInBoundsGEP1_64(type, own, i));
  }
  llvm::SmallVector<llvm::Value*, 4> args = {result->getArg(1), result->getArg(3), own};
  if (result->arg_size() > 4) args.push_back(result->getArg(4));
  builder.CreateCall(kernel, args);
  builder.CreateRet(builder.getInt32(0));
  made.push_back(result);
}

// A function of a message's size that looks up in the tables who handles it: bits of
// interface::Flag.
llvm::Function* handlers(options::Pattern pattern, llvm::Module& module) {
  const std::string name = "lacuna.kernel.handlers." + std::to_string(int(pattern));
  if (llvm::Function* made = module.getFunction(name)) return made;
  llvm::IRBuilder<> builder(module.getContext());
  llvm::Type* number = builder.getInt64Ty();
  auto* result = llvm::Function::Create(llvm::FunctionType::get(number, {number, number}, false),
                                        llvm::GlobalValue::InternalLinkage, name, module);
  result->setDoesNotThrow();
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", result));
  llvm::Value* flags = builder.getInt64(0);
  const auto add = [&](options::Handler handler, options::Side side, interface::Flag flag) {
    llvm::Value* is_one =
        is_handled_by(pattern, side, handler, result->getArg(1), result->getArg(0), builder);
    if (is_one == nullptr) return;
    flags = builder.CreateOr(
        flags, builder.CreateSelect(is_one, builder.getInt64(uint64_t(flag)), builder.getInt64(0)));
  };
  add(options::Handler::kLibrary, options::Side::kSend, interface::kSendIsLibrarys);
  add(options::Handler::kLibrary, options::Side::kReceive, interface::kReceiveIsLibrarys);
  add(options::Handler::kPreload, options::Side::kSend, interface::kSendIsPreloads);
  add(options::Handler::kPreload, options::Side::kReceive, interface::kReceiveIsPreloads);
  add(options::Handler::kWithGap, options::Side::kSend, interface::kSendWithGap);
  builder.CreateRet(flags);
  return result;
}

// The struct Kernels of optimizer/templates/registry.hpp.
llvm::Value* kernels_of(const Counted& counted, const Library& library, llvm::Module& module,
                        llvm::Constant* spent) {
  using Member = interface::KernelsMember;
  llvm::Type* number = llvm::Type::getInt64Ty(module.getContext());
  llvm::Constant* members[Member::kCount];
  members[Member::pack] = counted.pack;
  members[Member::unpack] = counted.unpack;
  members[Member::unpack_prefix] = counted.prefix;
  members[Member::handlers] = handlers(counted.pattern, module);
  members[Member::unit] = library.handle_of(counted.unit);
  members[Member::unit_bytes] = llvm::ConstantInt::get(number, uint64_t(counted.unit->bytes));
  members[Member::spent] = spent;
  llvm::Constant* both = llvm::ConstantStruct::getAnon(members);
  auto* result = new llvm::GlobalVariable(
      module, both->getType(), true, llvm::GlobalValue::PrivateLinkage, both, "lacuna.kernels");
  result->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return result;
}

// Enters the type of a commit into the registry, unless that has not paid at this place (kPrice in
// optimizer/templates/registry.hpp). The builder goes on behind that.
void enter(llvm::CallBase& commit, llvm::Value* committed, const Counted& counted,
           llvm::Value* numbers, const Library& library, llvm::IRBuilder<>& builder) {
  llvm::Module& module = *commit.getModule();
  auto* spent = new llvm::GlobalVariable(module, builder.getInt64Ty(), false,
                                         llvm::GlobalValue::PrivateLinkage, builder.getInt64(0),
                                         "lacuna.spent");
  llvm::CallInst* may = builder.CreateCall(library.template_of("may_enter"), {spent});
  llvm::Instruction* behind = &*builder.GetInsertPoint();
  llvm::IRBuilder<> inside(
      llvm::SplitBlockAndInsertIfThen(builder.CreateIsNotNull(may), behind, false));
  inside.SetCurrentDebugLocation(commit.getDebugLoc());
  llvm::Value* type = is_fortran(commit) ? c_type(committed, library, inside) : committed;
  inside.CreateCall(
      library.template_of("enter"),
      {inside.CreateExtractValue(&commit, 1), type, kernels_of(counted, library, module, spent),
       counted.bytes, counted.lb, counted.extent, counted.run, numbers,
       inside.getInt64(counted.numbers.size())});
  builder.SetInsertPoint(behind);
  llvm::InlineFunctionInfo unused;
  llvm::InlineFunction(*may, unused);
}

// Whether the type of a commit is entered into the registry or offered to the preload, after it.
bool register_type(llvm::CallBase& commit, const Library& library, Resolver& resolver, Made& made,
                   std::string& what) {
  llvm::Value* handle = nullptr;
  for (llvm::User* user : commit.users()) {
    auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(user);
    if (extract != nullptr && extract->getIndices()[0] == 0) handle = extract;
  }
  if (handle == nullptr || !escapes(handle, false)) return false;
  // The preload takes C's handles, and Fortran's where these are the same.
  const bool does_register = uses_registry() && escapes(handle, true);
  const bool does_offer = offers_kernels && handle->getType() == library.handle_type;
  if (!does_register && !does_offer) return false;
  const Type* type = resolver.resolve(previous(commit));
  if (type == nullptr) return false;
  llvm::SmallVector<llvm::Value*, 8> unknown;
  const std::string text = type->text(&unknown);
  if (text.size() > kMostText || unknown.size() > kMostNumbers) return false;
  llvm::IRBuilder<> builder(after(commit));
  builder.SetCurrentDebugLocation(commit.getDebugLoc());
  Counted counted;
  std::string why;
  if (!make_counted(*type, library, builder, counted, made, why)) return false;
  // Again, since the program may extract the handle only later.
  llvm::Value* committed = builder.CreateExtractValue(&commit, 0);
  llvm::Value* numbers = in_frame(counted.numbers, builder);
  llvm::Value* number_count = builder.getInt64(counted.numbers.size());
  if (does_register) enter(commit, committed, counted, numbers, library, builder);
  if (does_offer) {
    builder.CreateCall(
        library.template_of("offer"),
        {committed, builder.CreateGlobalStringPtr(text), in_frame(unknown, builder),
         builder.getInt64(unknown.size()), counted.pack, counted.unpack, numbers, number_count});
  }
  if (options::checks()) {
    llvm::Value* its = is_fortran(commit) ? c_type(committed, library, builder) : committed;
    check_counted(commit, its, counted, numbers, library, builder);
  }
  what = type->text();
  return true;
}

}  // namespace

bool uses_registry() { return registers; }

bool make_counted(const Type& type, const Library& library, llvm::IRBuilder<>& builder,
                  Counted& result, Made& made, std::string& why) {
  if (type.may_be_null || type.basic != nullptr || has_list(type)) {
    why = "it may be MPI_DATATYPE_NULL, is predefined, or has a list of the run time";
    return false;
  }
  Lists lists(library);  // stays empty
  Shaper shaper(library, lists, builder);
  const Shape one = shaper.elements(type, builder.getInt32(1));
  if (one.node == nullptr) {
    why = shaper.why();
    return false;
  }
  if (one.lb == nullptr) {
    why = "its extent is not known for sure";
    return false;
  }
  llvm::Value* extent = builder.CreateSub(one.ub, one.lb);
  if (one.node->kind == Node::kRun && one.node->bytes == extent) {
    why = "its data have no gaps";
    return false;
  }
  llvm::Function& function = *builder.GetInsertBlock()->getParent();
  result.pack = declared(function);
  result.unpack = declared(function);
  result.prefix = declared(function, true);
  Node all;
  all.kind = Node::kLoop;
  all.offset = all.bytes = builder.getInt64(0);
  all.count = result.pack->getArg(2);
  all.stride = extent;
  all.parts.push_back(one.node);
  Kernel kernel(all);
  result.unit = one.unit;
  result.bytes = one.node->bytes;
  result.lb = one.lb;
  result.extent = extent;
  result.run = run_of(*one.node, builder);
  result.pattern = one.pattern;
  auto& numbers = result.numbers;
  numbers.assign(kernel.numbers().begin(), kernel.numbers().end());
  if (numbers.size() > kMostNumbers) {
    result.pack->eraseFromParent();
    result.unpack->eraseFromParent();
    result.prefix->eraseFromParent();
    why = "it has more run-time parameters than a registered type may have";
    return false;
  }
  const auto place = size_t(llvm::find(numbers, all.count) - numbers.begin());
  llvm::Module& module = *function.getParent();
  // All three before define(): it may delete the function whose argument a kernel still names.
  llvm::Function* pack = kernel.emit(module, Kernel::kPack);
  llvm::Function* unpack = kernel.emit(module, Kernel::kUnpack);
  llvm::Function* prefix = kernel.emit(module, Kernel::kPrefix);
  define(result.pack, pack, numbers.size(), place, made);
  define(result.unpack, unpack, numbers.size(), place, made);
  define(result.prefix, prefix, numbers.size(), place, made);
  // The functions fill in the count themselves.
  numbers[place] = all.bytes;
  if (numbers.size() == 1) numbers.clear();
  return true;
}

llvm::Value* in_frame(llvm::ArrayRef<llvm::Value*> values, llvm::IRBuilder<>& builder) {
  if (values.empty()) return llvm::ConstantPointerNull::get(builder.getPtrTy());
  llvm::Function& function = *builder.GetInsertBlock()->getParent();
  llvm::IRBuilder<> entry(&*function.getEntryBlock().getFirstInsertionPt());
  llvm::Type* type = builder.getInt64Ty();
  llvm::Value* result = entry.CreateAlloca(llvm::ArrayType::get(type, values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    builder.CreateStore(builder.CreateSExt(values[i], type),
                        builder.CreateConstInBoundsGEP1_64(type, result, i));
  }
  return result;
}

void check_counted(llvm::CallBase& call, llvm::Value* type, const Counted& counted,
                   llvm::Value* numbers, const Library& library, llvm::IRBuilder<>& builder) {
  const std::string where = place_of(call, "kernels of any count");
  builder.CreateCall(
      library.template_of("check_counted"),
      {type, counted.pack, counted.unpack, numbers, builder.CreateGlobalStringPtr(where)});
}

void register_kernels(llvm::Function& function, const Library& library, Resolver& resolver,
                      llvm::OptimizationRemarkEmitter& remarks, Made& made) {
  if ((!offers_kernels && !registers) || options::mode() != options::Mode::kOn) return;
  llvm::SmallVector<llvm::CallBase*, 4> commits;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    const Producer* row = raised(&instruction);
    if (row != nullptr && row->name == "MPI_Type_commit")
      commits.push_back(llvm::cast<llvm::CallBase>(&instruction));
  }
  for (llvm::CallBase* commit : commits) {
    std::string what;
    if (!register_type(*commit, library, resolver, made, what)) continue;
    remarks.emit([&] {
      return llvm::OptimizationRemark("lacuna", "Registered", commit)
             << "MPI_Type_commit registers kernels, for calls that are not seen here: "
             << llvm::ore::NV("What", what);
    });
  }
}

}  // namespace lacuna::pass
