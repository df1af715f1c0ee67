// SPDX-License-Identifier: MIT
// system_facts, fuse_connections and dirty_memory, on directories that look like /proc and /sys.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/dirty_memory.h"
#include "kernel/fuse_connections.h"
#include "kernel/system_facts.h"
#include "kernel/unique_fd.h"

namespace unmoor::kernel {
namespace {

class MachineFacts : public testing::Test {
 protected:
  MachineFacts() {
    std::string name = testing::TempDir() + "machine-XXXXXX";
    root_ = mkdtemp(name.data());
  }
  ~MachineFacts() override { std::filesystem::remove_all(root_); }

  std::string put(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file.string();
  }
  [[nodiscard]] SystemFacts facts() const {
    const UniqueFd fd(static_cast<int>(SystemCalls::real().open(root_.c_str(), O_PATH | O_DIRECTORY)));
    return read_system_facts(SystemCalls::real(), fd.get());
  }
  [[nodiscard]] std::string path(const char* name) const { return (root_ / name).string(); }

 private:
  std::filesystem::path root_;
};

TEST_F(MachineFacts, ReadsARealTimeKernel) {
  put("proc/sys/kernel/osrelease", "6.1.0-57-rt-amd64\n");
  put("proc/sys/kernel/version", "#1 SMP PREEMPT_RT Debian 6.1.192-3\n");
  put("proc/cmdline", "quiet rcupdate.rcu_expedited=1 root=/dev/sda isolcpus=2-3 rcu_nocbs=2-3\n");
  put("sys/devices/system/cpu/isolated", "2-3\n");
  put("sys/devices/system/cpu/nohz_full", "  (null)\n");
  put("sys/kernel/rcu_normal", "1\n");
  put("sys/kernel/rcu_expedited", "0\n");
  const SystemFacts found = facts();
  EXPECT_EQ(found.release, "6.1.0-57-rt-amd64");
  EXPECT_TRUE(found.preempt_rt);
  EXPECT_THAT(found.rcu_parameters, testing::ElementsAre("rcupdate.rcu_expedited=1", "isolcpus=2-3", "rcu_nocbs=2-3"));
  EXPECT_EQ(found.isolated_cpus, "2-3");
  EXPECT_EQ(found.nohz_full_cpus, "");
  EXPECT_EQ(found.rcu_normal, 1);
  EXPECT_EQ(found.rcu_expedited, 0);
}

TEST_F(MachineFacts, KnowsAnOlderRealTimeKernelByItsFile) {
  put("proc/sys/kernel/version", "#1 SMP PREEMPT RT\n");
  put("sys/kernel/realtime", "1\n");
  EXPECT_TRUE(facts().preempt_rt);
}

TEST_F(MachineFacts, WhatIsNotThereStaysEmpty) {
  const SystemFacts found = facts();
  EXPECT_FALSE(found.preempt_rt);
  EXPECT_EQ(found.rcu_normal, std::nullopt);
  EXPECT_TRUE(found.rcu_parameters.empty());
}

TEST_F(MachineFacts, ReadsHowManyFuseRequestsWait) {
  put("connections/40/waiting", "3\n");
  const std::string directory = path("connections");
  EXPECT_EQ(fuse_requests_waiting(SystemCalls::real(), directory.c_str(), 40), 3U);
  EXPECT_EQ(fuse_requests_waiting(SystemCalls::real(), directory.c_str(), 41), std::nullopt);
}

TEST_F(MachineFacts, AddsDirtyAndWriteback) {
  const std::string meminfo = put("meminfo", "MemTotal: 100 kB\nDirty:  12 kB\nWriteback:  4 kB\nWritebackTmp: 9 kB\n");
  EXPECT_EQ(dirty_bytes(SystemCalls::real(), meminfo.c_str()), 16U * 1024);
  put("debug/bdi/7:3/stats", "BdiWriteback:  4 kB\nBdiReclaimable:  4080 kB\nBdiDirtyThresh: 4861560 kB\n");
  const std::string debugfs = path("debug");
  EXPECT_EQ(dirty_bytes_of(SystemCalls::real(), debugfs.c_str(), {.major = 7, .minor = 3}), 4084U * 1024);
  EXPECT_EQ(dirty_bytes_of(SystemCalls::real(), debugfs.c_str(), {.major = 7, .minor = 4}), std::nullopt);
}

TEST_F(MachineFacts, HalfATableIsNoAnswer) {
  const std::string meminfo = put("meminfo", "Dirty:  12 kB\n");
  EXPECT_EQ(dirty_bytes(SystemCalls::real(), meminfo.c_str()), std::nullopt);
}

}  // namespace
}  // namespace unmoor::kernel
