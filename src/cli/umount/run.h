// SPDX-License-Identifier: MIT
// `unmoor umount`, and umount(8) when the program is called by that name.
#pragma once

namespace unmoor::cli {

// Executes the program that can load libmount, with the command line of this one. Returns only if that was not
// possible.
using HandOver = void (*)();

// The verb: umount(8) with our own words. With `hand_over` whatever may need libmount, or is more than one target, is
// handed over before anything is done; if that is not possible, it is done as far as system calls go.
int run_umount(int argc, char** argv, HandOver hand_over = nullptr);
// The same as umount(8) itself, byte for byte.
int run_as_umount(int argc, char** argv, HandOver hand_over = nullptr);

}  // namespace unmoor::cli
