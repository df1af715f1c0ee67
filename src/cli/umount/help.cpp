// SPDX-License-Identifier: MIT
#include <cstdio>

#include "cli/umount/options.h"

namespace unmoor::cli::umount {
namespace {

constexpr const char* kUsage =
    "\n"
    "Usage:\n"
    " %s [options] <mountpoint> | <device> | LABEL=<label> | UUID=<uuid> ...\n"
    " %s -a [options]\n"
    " %s -h | -V\n"
    "\n"
    "Take filesystems out of the directory tree.\n"
    "\n";

constexpr const char* kOptions =
    "Options:\n"
    " -a, --all               every filesystem that the lists -t and -O let through\n"
    " -A, --all-targets       every mountpoint of the named filesystem\n"
    " -c, --no-canonicalize   take the path as it is\n"
    " -d, --detach-loop       free the loop device too\n"
    "     --fake              do all but the unmount itself\n"
    " -f, --force             give up on requests that wait for a server (NFS, FUSE)\n"
    " -i, --internal-only     run no /sbin/umount.<type>\n"
    " -l, --lazy              take it out of the tree now, shut it down when nothing uses it\n"
    " -n, --no-mtab           write no mtab\n"
    " -N, --namespace <ns>    in the mount namespace of this process or file\n"
    " -O, --test-opts <list>  with -a: only filesystems with these options\n"
    " -q, --quiet             say nothing if it is not mounted\n"
    " -r, --read-only         if it cannot be unmounted, make it read-only\n"
    " -R, --recursive         with everything that is mounted below\n"
    " -t, --types <list>      with -a: only filesystems of these types\n"
    " -v, --verbose           say what was done\n";

constexpr const char* kOwnOptions =
    "     --defer=<when>      with -l, return before the grace period: auto (if nobody can\n"
    "                           tell), elsewhere, always, never\n"
    "     --json              print the results as JSON\n"
    "     --strict            fail if the device is still in use afterwards\n"
    "     --wait[=<seconds>]  until the filesystem has shut down and its device is free\n";

constexpr const char* kEnd =
    "\n"
    " -h, --help              print this\n"
    " -V, --version           print the version\n"
    "\n"
    "More in the manual page %s(8).\n";

}  // namespace

void print_help(Voice voice) {
  const bool own = voice == Voice::kUnmoor;
  const char* const name = own ? "unmoor umount" : "umount";
  std::printf(kUsage, name, name, name);
  std::fputs(kOptions, stdout);
  if (own) std::fputs(kOwnOptions, stdout);
  std::printf(kEnd, own ? "unmoor-umount" : "umount");
}

void print_version(Voice voice) {
  std::puts(voice == Voice::kUmount ? "umount from unmoor " UNMOOR_VERSION " (options and output of util-linux 2.38)"
                                    : "unmoor umount " UNMOOR_VERSION);
}

}  // namespace unmoor::cli::umount
