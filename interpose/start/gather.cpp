// SPDX-License-Identifier: BSD-3-Clause
//
// Gathering: along a binomial tree, so that no rank receives more than log2(ranks) messages of at
// most kMostTypes types each. It uses a communicator of its own, which is made in MPI_Finalize.
// The attempt is given up after LACUNA_REPORT_WAIT.
//
// A program that ends without MPI_Finalize (exit, MPI_Abort where that runs destructors) cannot
// communicate any more: its rank 0 reports what it has counted itself.
#include "interpose/start/gather.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/options.hpp"
#include "interpose/direct/pipeline/pipeline.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/observe/log.hpp"
#include "interpose/report/costs.hpp"
#include "interpose/report/data.hpp"
#include "interpose/report/library_times.hpp"
#include "interpose/start/job_communicator.hpp"
#include "interpose/start/pipelining.hpp"
#include "interpose/types/compiled.hpp"

namespace lacuna {
namespace {

constexpr int kTag = 0;

// What the user has written: off, the table on stderr, or a file for the data.
struct Wish {
  bool wanted = false;
  std::string path;  // empty: stderr
};
Wish wish() {
  const std::string& text = option_text(OptionId::kReport);
  bool flag = false;
  if (detail::read_flag(text, &flag)) return {flag, ""};
  return {true, text};
}

int64_t g_begin_ns = 0;
pid_t g_process = 0;  // 0: there is nothing to report, or it is done

std::string program_name() {
  std::string path(4096, '\0');
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  if (length <= 0) return "?";
  path.resize(static_cast<size_t>(length));
  return path.substr(path.rfind('/') + 1);
}

Report mine() {
  Report report = counted_here();
  report.seconds = static_cast<double>(now_ns() - g_begin_ns) * 1e-9;
  report.program = program_name();
  report.library = runtime().library;
  report.flavour = runtime().flavour;
  report.pool_mb = option_integer(OptionId::kPoolMb);
  report.may_pipeline = runtime().size > 1 && !runtime().on_one_node && !g_gate.threads &&
                        !direct::has_pipeline() &&
                        pipelining_wanted() == direct::OtherNodes::kAsked;
  report.ranks = runtime().size;
  report.compiled = compiled_counts();
  return report;
}

bool write_all(int file, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t now = write(file, text.data() + done, text.size() - done);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return false;
    done += static_cast<size_t>(now);
  }
  return true;
}

// Writes a temporary file and renames it, so that the report is whole or absent. A spawned job adds
// its process id to the name. All users may be able to write to the folder: so the temporary file
// must be new, and a link at its name is not followed.
void write_file(std::string path, const Report& report) {
  if (runtime().spawned) path.append(".").append(std::to_string(getpid()));
  const std::string unfinished = path + "." + std::to_string(getpid()) + ".unfinished";
  unlink(unfinished.c_str());
  const int file =
      open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  bool good = file >= 0 && write_all(file, report_json(report));
  good = file >= 0 && close(file) == 0 && good;
  if (good && rename(unfinished.c_str(), path.c_str()) == 0) return;
  const std::string why = std::strerror(errno);
  if (file >= 0) unlink(unfinished.c_str());
  log_line("LACUNA_REPORT: cannot write " + path + ": " + why +
           "; remedy: name a file in a folder that rank 0 may write to");
}

void show(const Report& report) {
  const Wish where = wish();
  if (where.path.empty()) {
    write_all(STDERR_FILENO, report_table(report));
  } else {
    write_file(where.path, report);
  }
}

// Receives and merges the report of a rank. Whether that rank times calls.
bool receive_from(int rank, MPI_Comm comm, Report* report) {
  const Next& next = next_functions();
  MPI_Status status;
  if (next.MPI_Probe(rank, kTag, comm, &status) != MPI_SUCCESS) return false;
  MPI_Count bytes = 0;
  next.MPI_Get_elements_x(&status, runtime().byte, &bytes);
  std::vector<uint8_t> data(static_cast<size_t>(bytes));
  if (next.MPI_Recv(data.data(), static_cast<int>(bytes), runtime().byte, rank, kTag, comm,
                    &status) != MPI_SUCCESS) {
    return false;
  }
  const Report other = parsed(data);
  merge(other, report);
  return other.costs;
}

// Rank 0 has the sum afterwards.
void gather(MPI_Comm comm, Report* report) {
  const int rank = runtime().rank;
  for (int bit = 1; bit < runtime().size; bit <<= 1) {
    if ((rank & bit) != 0) {
      const std::vector<uint8_t> data = serialized(*report);
      next_functions().MPI_Send(data.data(), static_cast<int>(data.size()), runtime().byte,
                                rank - bit, kTag, comm);
      if (rank == 1 && report->costs) (void)message_costs(comm, rank);
      return;
    }
    if (rank + bit >= runtime().size) continue;
    const bool timed = receive_from(rank + bit, comm, report);
    // A rank 1 that times calls enters message_costs(), too, after it has sent its report.
    if (rank + bit == 1 && timed) report->messages = message_costs(comm, rank);
  }
}

// For a program that ends without MPI_Finalize. (All that it reads lives as long as the process.)
__attribute__((destructor)) void give_own_report() noexcept try {
  if (g_process == 0 || g_process != getpid() || runtime().rank != 0) return;
  g_process = 0;
  show(mine());
} catch (...) {
}

}  // namespace

bool report_wanted() noexcept try { return wish().wanted; } catch (...) {
  return false;
}

void start_report() noexcept {
  g_begin_ns = now_ns();
  g_process = getpid();
}

void give_report() noexcept try {
  g_process = 0;
  Report report = mine();
  MPI_Comm comm;
  if (runtime().size > 1 &&
      make_job_communicator(option_integer(OptionId::kReportWait),
                            "MPI_Finalize: until all ranks have called it (LACUNA_REPORT)",
                            &comm)) {
    gather(comm, &report);
    next_functions().MPI_Comm_free(&comm);
  }
  if (runtime().rank == 0 && report.costs) {
    report.copies = copy_costs();
    time_kept_types(&report);
  }
  drop_kept_types();
  if (runtime().rank == 0) show(report);
} catch (...) {
}

}  // namespace lacuna
