// SPDX-License-Identifier: MIT
// Whether this process may mount at all; kernel tests skip by name when it may not.
#pragma once

#include <string>

#include <gtest/gtest.h>

namespace unmoor::test {

// Empty when the test runs in its private mount namespace on its scratch tmpfs; else what was refused.
const std::string& mount_refusal();

}  // namespace unmoor::test

#define UNMOOR_NEEDS_MOUNTS() \
  if (!unmoor::test::mount_refusal().empty()) GTEST_SKIP() << "needs mounts: " << unmoor::test::mount_refusal()
