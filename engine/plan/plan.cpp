// SPDX-License-Identifier: BSD-3-Clause
//
// Builds plans: a PlanNode for each distinct node of the layout, and the root for many elements.
#include "plan/plan.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/checked.hpp"
#include "base/options.hpp"
#include "layout/disjoint.hpp"

namespace lacuna {
namespace {

using Kind = LayoutNode::Kind;

// Messages of up to so many packed bytes are moved by functions that lacuna-cc compiled
// (docs/experiments/2026-11-27-plan-thresholds.md).
constexpr int64_t kMostCompiled = 8192;

// Up to how many elements of `size` bytes SmallMoves is faster than the step's kernel: many, where
// each kernel call moves only a few runs; else fewer than half of a table's period
// (docs/experiments/2026-11-26-short-runs-and-records.md).
int64_t most_spelled(const Step& step, int64_t size) {
  constexpr int64_t kMostBytes = 1 << 18;
  constexpr int64_t kFewInARow = 12;
  constexpr int64_t kFewInACall = 48;
  constexpr int64_t kFewListed = 32;
  if (step.shape == Step::Shape::kParts) return kMostBytes / size;
  const bool is_fields = step.shape == Step::Shape::kRecord;
  if (is_fields && step.open_loop == Step::OpenLoop::kInner) {
    const Record& fields = *step.record;
    const int64_t period = std::max(fields.gather.elements, fields.scatter.elements);
    if (period > 0) return period / 2;
    // The kernel would use the same list of words.
    return goes_by_list(fields, kMostBytes / size) ? kMostBytes / size
           : goes_by_list(fields, kFewListed)      ? kFewListed
                                                   : 0;
  }
  if ((!is_fields && step.shape != Step::Shape::kStrided) ||
      step.open_loop != Step::OpenLoop::kAround)
    return 0;
  int64_t runs = step.inner.count;
  if (is_fields) {
    // A kernel does not move rows of fields faster than one row in each call.
    runs *= static_cast<int64_t>(step.record->runs.size());
    return runs <= kFewInARow ? kMostBytes / size : 0;
  }
  runs *= step.outer.count;
  const bool is_one_call = step.goes_around() && step.around.size() == 1;
  if (step.goes_around() && !is_one_call) runs *= step.around.back().count;
  return runs <= (is_one_call ? kFewInARow : kFewInACall) ? kMostBytes / size : 0;
}

class Builder {
 public:
  Builder(const KernelTable& kernels, const Machine& machine)
      : kernels_(kernels), machine_(machine) {}

  // Builds children first. No recursion: nests may be deep, and stacks small.
  PlanNodePtr build(const NodePtr& root) {
    constexpr size_t kUsual = 8;
    std::vector<std::shared_ptr<PlanNode>> path;
    path.reserve(kUsual);
    path.push_back(node_of(root));
    for (;;) {
      PlanNode& at = *path.back();
      const std::vector<NodePtr>& children = at.layout->children;
      if (at.children.size() < children.size()) {
        const NodePtr& child = children[at.children.size()];
        if (child->kind == Kind::kRun && at.kind != Kind::kSeq) {
          at.children.push_back(node_of(child));  // never moved alone
        } else if (const PlanNodePtr known = find(child)) {
          at.children.push_back(known);
        } else {
          path.push_back(node_of(child));
        }
        continue;
      }
      finish(at, false);
      PlanNodePtr made = std::move(path.back());
      path.pop_back();
      const bool is_shared = made->layout.use_count() > 2;  // one parent and `made`: 2
      if (is_shared) done_.emplace(made->layout.get(), made);
      if (path.empty()) return made;
      path.back()->children.push_back(std::move(made));
    }
  }

  // The memory of the nodes and of the layout, approximately.
  int64_t memory_bytes() const { return memory_bytes_; }

  // Any number of elements, `extent` apart.
  PlanNodePtr build_repeat(const PlanNodePtr& element, int64_t extent) {
    const auto node = std::make_shared<PlanNode>();
    node->layout = element->layout;
    node->kind = Kind::kLoop;
    node->size = element->size;
    const Loop& own = element->loop;
    if (element->kind == Kind::kLoop && extent == wrapping_mul(own.count, own.mem_stride)) {
      node->loop = own;  // elements continue the loop
      node->children = element->children;
    } else {
      node->loop = {1, extent, element->size};
      node->children = {element};
    }
    finish(*node, true);
    return node;
  }

 private:
  PlanNodePtr find(const NodePtr& layout) const {
    if (done_.empty()) return nullptr;
    const auto found = done_.find(layout.get());
    return found != done_.end() ? found->second : nullptr;
  }

  // Without a step and children.
  std::shared_ptr<PlanNode> node_of(const NodePtr& layout) {
    auto node = std::make_shared<PlanNode>();
    node->layout = layout;
    node->kind = layout->kind;
    node->size = layout->size;
    node->loop = layout->loop;
    node->children.reserve(layout->children.size());
    memory_bytes_ += static_cast<int64_t>(
        2 * sizeof(PlanNode) + 8 * (layout->mem_offsets.size() + layout->packed_offsets.size()) +
        2 * sizeof(NodePtr) * layout->children.size());
    return node;
  }

  void finish(PlanNode& node, bool is_open) {
    select_step(node, kernels_, machine_, is_open);
    if (node.step.shape != Step::Shape::kParts) return;
    for (const PlanNodePtr& child : node.children) node.pieces.push_back(piece(*child));
  }

  std::shared_ptr<const SmallMoves> piece(const PlanNode& child) {
    const auto [at, is_new] = pieces_.try_emplace(&child);
    if (is_new) {
      auto small =
          std::make_shared<const SmallMoves>(Layout{{0, child.layout}, 0}, kernels_, machine_);
      if (small->most_elements() > 0) {
        memory_bytes_ += static_cast<int64_t>(sizeof(SmallMoves) + sizeof(Element));
        at->second = std::move(small);
      }
    }
    return at->second;
  }

  const KernelTable& kernels_;
  const Machine& machine_;
  std::unordered_map<const LayoutNode*, PlanNodePtr> done_;  // of layouts with several parents
  std::unordered_map<const PlanNode*, std::shared_ptr<const SmallMoves>> pieces_;
  int64_t memory_bytes_ = 0;
};

// Keeps::kOutline: sizes, bounds and signature of the type, with `byte` in place of its tree.
TypePtr outline_of(const Type& type) {
  auto outline = make_ref<Type>();
  outline->basic = find_basic("byte");
  outline->size_bytes = type.size_bytes;
  outline->lb = type.lb;
  outline->ub = type.ub;
  outline->true_lb = type.true_lb;
  outline->true_ub = type.true_ub;
  outline->alignment_bytes = type.alignment_bytes;
  outline->lb_marker = type.lb_marker;
  outline->ub_marker = type.ub_marker;
  outline->signature = type.signature;
  outline->hash = type.hash;
  outline->tree_bytes = static_cast<int64_t>(sizeof(Type));
  return outline;
}

// Not inlined, to keep the stack of make_plan small.
[[gnu::noinline]] void set_small_moves(const Layout& layout, const KernelTable& kernels,
                                       const Machine& machine, SmallMoves* small) {
  *small = SmallMoves(layout, kernels, machine);
}

}  // namespace

double Plan::mean_run_bytes() const {
  if (size_ == 0) return 0;
  return static_cast<double>(size_) / static_cast<double>(layout_.element.node->leaf_runs);
}

const KernelTable& default_kernels() {
  static const KernelTable& table = []() -> const KernelTable& {
    const KernelTable* named = find_table(option_text(OptionId::kIsa));
    return named != nullptr ? *named : *kernel_tables().front();
  }();
  return table;
}

PlanPtr make_plan(TypePtr type, const KernelTable& kernels, const Machine& host, Keeps keeps) {
  auto plan = make_ref<Plan>();
  plan->layout_ = lower(*type);
  plan->type_ = keeps == Keeps::kType ? std::move(type) : outline_of(*type);
  plan->machine_ = &host;
  plan->kernels_ = &kernels;
  plan->size_ = plan->layout_.size();
  if (!plan->layout_.element.empty()) {
    Builder builder(kernels, host);
    const NodePtr& element = plan->layout_.element.node;
    plan->single_ = builder.build(element);
    plan->repeat_ = builder.build_repeat(plan->single_, plan->layout_.extent);
    plan->contiguous_ = element->kind == Kind::kRun && plan->layout_.extent == plan->size_;
    plan->most_disjoint_ = most_disjoint(plan->layout_);
    set_small_moves(plan->layout_, kernels, host, &plan->small_moves_);
    plan->small_moves_.serve(most_spelled(plan->repeat_->step, plan->size_));
    plan->small_moves_.limit(plan->most_disjoint_);
    plan->memory_bytes_ = builder.memory_bytes();
  }
  plan->memory_bytes_ += static_cast<int64_t>(sizeof(Plan));
  if (__builtin_add_overflow(plan->memory_bytes_, plan->type_->tree_bytes, &plan->memory_bytes_))
    plan->memory_bytes_ = INT64_MAX;
  return plan;
}

PlanPtr with_compiled_moves(const Plan& plan, CompiledMoves moves) {
  if (plan.is_empty() || plan.is_contiguous()) return nullptr;
  // For moves at one stride, the plan's own are as fast.
  if (plan.small_moves_.is_regular()) return nullptr;
  const int64_t most = std::min(kMostCompiled / plan.size_, plan.most_disjoint_);
  if (most == 0) return nullptr;
  auto made = make_ref<Plan>();
  static_cast<PlanParts&>(*made) = plan;
  made->small_moves_ = SmallMoves(plan.layout_, std::move(moves), most);
  return made;
}

PlanPtr with_regime(const Plan& plan, int64_t count, Direction way, const Kernel& kernel,
                    const Hints& hints) {
  auto made = make_ref<Plan>();
  static_cast<PlanParts&>(*made) = plan;
  auto root = std::make_shared<PlanNode>(plan.root(count));
  root->step.regimes(way) = {{.kernel = kernel, .hints = hints}};
  (count == 1 ? made->single_ : made->repeat_) = std::move(root);
  return made;
}

}  // namespace lacuna
