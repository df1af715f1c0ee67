// SPDX-License-Identifier: MIT
// The built programs for tests that become an ordinary user, who may not walk through /root to a checkout there.
#pragma once

#include <string>
#include <sys/mount.h>
#include <sys/stat.h>

#include "support/here.h"

namespace unmoor::test {

// `program` by a path that everybody may use, together with what lies beside it: its directory, mounted in the test's
// own. Call it before the test changes its directory.
inline std::string for_everybody(const std::string& program) {
  const std::string::size_type slash = program.rfind('/');
  const std::string place = here() + "/programs";
  if (mkdir(place.c_str(), 0755) == 0 &&
      mount(program.substr(0, slash).c_str(), place.c_str(), nullptr, MS_BIND, nullptr) != 0)
    return program;
  return place + program.substr(slash);
}

}  // namespace unmoor::test
