// SPDX-License-Identifier: BSD-3-Clause
//
// Start, end and switch. lacuna starts after the library's MPI_Init has returned and ends in its
// MPI_Finalize, after the program's own callbacks there; before, after and in programs that only
// use sessions, every gate is closed and every call passes through.
#include <atomic>
#include <mutex>

#include "base/options.hpp"
#include "interpose/device/arenas.hpp"
#include "interpose/device/windows.hpp"
#include "interpose/direct/agreement/agreement.hpp"
#include "interpose/direct/agreement/launched.hpp"
#include "interpose/direct/between_nodes/communicator.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/direct/node/waits.hpp"
#include "interpose/direct/pipeline/pipeline.hpp"
#include "interpose/direct/rooms/ranks.hpp"
#include "interpose/functions/bodies.hpp"
#include "interpose/inside/inside.hpp"
#include "interpose/library/device.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/memory/staging.hpp"
#include "interpose/messages/fast_receive.hpp"
#include "interpose/observe/log.hpp"
#include "interpose/observe/verify.hpp"
#include "interpose/requests/freed.hpp"
#include "interpose/requests/table.hpp"
#include "interpose/start/announce.hpp"
#include "interpose/start/discover.hpp"
#include "interpose/start/gather.hpp"
#include "interpose/start/pipelining.hpp"
#include "interpose/types/guard.hpp"
#include "interpose/types/record.hpp"

namespace lacuna {

constinit Gate g_gate{.irregular{kDirectClosed}, .library_data{}, .program_data{}};

namespace {

constinit Runtime g_runtime{};
constinit std::mutex g_mutex;  // of start, stop and switch_on
constinit bool g_started = false;
constinit bool g_probing = false;
constinit bool g_ends_in_finalize = false;
constinit uint32_t g_allowed = 0;      // the families that the options leave on
constinit uint32_t g_always_open = 0;  // kDirectSwitch, where the node has agreed
constinit bool g_is_on = true;         // as MPI_Pcontrol says
constinit uint32_t g_wanted = 0;       // what g_gate watches with timing on
constinit int g_sessions = 0;          // live MPI sessions of the program's

// Under g_mutex, unless no other thread may call MPI.
void open_gate(uint32_t families) noexcept {
  const uint32_t before = g_gate.open.exchange(families, std::memory_order_acq_rel);
  if (((before ^ families) & kDirectSwitch) == 0) return;
  const bool opens = (families & kDirectSwitch) != 0;
  g_gate.irregular.fetch_add(opens ? -kDirectClosed : kDirectClosed, std::memory_order_release);
}

// A session may outlive MPI_Finalize, and with it messages that lacuna has begun: so nothing is
// begun while there is one.
void settle_gate() noexcept {
  if (g_started) open_gate((g_is_on && g_sessions == 0 ? g_allowed : 0) | g_always_open);
}

uint32_t allowed_families() {
  uint32_t families = 0;
  if (!option_flag(OptionId::kDisablePack)) families |= kPackSwitch;
  if (!option_flag(OptionId::kDisableP2p)) families |= kP2pSwitch;
  if (!option_flag(OptionId::kDisableCollectives)) families |= kCollectiveSwitch;
  if (!option_flag(OptionId::kDisableFiles)) families |= kFileSwitch;
  if (!option_flag(OptionId::kDisableRma)) families |= kRmaSwitch;
  return families;
}

direct::OtherNodes may_pipeline() noexcept {
  const direct::OtherNodes wanted = pipelining_wanted();
  const bool is_sure = wanted != direct::OtherNodes::kAsked || can_ask_quietly();
  if (!is_sure && !g_runtime.on_one_node)
    log_no_pipelining("MPICH's libmpi_abi does not tell whether a request has failed");
  return is_sure ? wanted : direct::OtherNodes::kNothing;
}

// The other ranks of the node wait for this rank's vote on the direct path, even if lacuna does not
// start here. So it is cast exactly once: by cast(), or as a no in the destructor.
class Vote {
 public:
  explicit Vote(bool is_due) noexcept
      : is_due_(is_due),
        is_due_for_job_(is_due && pipelining_wanted() == direct::OtherNodes::kGiven) {}
  Vote(const Vote&) = delete;
  Vote& operator=(const Vote&) = delete;
  ~Vote() {
    if (is_due_) direct::agree(false, direct::OtherNodes::kNothing);
    if (is_due_for_job_ && g_probing) agree_on_pipelining(false);
  }

  bool is_due() const noexcept { return is_due_; }
  direct::Agreed cast(bool willing) noexcept {
    is_due_ = false;
    const direct::Agreed agreed = direct::agree(willing, may_pipeline());
    is_due_for_job_ = is_due_for_job_ || agreed.nodes == direct::AllNodes::kAgreed;
    return agreed;
  }
  // On pipelined messages, with all ranks of the job. Returns why there are none.
  std::string_view cast_for_job(bool willing) noexcept {
    return std::exchange(is_due_for_job_, false) ? agree_on_pipelining(willing) : "";
  }

 private:
  bool is_due_;
  bool is_due_for_job_;
};

// The direct path needs all receives and completions of every rank to go through the wrappers.
// LACUNA_VERIFY compares packed data, so it turns the path off.
void start_direct(Vote* vote) {
  const bool willing = g_runtime.nonblocking && !receives_may_be_hidden() &&
                       !is_watched(kVerified) && !g_runtime.outlives_failures;
  const direct::Agreed found = vote->cast(willing);
  const bool receives_tokens = found.node == direct::Agreement::kReached;
  const std::string_view why_alone = why_nodes_disagree(found.nodes);
  const std::string_view why_whole = vote->cast_for_job(receives_tokens);
  if (receives_tokens && (direct::peers().size() > 1 || direct::has_pipeline())) {
    g_always_open = kDirectSwitch;
    if (!direct::may_settle()) direct::need_statuses();
  } else {
    log_direct_off(receives_tokens ? direct::Agreement::kAlone : found.node, willing);
  }
  log_no_pipelining(why_alone.empty() ? why_whole : why_alone);
}

uint32_t watched() {
  uint32_t by = 0;
  if (log_wanted()) by |= kLogged;
  if (report_wanted()) by |= kReported;
  if (option_flag(OptionId::kVerify)) by |= kVerified;
  if ((by & kReported) != 0 && option_flag(OptionId::kCosts)) by |= kCosted;
  return by;
}

// Makes receives and calls that complete requests leave the fast path, so that they are timed or
// counted. `by`: 1 on, -1 off.
void change_timing(int by) noexcept {
  g_gate.pending.fetch_add(by, std::memory_order_relaxed);
  g_gate.irregular.fetch_add(by * kTimed, std::memory_order_release);
  detail::g_watching += by * kTimedWatching;
}

void start_watching() {
  g_wanted = watched();
  g_gate.watched.store(g_wanted, std::memory_order_relaxed);
  look_for_devices(examine_all_types_again);
  if (is_watched(kReported)) start_report();
  if (!is_watched(kCosted)) return;
  watch_predefined_types();
  change_timing(1);
}

// The report first, as it needs the other ranks.
void stop_watching() noexcept {
  if (is_watched(kReported)) give_report();
  if (is_watched(kVerified)) stop_verification();
}

// Turns the timing of calls on or off, if LACUNA_COSTS asks for it at all.
void time_calls(bool on) noexcept {
  if ((g_wanted & kCosted) == 0 || is_watched(kCosted) == on) return;
  constexpr uint32_t kTimes = kCosted | kReported;
  on ? g_gate.watched.fetch_or(kTimes) : g_gate.watched.fetch_and(~kTimes);
  change_timing(on ? 1 : -1);
  g_allowed = on ? g_allowed | kCostsSwitch : g_allowed & ~kCostsSwitch;
}

// Calls that other threads have begun before are finished by lacuna. MPI allows them no new calls
// from here on.
void stop() noexcept {
  const std::lock_guard<std::mutex> lock(g_mutex);
  if (g_started) {  // while received tokens are still recognised
    direct::await_last_tokens(finish_freed_requests);
    leave_freed_requests();
  }
  open_gate(0);
  time_calls(true);
  if (g_started) {
    stop_watching();
    direct::free_comm_key();
    direct::stop_pipeline();
    direct::stop_ranks();
    direct::stop_peers();
    device::unpin_arenas();
    device::close_windows();
    stop_types(g_runtime.type_keyval);
    stop_guard();
    trim_staging();
  }
  if (g_probing) next_functions().MPI_Comm_free(&g_runtime.probe_comm);
  g_started = false;
  g_probing = false;
  g_ends_in_finalize = false;
}

int stop_last(MPI_Comm, int, void*, void*) noexcept {
  stop();
  return MPI_SUCCESS;
}

int copy_nothing(MPI_Comm, int, void*, void*, void*, int* flag) noexcept {
  *flag = 0;
  return MPI_SUCCESS;
}

// MPI_Finalize first deletes the attributes of MPI_COMM_SELF, the latest first. MPI still works in
// the program's delete callbacks: they may complete receives, and match tokens of ranks that have
// not come so far. lacuna's attribute is set in MPI_Init, so it is deleted last.
bool end_in_finalize(const Next& next) noexcept {
  int keyval = 0;
  if (next.MPI_Comm_create_keyval(copy_nothing, stop_last, &keyval, nullptr) != MPI_SUCCESS)
    return false;
  const bool hangs = next.MPI_Comm_set_attr(g_runtime.comm_self, keyval, nullptr) == MPI_SUCCESS;
  next.MPI_Comm_free_keyval(&keyval);  // it lives as long as the attribute
  return hangs;
}

void start_or_throw() {
  const bool disabled = option_flag(OptionId::kDisable);
  const Next& next = next_functions();
  g_runtime.spawned = next_is_complete() && is_spawned(next);
  // A spawned process has inherited the environment that `lacuna run` set for others. Processes
  // that were spawned with it may run another program, without lacuna (MPI_Comm_spawn_multiple),
  // and would never vote.
  Vote vote(option_flag(OptionId::kDirect) && next_is_complete() && !g_runtime.spawned);
  if (disabled || !next_is_complete()) {
    if (!disabled)
      log_lacking(next_lacks());
    else if (next_is_complete())
      log_disabled(next);
    return;
  }
  learn_library(next, &g_runtime);
  log_complaints(*g_runtime.table);
  g_probing = make_probe(next, &g_runtime);
  if (!g_probing || !start_types(&g_runtime.type_keyval)) return;
  find_mpi_code();
  g_runtime.nonblocking = !completion_may_be_hidden();
  start_guard();
  g_runtime.one_sided = g_runtime.nonblocking && !synchronization_may_be_hidden();
  start_watching();
  g_started = true;
  g_ends_in_finalize = end_in_finalize(next);
  g_allowed = allowed_families();
  if (is_watched(kCosted)) g_allowed |= kCostsSwitch;
  if (inside::start()) g_allowed |= kInsideSwitch;
  if (vote.is_due()) start_direct(&vote);
  direct::describe_process(g_runtime.rank, g_runtime.size, job_id(), g_always_open != 0);
  log_on(g_always_open != 0, (g_allowed & kInsideSwitch) != 0);
}

// If anything fails, lacuna stays off and the program runs as without it. But once this rank has
// agreed to the direct path, others send it tokens, and the gate opens in any case.
void start() noexcept {
  const std::lock_guard<std::mutex> lock(g_mutex);
  if (g_started) return;
  try {
    start_or_throw();
  } catch (...) {
  }
  settle_gate();
}

}  // namespace

const Runtime& runtime() noexcept { return g_runtime; }

void switch_on(bool on) noexcept {
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_is_on = on;
  settle_gate();
}

void count_sessions(int change) noexcept {
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_sessions += change;
  settle_gate();
}

namespace {

// A tool or the library may call PMPI_Init or MPI_Init_thread within MPI_Init: lacuna starts when
// the outermost call has returned.
constinit std::atomic<int> g_initializing{0};

template <typename Initialize>
int around_any_init(const Initialize& initialize) noexcept {
  const bool outermost = g_initializing.fetch_add(1) == 0;
  if (outermost) job_id();  // while the launcher's socket is open
  const int code = initialize();
  g_initializing.fetch_sub(1);
  if (outermost && code == MPI_SUCCESS) start();
  return code;
}

}  // namespace

int around_init(const Next& next, int* argc, char*** argv) {
  return around_any_init([&] { return next.MPI_Init(argc, argv); });
}

int around_init_thread(const Next& next, int* argc, char*** argv, int required, int* provided) {
  return around_any_init([&] { return next.MPI_Init_thread(argc, argv, required, provided); });
}

int around_finalize(const Next& next) {
  if (!g_ends_in_finalize) stop();
  const int code = next.MPI_Finalize();
  finish_left_requests();
  open_gate(0);
  return code;
}

}  // namespace lacuna

using namespace lacuna;

namespace {

// Arguments after the level belong to other profiling tools and cannot be passed on in portable
// C++; MPI's own levels 0, 1 and 2 have none.
int control(const Next& next, int level) noexcept {
  if (level == 0 || level == 1) switch_on(level == 1);
  return next.MPI_Pcontrol(level);
}

}  // namespace

// For benchmarks, while no message is in flight. 0: every call passes through as before MPI_Init;
// so do receives, which MPI_Pcontrol(0) still examines if the direct path is open. 1: lacuna is on.
// 2: lacuna is on as without LACUNA_COSTS. 3: it is on inside the library alone.
extern "C" LACUNA_EXPORT void lacuna_interposed_switch(int on) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  time_calls(on == 1);
  if (on == 0) return open_gate(0);
  if (on == 3) return open_gate(g_allowed & kInsideSwitch);
  g_is_on = true;
  settle_gate();
}

extern "C" LACUNA_EXPORT int MPI_Pcontrol(const int level, ...) {
  return control(next_functions(), level);
}

#if !defined(LACUNA_STATIC)
extern "C" LACUNA_EXPORT int PMPI_Pcontrol(const int level, ...) {
  return control(next_profiling(), level);
}
#endif
