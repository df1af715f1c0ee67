// SPDX-License-Identifier: MIT
#include <cerrno>

#include "cli/umount/libmount_api.h"

namespace unmoor::cli::umount {

Result<void> Libmount::Api::open() {
  return fail(ENOENT, "dlopen", "libmount is loaded by unmoor-umount, which cannot be run");
}

}  // namespace unmoor::cli::umount
