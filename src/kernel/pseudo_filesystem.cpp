// SPDX-License-Identifier: MIT
#include "kernel/pseudo_filesystem.h"

#include "kernel/procfs_directory.h"

namespace unmoor::kernel {
namespace {

constexpr long kSysFsopen = 430;
constexpr long kSysFsconfig = 431;
constexpr long kSysFsmount = 432;
constexpr long kCreate = 6;  // FSCONFIG_CMD_CREATE
constexpr long kCloexec = 1;

}  // namespace

Result<UniqueFd> open_pseudo_filesystem(const SystemCalls& calls, const char* type, const char* usual_place,
                                        const char* known_name) {
  if (Result<UniqueFd> usual = open_directory(calls, AT_FDCWD, usual_place)) {
    struct ::statx facts;
    if (calls.statx(usual->get(), known_name, AT_STATX_DONT_SYNC, STATX_TYPE, &facts) == 0) return usual;
  }
  const long context = calls.call(kSysFsopen, SystemCalls::pointer(type), kCloexec);
  if (context < 0) return fail_from(context, "fsopen", type);
  const UniqueFd owner(static_cast<int>(context));
  const long created = calls.call(kSysFsconfig, owner.get(), kCreate);
  if (created < 0) return fail_from(created, "fsconfig", type);
  const long mounted = calls.call(kSysFsmount, owner.get(), kCloexec);
  if (mounted < 0) return fail_from(mounted, "fsmount", type);
  return UniqueFd(static_cast<int>(mounted));
}

}  // namespace unmoor::kernel
