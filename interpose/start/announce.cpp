// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/start/announce.hpp"

#include <cstdlib>
#include <string>
#include <string_view>

#include "base/options.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/direct/pipeline/pipeline.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/observe/log.hpp"
#include "interpose/start/gather.hpp"
#include "interpose/start/pipelining.hpp"
#include "machine/profile.hpp"
#include "plan/plan.hpp"

namespace lacuna {
namespace {

std::string_view why_not(direct::Agreement found) noexcept {
  switch (found) {
    case direct::Agreement::kUnknownJob:
      return "the launcher does not give the job's id and its number of ranks on this node";
    case direct::Agreement::kNotMet:
      return "a rank of this node did not answer in MPI_Init (LACUNA_DIRECT_WAIT)";
    case direct::Agreement::kRefused:
      return "a rank of this node cannot use it, or has no access to the others' shared memory";
    default:
      return "no other rank is on this node";
  }
}

}  // namespace

void log_complaints(const Table& table) {
  if (!log_wanted()) return;
  for (const std::string& sentence : option_complaints()) log_line(sentence);
  const std::string& isa = option_text(OptionId::kIsa);
  const std::string_view kernels = default_kernels().isa;
  if (!isa.empty() && isa != kernels)
    log_line("LACUNA_ISA=" + isa + " is not available here; " + std::string(kernels) + " is used");
  if (pipelining_wanted() == direct::OtherNodes::kGiven && !option_flag(OptionId::kDirect))
    log_line(
        "LACUNA_PIPELINE has no effect without LACUNA_DIRECT; remedy: set LACUNA_DIRECT=1, too");
  if (option_flag(OptionId::kCosts) && !report_wanted())
    log_line("LACUNA_COSTS has no effect without LACUNA_REPORT; remedy: set LACUNA_REPORT=1, too");
  for (const std::string* sentence :
       {&cpu_in_force().complaint, &host_profile().complaint, &table.complaint}) {
    if (!sentence->empty()) log_line(*sentence);
  }
}

void log_direct_off(direct::Agreement found, bool willing) {
  if (!log_wanted()) return;
  std::string sentence = "shared-memory path off: ";
  sentence += willing ? why_not(found)
              : runtime().outlives_failures
                  ? "the program may go on after a rank has failed (MPI fault tolerance)"
                  : "LACUNA_VERIFY is set, or receives may be completed where lacuna cannot "
                    "see it (a tool preloaded before lacuna, or a static MPI library)";
  log_line(sentence);
}

void log_no_pipelining(std::string_view why) {
  if (why.empty() || !log_wanted() || runtime().rank != 0) return;
  log_line("pipelined messages off: " + std::string(why));
}

void log_on(bool is_direct, bool is_inside) {
  const Runtime& rt = runtime();
  if (!log_wanted() || rt.rank != 0) return;
  std::string sentence = "on: lacuna ";
  sentence.append(lacuna_version())
      .append(" under ")
      .append(rt.library)
      .append(", ")
      .append(std::to_string(rt.size));
  sentence += rt.size == 1 ? " rank" : " ranks";
  const CpuChoice& cpu = cpu_in_force();
  sentence.append("; CPU: ").append(cpu.row->name).append(" (").append(cpu.why).append(")");
  sentence.append("; table: ").append(rt.table->source).append("; ");
  const bool is_alone = is_direct && direct::peers().size() == 1;  // it has pieces alone
  sentence += is_direct && !is_alone ? "shared-memory path on" : "shared-memory path off";
  if (is_alone)
    sentence += ": no other rank is on this node";
  else if (!option_flag(OptionId::kDirect))
    sentence += std::getenv("LACUNA_DIRECT") == nullptr ? " (LACUNA_DIRECT is not set)"
                                                        : " (LACUNA_DIRECT=0)";
  else if (rt.spawned)
    sentence += ": this job was spawned";
  if (direct::has_pipeline()) sentence += "; messages between nodes pipelined";
  if (is_inside) sentence += "; inside the library, too";
  log_line(sentence);
}

void log_disabled(const Next& next) {
  if (!log_wanted()) return;
  int rank = 0;
  next.MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) log_line("off: LACUNA_DISABLE is set");
}

void log_lacking(const char* function) {
  if (!log_wanted()) return;
  log_line(std::string("off: the MPI library has no ") + function +
           ", which lacuna needs; remedy: use an MPI library of MPI 3.1 or newer");
}

}  // namespace lacuna
