// SPDX-License-Identifier: MIT
// `unmoor umount`, and umount(8) when the program is called by that name.
#pragma once

namespace unmoor::cli {

// The verb: umount(8) with our own words.
int run_umount(int argc, char** argv);
// The same as umount(8) itself, byte for byte.
int run_as_umount(int argc, char** argv);

}  // namespace unmoor::cli
