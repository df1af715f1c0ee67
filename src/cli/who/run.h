// SPDX-License-Identifier: MIT
// unmoor who TARGET...: who holds it.
#pragma once

namespace unmoor::cli {

int run_who(int argc, char** argv);

}  // namespace unmoor::cli
