// SPDX-License-Identifier: MIT
// unmoor tree: runs a script of mount operations, in the tree or on the kernel.
#pragma once

namespace unmoor::cli {

// Exit code: 0 done, 1 an operation did not end as the script says (`-> ERRNO`), 2 wrong arguments or script, or the
// kernel does not let us make namespaces.
int run_tree(int argc, char** argv);

}  // namespace unmoor::cli
