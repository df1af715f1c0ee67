// SPDX-License-Identifier: MIT
#include "kernel/mount_namespaces.h"

#include <charconv>
#include <sched.h>

#include "kernel/procfs_place.h"
#include "kernel/procfs_text.h"

namespace unmoor::kernel {
namespace {

struct NamespaceInfo {  // struct mnt_ns_info
  std::uint32_t size;
  std::uint32_t mounts;
  std::uint64_t id;
};

// _IOR(0xb7, 11 or 12, struct mnt_ns_info): the next and the previous mount namespace, as a new descriptor.
constexpr unsigned long kNext = 0x8010b70b;
constexpr unsigned long kPrevious = 0x8010b70c;

Result<void> walk(const SystemCalls& calls, int start, unsigned long direction,
                  const std::function<void(NamespaceInode, UniqueFd)>& visit) {
  UniqueFd current;
  int at = start;
  for (;;) {
    NamespaceInfo info{sizeof info, 0, 0};
    const long next = calls.call(SYS_ioctl, at, static_cast<long>(direction), SystemCalls::pointer(&info));
    if (next == -ENOENT) return {};
    if (next < 0) return fail_from(next, "ioctl(NS_MNT_GET_NEXT)");
    UniqueFd found(static_cast<int>(next));
    const Result<Place> place = place_of(calls, found.get(), "");
    if (!place) return std::unexpected(place.error());
    // The walk goes on from a duplicate: the visitor may keep or close its own.
    const long copy = calls.call(SYS_fcntl, found.get(), F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return fail_from(copy, "fcntl(F_DUPFD_CLOEXEC)");
    visit(place->inode, std::move(found));
    current.reset(static_cast<int>(copy));
    at = current.get();
  }
}

}  // namespace

Result<NamespaceInode> namespace_inode(const SystemCalls& calls, int directory, const char* link) {
  Result<Place> place = place_of(calls, directory, link);
  if (!place) return std::unexpected(place.error());
  return place->inode;
}

NamespaceInode parse_mount_namespace_link(std::string_view text) {
  constexpr std::string_view kPrefix = "mnt:[";
  if (!text.starts_with(kPrefix) || !text.ends_with(']')) return 0;
  NamespaceInode inode = 0;
  const auto [end, error] = std::from_chars(text.data() + kPrefix.size(), text.data() + text.size() - 1, inode);
  return error == std::errc{} && end == text.data() + text.size() - 1 ? inode : 0;
}

Result<void> for_each_mount_namespace(const SystemCalls& calls, int proc,
                                      const std::function<void(NamespaceInode, UniqueFd)>& visit) {
  const long own = calls.openat(proc, "thread-self/ns/mnt", O_RDONLY);
  if (own < 0) return fail_from(own, "open", "ns/mnt");
  const UniqueFd start(static_cast<int>(own));
  if (Result<void> before = walk(calls, start.get(), kPrevious, visit); !before) return before;
  return walk(calls, start.get(), kNext, visit);
}

Result<NamespaceVisitor> NamespaceVisitor::on_this_thread(const SystemCalls& calls, int proc) {
  const long home = calls.openat(proc, "thread-self/ns/mnt", O_RDONLY);
  if (home < 0) return fail_from(home, "open", "ns/mnt");
  UniqueFd owner(static_cast<int>(home));
  // setns(2) into a mount namespace wants a root and working directory that no other thread shares.
  const long result = calls.call(SYS_unshare, CLONE_FS);
  if (result < 0) return fail_from(result, "unshare(CLONE_FS)");
  return NamespaceVisitor(calls, proc, std::move(owner));
}

Result<std::string> NamespaceVisitor::text_of(UniqueFd name_space) const {
  const long entered = calls_->setns(name_space.get(), CLONE_NEWNS);
  name_space.reset();
  if (entered < 0) return fail_from(entered, "setns");
  // Through our own /proc: the namespace may have none. The open file holds the namespace as we do.
  Result<std::string> text = read_text(*calls_, proc_, "thread-self/mountinfo");
  const long back = calls_->setns(home_.get(), CLONE_NEWNS);
  if (back < 0) return fail_from(back, "setns");
  return text;
}

Result<MountTable> NamespaceVisitor::table_of(UniqueFd name_space) const {
  const Result<std::string> text = text_of(std::move(name_space));
  if (!text) return std::unexpected(text.error());
  return MountTable::parse(*text);
}

}  // namespace unmoor::kernel
