// SPDX-License-Identifier: MIT
#include "cli/tree/kernel_runner.h"

#include <sys/wait.h>
#include <utility>

#include "kernel/mount_table.h"

namespace unmoor::cli::tree {

Result<KernelRunner> KernelRunner::start() {
  Result<Worker> first = start_first_worker();
  if (!first) return std::unexpected(first.error());
  return KernelRunner(std::move(*first));
}

KernelRunner::KernelRunner(Worker first) {
  workers_.emplace(kFirstNamespace, std::move(first));
}

KernelRunner::~KernelRunner() {
  for (auto& [name, worker] : workers_)
    worker.socket.reset();
  for (auto& [name, worker] : workers_)
    ::waitpid(worker.pid, nullptr, 0);
}

Result<int> KernelRunner::run(const Operation& operation) {
  if (operation.verb == Verb::kMountInfo) return workers_.contains(operation.name) ? 0 : EINVAL;
  const bool unpin = operation.verb == Verb::kUnpin;
  const auto pin = pins_.find(operation.name);
  if (unpin && pin == pins_.end()) return EINVAL;
  if (operation.verb == Verb::kPin && pin != pins_.end()) return EINVAL;
  const bool copy = operation.verb == Verb::kCopyNamespace;
  if (copy && workers_.contains(operation.name)) return EINVAL;
  const std::string& where = unpin ? pin->second.ns : copy ? operation.source : operation.ns;
  const auto worker = workers_.find(where);
  if (worker == workers_.end()) return EINVAL;

  const Request request{.verb = operation.verb,
                        .recursive = operation.recursive,
                        .less_privileged = operation.less_privileged,
                        .umount_flags = operation.umount_flags,
                        .pin = unpin ? pin->second.number : next_pin_,
                        .attributes = operation.attributes};
  const std::string& source = operation.verb == Verb::kMount ? operation.name : operation.source;
  Worker copied;
  const Result<int> code =
      ask(worker->second, request, source.c_str(), operation.target.c_str(), copy ? &copied : nullptr);
  if (copied.pid > 0) {
    if (code && *code == 0) {
      workers_.emplace(operation.name, std::move(copied));
    } else {
      copied.socket.reset();
      ::waitpid(copied.pid, nullptr, 0);
    }
  }
  if (!code || *code != 0) return code;
  if (unpin) pins_.erase(pin);
  if (operation.verb == Verb::kPin) pins_.emplace(operation.name, PinPlace{where, next_pin_++});
  return code;
}

Result<Listing> KernelRunner::list(const std::string& ns) const {
  const auto worker = workers_.find(ns);
  if (worker == workers_.end()) return fail(EINVAL, "list", ns);
  const std::string path = "/proc/" + std::to_string(worker->second.pid) + "/mountinfo";
  const Result<kernel::MountTable> table = kernel::MountTable::read(kernel::SystemCalls::real(), path.c_str());
  if (!table) return std::unexpected(table.error());
  Listing listing;
  listing.reserve(table->entries().size());
  for (const kernel::MountEntry& entry : table->entries()) {
    listing.push_back({.id = static_cast<std::uint64_t>(entry.id),
                       .parent = static_cast<std::uint64_t>(entry.parent_id),
                       .mount_point = std::string(entry.mount_point),
                       .root = std::string(entry.root),
                       .filesystem = std::string(entry.source),
                       .options = std::string(entry.options),
                       .shared = static_cast<std::uint64_t>(entry.shared_group),
                       .master = static_cast<std::uint64_t>(entry.master_group),
                       .unbindable = entry.unbindable});
  }
  return listing;
}

}  // namespace unmoor::cli::tree
