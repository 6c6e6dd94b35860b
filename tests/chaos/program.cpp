// SPDX-License-Identifier: BSD-3-Clause
//
// Shared by all steps: communicators and requests of a program, and the loop over its steps.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "chaos.hpp"

namespace chaos {

int Comm::rank_of(int place) const {
  const auto found = std::find(group.begin(), group.end(), place);
  return found == group.end() ? -1 : static_cast<int>(found - group.begin());
}

bool Comm::has(int place) const {
  return rank_of(place) >= 0 || std::find(other.begin(), other.end(), place) != other.end();
}

std::string Comm::text() const {
  std::string all = "comm " + std::to_string(id) + " {";
  for (const int place : group) all += " " + std::to_string(place);
  if (inter()) all += " |";
  for (const int place : other) all += " " + std::to_string(place);
  return all + " }" + (topology() ? " with neighbours" : "");
}

Program::Program(uint64_t seed_, int thread_, MPI_Comm all_)
    : seed(seed_), thread(thread_), all(all_), noise(0), pauses(0) {
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &size);
  noise = Random(mix(mix(seed, 1000 + static_cast<uint64_t>(rank)), static_cast<uint64_t>(thread)));
  pauses = Random(noise.next());
  std::vector<int> everybody(static_cast<size_t>(size));
  std::iota(everybody.begin(), everybody.end(), 0);
  add_comm(this, everybody)->handle = all;
  comms.back()->kept = true;
  if (thread != 0 || g_threads) return;
  for (int place = 0; place < size; ++place) {
    add_comm(this, {place})->handle = place == rank ? MPI_COMM_SELF : MPI_COMM_NULL;
    comms.back()->kept = true;
  }
}

CommPtr Program::pick(Random* draw, const std::function<bool(const Comm&)>& fits) {
  std::vector<CommPtr> fitting;
  for (const CommPtr& comm : comms)
    if (fits(*comm)) fitting.push_back(comm);
  const int64_t number = draw->between(0, 1 << 20);
  if (fitting.empty()) return nullptr;
  return fitting[static_cast<size_t>(number) % fitting.size()];
}

void Program::say(const std::string& text) const {
  const size_t at = static_cast<size_t>(thread);
  std::snprintf(g_page->text[at], sizeof(g_page->text[at]), "%s", text.c_str());
  if (g_verbose)
    log_line("# " + std::to_string(seed) + (thread != 0 ? " thread 1" : "") + " step " +
             std::to_string(step) + ": " + text + ", so far " + std::to_string(digest.value()));
}

void Program::pause() {
  if (g_pauses == 0 || pauses.between(0, 999) >= g_pauses) return;
  const int64_t kind = pauses.between(0, 99);
  if (kind < 40) {
    sched_yield();
  } else {
    usleep(static_cast<useconds_t>(pauses.magnitude(1, kind < 97 ? 400 : 20000)));
  }
}

void Program::ok(int code) {
  if (code != MPI_SUCCESS) {
    int error_class = 0;
    MPI_Error_class(code, &error_class);
    digest.add(label(999), error_class);
    say("an error that should not be, class " + std::to_string(error_class));
  }
  pause();
}

int Program::tag() {
  next_tag = next_tag >= 20000 ? 100 : next_tag + 1;
  return next_tag;
}

void Program::note(uint64_t label_, const MPI_Status& status, MPI_Datatype type, bool of_probe) {
  int count = 0, elements = 0, cancelled = 0;
  MPI_Get_count(&status, type, &count);
  MPI_Get_elements(&status, type, &elements);
  if (!of_probe) MPI_Test_cancelled(&status, &cancelled);
  const int all_of_it[] = {status.MPI_SOURCE, status.MPI_TAG, count, elements, cancelled};
  digest.add(label_, all_of_it, sizeof(all_of_it));
}

// ---- completion --------------------------------------------------------------------------------

test::How Program::how(bool persistent) {
  using test::How;
  static constexpr How kOfPersistent[] = {How::kWait,     How::kWaitall, How::kWaitany,
                                          How::kWaitsome, How::kTestany, How::kTestsome};
  if (persistent) return kOfPersistent[noise.between(0, 5)];
  return static_cast<How>(noise.between(0, static_cast<int64_t>(How::kGetStatus)));
}

void Program::finish(std::vector<Item> items) {
  if (items.empty()) return;
  bool persistent = false;
  std::vector<MPI_Request> requests;
  for (const Item& item : items) {
    persistent = persistent || item.persistent;
    requests.push_back(item.request);
  }
  const test::How way = how(persistent);
  const bool ignore = noise.chance(30);
  test::complete(way, &requests, ignore, [&](int i, const MPI_Status* status) {
    const Item& item = items[static_cast<size_t>(i)];
    if (item.done) item.done(status);
    pause();
  });
  for (size_t i = 0; i < items.size(); ++i)
    if (items[i].persistent) MPI_Request_free(&requests[i]);
}

void Program::leave(Bundle bundle, bool pending) {
  if (pending) {
    bundles.push_back(std::move(bundle));
  } else {
    finish(std::move(bundle.items));
  }
}

void Program::finish_of(int comm, bool collectives) {
  for (size_t i = 0; i < bundles.size();) {
    if (bundles[i].comm != comm || (collectives && !bundles[i].collective)) {
      ++i;
      continue;
    }
    std::vector<Item> items = std::move(bundles[i].items);
    bundles.erase(bundles.begin() + static_cast<std::ptrdiff_t>(i));
    finish(std::move(items));
  }
}

// ---- the whole ---------------------------------------------------------------------------------

namespace {

const std::vector<Step>& all_steps() {
  static const std::vector<Step> all = [] {
    std::vector<Step> found;
    for (const auto* some : {&kCommSteps, &kCollectiveSteps, &kMessageSteps, &kExchangeSteps,
                             &kRequestSteps, &kErrorSteps, &kCallbackSteps})
      found.insert(found.end(), some->begin(), some->end());
    return found;
  }();
  return all;
}

const Step& draw_step(Random* draw) {
  int64_t sum = 0;
  for (const Step& step : all_steps()) sum += step.weight;
  int64_t left = draw->between(0, sum - 1);
  for (const Step& step : all_steps())
    if ((left -= step.weight) < 0) return step;
  return all_steps().front();
}

}  // namespace

void Program::end() {
  say("the end: what is pending");
  while (!bundles.empty()) finish_of(bundles.front().comm);
  say("the end: communicators");
  while (comms.size() > 1 && !comms.back()->kept) drop_comm(this, comms.back(), false);
  say("the end: a barrier");
  ok(MPI_Barrier(all));
}

void Program::run() {
  std::string line = "p " + std::to_string(seed) + " " + std::to_string(thread);
  const uint64_t mine = mix(seed, static_cast<uint64_t>(thread));
  const int64_t steps = Random(mix(mine, 3)).between(3, 22);
  const auto add = [&](const char* name) {
    char text[60];
    std::snprintf(text, sizeof(text), " %s=%08x", name, digest.value());
    line += text;
    digest = Digest();
  };
  refuse_memory(true);
  for (step = 0; step < steps; ++step) {
    g_page->seed[thread] = seed;
    g_page->step[thread] = step;
    __atomic_add_fetch(&g_page->ticks, 1, __ATOMIC_RELAXED);
    Random draw(mix(mine, 100 + static_cast<uint64_t>(step)));
    const Step& next = draw_step(&draw);
    if (is_left_out(step) || is_without(next.name)) {
      add("-");
      continue;
    }
    say(next.name);
    next.run(this, &draw);
    if (g_planted_digest != 0) digest.add(label(1000), g_planted_digest);
    g_planted_digest = 0;
    add(next.name);
  }
  end();
  add("end");
  refuse_memory(false);
  kept.clear();
  log_line(line);
}

}  // namespace chaos
