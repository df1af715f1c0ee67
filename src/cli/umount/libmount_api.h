// SPDX-License-Identifier: MIT
// What we use of libmount's interface. open() has two definitions: libmount_open.cpp for a program that can load
// libraries, libmount_absent.cpp for one that is linked statically and so cannot.
#pragma once

#include <cstddef>

#include "cli/umount/libmount.h"

// The library's own type names.
extern "C" {
struct libmnt_context;
struct libmnt_fs;
struct libmnt_ns;
}

namespace unmoor::cli::umount {

struct Libmount::Api {
  void* library = nullptr;
  libmnt_context* context = nullptr;

  libmnt_context* (*mnt_new_context)() = nullptr;
  void (*mnt_free_context)(libmnt_context*) = nullptr;
  int (*mnt_reset_context)(libmnt_context*) = nullptr;
  int (*mnt_context_is_restricted)(libmnt_context*) = nullptr;
  int (*mnt_context_force_unrestricted)(libmnt_context*) = nullptr;
  int (*mnt_context_set_source)(libmnt_context*, const char*) = nullptr;
  int (*mnt_context_set_target)(libmnt_context*, const char*) = nullptr;
  int (*mnt_context_set_target_ns)(libmnt_context*, const char*) = nullptr;
  libmnt_ns* (*mnt_context_switch_target_ns)(libmnt_context*) = nullptr;
  libmnt_ns* (*mnt_context_switch_ns)(libmnt_context*, libmnt_ns*) = nullptr;
  const char* (*mnt_context_get_target)(libmnt_context*) = nullptr;
  const char* (*mnt_context_get_source)(libmnt_context*) = nullptr;
  int (*mnt_context_disable_canonicalize)(libmnt_context*, int) = nullptr;
  int (*mnt_context_disable_helpers)(libmnt_context*, int) = nullptr;
  int (*mnt_context_disable_mtab)(libmnt_context*, int) = nullptr;
  int (*mnt_context_enable_fake)(libmnt_context*, int) = nullptr;
  int (*mnt_context_enable_force)(libmnt_context*, int) = nullptr;
  int (*mnt_context_enable_lazy)(libmnt_context*, int) = nullptr;
  int (*mnt_context_enable_loopdel)(libmnt_context*, int) = nullptr;
  int (*mnt_context_enable_rdonly_umount)(libmnt_context*, int) = nullptr;
  int (*mnt_context_enable_verbose)(libmnt_context*, int) = nullptr;
  int (*mnt_context_prepare_umount)(libmnt_context*) = nullptr;
  int (*mnt_context_set_syscall_status)(libmnt_context*, int) = nullptr;
  int (*mnt_context_finalize_umount)(libmnt_context*) = nullptr;
  int (*mnt_context_umount)(libmnt_context*) = nullptr;
  int (*mnt_context_syscall_called)(libmnt_context*) = nullptr;
  int (*mnt_context_tab_applied)(libmnt_context*) = nullptr;
  int (*mnt_context_helper_executed)(libmnt_context*) = nullptr;
  int (*mnt_context_get_helper_status)(libmnt_context*) = nullptr;
  int (*mnt_context_get_excode)(libmnt_context*, int, char*, std::size_t) = nullptr;
  libmnt_fs* (*mnt_context_get_fs)(libmnt_context*) = nullptr;
  const char* (*mnt_fs_get_fstype)(libmnt_fs*) = nullptr;
  const char* (*mnt_fs_get_user_options)(libmnt_fs*) = nullptr;
  char* (*mnt_resolve_spec)(const char*, void*) = nullptr;
  int (*mnt_match_fstype)(const char*, const char*) = nullptr;
  int (*mnt_match_options)(const char*, const char*) = nullptr;

  Api() = default;
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;
  ~Api() {
    if (context != nullptr) mnt_free_context(context);
    // The library stays loaded: it may have registered things with libc, and the process is about to end.
  }

  // Loads libmount.so.1 and finds all of these. Errors: ENOENT, with the loader's words as the object.
  [[nodiscard]] Result<void> open();
};

}  // namespace unmoor::cli::umount
