// SPDX-License-Identifier: BSD-3-Clause
#include "bench/apps/rows.hpp"

#include <climits>
#include <map>
#include <optional>
#include <tuple>

#include "bench/harness/build_mpi.hpp"

namespace lacuna::bench {
namespace {

// The index lists of a type, in the order of its text. An entry counts blocks, not elements.
void find_lists(const Type& type, std::vector<std::vector<int>>& lists) {
  if (type.combiner == Combiner::kIndexedBlock) {
    std::vector<int> list;
    for (const int64_t at : type.displacements)
      list.push_back(static_cast<int>(at / type.blocklength));
    lists.push_back(std::move(list));
  }
  for (const TypePtr& child : type.children) find_lists(*child, lists);
}

// The basic type at the leaves: the first, if there are several.
const Basic* leaf(const Type& type) {
  return type.children.empty() ? type.basic : leaf(*type.children[0]);
}

Error invalid(const std::string& what) { return Error{LACUNA_INVALID_ARGUMENT, what}; }

// What the app needs, which must fit what the lane gives.
Result<Input> input_of(const App& app, const LaneRow& lane, const Type& type) {
  Input input;
  input.shape = lane.shape;
  find_lists(type, input.lists);
  if (input.shape.size() != app.shape_size || input.lists.size() != app.lists) {
    return invalid(lane.test + " takes " + std::to_string(app.shape_size) + " numbers and " +
                   std::to_string(app.lists) + " lists, not " + std::to_string(input.shape.size()) +
                   " and " + std::to_string(input.lists.size()));
  }
  return input;
}

// All but the memory. Nothing, or what is wrong.
std::optional<Error> fill_message(const ExchangeRow& row, const LaneRow& lane, int rank,
                                  const PredefinedTypes& predefined, Message& message) {
  message.count = lane.count;
  message.rank = rank;
  message.partner = rank ^ 1;
  message.receives_packed = row.receives_packed;
  message.work_us = row.work_us;
  message.work_kib = row.work_kib;
  const TypePtr type = message.problem->type();
  if (message.problem->packed_bytes() > INT_MAX) return invalid("more bytes than an int counts");
  if (!lane.test.empty()) {
    message.app = find_app(lane.test);
    if (message.app == nullptr) return invalid("no test " + lane.test);
    message.specialised = find_specialised_app(lane.test);
    auto input = input_of(*message.app, lane, *type);
    if (!input) return input.error();
    message.input = *input;
    message.receives_packed |= message.app->receives_packed;
    message.make = [app = message.app, input = *input] { return app->sites->make(input); };
  }
  if (lane.test.empty() || lane.has_own_type) {
    const auto built = build_mpi(*type, predefined);
    if (!built) return invalid("this MPI has no such type: " + lane.type);
    free_built(*built, predefined);
    message.make = [type, &predefined] {
      MPI_Datatype made = *build_mpi(*type, predefined);
      if (predefined.find(made) != nullptr) MPI_Type_dup(made, &made);  // to be freed as others are
      return made;
    };
  }
  const Basic* basic = leaf(*type);
  if (basic == nullptr) return invalid("a type without data");
  const bool says_element = message.app != nullptr && message.app->element != MPI_DATATYPE_NULL;
  message.element = says_element ? message.app->element : predefined.handle_of(basic);
  message.elements = static_cast<int>(message.problem->packed_bytes() / basic->size_bytes);
  return std::nullopt;
}

// The problems of a row, each made once.
class Problems {
 public:
  Problems(const ExchangeRow& row, int rank) : row_(row), rank_(rank) {}

  // The problems of a lane, into the message.
  std::string add(const LaneRow& lane, Message& message) {
    const bool is_odd = rank_ % 2 != 0;
    const bool differs = !row_.partner_type.empty();
    const std::string& mine = differs && is_odd ? row_.partner_type : lane.type;
    const std::string& other = differs && !is_odd ? row_.partner_type : lane.type;
    std::string wrong = find(mine, lane.count, "", message.problem);
    if (wrong.empty() && differs) wrong = find(other, lane.count, "", message.partners);
    if (wrong.empty() && row_.needs_received)
      wrong = find(mine, lane.count, "received", message.received);
    return wrong;
  }

 private:
  std::string find(const std::string& text, int count, const std::string& use,
                   std::shared_ptr<Problem>& into) {
    auto& made = made_[{text, count, use}];
    if (made == nullptr) {
      auto problem = Problem::make({.id = row_.id, .count = count, .text = text});
      if (!problem) return problem.error().message;
      made = *std::move(problem);
    }
    into = made;
    return "";
  }

  const ExchangeRow& row_;
  int rank_;
  std::map<std::tuple<std::string, int, std::string>, std::shared_ptr<Problem>> made_;
};

// The arrays of a test that is not between partners; false: it is.
Result<bool> add_arrays(const ExchangeRow& row, std::vector<Message>& messages) {
  const bool is_divided = row.test == "FFT" || row.test == "SLABS" || row.test == "PENCILS";
  if (!is_divided && row.test != "GRAPH" && row.test != "HALO") return false;
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (row.shape.size() != 1 || row.shape[0] < 1 || (is_divided && row.shape[0] % ranks != 0)) {
    return invalid(row.test + " takes one number: the order of the array" +
                   (is_divided ? ", which the ranks divide" : ", or how many vertices a rank has"));
  }
  const int n = row.shape[0];
  Message arrays;
  if (row.test == "FFT") arrays.fft = make_fft_arrays(n);
  if (row.test == "GRAPH") arrays.graph = make_graph(n);
  if (row.test == "HALO") arrays.grid = make_halo(n);
  if (row.test == "SLABS") arrays.grid = make_slabs(n);
  if (row.test == "PENCILS") arrays.grid = make_pencils(n);
  for (Message& message : messages) {
    message.fft = arrays.fft;
    message.graph = arrays.graph;
    message.grid = arrays.grid;
  }
  return true;
}

}  // namespace

Result<std::vector<Message>> make_messages(const ExchangeRow& row, int rank) {
  static const PredefinedTypes predefined;
  std::vector<Message> messages(row.lanes.size());
  const auto has_arrays = add_arrays(row, messages);
  if (!has_arrays) return has_arrays.error();
  if (*has_arrays) return messages;
  Problems problems(row, rank);
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string wrong = problems.add(row.lanes[i], messages[i]);
    if (!wrong.empty()) return invalid(wrong);
    const auto error = fill_message(row, row.lanes[i], rank, predefined, messages[i]);
    if (error) return *error;
  }
  return messages;
}

}  // namespace lacuna::bench
