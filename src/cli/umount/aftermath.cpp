// SPDX-License-Identifier: MIT
#include "cli/umount/aftermath.h"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

#include "cli/umount/exit_code.h"
#include "cli/who/holders_text.h"
#include "cli/who/let_go.h"
#include "kernel/procfs_place.h"

namespace unmoor::cli::umount {
namespace {

constexpr std::size_t kFirstFew = 5;
constexpr int kExitTimedOut = 124;

TableOptions few() {
  return {.width = terminal_width(STDERR_FILENO), .at_most = kFirstFew};
}

void print_notes(const gone::Inquiry& inquiry) {
  for (const std::string& note : inquiry.notes)
    std::fprintf(stderr, "Note: %s.\n", note.c_str());
}

}  // namespace

void Aftermath::before(const char* target) {
  if (options_.voice != Voice::kUnmoor || options_.fake || options_.name_space != nullptr) return;
  name_ = target;
  if (options_.wait) {
    const Result<gone::Census> census = gone::Census::take(calls_);
    const Result<gone::Target> known =
        census ? gone::resolve_target(*census, target, gone::AskFor::kWhatItNames) : fail(EINVAL, "find");
    Result<gone::GoneWaiter> waiter = known ? gone::GoneWaiter::prepare(calls_, *known) : fail(EINVAL, "find");
    if (waiter) waiter_.emplace(std::move(*waiter));
    if (waiter_) progress_.emplace(calls_, waiter_->target().block_device);
    return;
  }
  const Result<kernel::Place> place = kernel::place_of(calls_, AT_FDCWD, target);
  if (place && place->device.major != 0) device_ = place->device;
}

int Aftermath::after() {
  if (waiter_) return wait();
  // A deferred release is still under way: the user asked not to wait for it.
  if (!device_ || (options_.lazy && options_.defer == detach::Defer::kAlways)) return kExitSuccess;
  const Result<std::string> node = kernel::block_device_node(calls_, *device_);
  if (!node || kernel::try_exclusive(calls_, *node) != kernel::Exclusive::kInUse) return kExitSuccess;
  Result<gone::Census> census = gone::Census::take(calls_);
  if (!census) return kExitSuccess;
  const auto shared = std::make_shared<gone::Census>(std::move(*census));
  const Result<gone::Target> target = gone::resolve_target(*shared, *node, gone::AskFor::kWhatItNames);
  const Result<gone::Inquiry> inquiry = target ? gone::inquire(shared, {*target}) : fail(EINVAL, "find");
  if (!inquiry) return kExitSuccess;
  std::fflush(stdout);
  std::fprintf(stderr, "umount: %s: unmounted here, but %s is still in use:\n%s", printable(name_).c_str(),
               node->c_str(), answer_text(inquiry->answers.front(), few()).c_str());
  print_notes(*inquiry);
  return options_.strict ? kExitFailed : kExitSuccess;
}

// What keeps us from being the holder that we wait for. Another target's name may depend on the working directory.
void Aftermath::let_go() {
  close_inherited(calls_);
  const bool needed = options_.targets.size() > 1 &&
                      std::ranges::any_of(options_.targets, [](const char* name) { return name[0] != '/'; });
  if (!needed) leave_directory(calls_);
}

int Aftermath::wait() {
  let_go();
  gone::WaitOptions how;
  if (*options_.wait >= 0) how.deadline = gone::Clock::now() + std::chrono::milliseconds(*options_.wait);
  const Result<gone::Verdict> verdict = waiter_->wait(how);
  progress_.reset();
  if (!verdict) {
    std::fprintf(stderr, "umount: %s: unmounted, but whether it is gone cannot be told\n", printable(name_).c_str());
    return kExitSystem;
  }
  if (verdict->outcome == gone::Outcome::kGone) return kExitSuccess;
  const bool mounted = verdict->outcome == gone::Outcome::kStillMounted;
  std::fflush(stdout);
  std::fprintf(stderr, "umount: %s: unmounted here, but %s\n", printable(name_).c_str(),
               mounted ? "its filesystem is still mounted elsewhere" : "not gone in time");
  if (verdict->inquiry) {
    std::fputs(answer_text(verdict->inquiry->answers.front(), few()).c_str(), stderr);
    print_notes(*verdict->inquiry);
  }
  return mounted ? kExitFailed : kExitTimedOut;
}

std::optional<gone::Inquiry> ask_why_busy(const kernel::SystemCalls& calls,
                                          const std::vector<std::string>& mount_points) {
  Result<gone::Census> census = gone::Census::take(calls);
  if (!census) return std::nullopt;
  const auto shared = std::make_shared<gone::Census>(std::move(*census));
  std::vector<gone::Target> targets;
  for (const std::string& mount_point : mount_points) {
    Result<gone::Target> target = gone::resolve_target(*shared, mount_point, gone::AskFor::kWhatItNames);
    if (target) targets.push_back(std::move(*target));
  }
  Result<gone::Inquiry> inquiry = gone::inquire(shared, std::move(targets));
  if (!inquiry) return std::nullopt;
  for (gone::Answer& answer : inquiry->answers) {
    // What this process inherited from its caller goes with it; the caller's own is listed as well.
    std::erase_if(answer.holders, [](const gone::Holder& holder) {
      return holder.prevents != gone::Prevents::kUnmount || holder.pid == ::getpid();
    });
    answer.unexplained = std::ranges::none_of(
        answer.holders, [](const gone::Holder& holder) { return holder.certainty == gone::Certainty::kCertain; });
  }
  return std::move(*inquiry);
}

void print_busy(const gone::Inquiry& inquiry) {
  std::fflush(stdout);
  for (const gone::Answer& answer : inquiry.answers) {
    gone::Answer shown = answer;
    shown.unexplained = false;  // that sentence is about a filesystem that is mounted nowhere
    std::fputs(answer_text(shown, few()).c_str(), stderr);
    if (answer.unexplained) std::fputs("A reference remains that no finder explains.\n", stderr);
    if (answer.holders.size() > kFirstFew)
      std::fprintf(stderr, "HINT: `unmoor who %s` shows all of them.\n", printable(answer.target.mount_point).c_str());
  }
  print_notes(inquiry);
  std::fputs("HINT: free what FREE BY names, from the top, or take it out of the tree now with `unmoor umount -l`.\n",
             stderr);
}

}  // namespace unmoor::cli::umount
