// SPDX-License-Identifier: MIT
// Who pays for letting go of a mount, and when. Each is one version of the kernel's history: docs/from-the-mails.md.
#pragma once

#include <cstdint>

namespace unmoor::tree {

//                 plain, idle            lazy, idle        lazy, held              namespace death         shutdown()
//                 by
// kSynchronous    one GP, then done      the same          one GP, then return     one GP                  caller, last
// holder kSkipWait       as kSynchronous        no GP             no GP: CAN LEAK         as kSynchronous         who
// thinks it is last kDeferred       as kSynchronous        pool, after a GP  the same                one GP, in the
// caller   the pool, last holder kOnDemand       no GP, done at return  the same          at once; pool, one      none
// if idle, else one  caller, last holder,
//                                                          shared GP               GP, in the caller       else the
//                                                          pool
//
// "Done" is: every filesystem that lost its last mount is shut down when the call returns.
enum class ReleasePolicy : std::uint8_t {
  kSynchronous,  // Linux as it is
  kSkipWait,     // RFC v3: kept to show, by test and model, that it leaks. Never use it.
  kDeferred,     // v4: fast, but nobody can tell when the filesystem is shut down, except by wait()
  kOnDemand,     // waits only for a mount that somebody else holds
};

}  // namespace unmoor::tree
