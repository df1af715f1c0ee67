// SPDX-License-Identifier: MIT
#include "exec/worker.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <sys/socket.h>

#include "exec/descriptor_passing.h"
#include "exec/verdict.h"

namespace unmoor::exec {
namespace {

using detach::DeferReason;
using kernel::MountTable;
using kernel::SystemCalls;
using kernel::UniqueFd;

template <std::size_t size>
void copy_text(char (&out)[size], std::string_view text) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(out, text.data(), length);
  out[length] = '\0';
}

class Worker {
 public:
  Worker(const WorkerSetting& setting, int broker)
      : calls_(setting.calls), self_(setting.self), outside_(setting.outside), defer_(setting.defer), broker_(broker) {}

  void serve(int connection) {
    Message message;
    auto received = receive_message(calls_, connection, &message, sizeof message);
    WorkerMessage taken;
    message.target[kTextSize - 1] = '\0';
    if (received) copy_text(taken.target, message.target);
    tell(taken);
    if (!received || received->size != sizeof message) return refuse(EINVAL, "not a request");
    if (auto accepted = accept(message, *received); !accepted)
      return refuse(accepted.error().code, accepted.error().doing);
    if (auto entered = enter(*received); !entered) return refuse(entered.error().code, entered.error().doing);
    auto table = find_target();
    if (!table) return refuse(table.error().code, table.error().doing);
    const auto reached = what_is_reached(*table);
    const Verdict verdict = judge({.calls = calls_,
                                   .defer = defer_,
                                   .inside = *table,
                                   .target = mount_,
                                   .target_fd = target_.get(),
                                   .own = is_own_,
                                   .reached = reached ? std::optional(std::span(*reached)) : std::nullopt,
                                   .outside = outside_.tables(),
                                   .init_root = outside_.init_root()});
    if (verdict.reason != DeferReason::kDeferred) return refuse(0, "", verdict.reason);
    if (verdict.must_stay.size() > kMostStaying) return refuse(0, "", DeferReason::kFilesystemCounts);
    start(verdict, received->sender.pid);
  }

 private:
  void tell(const WorkerMessage& message, std::span<const int> descriptors = {}) {
    // A broker that does not read any more has ended; the request goes on all the same.
    static_cast<void>(send_message(calls_, broker_, &message, sizeof message, descriptors));
  }

  void refuse(int error, const char* why, DeferReason reason = DeferReason::kNoHelper) {
    if (reply_) {
      const Reply reply{.outcome = Outcome::kPlain};
      static_cast<void>(send_message(calls_, reply_.get(), &reply, sizeof reply));
    }
    WorkerMessage message;
    message.kind = WorkerMessage::Kind::kRefused;
    message.reason = reason;
    message.error = error;
    copy_text(message.why, why);
    tell(message);
  }

  [[nodiscard]] bool is_socket(int fd) const {
    int domain = 0;
    socklen_t size = sizeof domain;
    return calls_.call(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, SystemCalls::pointer(&domain),
                       SystemCalls::pointer(&size)) == 0 &&
           domain == AF_UNIX;
  }

  // O_PATH: closing it cannot wait for a filesystem, and it gives no access to what it names.
  [[nodiscard]] bool is_path(int fd) const {
    const long flags = calls_.call(SYS_fcntl, fd, F_GETFL);
    return flags >= 0 && (flags & O_PATH) != 0;
  }

  Result<void> accept(const Message& message, Received& received) {
    if (message.magic != kMagic || message.kind != MessageKind::kDetach ||
        received.descriptors.size() != kDetachDescriptors || !is_socket(received.descriptors[kReplyFd].get()))
      return fail(EINVAL, "not a request");
    reply_ = std::move(received.descriptors[kReplyFd]);
    target_ = std::move(received.descriptors[kTargetFd]);
    space_ = std::move(received.descriptors[kMountNamespaceFd]);
    root_ = std::move(received.descriptors[kRootFd]);
    if (!is_path(target_.get()) || !is_path(root_.get())) return fail(EINVAL, "wrong descriptors");
    return {};
  }

  // Into the client's mount namespace, by way of the user namespace that owns it, with the client's root: only then
  // does the mount table show what the client sees.
  Result<void> enter(const Received& received) {
    auto space = name_space(calls_, space_.get());
    if (!space) return std::unexpected(space.error());
    if (auto checked = check_rights(calls_, self_, received.sender, *space); !checked) return checked;
    is_own_ = space->inode == self_.mount_namespace;
    if (is_own_) return {};
    if (space->owner_inode != self_.user_namespace) {
      const long entered = calls_.setns(space->owner.get(), CLONE_NEWUSER);
      if (entered != 0) return fail_from(entered, "setns(user)");
    }
    long done = calls_.setns(space_.get(), CLONE_NEWNS);
    if (done == 0) done = calls_.call(SYS_fchdir, root_.get());
    if (done == 0) done = calls_.call(SYS_chroot, SystemCalls::pointer("."));
    if (done != 0) return fail_from(done, "enter the client's namespace");
    return {};
  }

  // The table of the namespace that the target is in, and the target's id in it.
  Result<MountTable> find_target() {
    struct ::statx facts{};
    const long looked = calls_.statx(target_.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &facts);
    if (looked != 0) return fail_from(looked, "statx");
    if ((facts.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0) return fail(EINVAL, "not a mount point");
    mount_ = static_cast<int>(facts.stx_mnt_id);
    table_.reset(static_cast<int>(calls_.openat(self_.proc.get(), "thread-self/mountinfo", O_RDONLY)));
    if (!table_) return fail(ENOENT, "open", "mountinfo");
    auto table = MountTable::read(calls_, table_.get());
    if (!table) return table;
    const kernel::MountEntry* const meant = table->by_id(mount_);
    if (meant == nullptr) return fail(EINVAL, "the target is not in the client's namespace");
    // What a path leads to is the top of a stack; a mount that has been covered since is not what would go.
    for (const kernel::MountEntry& entry : table->entries())
      if (entry.parent_id == mount_ && entry.id != mount_ && entry.mount_point == meant->mount_point)
        return fail(EBUSY, "the target has been covered");
    return table;
  }

  // Inside a container a shared parent ends the matter: who receives from it cannot be seen from there.
  std::optional<std::vector<detach::ReachedMount>> what_is_reached(const MountTable& table) {
    if (!is_own_) return std::nullopt;
    std::vector<detach::ReachedMount> all;
    std::optional<detach::Propagation> propagation;  // each namespace is read once, and only if something is shared
    for (const kernel::MountEntry* const mount : detach::mounts_below(table, *table.by_id(mount_))) {
      const kernel::MountEntry* const parent = table.by_id(mount->parent_id);
      if (parent == nullptr || parent->shared_group == 0) continue;
      if (!propagation) {
        auto looked = detach::Propagation::look(calls_, table);
        if (!looked) return std::nullopt;
        propagation.emplace(std::move(*looked));
      }
      const auto reached = propagation->removals(*mount);
      if (!reached) return std::nullopt;
      all.insert(all.end(), reached->begin(), reached->end());
    }
    return all;
  }

  void start(const Verdict& verdict, pid_t client) {
    // The kernel's own link to the mount behind the descriptor, through the broker's procfs: no name is looked up in
    // the client's filesystem.
    const std::string path = "self/fd/" + std::to_string(target_.get());
    const long there = calls_.call(SYS_fchdir, self_.proc.get());
    if (there != 0) return refuse(static_cast<int>(-there), "fchdir");
    WorkerMessage message;
    message.kind = WorkerMessage::Kind::kStarted;
    message.mount = mount_;
    message.client = client;
    message.may_keep = verdict.may_keep;
    message.staying = static_cast<std::uint32_t>(verdict.must_stay.size());
    std::ranges::copy(verdict.must_stay, message.must_stay);
    const std::array<int, kStartedDescriptors> descriptors{reply_.get(), table_.get(), space_.get()};
    tell(message, descriptors);
    reply_.reset();
    const auto begin = std::chrono::steady_clock::now();
    const long result = calls_.umount2(path.c_str(), MNT_DETACH);
    WorkerMessage finished;
    finished.kind = WorkerMessage::Kind::kFinished;
    finished.error = static_cast<std::int32_t>(-result);
    finished.nanoseconds = std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
    tell(finished);
  }

  const SystemCalls& calls_;
  const Identity& self_;
  const Outside& outside_;
  detach::Defer defer_;
  int broker_;
  UniqueFd reply_;
  UniqueFd target_;
  UniqueFd space_;
  UniqueFd root_;
  UniqueFd table_;
  int mount_ = 0;
  bool is_own_ = false;
};

}  // namespace

void serve(const WorkerSetting& setting, int connection, int broker) {
  Worker(setting, broker).serve(connection);
}

}  // namespace unmoor::exec
