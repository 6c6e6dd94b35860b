// SPDX-License-Identifier: BSD-3-Clause
#include "optimizer/pass/calls/site.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "optimizer/interface.hpp"
#include "optimizer/pass/handles/fortran.hpp"
#include "optimizer/pass/handles/raise.hpp"

namespace lacuna::pass {

namespace {

constexpr int64_t kMostInPlace = INT32_MAX;  // data without gaps are not packed
constexpr int64_t kShort = 4096;             // the most bytes of a "static, short" message
constexpr llvm::StringLiteral kPass = "lacuna";

options::Side side_of(const Mover& row, size_t triple) {
  return triple == 1 || row.form == "MPI_Recv" || row.form == "MPI_Irecv" ? options::Side::kReceive
                                                                          : options::Side::kSend;
}

// Whether one of the types is not predefined.
bool has_derived_type(const llvm::CallBase& call, const Mover& row, const Library& library) {
  return llvm::any_of(row.triples, [&](const Triple& triple) {
    return library.basic(call.getArgOperand(triple.type)) == nullptr;
  });
}

// Whether a receive may be made with the program's own type at run time, since the program may
// survive errors (templates/overrun.cpp).
bool may_fall_back(const llvm::Module& module, const Mover& row, const Library& library) {
  if (row.form == "MPI_Send" || row.form == "MPI_Isend") return false;
  return library.template_of("may_overrun") != nullptr &&
         llvm::any_of(llvm::ArrayRef{"MPI_Comm_set_errhandler", "mpi_comm_set_errhandler_"},
                      [&](const char* name) { return module.getFunction(name) != nullptr; });
}

// Whether data of several types, of a size that is known, may be sent by the program's own type at
// run time (templates/structs.cpp).
bool may_break_structs(const Shape& shape, const Library& library) {
  if (shape.unit != library.packed() || library.template_of("breaks_structs") == nullptr)
    return false;
  const auto* bytes = constant(shape.node->bytes);
  return bytes == nullptr || bytes->getSExtValue() > interface::kMostOfStructs;
}

}  // namespace

const char* words(CommSize size) {
  switch (size) {
    case CommSize::kStaticShort:
      return "static, short";
    case CommSize::kStaticLong:
      return "static, long";
    case CommSize::kShapeStatic:
      return "shape-static";
    case CommSize::kDynamic:
      break;
  }
  return "dynamic";
}

llvm::Value* run_of(const Node& node, llvm::IRBuilder<>& builder) {
  if (node.kind == Node::kRun) return node.bytes;
  if (node.kind != Node::kParts) return run_of(*node.parts[0], builder);
  const bool are_runs =
      llvm::all_of(node.parts, [](const Node* part) { return part->kind == Node::kRun; });
  return are_runs ? builder.CreateUDiv(node.bytes, builder.getInt64(node.parts.size()))
                  : run_of(*node.parts[0], builder);
}

llvm::Value* is_handled_by(options::Pattern pattern, options::Side side, options::Handler handler,
                           llvm::Value* bytes, llvm::Value* run, llvm::IRBuilder<>& builder) {
  llvm::Value* result = nullptr;
  const auto within = [&](llvm::Value* value, int64_t from, int64_t to) {
    // One unsigned comparison: a value below `from` wraps around to a huge one.
    return builder.CreateICmpULE(builder.CreateSub(value, builder.getInt64(uint64_t(from))),
                                 builder.getInt64(uint64_t(to - from)));
  };
  for (const options::HandlerRule& one : options::handler_rules(pattern, side)) {
    if (one.handler != handler) continue;
    llvm::Value* is_one = builder.CreateAnd(within(bytes, one.from, one.to),
                                            within(run, one.run_from + 1, one.run_to));
    result = result == nullptr ? is_one : builder.CreateOr(result, is_one);
  }
  return result;
}

void remark_left(llvm::CallBase& call, llvm::StringRef function, llvm::StringRef why,
                 llvm::StringRef kind, llvm::OptimizationRemarkEmitter& remarks) {
  remarks.emit([&] {
    return llvm::OptimizationRemarkMissed(kPass.data(), kind, &call)
           << llvm::ore::NV("Function", function)
           << " left as it is: " << llvm::ore::NV("Reason", why);
  });
}

bool Specializer::examine(llvm::CallBase& call, const Mover& row, size_t triple, Shaper& shaper,
                          Known& known, std::string& why) {
  llvm::Value* handle = call.getArgOperand(row.triples[triple].type);
  if (library_.basic(handle) != nullptr) return true;
  known.type = resolver_.resolve(handle);
  if (known.type == nullptr) {
    why = resolver_.why();
    return false;
  }
  known.shape = shaper.elements(*known.type, known.elements);
  if (known.shape.node == nullptr) {
    why = shaper.why() + ": " + known.type->text();
    return false;
  }
  return choose_handlers(call, row, side_of(row, triple), known, why);
}

bool Specializer::choose_handlers(llvm::CallBase& call, const Mover& row, options::Side side,
                                  Known& known, std::string& why) {
  const Node& node = *known.shape.node;
  const bool has_gaps = node.kind != Node::kRun;
  known.most = !has_gaps       ? kMostInPlace
               : row.peer >= 0 ? options::most_bytes()
               : row.collective != Collective::kNone
                   ? std::min(options::most_bytes(), interface::kMostCollectiveBytes)
                   : interface::kMostPackBytes;
  if (has_gaps && row.peer >= 0) {
    llvm::IRBuilder<> builder(&call);
    const auto is_of = [&, run = run_of(node, builder)](options::Handler handler) {
      return is_handled_by(known.shape.pattern, side, handler, node.bytes, run, builder);
    };
    known.is_librarys = is_of(options::Handler::kLibrary);
    known.is_preloads = is_of(options::Handler::kPreload);
    known.with_gap = is_of(options::Handler::kWithGap);
  }
  if (row.collective == Collective::kEach)
    known.most = std::min(known.most, interface::kMostToEachBytes);
  const auto* bytes = constant(node.bytes);
  const int64_t size = bytes == nullptr ? 0 : bytes->getSExtValue();
  if (bytes != nullptr && size == 0) {
    why = "there is nothing to move";
  } else if (size > known.most) {
    why = std::to_string(size) + " bytes are more than pay to be packed first (" +
          std::to_string(known.most) + "): " + known.type->text();
  } else if (known.is_librarys != nullptr && is(known.is_librarys, -1)) {
    why = std::to_string(size) +
          " bytes are moved as well by the MPI library (`lacuna tune`): " + known.type->text();
  } else if (row.collective != Collective::kNone && known.shape.unit == library_.packed()) {
    // Other ranks may use the type itself, so the packed data must be of its signature. Only in
    // messages between two processes does MPI_PACKED match any signature.
    why = "data of several types, which a collective may not send packed: " + known.type->text();
  } else if (row.collective != Collective::kNone && !has_gaps) {
    why = "its data have no gaps: " + known.type->text();
  } else if (row.form == "MPI_Irecv" && known.shape.has_list) {
    why = "a list of the run time may be another by the time it completes: " + known.type->text();
  } else if (row.request >= 0 && has_gaps && completions_.find(&call) == completions_.end()) {
    why = "its request is not proven to complete in this function: " + known.type->text();
  }
  return why.empty();
}

void Specializer::prove(llvm::CallBase& call, const Mover& row) {
  if (row.request < 0 || !has_derived_type(call, row, library_)) return;
  Completion completion = completions(call, unsigned(row.request), library_);
  if (!completion.waits.empty()) completions_[&call] = std::move(completion);
}

bool Specializer::specialize(llvm::CallBase& call, const Mover& row) {
  if (!has_derived_type(call, row, library_)) return false;
  llvm::Function* body = library_.template_of(row.form);
  const unsigned wanted = row.parameters + unsigned(row.triples.size());
  if (body == nullptr || body->arg_size() != wanted || call.arg_size() != row.parameters ||
      call.hasOperandBundles()) {
    return false;
  }
  const bool of_fortran = is_fortran(call);
  for (unsigned i = 0; i < row.parameters && !of_fortran; ++i) {
    const bool is_large =
        has_large_counts(row) &&
        llvm::any_of(row.triples, [&](const Triple& triple) { return triple.count == i; });
    const llvm::Type* type =
        is_large ? llvm::Type::getInt64Ty(call.getContext()) : body->getArg(i)->getType();
    if (call.getArgOperand(i)->getType() != type) return false;
  }

  llvm::IRBuilder<> builder(&call);
  llvm::CallInst* ranks = nullptr;
  llvm::Value* comm = call.getArgOperand(unsigned(row.comm));
  if (row.collective == Collective::kEach) {
    if (of_fortran) comm = c_comm(comm, library_, builder);
    ranks = builder.CreateCall(library_.template_of("ranks"), {comm});
  }
  std::deque<Shaper> shapers;  // they own the nodes
  llvm::SmallVector<Known, 2> known(row.triples.size());
  std::string why;
  bool any = false, is_impossible = false, is_unknown = false, may_be_preloads = false;
  CommSize size = CommSize::kStaticShort;
  std::string what;
  for (size_t i = 0; i < row.triples.size(); ++i) {
    const Triple& triple = row.triples[i];
    std::string reason;
    known[i].elements = call.getArgOperand(triple.count);
    if (ranks != nullptr && !is_negative(known[i].elements)) {
      llvm::Type* wide = builder.getInt64Ty();
      known[i].elements =
          builder.CreateMul(Shaper::held(builder.CreateSExt(known[i].elements, wide), builder),
                            builder.CreateSExt(ranks, wide));
    }
    if (!examine(call, row, i, shapers.emplace_back(library_, lists_, builder), known[i], reason)) {
      is_impossible = is_impossible || shapers.back().is_impossible();
      is_unknown = is_unknown || (known[i].type == nullptr &&
                                  !llvm::isa<llvm::Constant>(call.getArgOperand(triple.type)));
      known[i] = {};
      why = reason;
      continue;
    }
    if (known[i].type == nullptr) continue;
    const auto* bytes = constant(known[i].shape.node->bytes);
    if (bytes == nullptr) {
      size = CommSize::kShapeStatic;
    } else if (bytes->getSExtValue() > kShort && size == CommSize::kStaticShort) {
      size = CommSize::kStaticLong;
    }
    any = true;
    may_be_preloads =
        may_be_preloads || (known[i].is_preloads != nullptr && !is(known[i].is_preloads, 0));
    const auto* count = constant(call.getArgOperand(triple.count));
    what += (what.empty() ? "" : " and ") +
            (count == nullptr ? "?" : std::to_string(count->getSExtValue())) + " x " +
            known[i].type->text() +
            (bytes == nullptr ? "" : ", " + std::to_string(bytes->getSExtValue()) + " bytes");
  }
  const bool only_reports = options::mode() == options::Mode::kReport;
  if (ranks != nullptr && (!any || only_reports)) {
    ranks->replaceAllUsesWith(llvm::ConstantInt::get(ranks->getType(), 0));
    ranks->eraseFromParent();
    if (auto* made = llvm::dyn_cast<llvm::CallInst>(comm); made != nullptr && made->use_empty())
      made->eraseFromParent();
  }
  if (!any && is_unknown && look_up(call, row, why)) return true;
  if (!any) {
    remark_left(call, row.name, why, is_impossible ? "Impossible" : "Dynamic", remarks_);
    return false;
  }
  const Peer peer = peer_of(call, row, library_);
  remarks_.emit([&] {
    llvm::OptimizationRemark remark(kPass.data(), "Specialized", &call);
    remark << llvm::ore::NV("Function", row.name)
           << (only_reports ? " can be specialized: " : " specialized: ")
           << llvm::ore::NV("What", what) << "; size " << llvm::ore::NV("CommSize", words(size));
    if (peer != Peer::kNone) remark << ", peer " << llvm::ore::NV("CommNode", words(peer));
    if (!why.empty())
      remark << "; the other type is left as it is: " << llvm::ore::NV("Reason", why);
    return remark;
  });
  if (only_reports) return false;

  slots_.clear();
  split_normal_edge(call);
  const llvm::SmallVector<llvm::Value*, 16> given(call.args());
  llvm::SmallVector<llvm::Value*, 16> args(given);
  if (of_fortran) {
    llvm::SmallVector<bool, 2> is_left_out;
    for (const Known& each : known)
      is_left_out.push_back(each.type != nullptr && !options::checks());
    args = c_arguments(call, row, is_left_out, library_, builder);
  }
  if (has_large_counts(row)) narrow(row, known, args, builder);
  for (size_t i = 0; i < row.triples.size(); ++i) {
    const bool is_kept =
        row.request >= 0 && known[i].type != nullptr && known[i].shape.node->kind != Node::kRun;
    args.push_back(buffer_arg(call, row.triples[i], known[i], builder, is_kept));
    if (options::checks() && known[i].type != nullptr)
      check(call, row, row.triples[i], known[i], args, builder);
  }
  llvm::CallBase* made = same_kind(call, body, args, builder);
  builder.SetInsertPoint(after(*made));
  for (llvm::AllocaInst* slot : slots_) builder.CreateLifetimeEnd(slot);
  call.replaceAllUsesWith(made);
  call.eraseFromParent();
  if (ranks != nullptr) {
    llvm::InlineFunctionInfo unused;
    llvm::InlineFunction(*ranks, unused);
  }
  llvm::InlineFunctionInfo info;
  llvm::InlineFunction(*made, info);
  llvm::Metadata* is_rare = llvm::ConstantAsMetadata::get(
      builder.getInt1(size != CommSize::kShapeStatic && !may_be_preloads &&
                      !may_fall_back(*builder.GetInsertBlock()->getModule(), row, library_) &&
                      llvm::none_of(known, [&](const Known& each) {
                        return each.type != nullptr && may_break_structs(each.shape, library_);
                      })));
  llvm::MDNode* mark = llvm::MDNode::get(builder.getContext(), is_rare);
  for (llvm::CallBase* inlined : info.InlinedCallSites) {
    const llvm::Function* callee = inlined->getCalledFunction();
    if (callee == nullptr) continue;
    const bool is_original = callee->getName().starts_with(kOriginal);
    if (!is_original && mover(callee->getName()) == nullptr) continue;
    inlined->setMetadata(kFallback, mark);
    if (is_original) {
      restore(*inlined, row, of_fortran, given);
    } else if (row.request >= 0 && of_fortran && library_.has_own_handles_in_fortran()) {
      give_request(*inlined, args[unsigned(row.request)], given[unsigned(row.request)], library_);
    }
  }
  return true;
}

}  // namespace lacuna::pass
