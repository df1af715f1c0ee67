// SPDX-License-Identifier: MIT
// unmoor who TARGET...: who holds it. unmoor wait TARGET: until it is gone.
#pragma once

namespace unmoor::cli {

int run_wait(int argc, char** argv);
int run_who(int argc, char** argv);

}  // namespace unmoor::cli
