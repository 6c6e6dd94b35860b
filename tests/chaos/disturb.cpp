// SPDX-License-Identifier: BSD-3-Clause
//
// Usage: chaos_disturb FOLDER RANKS SEED
// Stops ranks (SIGSTOP) and continues them: at random, or a moment after they have begun a new
// step, for microseconds or for much longer than anything waits. Ends with its parent, or at the
// end of its standard input, and then continues all ranks.
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "page.hpp"
#include "type/random/random.hpp"

namespace {

void wait_ns(int64_t ns) {
  const timespec moment = {ns / 1000000000, ns % 1000000000};
  nanosleep(&moment, nullptr);
}

bool has_input_ended() {
  pollfd input = {0, POLLIN, 0};
  return poll(&input, 1, 0) > 0;
}

}  // namespace

int main(int argc, char** argv) {
  using chaos::Page;
  if (argc < 4) return 2;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  signal(SIGTERM, [](int) { close(0); });
  const int ranks = std::atoi(argv[2]);
  lacuna::Random random(std::strtoull(argv[3], nullptr, 10));
  std::vector<Page*> pages;
  for (int i = 0; i < ranks; ++i) pages.push_back(chaos::open_page(argv[1], i));
  const auto tell = [&](Page* page, int signal_number) {
    if (page->pid > 1) kill(page->pid, signal_number);
  };
  while (!has_input_ended()) {
    Page* page = pages[static_cast<size_t>(random.between(0, ranks - 1))];
    const bool aims = random.chance(60);
    if (aims) {
      const uint64_t before = __atomic_load_n(&page->ticks, __ATOMIC_RELAXED);
      for (int i = 0; i < 200 && __atomic_load_n(&page->ticks, __ATOMIC_RELAXED) == before; ++i)
        wait_ns(20000);
    }
    wait_ns(random.magnitude(1, aims ? 300000 : 4000000));
    const int64_t kind = random.between(0, 99);
    tell(page, SIGSTOP);
    // Sometimes a second one.
    Page* other = pages[static_cast<size_t>(random.between(0, ranks - 1))];
    const bool both = random.chance(15);
    if (both) tell(other, SIGSTOP);
    wait_ns(random.magnitude(20000, kind < 90 ? 3000000 : kind < 99 ? 30000000 : 400000000));
    tell(page, SIGCONT);
    if (both) tell(other, SIGCONT);
  }
  for (Page* page : pages) tell(page, SIGCONT);
  return 0;
}
