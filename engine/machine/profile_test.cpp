// SPDX-License-Identifier: BSD-3-Clause
//
// Profiles: what is written is read back, and a bad file, whatever is in it, leaves a complaint and
// nothing else.
#include "machine/profile.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace lacuna {
namespace {

// A host with default numbers and a fixed name and page size.
Profile host() {
  Profile base;
  base.cpu = "Test CPU, model 1";
  base.machine.page_bytes = 4096;
  return base;
}

std::string with(const std::string& numbers, const std::string& cpu = "Test CPU, model 1",
                 const std::string& format = "1") {
  return R"({"lacuna_machine": )" + format + R"(, "cpu": ")" + cpu +
         R"(", "provenance": {"date": "2026-01-02", "kernel": 6, "lacuna": "0.1.0"}, "numbers": {)" +
         numbers + R"(}, "curves": [1, [2]]})";
}

void expect_wrong(const std::string& text, const std::string& part) {
  const Result<Profile> read = parse_profile(text, host());
  ASSERT_FALSE(read.ok()) << text.substr(0, 200);
  EXPECT_NE(read.error().message.find(part), std::string::npos) << read.error().message;
}

TEST(Profile, NumbersOfAFileOverrideAndTheOthersStay) {
  const Result<Profile> read =
      parse_profile(with(R"("tlb_entries": {"value": 96, "source": "measured", "evidence": "?"},
                            "l2_bytes": {"value": 2097152, "source": "told"},
                            "l3_latency_ns": {"value": 31.5, "source": "measured"},
                            "from_the_future": {"value": "no number"})"),
                    host());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->machine.tlb_entries, 96);
  EXPECT_EQ(read->machine.l2_bytes, 2 << 20);
  EXPECT_EQ(read->machine.speed(Level::kL3).latency_ns, 31.5);
  EXPECT_EQ(read->machine.tlb2_entries, Machine().tlb2_entries);
  EXPECT_EQ(read->sources[static_cast<size_t>(find_number("tlb_entries"))], Source::kMeasured);
  EXPECT_EQ(read->sources[static_cast<size_t>(find_number("l2_bytes"))], Source::kTold);
  EXPECT_EQ(read->sources[static_cast<size_t>(find_number("l1_bytes"))], Source::kDefault);
  EXPECT_EQ(read->date, "2026-01-02");
  EXPECT_EQ(read->kernel, "");  // not a string: ignored
}

TEST(Profile, AMeasuredThresholdIsKept) {
  const Result<Profile> read = parse_profile(
      with(R"("stream_run_bytes": {"value": 12345678, "source": "measured"})"), host());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->machine.stream_run_bytes, 12345678);
}

TEST(Profile, AReportIsAProfile) {
  Profile made = host();
  double value = 64;
  for (const Number& number : machine_numbers()) {
    if (number.whole == nullptr) made.set(number.name, value += 0.25, Source::kMeasured);
  }
  made.set("tlb_entries", 72, Source::kMeasured);
  made.set("l1_bytes", 49152, Source::kTold);
  derive_thresholds(made);
  const Result<Profile> read = parse_profile(report_json(made, "/somewhere"), host());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->sources, made.sources);
  for (const Number& number : machine_numbers()) {
    EXPECT_EQ(number.get(read->machine), number.get(made.machine)) << number.name;
  }
}

TEST(Profile, WhatIsNoProfile) {
  expect_wrong("", "not JSON");
  expect_wrong("{", "not JSON");
  expect_wrong("[1, 2]", "not a JSON object");
  expect_wrong("null", "not a JSON object");
  expect_wrong(std::string("\0\1\2\xff\xfe", 5), "not JSON");
  expect_wrong(std::string(500000, '['), "not JSON");
  expect_wrong(std::string(200000, '[') + std::string(200000, ']'), "not a JSON object");
  expect_wrong("{}", "no member lacuna_machine");
  expect_wrong(with("", "Test CPU, model 1", "2"), "format is 2");
  expect_wrong(with("", "Test CPU, model 1", "\"1\""), "no member lacuna_machine");
  expect_wrong(R"({"lacuna_machine": 1, "cpu": "Test CPU, model 1"})", "no object of numbers");
  expect_wrong(R"({"lacuna_machine": 1, "numbers": {}})", "another CPU");
  const std::string whole = with(R"("tlb_entries": {"value": 96, "source": "measured"})");
  ASSERT_TRUE(parse_profile(whole, host()).ok());
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(parse_profile(whole.substr(0, length), host()).ok()) << length;
}

TEST(Profile, AnotherCpuIsNamed) {
  expect_wrong(with("", "Other CPU"), "\"Other CPU\"");
  expect_wrong(with("", "Other CPU"), "\"Test CPU, model 1\"");
  expect_wrong(with("", "\\u001b[2Jbell\\u0007"), "\"?[2Jbell?\"");
}

TEST(Profile, NumbersThatNoMachineHas) {
  expect_wrong(with(R"("tlb_entries": {"value": 0, "source": "measured"})"), "tlb_entries is 0");
  expect_wrong(with(R"("tlb_entries": {"value": -96, "source": "told"})"), "tlb_entries is -96");
  expect_wrong(with(R"("tlb_entries": {"value": 96.5, "source": "told"})"), "not a whole number");
  expect_wrong(with(R"("l3_bytes": {"value": 1e300, "source": "told"})"), "l3_bytes is ");
  expect_wrong(with(R"("l3_bytes": {"value": 18446744073709551615, "source": "told"})"),
               "l3_bytes");
  expect_wrong(with(R"("l1_latency_ns": {"value": -1, "source": "measured"})"), "l1_latency_ns");
  expect_wrong(with(R"("l1_bytes": {"value": "48K", "source": "told"})"), "l1_bytes has no value");
  expect_wrong(with(R"("l1_bytes": 49152)"), "l1_bytes is not an object");
  expect_wrong(with(R"("l1_bytes": {"value": 49152})"), "l1_bytes has no source");
  expect_wrong(with(R"("l1_bytes": {"value": 49152, "source": "guessed"})"), "has no source");
}

TEST(Profile, NumbersThatContradictEachOther) {
  expect_wrong(with(R"("l1_bytes": {"value": 4194304, "source": "told"})"), "in order");
  expect_wrong(with(R"("tlb_entries": {"value": 4096, "source": "measured"})"), "in order");
  expect_wrong(with(R"("line_bytes": {"value": 65, "source": "told"})"), "power of two");
  expect_wrong(with(R"("page_bytes": {"value": 65536, "source": "told"})"), "pages here have 4096");
}

class ProfileFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "lacuna-profile-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& text) {
    const std::string path = folder_ + "/profile.json";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  void expect_unread(const std::string& path, lacuna_status status, const char* part) {
    const Result<Profile> read = read_profile(path, host());
    ASSERT_FALSE(read.ok()) << path;
    EXPECT_EQ(read.error().status, status);
    EXPECT_NE(read.error().message.find(part), std::string::npos) << read.error().message;
  }

  std::string folder_;
};

TEST_F(ProfileFile, IsReadWithItsPath) {
  const std::string path = write(with(R"("tlb_entries": {"value": 96, "source": "measured"})"));
  const Result<Profile> read = read_profile(path, host());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->path, path);
  EXPECT_EQ(read->machine.tlb_entries, 96);
}

TEST_F(ProfileFile, ThatIsNotThere) {
  expect_unread(folder_ + "/none.json", LACUNA_UNSUPPORTED, "no such file");
  expect_unread(write("") + "/below", LACUNA_UNSUPPORTED, "no such file");
  expect_unread("", LACUNA_UNSUPPORTED, "no such file");
}

TEST_F(ProfileFile, ThatIsNoFile) {
  expect_unread(folder_, LACUNA_PARSE_ERROR, "not a regular file");
  expect_unread("/dev/zero", LACUNA_PARSE_ERROR, "not a regular file");
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect_unread(pipe, LACUNA_PARSE_ERROR, "not a regular file");
}

TEST_F(ProfileFile, ThatMayNotBeRead) {
  const std::string path = write(with(""));
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  if (access(path.c_str(), R_OK) == 0) return;  // root may read everything
  expect_unread(path, LACUNA_PARSE_ERROR, "cannot be opened");
}

TEST_F(ProfileFile, OfTheWrongSize) {
  expect_unread(write(""), LACUNA_PARSE_ERROR, "not JSON");
  expect_unread(write(with("") + std::string(2 << 20, ' ')), LACUNA_PARSE_ERROR, "at most");
}

}  // namespace
}  // namespace lacuna
