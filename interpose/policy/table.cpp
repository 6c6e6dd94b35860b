// SPDX-License-Identifier: BSD-3-Clause
//
// The table as JSON. The parser is asked for no exceptions, and every member is looked at before it
// is used: the file may hold anything.
#include "interpose/policy/table.hpp"

#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/options.hpp"
#include "base/small_file.hpp"
#include "interpose/policy/shipped.hpp"
#include "machine/profile.hpp"

namespace lacuna {
namespace {

using Json = nlohmann::json;

constexpr int kTableFormat = 3;
constexpr size_t kMostRules = 1000;
constexpr double kLongestRun = 1e18;

Error malformed(std::string what) { return {LACUNA_PARSE_ERROR, std::move(what)}; }

const Json* member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() ? &*found : nullptr;
}

std::string text_member(const Json& object, const char* name) {
  const Json* value = member(object, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

bool read_run(const Json& value, double* run) {
  if (!value.is_number()) return false;
  *run = value.get<double>();
  return *run >= 0 && *run <= kLongestRun;
}

// False: it is not a list of rules in ascending order.
bool read_rules(const Json* list, Rules* rules) {
  if (list == nullptr || !list->is_array() || list->size() > kMostRules) return false;
  int64_t before = -1;
  for (const Json& entry : *list) {
    if (!entry.is_array() || entry.size() < 2 || entry.size() > 3) return false;
    const bool any_size = entry[0].is_null();
    if (!any_size && !entry[0].is_number_integer()) return false;
    Rule rule{any_size ? std::numeric_limits<int64_t>::max() : entry[0].get<int64_t>(), 0, 0};
    if (rule.most_bytes <= before || !read_run(entry[1], &rule.most_mean_run_bytes)) return false;
    if (entry.size() == 3 && !read_run(entry[2], &rule.least_mean_run_bytes)) return false;
    before = rule.most_bytes;
    rules->push_back(rule);
  }
  return true;
}

// What is wrong with it, or "".
std::string read_side(const Json& object, const char* transport, const char* side,
                      std::array<Rules, kPatterns>* rules) {
  const Json* patterns = object.is_object() ? member(object, side) : nullptr;
  for (int i = 0; i < kPatterns; ++i) {
    const char* pattern = pattern_name(static_cast<Pattern>(i));
    const Json* list =
        patterns != nullptr && patterns->is_object() ? member(*patterns, pattern) : nullptr;
    if (read_rules(list, &(*rules)[static_cast<size_t>(i)])) continue;
    return std::string(transport) + "." + side + "." + pattern +
           " is not a list of [most bytes, most bytes of a run] with ascending sizes";
  }
  return "";
}

std::string read_book(const Json& object, const char* transport, Rulebook* book) {
  std::string wrong = read_side(object, transport, "send", &book->send);
  return wrong.empty() ? read_side(object, transport, "receive", &book->receive) : wrong;
}

// A number of bytes, or null. "": right.
std::string read_from(const Json& device, const char* transport, int64_t* from) {
  const Json* value = member(device, transport);
  if (value == nullptr || value->is_null()) return "";
  if (!value->is_number_integer() || value->get<int64_t>() < 0)
    return std::string("device.") + transport + " is not a number of bytes or null";
  *from = value->get<int64_t>();
  return "";
}

struct Shipped {
  std::string_view name;
  std::string_view text;
};

// For libraries that nobody has measured: the table that handles the least.
Shipped shipped_for(Flavour flavour) {
  switch (flavour) {
    case Flavour::kMpich:
    case Flavour::kMvapich:
      return {"MPICH", kShippedMpich};
    case Flavour::kIntelMpi:
      return {"Intel MPI", kShippedIntelMpi};
    case Flavour::kOpenMpi:
    case Flavour::kOther:
      break;
  }
  return {"Open MPI", kShippedOpenMpi};
}

Result<Table> parse(std::string_view text, std::string_view library, std::string_view cpu,
                    bool is_shipped) {
  expect_memory_for_json(text);
  const Json file = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (file.is_discarded()) return malformed("it is not JSON");
  if (!file.is_object()) return malformed("it is not a JSON object");
  const Json* format = member(file, "lacuna_table");
  if (format == nullptr || !format->is_number_integer())
    return malformed("it has no member lacuna_table");
  if (*format != kTableFormat) {
    return malformed("its format is " + format->dump() + ", and this version reads " +
                     std::to_string(kTableFormat));
  }
  if (!is_shipped) {
    const std::string mpi = text_member(file, "mpi");
    if (mpi != library)
      return malformed("it was measured for " + shown(mpi) + "; this library is " + shown(library));
    const std::string other = text_member(file, "cpu");
    if (other != cpu)
      return malformed("it was measured on another CPU, \"" + shown(other) + "\"; this one is \"" +
                       std::string(cpu) + "\"");
  }
  Table table;
  const Json* shared = member(file, "shared");
  std::string wrong =
      shared != nullptr ? read_book(*shared, "shared", &table.shared) : "it has no member shared";
  if (wrong.empty()) wrong = read_side(*shared, "shared", "direct", &table.shared.direct);
  if (const Json* network = member(file, "network"); wrong.empty() && network != nullptr) {
    table.network.emplace();
    wrong = read_book(*network, "network", &*table.network);
  }
  if (const Json* device = member(file, "device"); wrong.empty() && device != nullptr) {
    wrong = device->is_object() ? read_from(*device, "shared", &table.on_device_from_shared)
                                : "device is not an object";
    if (wrong.empty()) wrong = read_from(*device, "network", &table.on_device_from_network);
  }
  if (!wrong.empty()) return malformed(std::move(wrong));
  return table;
}

}  // namespace

std::string library_name(std::string_view library_version) {
  const std::string_view line = library_version.substr(0, library_version.find_first_of(",\r\n"));
  std::string name;
  for (const char c : line) {
    if (c != ' ' && c != '\t') {
      name += c;
    } else if (!name.empty() && name.back() != ' ') {
      name += ' ';
    }
  }
  while (!name.empty() && name.back() == ' ') name.pop_back();
  return name;
}

std::string table_place(std::string_view library_version) {
  const std::string& wanted = option_text(OptionId::kTable);
  if (!wanted.empty() && wanted != "none") return wanted;
  return cache_place("table", library_name(library_version) + " " + host_cpu());
}

Result<Table> parse_table(std::string_view text, std::string_view library, std::string_view cpu) {
  return parse(text, library, cpu, false);
}

Table load_table(std::string_view library_version) {
  const std::string library = library_name(library_version);
  const std::string place = table_place(library_version);
  const std::string& wanted = option_text(OptionId::kTable);
  Table loaded;
  std::string complaint;
  if (wanted != "none" && !place.empty()) {
    const Result<std::string> text = read_small_file(place);
    Result<Table> table =
        text ? parse_table(*text, library, host_cpu()) : Result<Table>(text.error());
    if (table) {
      loaded = std::move(table).value();
      loaded.source = place;
    } else if (table.error().status != LACUNA_UNSUPPORTED || !wanted.empty()) {
      // A file that nobody has asked for need not be there.
      complaint = "the table " + place + " is not used: " + table.error().message +
                  "; remedy: measure with `lacuna tune`, or set LACUNA_TABLE to another file or to "
                  "none";
    }
  }
  if (loaded.source.empty()) {
    const Shipped shipped = shipped_for(flavour_of(library_version));
    Result<Table> table = parse(shipped.text, "", "", true);
    if (table) loaded = std::move(table).value();  // a test reads them: they are whole
    loaded.source = "shipped for " + std::string(shipped.name);
  }
  loaded.library = library;
  loaded.place = place;
  loaded.complaint = std::move(complaint);
  return loaded;
}

Rulebook rules_for(const Table& table, bool on_one_node) {
  if (on_one_node || !table.network) return table.shared;
  return both(table.shared, *table.network);
}

}  // namespace lacuna
