// SPDX-License-Identifier: BSD-3-Clause
//
// The profile as JSON. The file may hold anything: the parser throws no exceptions, and each member
// is checked before it is used.
#include "machine/profile.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/options.hpp"
#include "base/small_file.hpp"

namespace lacuna {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

Error malformed(std::string what) { return {LACUNA_PARSE_ERROR, std::move(what)}; }

std::string number_text(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

// The string member of an object, or "".
std::string string_member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool read_source(const std::string& text, Source* source) {
  for (const Source known : {Source::kDefault, Source::kTold, Source::kMeasured}) {
    if (text == source_name(known)) {
      *source = known;
      return true;
    }
  }
  return false;
}

// Sets one number of the profile from the file. Returns what is wrong with it, or "".
std::string take_number(const Number& number, const Json& entry, Profile& profile) {
  if (!entry.is_object()) return number.name + " is not an object with a value and a source";
  const auto value = entry.find("value");
  if (value == entry.end() || !value->is_number()) return number.name + " has no value";
  const double got = value->get<double>();
  if (!(got >= number.least && got <= number.most)) {
    return number.name + " is " + number_text(got) + ", which is not in [" +
           number_text(number.least) + ", " + number_text(number.most) + "] " + number.unit;
  }
  if (number.is_whole() && got != std::floor(got))
    return number.name + " is " + number_text(got) + ", which is not a whole number";
  Source source = Source::kDefault;
  if (!read_source(string_member(entry, "source"), &source))
    return number.name + " has no source (default, told or measured)";
  if (source != Source::kDefault) profile.set(number.name, got, source);
  return {};
}

// What is contradictory among numbers that are each possible; or "".
std::string contradiction(const Machine& m, const Machine& base) {
  const auto is_power = [](int64_t n) { return (n & (n - 1)) == 0; };
  if (m.page_bytes != base.page_bytes) {
    return "page_bytes is " + std::to_string(m.page_bytes) + ", and pages here have " +
           std::to_string(base.page_bytes) + " bytes";
  }
  if (!is_power(m.line_bytes) || m.page_bytes % m.line_bytes != 0)
    return "line_bytes is " + std::to_string(m.line_bytes) + ", which is not a power of two";
  if (m.l1_bytes > m.l2_bytes || m.l2_bytes > m.l3_bytes)
    return "the cache sizes are not in order (l1_bytes <= l2_bytes <= l3_bytes)";
  if (m.tlb_entries > m.tlb2_entries)
    return "the TLB sizes are not in order (tlb_entries <= tlb2_entries)";
  return {};
}

// Why the file is no profile, or none of this CPU; or "". Out of line, as its texts take stack.
[[gnu::noinline]] std::string mismatch(const Json& file, const Profile& base) {
  if (file.is_discarded()) return "it is not JSON";
  if (!file.is_object()) return "it is not a JSON object";
  const auto format = file.find("lacuna_machine");
  if (format == file.end() || !format->is_number_integer())
    return "it has no member lacuna_machine";
  if (*format != kProfileFormat) {
    return "its format is " + format->dump() + ", and this version reads " +
           std::to_string(kProfileFormat);
  }
  const std::string cpu = string_member(file, "cpu");
  if (cpu != base.cpu) {
    return "it was measured on another CPU, \"" + shown(cpu) + "\"; this one is \"" + base.cpu +
           "\"";
  }
  const auto numbers = file.find("numbers");
  const bool has_numbers = numbers != file.end() && numbers->is_object();
  return has_numbers ? "" : "it has no object of numbers";
}

}  // namespace

Result<Profile> parse_profile(std::string_view text, const Profile& base) {
  expect_memory_for_json(text);
  const Json file = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  std::string wrong = mismatch(file, base);
  if (!wrong.empty()) return malformed(std::move(wrong));
  const Json& numbers = *file.find("numbers");
  Profile profile = base;
  for (const Number& number : machine_numbers()) {
    const auto entry = numbers.find(number.name);
    if (entry == numbers.end()) continue;  // the file is older than the number
    wrong = take_number(number, *entry, profile);
    if (!wrong.empty()) return malformed(std::move(wrong));
  }
  wrong = contradiction(profile.machine, base.machine);
  if (!wrong.empty()) return malformed(std::move(wrong));
  derive_thresholds(profile);
  const auto provenance = file.find("provenance");
  if (provenance != file.end() && provenance->is_object()) {
    profile.date = string_member(*provenance, "date");
    profile.kernel = string_member(*provenance, "kernel");
    profile.lacuna = string_member(*provenance, "lacuna");
  }
  return profile;
}

Result<Profile> read_profile(const std::string& path, const Profile& base) try {
  const Result<std::string> text = read_small_file(path);
  if (!text) return text.error();
  Profile at_path = base;
  at_path.path = path;
  return parse_profile(*text, at_path);
} catch (...) {  // no memory, or a defect of the parser: works without a profile, too
  return malformed("reading it failed");
}

std::string report_json(const Profile& profile, std::string_view place) {
  const auto or_null = [](std::string_view text) {
    return text.empty() ? OrderedJson() : OrderedJson(text);
  };
  OrderedJson report;
  report["lacuna_machine"] = kProfileFormat;
  report["cpu"] = profile.cpu;
  report["row"] = {{"name", profile.row.row->name},
                   {"why", profile.row.why},
                   {"complaint", or_null(profile.row.complaint)}};
  OrderedJson& rows = report["rows"] = OrderedJson::object();  // where the habits were measured
  for (const Cpu& row : cpu_rows()) rows[std::string(row.name)] = row.origin;
  report["profile"] = or_null(profile.path);
  report["place"] = or_null(place);
  report["complaint"] = or_null(profile.complaint);
  report["options"] = option_complaints();
  report["provenance"] = {{"date", or_null(profile.date)},
                          {"kernel", or_null(profile.kernel)},
                          {"lacuna", or_null(profile.lacuna)}};
  OrderedJson& numbers = report["numbers"] = OrderedJson::object();
  const std::vector<Number>& all = machine_numbers();
  for (size_t i = 0; i < all.size(); ++i) {
    const double value = all[i].get(profile.machine);
    OrderedJson& entry = numbers[all[i].name];
    entry["value"] =
        all[i].is_whole() ? OrderedJson(static_cast<int64_t>(value)) : OrderedJson(value);
    entry["unit"] = all[i].unit;
    entry["source"] = source_name(profile.sources[i]);
    entry["meaning"] = all[i].meaning;
  }
  return report.dump(1, ' ', /*ensure_ascii=*/true, OrderedJson::error_handler_t::replace);
}

}  // namespace lacuna
