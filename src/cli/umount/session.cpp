// SPDX-License-Identifier: MIT
#include "cli/umount/session.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/umount/aftermath.h"
#include "cli/umount/busy_json.h"
#include "cli/umount/exit_code.h"
#include "cli/umount/interrupt.h"
#include "cli/umount/name_space.h"

namespace unmoor::cli::umount {
namespace {

// umount(8)'s exit code for several targets is the sum of theirs, as far as it fits.
constexpr int kLargestExitCode = 255;

}  // namespace

int Session::run() {
  if (options_.action != Action::kTargets || options_.targets.size() > 1) hand_over();
  int code = kExitSuccess;
  if (options_.name_space != nullptr) {
    Libmount* const library = libmount(true);
    if (library == nullptr) return libmount_refusal_;
  }
  if (options_.action == Action::kAll) {
    code = unmount_all();
  } else if (const std::optional<int> together = unmount_together()) {
    code = *together;
  } else {
    for (const char* const target : options_.targets) {
      if (interrupted()) break;
      const int one = options_.action == Action::kAllTargets  ? unmount_all_targets(target)
                      : options_.action == Action::kRecursive ? unmount_tree(target)
                                                              : unmount_target(target);
      code = std::min(code + one, kLargestExitCode);
    }
  }
  const std::optional<gone::Inquiry> busy =
      options_.voice == Voice::kUnmoor && !report_.busy().empty() ? ask_why_busy(calls_, report_.busy()) : std::nullopt;
  if (busy && options_.json) report_.explain(busy_json(*busy));
  report_.finish();
  if (busy && !options_.json) print_busy(*busy);
  return interrupted() ? kExitUserAbort : code;
}

std::optional<kernel::MountTable> Session::read_table() const {
  Result<kernel::MountTable> table = kernel::MountTable::read(calls_);
  if (table) return std::move(*table);
  std::fprintf(stderr, "umount: %s: %s\n", table.error().object.c_str(), std::strerror(table.error().code));
  return std::nullopt;
}

void Session::hand_over() {
  if (hand_over_ != nullptr) hand_over_();
  hand_over_ = nullptr;
}

Libmount* Session::libmount(bool needed) {
  if (libmount_) return &*libmount_;
  hand_over();
  if (!libmount_missing_) {
    Result<Libmount> loaded = Libmount::load();
    if (loaded) {
      libmount_refusal_ = loaded->prepare(options_);
      if (libmount_refusal_ != kExitSuccess) return nullptr;
      return &libmount_.emplace(std::move(*loaded));
    }
    libmount_missing_ = true;
    libmount_refusal_ = kExitSystem;
    if (needed) std::fprintf(stderr, "umount: %s\n", loaded.error().object.c_str());
  }
  return nullptr;
}

}  // namespace unmoor::cli::umount
