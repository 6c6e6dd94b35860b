// SPDX-License-Identifier: BSD-3-Clause
//
// Makes a failing type small: tries one-step simplifications, takes the first that still fails, and
// starts again from it. Each step goes down the order (nodes, list entries, constructors, numbers,
// basics), so that shrinking ends.
#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "type/random/random.hpp"
#include "type/text/grammar.hpp"

namespace lacuna {
namespace {

using List = std::vector<int64_t>;
using detail::Parameter;
using detail::ParameterKind;

// Numbers are simpler the nearer they are to 0, positive ones before negative ones. Magnitudes are
// unsigned, as INT64_MIN has no positive counterpart.
uint64_t magnitude(int64_t value) {
  return value < 0 ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
}

bool simpler(int64_t a, int64_t b) {
  return magnitude(a) != magnitude(b) ? magnitude(a) < magnitude(b) : a > b;
}

// Simpler numbers than `value`, the simplest first, then ever nearer to it: a bisection, if the
// fault begins at some bound.
List simpler_numbers(int64_t value) {
  List candidates = {0, 1};
  for (int64_t step = value / 2; step != 0; step /= 2) candidates.push_back(value - step);
  if (value < 0) candidates.push_back(value + 1);
  if (value < 0 && value != INT64_MIN) candidates.push_back(-value);
  if (value > 0) candidates.push_back(value - 1);
  std::erase_if(candidates, [value](int64_t c) { return !simpler(c, value); });
  return candidates;
}

// The simplest basics, in order. All others come after them, in the order of the table.
constexpr std::string_view kSimpleBasics[] = {"char", "int", "double"};

class Simplifier {
 public:
  Simplifier(TypePtr type, const std::function<bool(const TypePtr&)>& visit)
      : type_(std::move(type)), visit_(visit) {}

  bool run() {
    for (const TypePtr& child : type_->children) {
      if (visit_(child)) return true;
    }
    return basics() || entries() || constructors() || numbers() || words() || children();
  }

 private:
  // Arguments that do not fit together are simply no candidate.
  bool offer(const Type& fields) {
    const Result<TypePtr> made = make_from_fields(fields);
    return made.ok() && visit_(*made);
  }

  bool basics() {
    if (!type_->basic) return false;
    if (type_->combiner != Combiner::kNamed) return visit_(make_named(*type_->basic));
    for (const std::string_view name : kSimpleBasics) {
      if (name == type_->basic->name) return false;
      if (visit_(make_named(*find_basic(name)))) return true;
    }
    for (const Basic& other : all_basics()) {
      if (&other == type_->basic) return false;
      const bool tried = std::find(std::begin(kSimpleBasics), std::end(kSimpleBasics),
                                   other.name) != std::end(kSimpleBasics);
      if (!tried && visit_(make_named(other))) return true;
    }
    return false;
  }

  // Without some entries of the lists (dimensions of arrays are entries as well): halves first,
  // then ever fewer.
  bool entries() {
    const size_t entries = std::max(type_->displacements.size(), type_->sizes.size());
    for (size_t chunk = (entries + 1) / 2; chunk > 0; chunk /= 2) {
      for (size_t begin = 0; begin < entries; begin += chunk) {
        const size_t end = std::min(begin + chunk, entries);
        Type fields = *type_;
        const auto erase = [begin, end](auto& list) {
          using Offset = typename std::remove_reference_t<decltype(list)>::difference_type;
          if (list.empty()) return;  // this constructor has no such list
          list.erase(list.begin() + static_cast<Offset>(begin),
                     list.begin() + static_cast<Offset>(end));
        };
        for (List Type::* list : {&Type::blocklengths, &Type::displacements, &Type::sizes,
                                  &Type::subsizes, &Type::starts, &Type::dargs, &Type::psizes}) {
          erase(fields.*list);
        }
        erase(fields.distribs);
        if (fields.combiner == Combiner::kStruct) erase(fields.children);
        fit_processes(&fields);
        if (offer(fields)) return true;
      }
    }
    return false;
  }

  // The simplest constructors that have as many copies, or the same lists.
  bool constructors() {
    if (type_->children.size() == 1 && type_->combiner != Combiner::kContiguous &&
        type_->combiner != Combiner::kDup && type_->combiner != Combiner::kResized) {
      if (contiguous(type_->children[0])) return true;
    }
    // The same over the grandchild.
    if (type_->children.size() == 1 && type_->children[0]->children.size() == 1 &&
        contiguous(type_->children[0]->children[0])) {
      return true;
    }
    if (type_->combiner == Combiner::kStruct && !type_->children.empty()) {
      Type fields = *type_;
      fields.combiner = Combiner::kHindexed;
      fields.children.resize(1);
      if (offer(fields)) return true;
    }
    return false;
  }

  // A contiguous of `element` with as many bytes as this type.
  bool contiguous(const TypePtr& element) {
    Type fields;
    fields.combiner = Combiner::kContiguous;
    fields.count = type_->size_bytes / std::max<int64_t>(element->size_bytes, 1);
    fields.children = {element};
    return offer(fields);
  }

  bool numbers() {
    for (const detail::Constructor& constructor : detail::kConstructors) {
      if (constructor.combiner != type_->combiner) continue;
      for (const Parameter& parameter : constructor.parameters) {
        if (parameter.integer && number(parameter.integer)) return true;
        if (parameter.integers && list(parameter.integers)) return true;
      }
    }
    return false;
  }

  bool number(int64_t Type::* member) {
    for (const int64_t candidate : simpler_numbers((*type_).*member)) {
      Type fields = *type_;
      fields.*member = candidate;
      if (offer(fields)) return true;
    }
    return false;
  }

  bool list(List Type::* member) {
    for (size_t i = 0; i < ((*type_).*member).size(); ++i) {
      const int64_t value = ((*type_).*member)[i];
      List candidates = simpler_numbers(value);
      if (member == &Type::dargs) {  // "default" is the simplest one
        if (value == kDefaultDarg) continue;
        candidates.insert(candidates.begin(), kDefaultDarg);
      }
      for (const int64_t candidate : candidates) {
        Type fields = *type_;
        (fields.*member)[i] = candidate;
        if (member == &Type::psizes) fit_processes(&fields);
        if (offer(fields)) return true;
      }
    }
    return false;
  }

  // A darray of fewer processes needs a rank among them.
  static void fit_processes(Type* fields) {
    if (fields->combiner != Combiner::kDarray) return;
    fields->darray_size = 1;
    for (const int64_t psize : fields->psizes) fields->darray_size *= psize;
    fields->darray_rank = std::min(fields->darray_rank, fields->darray_size - 1);
  }

  // Storage order and distributions.
  bool words() {
    if (type_->order == Order::kFortran) {
      Type fields = *type_;
      fields.order = Order::kC;
      if (offer(fields)) return true;
    }
    for (size_t i = 0; i < type_->distribs.size(); ++i) {
      for (const Distribution candidate : {Distribution::kNone, Distribution::kBlock}) {
        if (candidate >= type_->distribs[i]) break;
        Type fields = *type_;
        fields.distribs[i] = candidate;
        if (offer(fields)) return true;
      }
    }
    return false;
  }

  // The same node over a simpler child.
  bool children() {
    for (size_t i = 0; i < type_->children.size(); ++i) {
      const auto visit_child = [this, i](const TypePtr& child) {
        Type fields = *type_;
        fields.children[i] = child;
        return offer(fields);
      };
      if (for_each_simplification(type_->children[i], visit_child)) return true;
    }
    return false;
  }

  TypePtr type_;
  const std::function<bool(const TypePtr&)>& visit_;
};

}  // namespace

bool for_each_simplification(const TypePtr& type,
                             const std::function<bool(const TypePtr&)>& visit) {
  return Simplifier(type, visit).run();
}

TypePtr shrink_type(TypePtr type, const std::function<bool(const TypePtr&)>& fails, int max_steps) {
  while (true) {
    TypePtr simpler_type;
    for_each_simplification(type, [&](const TypePtr& candidate) {
      if (max_steps-- <= 0) return true;
      if (fails(candidate)) simpler_type = candidate;
      return simpler_type != nullptr;
    });
    if (!simpler_type) return type;
    type = std::move(simpler_type);
  }
}

}  // namespace lacuna
