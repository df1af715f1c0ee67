// SPDX-License-Identifier: MIT
#include <cerrno>
#include <dlfcn.h>

#include "cli/umount/libmount_api.h"

namespace unmoor::cli::umount {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(library, name));  // NOLINT: dlsym's contract
  return out != nullptr;
}

}  // namespace

Result<void> Libmount::Api::open() {
  library = ::dlopen("libmount.so.1", RTLD_NOW | RTLD_LOCAL);
#define UNMOOR_FIND(name) find(library, #name, name)
  const bool all = library != nullptr && UNMOOR_FIND(mnt_new_context) && UNMOOR_FIND(mnt_free_context) &&
                   UNMOOR_FIND(mnt_reset_context) && UNMOOR_FIND(mnt_context_is_restricted) &&
                   UNMOOR_FIND(mnt_context_force_unrestricted) && UNMOOR_FIND(mnt_context_set_source) &&
                   UNMOOR_FIND(mnt_context_set_target) && UNMOOR_FIND(mnt_context_set_target_ns) &&
                   UNMOOR_FIND(mnt_context_switch_target_ns) && UNMOOR_FIND(mnt_context_switch_ns) &&
                   UNMOOR_FIND(mnt_context_get_target) && UNMOOR_FIND(mnt_context_get_source) &&
                   UNMOOR_FIND(mnt_context_disable_canonicalize) && UNMOOR_FIND(mnt_context_disable_helpers) &&
                   UNMOOR_FIND(mnt_context_disable_mtab) && UNMOOR_FIND(mnt_context_enable_fake) &&
                   UNMOOR_FIND(mnt_context_enable_force) && UNMOOR_FIND(mnt_context_enable_lazy) &&
                   UNMOOR_FIND(mnt_context_enable_loopdel) && UNMOOR_FIND(mnt_context_enable_rdonly_umount) &&
                   UNMOOR_FIND(mnt_context_enable_verbose) && UNMOOR_FIND(mnt_context_prepare_umount) &&
                   UNMOOR_FIND(mnt_context_set_syscall_status) && UNMOOR_FIND(mnt_context_finalize_umount) &&
                   UNMOOR_FIND(mnt_context_umount) && UNMOOR_FIND(mnt_context_syscall_called) &&
                   UNMOOR_FIND(mnt_context_tab_applied) && UNMOOR_FIND(mnt_context_helper_executed) &&
                   UNMOOR_FIND(mnt_context_get_helper_status) && UNMOOR_FIND(mnt_context_get_excode) &&
                   UNMOOR_FIND(mnt_context_get_fs) && UNMOOR_FIND(mnt_fs_get_fstype) &&
                   UNMOOR_FIND(mnt_fs_get_user_options) && UNMOOR_FIND(mnt_resolve_spec) &&
                   UNMOOR_FIND(mnt_match_fstype) && UNMOOR_FIND(mnt_match_options);
#undef UNMOOR_FIND
  if (all) return {};
  const char* const why = ::dlerror();
  return fail(ENOENT, "dlopen", why != nullptr ? why : "libmount.so.1");
}

}  // namespace unmoor::cli::umount
