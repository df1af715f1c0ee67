// SPDX-License-Identifier: MIT
// unmoor doctor: why is unmounting slow here?
#pragma once

namespace unmoor::cli {

// Exit code: 0 healthy, 1 something found, 2 wrong arguments or nothing could be looked at.
int run_doctor(int argc, char** argv);

}  // namespace unmoor::cli
