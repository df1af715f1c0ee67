// SPDX-License-Identifier: MIT
#include "cli/umount/sentences.h"

#include <cerrno>
#include <cstring>

namespace unmoor::cli::umount {

std::string failure_sentence(int error) {
  switch (error) {
    case EPERM:
      return "must be superuser to unmount";
    case ENOENT:
      return "no mount point specified";
    case EIO:
      return "can't write superblock";
    case ENXIO:
      return "invalid block device";
    case EACCES:
      return "block devices are not permitted on filesystem";
    case EBUSY:
      return "target is busy";
    case EINVAL:
      return "not mounted";
    default:
      return std::string("umount(2) system call failed: ") + std::strerror(error);
  }
}

}  // namespace unmoor::cli::umount
