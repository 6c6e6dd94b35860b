// SPDX-License-Identifier: BSD-3-Clause
//
// Hydra refuses a name that there is already; PRRTE and Open MPI 4's daemon keep both. Launchers
// that keep no names return an error. What a call has done is seen from what is there afterwards,
// as MPICH 5 returns MPI_SUCCESS after an error handler has returned.
#include "interpose/direct/agreement/launcher_notes.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "interpose/library/error_handlers.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "mpi/header.hpp"

namespace lacuna::direct {
namespace {

constexpr bool kFatalToo = true;

template <size_t kSize>
void name_note(uint64_t job, const char* name, char (&full)[kSize]) noexcept {
  std::snprintf(full, kSize, "lacuna-%016llx-%s", static_cast<unsigned long long>(job), name);
}

bool look_up(const char* full, char* text) noexcept {
  char found[MPI_MAX_PORT_NAME] = "";
  next_functions().MPI_Lookup_name(full, MPI_INFO_NULL, found);
  const size_t length = strnlen(found, sizeof(found));
  if (length == 0 || length >= Notes::kMostText) return false;
  std::memcpy(text, found, length + 1);
  return true;
}

}  // namespace

bool LauncherNotes::read(const char* name, char* text) noexcept {
  if (job_ == 0) return false;
  const SilencedErrors silenced(kFatalToo);
  char full[sizeof(Written::name)];
  name_note(job_, name, full);
  return look_up(full, text);
}

bool LauncherNotes::write(const char* name, const char* text) noexcept {
  if (job_ == 0 || count_ == kMost) return false;
  const SilencedErrors silenced(kFatalToo);
  Written& mine = written_[count_];
  name_note(job_, name, mine.name);
  std::snprintf(mine.text, sizeof(mine.text), "%s", text);
  char found[kMostText];
  if (look_up(mine.name, found)) return false;
  next_functions().MPI_Publish_name(mine.name, MPI_INFO_NULL, mine.text);
  if (!look_up(mine.name, found) || std::strcmp(found, text) != 0) return false;
  ++count_;
  return true;
}

void LauncherNotes::take_back() noexcept {
  const SilencedErrors silenced(kFatalToo);
  for (; count_ > 0; --count_) {
    const Written& mine = written_[count_ - 1];
    next_functions().MPI_Unpublish_name(mine.name, MPI_INFO_NULL, mine.text);
  }
}

}  // namespace lacuna::direct
