// SPDX-License-Identifier: MIT
// What the caller hands to the helper (as decimal arguments, in this order) and what the helper answers.
#pragma once

namespace unmoor::detach {

enum HelperArgument {
  kArgumentName,          // what ps shows
  kArgumentParent,        // descriptor: the directory that the mount is found in
  kArgumentToken,         // descriptor: an eventfd holding 1; whoever reads it decides whether the call is made
  kArgumentFlags,         // for umount2
  kArgumentIdMask,        // the statx mask that `id` was read with
  kArgumentId,            // of the mount that is meant
  kArgumentCapabilities,  // the caller's effective ones: the helper keeps no other
  kArgumentEntry,         // the mount's name in the directory: any bytes
  kArgumentCount,
};

// Exit codes. 0: detached and released. Anything else: nothing was done, and the caller makes the plain call, which
// has the right errno; which step failed is for whoever reads a trace.
enum HelperExit {
  kHelperDone = 0,
  kHelperNoArguments = 1,
  kHelperNotThatMount = 2,
  kHelperNoNamespace = 3,
  kHelperTooLate = 4,
  kHelperUmountFailed = 5,
  kHelperNoCapabilities = 6,
};

}  // namespace unmoor::detach
