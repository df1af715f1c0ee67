// SPDX-License-Identifier: MIT
// What the tests of `unmoor exec` share: commands with their output, and OCI bundles made from the probe.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/mount_rights.h"

namespace unmoor::test {

struct Ran {
  int status = -1;  // as waitpid(2) gives it
  std::string out;  // standard output and standard error
};

using Words = std::vector<std::string>;

// Runs a program (by PATH) with standard input from /dev/null and waits until its output ends: a process that keeps the
// output open is noticed as a test that does not end.
Ran run(const Words& command);
Ran shell(const std::string& script);

// `unmoor exec --force OPTIONS -- COMMAND`: --force, because grace periods are expedited on most machines.
Words under_exec(const Words& command, const Words& options = {});

std::string read_file(const std::string& path);

// The brokers and workers that live in this test's mount namespace: all of a test's own, and nobody else's.
std::vector<pid_t> brokers();
// Waits for two seconds at most.
bool all_brokers_have_ended();

// What ./report says once it has all of `wanted`, or after half a second: the broker writes its last lines after the
// program has ended, and a worker its own when the grace period is over.
std::string wait_for_report(const Words& wanted);

// A report in which the broker has done an unmount: "finished" where a short grace period was over before the client
// was told to go on.
inline auto tells_of_a_helped_unmount() {
  return testing::AnyOf(testing::HasSubstr("deferred"), testing::HasSubstr("finished"));
}

// A bundle in ./NAME whose process is `arguments`, with the probe as /probe; `mounts` is more JSON for its mounts.
std::string make_bundle(const std::string& name, const Words& arguments, const std::string& mounts = "");
Words crun_run(const std::string& bundle, const std::string& id);

// The test's namespace with one cgroup2 mount, as crun needs it; why not, otherwise.
std::string prepare_for_crun();
bool installed(const std::string& program);
bool copy_umount();    // to ./umount, without the setuid bit: a program that gains privileges cannot be helped
int times(int usual);  // a tenth of it, unless UNMOOR_LONG=1

}  // namespace unmoor::test

#define UNMOOR_NEEDS_CRUN()                                           \
  UNMOOR_NEEDS_MOUNTS();                                              \
  if (!unmoor::test::installed("crun")) GTEST_SKIP() << "needs crun"; \
  if (const std::string why = unmoor::test::prepare_for_crun(); !why.empty()) GTEST_SKIP() << "needs " << why
#define UNMOOR_NEEDS_BWRAP() \
  UNMOOR_NEEDS_MOUNTS();     \
  if (!unmoor::test::installed("bwrap")) GTEST_SKIP() << "needs bwrap"
