// SPDX-License-Identifier: MIT
#include "exec/program.h"

#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace unmoor::exec {
namespace {

class ProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "unmoor-program-XXXXXX";
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
  }
  void TearDown() override {
    if (system(("rm -rf " + directory_).c_str()) != 0) ADD_FAILURE() << "left " << directory_;
  }
  std::string write(const std::string& name, const std::string& text, mode_t mode = 0755) {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path) << text;
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  static ProgramKind kind(const std::string& path) {
    return examine_program(AT_FDCWD, path.c_str(), own_interpreter());
  }
  static std::string own_text() {
    std::ifstream self("/proc/self/exe", std::ios::binary);
    return {std::istreambuf_iterator<char>(self), {}};
  }
  std::string directory_;
};

TEST_F(ProgramTest, ThisTestLoadsAndSoDoScriptsThatItInterprets) {
  ASSERT_NE(own_interpreter(), nullptr);
  EXPECT_EQ(kind("/proc/self/exe"), ProgramKind::kLoads);
  EXPECT_EQ(kind(write("script", "#! /proc/self/exe -x\n")), ProgramKind::kLoads);
  EXPECT_EQ(kind(write("plain", "echo a script without a first line\n")), kind("/bin/sh"));
}

TEST_F(ProgramTest, ADescriptorIsExaminedEvenIfItCannotBeRead) {
  const int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
  EXPECT_EQ(examine_program(fd, "", own_interpreter()), ProgramKind::kLoads);
  close(fd);
}

TEST_F(ProgramTest, AnotherLoaderOrMachineIsForeign) {
  EXPECT_EQ(examine_program(AT_FDCWD, "/proc/self/exe", "/lib/ld-musl-x86_64.so.1"), ProgramKind::kForeign);
  EXPECT_EQ(examine_program(AT_FDCWD, "/proc/self/exe", nullptr), ProgramKind::kForeign);
  std::string other = own_text();
  other[18] = 2;  // e_machine: SPARC
  EXPECT_EQ(kind(write("other", other)), ProgramKind::kForeign);
}

TEST_F(ProgramTest, SetuidAndSetgidArePrivileged) {
  EXPECT_EQ(kind(write("setuid", own_text(), 04755)), ProgramKind::kPrivileged);
  EXPECT_EQ(kind(write("setgid", own_text(), 02755)), ProgramKind::kPrivileged);
}

TEST_F(ProgramTest, AStaticProgramIsStatic) {
  std::string text = own_text();
  const std::size_t at = text.find(std::string("\x03\x00\x00\x00\x04\x00\x00\x00", 8), 64);  // PT_INTERP, PF_R
  ASSERT_NE(at, std::string::npos);
  text[at] = 0;  // PT_NULL
  EXPECT_EQ(kind(write("static", text)), ProgramKind::kStatic);
}

TEST_F(ProgramTest, WhatCannotBeReadOrIsCutShortIsUnreadable) {
  EXPECT_EQ(kind(directory_ + "/missing"), ProgramKind::kUnreadable);
  EXPECT_EQ(kind(directory_), ProgramKind::kUnreadable);
  EXPECT_EQ(kind(write("empty", "")), ProgramKind::kUnreadable);
  EXPECT_EQ(kind(write("short", own_text().substr(0, 40))), ProgramKind::kUnreadable);
  EXPECT_EQ(kind(write("loop", "#!" + directory_ + "/loop\n")), ProgramKind::kUnreadable);
  ASSERT_EQ(mkfifo((directory_ + "/fifo").c_str(), 0700), 0);
  EXPECT_EQ(kind(directory_ + "/fifo"), ProgramKind::kUnreadable);
}

TEST_F(ProgramTest, FindsWhatExecvpWouldExecute) {
  char found[256];
  const std::string path = write("tool", "x");
  write("data", "x", 0644);
  const std::string search = "/nowhere:" + directory_ + ":/bin";
  EXPECT_EQ(std::string(find_program("tool", search.c_str(), found, sizeof found)), path);
  EXPECT_EQ(find_program("missing", search.c_str(), found, sizeof found), nullptr);
  EXPECT_EQ(find_program("data", directory_.c_str(), found, sizeof found), nullptr);
  EXPECT_EQ(find_program("", search.c_str(), found, sizeof found), nullptr);
  EXPECT_STREQ(find_program("./tool", search.c_str(), found, sizeof found), "./tool");
  EXPECT_NE(find_program("sh", nullptr, found, sizeof found), nullptr);
}

}  // namespace
}  // namespace unmoor::exec
