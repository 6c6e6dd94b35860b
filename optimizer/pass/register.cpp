// SPDX-License-Identifier: BSD-3-Clause
//
// What is registered is told with it, as text with places for numbers, so that the preload can see
// that the type is that one.
#include "optimizer/pass/register.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Support/CommandLine.h>

#include "optimizer/pass/fortran.hpp"
#include "optimizer/pass/kernel.hpp"
#include "optimizer/pass/site.hpp"

namespace lacuna {

namespace {

llvm::cl::opt<bool> registers("lacuna-register", llvm::cl::init(true), llvm::cl::Hidden,
                              llvm::cl::desc("Whether kernels are registered with the preload"));

// As the preload has room for (interpose/compiled.cpp).
constexpr size_t kMostNumbers = 8;
constexpr size_t kMostText = 2048;

bool has_list(const Type& type) {
  return type.listed_by != nullptr ||
         llvm::any_of(type.parts, [](const Type* part) { return has_list(*part); });
}

// Whether anybody may use a handle whose calls the pass has not seen to.
bool escapes(llvm::Value* handle, llvm::SmallPtrSetImpl<llvm::Value*>& seen) {
  if (!seen.insert(handle).second) return false;
  return llvm::any_of(handle->users(), [&](llvm::User* user) {
    if (llvm::isa<llvm::PHINode, llvm::SelectInst>(user)) return escapes(user, seen);
    if (llvm::isa<llvm::CmpInst>(user)) return false;
    auto* call = llvm::dyn_cast<llvm::CallBase>(user);
    return call == nullptr || (raised(call) == nullptr && !call->hasMetadata(kWayOut));
  });
}

llvm::Function* declared(llvm::Function& like) {
  llvm::LLVMContext& context = like.getContext();
  llvm::Type *pointer = llvm::PointerType::getUnqual(context),
             *number = llvm::Type::getInt64Ty(context);
  auto* type = llvm::FunctionType::get(llvm::Type::getInt32Ty(context),
                                       {pointer, pointer, number, pointer}, false);
  auto* result = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage,
                                        "lacuna.kernel.counted", *like.getParent());
  result->setDoesNotThrow();
  // For the processor that the program is compiled for.
  for (const char* name : {"target-cpu", "target-features", "tune-cpu", "frame-pointer"}) {
    if (like.hasFnAttribute(name)) result->addFnAttr(like.getFnAttribute(name));
  }
  return result;
}

// `result` becomes the one of this kernel, which an earlier type may have made; `place`: of the
// count among the kernel's numbers.
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
  builder.CreateCall(kernel, {result->getArg(1), result->getArg(3), own});
  builder.CreateRet(builder.getInt32(0));
  made.push_back(result);
}

// Whether the type of a commit is registered after it.
bool register_type(llvm::CallBase& commit, const Library& library, Resolver& resolver, Made& made,
                   std::string& what) {
  llvm::Value* handle = nullptr;
  for (llvm::User* user : commit.users()) {
    auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(user);
    if (extract != nullptr && extract->getIndices()[0] == 0) handle = extract;
  }
  llvm::SmallPtrSet<llvm::Value*, 8> seen;
  if (handle == nullptr || handle->getType() != library.handle_type || !escapes(handle, seen))
    return false;
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
  // The handle may be taken out of the pair after that place.
  llvm::Value* committed = builder.CreateExtractValue(&commit, 0);
  llvm::Value* numbers = in_frame(counted.numbers, builder);
  builder.CreateCall(library.template_of("register"),
                     {committed, builder.CreateGlobalStringPtr(text), in_frame(unknown, builder),
                      builder.getInt64(unknown.size()), counted.pack, counted.unpack, numbers,
                      builder.getInt64(counted.numbers.size())});
  if (options::checks()) check_counted(commit, committed, counted, numbers, library, builder);
  what = type->text();
  return true;
}

}  // namespace

bool make_counted(const Type& type, const Library& library, llvm::IRBuilder<>& builder,
                  Counted& result, Made& made, std::string& why) {
  if (type.may_be_null || type.basic != nullptr || has_list(type)) {
    why = "it may be MPI_DATATYPE_NULL, is predefined, or has a list of the run time";
    return false;
  }
  Lists lists(library);  // none
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
  Node all;
  all.kind = Node::kLoop;
  all.offset = all.bytes = builder.getInt64(0);
  all.count = result.pack->getArg(2);
  all.stride = extent;
  all.parts.push_back(one.node);
  Kernel kernel(all);
  result.unit = one.unit;
  result.bytes = one.node->bytes;
  auto& numbers = result.numbers;
  numbers.assign(kernel.numbers().begin(), kernel.numbers().end());
  if (numbers.size() > kMostNumbers) {
    result.pack->eraseFromParent();
    result.unpack->eraseFromParent();
    why = "it has more numbers of the run time than are taken";
    return false;
  }
  const auto place = size_t(llvm::find(numbers, all.count) - numbers.begin());
  llvm::Module& module = *function.getParent();
  // Both first: whose arguments the kernel reads may be replaced by one that is there.
  llvm::Function* pack = kernel.emit(module, Kernel::kPack);
  llvm::Function* unpack = kernel.emit(module, Kernel::kUnpack);
  define(result.pack, pack, numbers.size(), place, made);
  define(result.unpack, unpack, numbers.size(), place, made);
  // The functions put the count there themselves.
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
  if (!registers || options::mode() != options::Mode::kOn) return;
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

}  // namespace lacuna
