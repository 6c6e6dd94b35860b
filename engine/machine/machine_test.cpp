// SPDX-License-Identifier: BSD-3-Clause
//
// The numbers of this host without a profile, the table of numbers, and the names of CPUs.
#include "machine/machine.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "machine/profile.hpp"

namespace lacuna {
namespace {

TEST(Machine, NumbersMakeSense) {
  const Machine& m = machine();
  EXPECT_EQ(m.page_bytes, sysconf(_SC_PAGESIZE));
  EXPECT_GE(m.line_bytes, 16);
  EXPECT_EQ(m.page_bytes % m.line_bytes, 0);
  EXPECT_GT(m.l1_bytes, 0);
  EXPECT_LE(m.l1_bytes, m.l2_bytes);
  EXPECT_GT(m.tlb_entries, 1);
  EXPECT_LE(m.tlb_entries, m.tlb2_entries);
  EXPECT_GT(m.stream_transpose_bytes, 0);
  EXPECT_GT(m.stream_run_bytes, 0);
  EXPECT_GT(m.parallel_bytes, 0);
}

TEST(Machine, CachesAreToldInKibibytes) {
  EXPECT_EQ(cache_bytes("32768K\n"), 32768 * 1024);
  EXPECT_EQ(cache_bytes("48K"), 48 * 1024);
  for (const char* wrong : {"", "K", "32768", "32M", "-1K", "0K", "99999999999999999999K", "x"})
    EXPECT_EQ(cache_bytes(wrong), 0) << wrong;
}

TEST(Machine, TheThirdLevelIsWhatACpuReaches) {
  const int64_t l3_bytes = kernel_l3_bytes();
  if (l3_bytes == 0) GTEST_SKIP() << "this kernel does not tell";
  EXPECT_EQ(told_profile().machine.l3_bytes, l3_bytes);
}

// store_bytes follows from measured numbers, whatever the CPU is.
TEST(Machine, StoresAreAsWideAsMeasured) {
  const auto derived = [](double write_bytes_per_ns, Source source) {
    Profile profile;
    profile.set("cycle_ns", 0.25, source);
    profile.set("l1_write_bytes_per_ns", write_bytes_per_ns, source);
    derive_thresholds(profile);
    return profile.machine;
  };
  const Machine narrow = derived(120, Source::kMeasured);
  const Machine wide = derived(250, Source::kMeasured);
  EXPECT_EQ(narrow.store_bytes, 32);
  EXPECT_EQ(wide.store_bytes, 64);
  EXPECT_EQ(derived(120, Source::kDefault).store_bytes, Machine().store_bytes);
}

TEST(Machine, IsReadOnce) { EXPECT_EQ(&machine(), &machine()); }

TEST(Numbers, DefaultsAreWithinTheLimitsOfTheTable) {
  const Machine m;
  std::set<std::string> names;
  for (const Number& number : machine_numbers()) {
    EXPECT_TRUE(names.insert(number.name).second) << number.name << " twice";
    EXPECT_GE(number.get(m), number.least) << number.name;
    EXPECT_LE(number.get(m), number.most) << number.name;
    EXPECT_FALSE(number.unit.empty()) << number.name;
    EXPECT_FALSE(number.meaning.empty()) << number.name;
  }
}

TEST(Numbers, EachIsItsOwnField) {
  Machine m;
  double value = 1000;
  for (const Number& number : machine_numbers()) {
    if (number.flag == nullptr) number.set(m, value++);
  }
  value = 1000;
  for (const Number& number : machine_numbers()) {
    if (number.flag != nullptr) continue;
    EXPECT_EQ(number.get(m), value++) << number.name;
  }
  EXPECT_EQ(m.line_bytes, 1000);
  EXPECT_EQ(m.speed(Level::kMemory).random_store_ns, value - 1);
}

TEST(Numbers, EachFlagIsItsOwn) {
  for (const Number& flag : machine_numbers()) {
    if (flag.flag == nullptr) continue;
    Machine m;
    flag.set(m, 1 - flag.get(m));
    for (const Number& number : machine_numbers())
      EXPECT_EQ(number.get(m) != number.get(Machine()), number.flag == flag.flag) << number.name;
  }
}

TEST(Numbers, TheDeeperTheSlowerInTheDefaults) {
  const Machine m;
  for (size_t i = 1; i < kLevels; ++i) {
    EXPECT_LT(m.levels[i - 1].latency_ns, m.levels[i].latency_ns);
    EXPECT_GT(m.levels[i - 1].copy_bytes_per_ns, m.levels[i].copy_bytes_per_ns);
    EXPECT_LT(m.levels[i - 1].random_load_ns, m.levels[i].random_load_ns);
  }
}

TEST(Cpu, NamesFromBothKindsOfCpuinfo) {
  EXPECT_EQ(
      cpu_name("processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n"
               "model name\t: AMD EPYC 9554 64-Core Processor\nstepping\t: 1\n\nprocessor\t: 1\n"
               "model name\t: another\n",
               "x86_64"),
      "AMD EPYC 9554 64-Core Processor, family 25, model 17, stepping 1");
  EXPECT_EQ(
      cpu_name("processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\n"
               "CPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd0c\nCPU revision\t: 1\n",
               "aarch64"),
      "aarch64, implementer 0x41, variant 0x1, part 0xd0c, revision 1");
  EXPECT_EQ(cpu_name("", "riscv64"), "riscv64");
  EXPECT_EQ(cpu_name("no colon at all", "riscv64"), "riscv64");
}

TEST(Place, IsInTheCacheFolderAndNamesTheCpu) {
  const char* cpu = "Intel(R) Xeon(R) @ 2/3 GHz, model 7";
  const std::string name = "/lacuna/machine-intel-r-xeon-r-2-3-ghz-model-7.json";
  EXPECT_EQ(default_cache_place("/x", "/home/u", "machine", cpu), "/x" + name);
  EXPECT_EQ(default_cache_place(nullptr, "/home/u", "machine", cpu), "/home/u/.cache" + name);
  EXPECT_EQ(default_cache_place("relative", "/home/u", "machine", cpu), "/home/u/.cache" + name);
  EXPECT_EQ(default_cache_place("", "", "machine", cpu), "");
  EXPECT_EQ(default_cache_place(nullptr, nullptr, "machine", cpu), "");
}

}  // namespace
}  // namespace lacuna
