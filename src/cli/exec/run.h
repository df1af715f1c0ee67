// SPDX-License-Identifier: MIT
#pragma once

namespace unmoor::cli {

// `unmoor exec ...`; argv[0] is "exec". Returns only when the program could not be executed: 127 not found, 126 not
// executable, 125 wrong use or refused by --strict.
int run_exec(int argc, char** argv);

// Called by the name `unmoor-crun`: an OCI runtime with crun's command line.
int run_as_crun(char** argv);

}  // namespace unmoor::cli
