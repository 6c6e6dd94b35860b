// SPDX-License-Identifier: BSD-3-Clause
//
// Options: the one table of LACUNA_* environment variables. Each is read once, at the first use;
// docs/user/options.md is generated from the table (and a test compares them). Nothing here prints:
// a value that makes no sense counts as unset, and option_complaints() has the sentences for
// callers that may print.
#ifndef LACUNA_ENGINE_BASE_OPTIONS_HPP_
#define LACUNA_ENGINE_BASE_OPTIONS_HPP_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lacuna {

enum class OptionId : uint8_t {
  kDisable,
  kDisablePack,
  kDisableP2p,
  kDisableCollectives,
  kDisableFiles,
  kDisableRma,
  kIsa,
  kCpu,
  kPoolMb,
  kStreamMb,
  kThreads,
  kDirect,
  kDirectWait,
  kArenaMb,
  kReadPeers,
  kDistance,
  kPipeline,
  kPipelineMb,
  kGpu,
  kGpuIpc,
  kGpuStaging,
  kInside,
  kAlways,
  kLog,
  kPatience,
  kProfile,
  kTable,
  kReport,
  kReportWait,
  kCosts,
  kVerify,
};

enum class OptionKind : uint8_t {
  kFlag,     // 1, true, yes, on; 0, false, no, off, and the empty string; any case
  kInteger,  // decimal, within [least, most]
  kText,
};

struct Option {
  OptionId id;
  std::string_view name;  // of the environment variable
  OptionKind kind;
  std::string_view fallback;  // the value when unset, as a user would write it
  std::string_view meaning;   // one sentence for docs/user/options.md
  int64_t least = 0;          // kInteger
  int64_t most = 0;
};

// All options, in the order of OptionId.
std::span<const Option> option_table();

// The value of an option of that kind: the environment's, as read at the first call of any of
// these, or the fallback.
bool option_flag(OptionId id);
int64_t option_integer(OptionId id);
const std::string& option_text(OptionId id);

// One sentence for each variable whose value was not understood, or whose name is nearly an
// option's.
const std::vector<std::string>& option_complaints();

namespace detail {

// The option whose name a variable's name nearly is; empty if it is one, or is like none.
std::string_view misspelt_option(std::string_view name);

// The value of a text for a flag or an integer; false: it means nothing. For tests and options.cpp.
bool read_flag(std::string_view text, bool* value);
bool read_integer(std::string_view text, int64_t least, int64_t most, int64_t* value);

}  // namespace detail
}  // namespace lacuna

#endif  // LACUNA_ENGINE_BASE_OPTIONS_HPP_
