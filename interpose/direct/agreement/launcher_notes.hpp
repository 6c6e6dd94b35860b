// SPDX-License-Identifier: BSD-3-Clause
#ifndef LACUNA_INTERPOSE_DIRECT_AGREEMENT_LAUNCHER_NOTES_HPP_
#define LACUNA_INTERPOSE_DIRECT_AGREEMENT_LAUNCHER_NOTES_HPP_

#include "interpose/direct/agreement/nodes.hpp"

namespace lacuna::direct {

// Notes as names that MPI_Publish_name gives to the launcher. Their names contain the job's. One
// process writes at most kMost.
class LauncherNotes : public Notes {
 public:
  static constexpr int kMost = 2;

  // job_of_all_nodes(). 0: there are no notes.
  explicit LauncherNotes(uint64_t job) noexcept : job_(job) {}

  bool write(const char* name, const char* text) noexcept override;
  bool read(const char* name, char* text) noexcept override;
  void take_back() noexcept override;

 private:
  struct Written {
    char name[64];
    char text[kMostText];
  };
  uint64_t job_;
  int count_ = 0;
  Written written_[kMost] = {};
};

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_AGREEMENT_LAUNCHER_NOTES_HPP_
