// SPDX-License-Identifier: MIT
#include "cli/umount/libmount.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mount.h>

#include "cli/umount/exit_code.h"
#include "cli/umount/libmount_api.h"
#include "cli/umount/name_space.h"
#include "cli/umount/sentences.h"
#include "cli/umount/special.h"
#include "detach/detach.h"

namespace unmoor::cli::umount {

Libmount::Libmount(std::unique_ptr<Api> api) : api_(std::move(api)) {}
Libmount::Libmount(Libmount&&) noexcept = default;
Libmount& Libmount::operator=(Libmount&&) noexcept = default;
Libmount::~Libmount() = default;

Result<Libmount> Libmount::load() {
  auto api = std::make_unique<Api>();
  if (auto opened = api->open(); !opened) return std::unexpected(opened.error());
  api->context = api->mnt_new_context();
  if (api->context == nullptr) return fail(ENOMEM, "mnt_new_context");
  return Libmount(std::move(api));
}

int Libmount::prepare(const Options& options) {
  libmnt_context* const context = api_->context;
  if (options.no_canonicalize) api_->mnt_context_disable_canonicalize(context, 1);
  if (options.internal_only) api_->mnt_context_disable_helpers(context, 1);
  if (options.no_mtab) api_->mnt_context_disable_mtab(context, 1);
  if (options.fake) api_->mnt_context_enable_fake(context, 1);
  if (options.force) api_->mnt_context_enable_force(context, 1);
  if (options.lazy) api_->mnt_context_enable_lazy(context, 1);
  if (options.detach_loop) api_->mnt_context_enable_loopdel(context, 1);
  if (options.read_only) api_->mnt_context_enable_rdonly_umount(context, 1);
  if (options.verbose) api_->mnt_context_enable_verbose(context, 1);
  if (options.past_fstab) api_->mnt_context_force_unrestricted(context);
  if (options.name_space == nullptr) return kExitSuccess;
  const std::string path = name_space_path(options.name_space);
  if (api_->mnt_context_set_target_ns(context, path.c_str()) == 0) return kExitSuccess;
  std::fprintf(stderr, "umount: failed to set target namespace to %s: %s\n", path.c_str(), std::strerror(errno));
  return kExitSystem;
}

LibmountResult Libmount::unmount(const kernel::SystemCalls& calls, const Options& options, const char* spec,
                                 const char* source) {
  libmnt_context* const context = api_->context;
  LibmountResult result;
  if (api_->mnt_reset_context(context) != 0 || api_->mnt_context_set_target(context, spec) != 0 ||
      (source != nullptr && api_->mnt_context_set_source(context, source) != 0)) {
    result.exit_code = kExitSystem;
    result.name = spec;
    result.complaint = std::strerror(ENOMEM);
    return result;
  }
  // Our own system call where it matters: the lazy one, which need not wait. Everything else libmount does as it would
  // for umount(8).
  int code = 0;
  const auto own_call_pays = [&] {
    if (!options.lazy || options.fake || options.name_space != nullptr) return false;
    if (api_->mnt_context_is_restricted(context) != 0) return false;
    return true;
  };
  bool done = false;
  if (own_call_pays()) {
    code = api_->mnt_context_prepare_umount(context);
    libmnt_fs* const filesystem = code == 0 ? api_->mnt_context_get_fs(context) : nullptr;
    const char* const type = filesystem != nullptr ? api_->mnt_fs_get_fstype(filesystem) : nullptr;
    const char* const user = filesystem != nullptr ? api_->mnt_fs_get_user_options(filesystem) : nullptr;
    const bool helper_by_name = user != nullptr && std::strstr(user, "helper=") != nullptr;
    const bool helper = !options.internal_only && (helper_by_name || type == nullptr || has_helper(calls, type));
    if (code == 0 && !helper) {
      const detach::Options how{.defer = options.defer, .caller = detach::Caller::kProgram};
      const auto outcome =
          detach::detach_one(calls, api_->mnt_context_get_target(context), options.umount_flags(), how);
      const int status = outcome ? 0 : -outcome.error().code;
      api_->mnt_context_set_syscall_status(context, status);
      code = api_->mnt_context_finalize_umount(context);
      if (status != 0) code = status;
      done = true;
    } else if (code == 0) {
      if (api_->mnt_reset_context(context) != 0 || api_->mnt_context_set_target(context, spec) != 0) code = -ENOMEM;
    } else {
      done = true;
    }
  }
  if (!done) {
    code = api_->mnt_context_umount(context);
    // fstab does not let this user unmount it. The kernel may: a user namespace, a FUSE mount of the user's own.
    if (code == -EPERM && api_->mnt_context_is_restricted(context) != 0 &&
        api_->mnt_context_tab_applied(context) != 0 && api_->mnt_context_syscall_called(context) == 0) {
      api_->mnt_reset_context(context);
      api_->mnt_context_force_unrestricted(context);
      api_->mnt_context_set_target(context, spec);
      code = api_->mnt_context_umount(context);
    }
  }
  std::array<char, 8192> words{};
  result.exit_code = api_->mnt_context_get_excode(context, code, words.data(), words.size());
  result.complaint = words.data();
  result.not_mounted = api_->mnt_context_syscall_called(context) != 0 && result.complaint == failure_sentence(EINVAL);
  result.helper_ran = api_->mnt_context_helper_executed(context) != 0;
  const char* const target = api_->mnt_context_get_target(context);
  const char* const known_source = api_->mnt_context_get_source(context);
  result.name = target != nullptr ? target : known_source != nullptr ? known_source : spec;
  if (target != nullptr && known_source != nullptr) result.source = known_source;
  return result;
}

std::string Libmount::device_of(const char* tag) const {
  char* const device = api_->mnt_resolve_spec(tag, nullptr);
  const std::string name = device != nullptr ? device : "";
  std::free(device);
  return name;
}

bool Libmount::restricted() const {
  return api_->mnt_context_is_restricted(api_->context) != 0;
}

bool Libmount::type_matches(const std::string& type, const char* pattern) const {
  return api_->mnt_match_fstype(type.c_str(), pattern) != 0;
}

bool Libmount::options_match(const std::string& options, const char* pattern) const {
  return api_->mnt_match_options(options.c_str(), pattern) != 0;
}

}  // namespace unmoor::cli::umount
