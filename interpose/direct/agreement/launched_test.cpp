// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/agreement/launched.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace lacuna {
namespace {

class LaunchedTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_LOCAL_SIZE", "PMI_FD", "PMI_PORT",
          "MV2_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE", "I_MPI_HYDRA_UUID", "SLURM_JOB_ID",
          "PMI_JOBID", "I_MPI_PMI_LIBRARY", "SLURM_STEP_ID", "SLURM_NODEID",
          "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}) {
      unsetenv(name);
    }
  }
};

TEST_F(LaunchedTest, RanksOnNodeAreWhatTheLauncherSays) {
  EXPECT_EQ(ranks_on_node(Flavour::kMpich), 0);
  setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "2", 1);
  EXPECT_EQ(ranks_on_node(Flavour::kMpich), 2);
  setenv("MPI_LOCALNRANKS", "nonsense", 1);
  EXPECT_EQ(ranks_on_node(Flavour::kMpich), 2);
}

TEST_F(LaunchedTest, OwnLibraryComesFirstWhereAJobStartsAnother) {
  setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "2", 1);
  setenv("MPI_LOCALNRANKS", "4", 1);
  EXPECT_EQ(ranks_on_node(Flavour::kMpich), 4);
  EXPECT_EQ(ranks_on_node(Flavour::kOpenMpi), 2);
}

TEST_F(LaunchedTest, TasksOfSlurm) {
  EXPECT_EQ(detail::tasks_on_node("4", 0), 4);
  EXPECT_EQ(detail::tasks_on_node("4", 1), 0);
  EXPECT_EQ(detail::tasks_on_node("4(x2),3", 1), 4);
  EXPECT_EQ(detail::tasks_on_node("4(x2),3", 2), 3);
  EXPECT_EQ(detail::tasks_on_node("4(x2),3", 3), 0);
  for (const char* wrong : {"", "x", "4(x", "4(x2", "0", "4,", "4(x0),3", "-1"})
    EXPECT_EQ(detail::tasks_on_node(wrong, 1), 0) << wrong;
  setenv("SLURM_STEP_TASKS_PER_NODE", "2(x3)", 1);
  EXPECT_EQ(ranks_on_node(Flavour::kOpenMpi), 0);
  setenv("SLURM_NODEID", "2", 1);
  EXPECT_EQ(ranks_on_node(Flavour::kOpenMpi), 2);
}

TEST_F(LaunchedTest, JobsOfPmixAndSlurmAreToldApart) {
  EXPECT_EQ(detail::find_job_id(), 0U);
  setenv("PMIX_NAMESPACE", "a@1", 1);
  const uint64_t first = detail::find_job_id();
  EXPECT_NE(first, 0U);
  EXPECT_EQ(detail::find_job_id(), first);
  setenv("PMIX_NAMESPACE", "a@2", 1);
  EXPECT_NE(detail::find_job_id(), first);
  unsetenv("PMIX_NAMESPACE");
  setenv("SLURM_STEP_ID", "0", 1);
  EXPECT_EQ(detail::find_job_id(), 0U) << "a step of no job";
  setenv("SLURM_JOB_ID", "12", 1);
  const uint64_t step = detail::find_job_id();
  EXPECT_NE(step, 0U);
  setenv("SLURM_STEP_ID", "1", 1);
  EXPECT_NE(detail::find_job_id(), step);
}

TEST_F(LaunchedTest, JobsOfHydraAreToldApartByTheirProxy) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  setenv("PMI_FD", std::to_string(ends[0]).c_str(), 1);
  const uint64_t first = detail::find_job_id();
  EXPECT_NE(first, 0U);
  setenv("PMI_FD", std::to_string(ends[1]).c_str(), 1);
  EXPECT_EQ(detail::find_job_id(), first) << "another rank of the same proxy";
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(detail::find_job_id(), 0U) << "closed";
}

TEST_F(LaunchedTest, AJobOnSeveralNodesHasANameOfTheLauncher) {
  EXPECT_EQ(detail::find_job_of_all_nodes(0), 0U);
  setenv("SLURM_JOB_ID", "12", 1);  // srun keeps notes by PMI2 alone
  setenv("PMI_JOBID", "12.0", 1);
  EXPECT_EQ(detail::find_job_of_all_nodes(0), 0U);
  for (const char* client : {"libpmi2.so.0", "libc.so.6"}) {  // not loaded; keeps no notes
    setenv("I_MPI_PMI_LIBRARY", client, 1);
    EXPECT_EQ(detail::find_job_of_all_nodes(0), 0U) << client;
  }
  setenv("PMIX_NAMESPACE", "a@1", 1);
  const uint64_t first = detail::find_job_of_all_nodes(0);
  EXPECT_NE(first, 0U);
  setenv("PMIX_NAMESPACE", "a@2", 1);
  EXPECT_NE(detail::find_job_of_all_nodes(0), first);
  unsetenv("PMIX_NAMESPACE");
  setenv("I_MPI_HYDRA_UUID", "39560000-87df", 1);
  EXPECT_NE(detail::find_job_of_all_nodes(0), 0U);
}

TEST_F(LaunchedTest, ArgumentsOfAProxy) {
  using namespace std::string_view_literals;
  constexpr auto kLine = "proxy\0--control-port\0vm:36285\0--rmk\0user\0"sv;
  EXPECT_EQ(detail::argument_after("--control-port", kLine), "vm:36285");
  EXPECT_EQ(detail::argument_after("--rmk", kLine), "user");
  EXPECT_EQ(detail::argument_after("user", kLine), "");
  EXPECT_EQ(detail::argument_after("--control", kLine), "");
  EXPECT_EQ(detail::argument_after("--rmk", "proxy\0--rmk"sv), "");
  EXPECT_EQ(detail::argument_after("--rmk", ""), "");
}

TEST(Machine, HasANumber) { EXPECT_EQ(this_machine(), this_machine()); }

}  // namespace
}  // namespace lacuna
