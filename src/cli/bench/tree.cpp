// SPDX-License-Identifier: MIT
// `unmoor bench tree`: the mails' table, {umount, umount -l} by release policy, in the tree of libunmoor-tree, with a
// reader beside in sections of 100 us. What is measured is the call itself, no program around it: grace periods apart
// from everything else.
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <sched.h>
#include <thread>

#include <fmt/format.h>
#include <unmoor/tree/tree.h>

#include "cli/bench/benches.h"

namespace unmoor::cli::bench {
namespace {

using measure::Role;
using measure::Scenario;
using measure::Side;
using tree::ReleasePolicy;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kSection{100};
constexpr std::chrono::seconds kPatience{30};

class EmptyFilesystem : public tree::Filesystem {
 public:
  [[nodiscard]] tree::FileKind kind(std::string_view) const noexcept override { return tree::FileKind::kDirectory; }
  void shutdown() override {}
};

Error error_of(const tree::Error& error, const char* doing) {
  return Error{error.code, doing, error.why};
}

// The calling thread on the first or the last CPU that it may use, until this ends: the umounter and the reader must
// not share one. (Where the reader is put aside just when it has left a section, no grace period ever waits.)
enum class Cpu : std::uint8_t { kFirst, kLast };
class KeptOnCpu {
 public:
  explicit KeptOnCpu(Cpu which) {
    if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    int chosen = -1;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &before_) && (chosen < 0 || which == Cpu::kLast)) chosen = cpu;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(chosen, &one);
    kept_ = sched_setaffinity(0, sizeof one, &one) == 0;
  }
  ~KeptOnCpu() {
    if (kept_) sched_setaffinity(0, sizeof before_, &before_);
  }
  KeptOnCpu(const KeptOnCpu&) = delete;
  KeptOnCpu& operator=(const KeptOnCpu&) = delete;

 private:
  cpu_set_t before_{};
  bool kept_ = false;
};

// A tree with a policy, and its reader, who reads only while a side of this tree runs.
class Subject {
 public:
  Subject(tree::Universe universe, tree::MountNamespace ns)
      : universe_(std::move(universe)), ns_(std::move(ns)), reader_([this] { read(); }) {}
  ~Subject() {
    end_ = true;
    reading_ = true;
    reading_.notify_one();
    reader_.join();
  }
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  Result<void> prepare(bool held) {
    const auto mounted = ns_.mount(std::make_shared<EmptyFilesystem>(), "fs", "/mnt");
    if (!mounted) return std::unexpected(error_of(mounted.error(), "mount in the tree"));
    if (held) {
      auto pin = ns_.pin("/mnt");
      if (!pin) return std::unexpected(error_of(pin.error(), "pin in the tree"));
      holder_ = std::move(*pin);
    }
    sections_ = 0;
    reading_ = true;
    reading_.notify_one();
    while (sections_.load() == 0)
      std::this_thread::yield();
    return {};
  }

  Result<double> umount(tree::UmountFlags flags) {
    const KeptOnCpu kept(Cpu::kFirst);
    const auto start = Clock::now();
    const auto done = ns_.umount("/mnt", flags);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (!done) return std::unexpected(error_of(done.error(), "umount in the tree"));
    return seconds;
  }

  Result<void> clean_up() {
    reading_ = false;
    holder_.reset();
    const auto drained = universe_.drain(Clock::now() + kPatience);
    if (!drained) return std::unexpected(error_of(drained.error(), "wait for the tree"));
    return {};
  }

 private:
  void read() {
    const KeptOnCpu kept(Cpu::kLast);
    while (true) {
      reading_.wait(false);
      if (end_) return;
      (void)ns_.visit("/", [this](const tree::Visit&) {
        ++sections_;
        const auto end = Clock::now() + kSection;
        while (Clock::now() < end) {
        }
      });
    }
  }

  tree::Universe universe_;
  tree::MountNamespace ns_;
  tree::Pin holder_;
  std::atomic<bool> reading_{false};
  std::atomic<bool> end_{false};
  std::atomic<std::uint64_t> sections_{0};
  std::thread reader_;
};

Result<std::shared_ptr<Subject>> make_subject(ReleasePolicy policy, const rcu::Modes& modes) {
  auto universe = tree::Universe::create({.policy = policy, .grace_periods = modes});
  if (!universe) return std::unexpected(error_of(universe.error(), "make a tree"));
  auto ns = universe->create_namespace(std::make_shared<EmptyFilesystem>(), "root");
  if (!ns) return std::unexpected(error_of(ns.error(), "make a tree"));
  return std::make_shared<Subject>(std::move(*universe), std::move(*ns));
}

struct Policy {
  ReleasePolicy policy;
  const char* name;
};
constexpr std::array kPolicies = {
    Policy{ReleasePolicy::kSynchronous, "synchronous"},
    Policy{ReleasePolicy::kSkipWait, "skip-wait"},
    Policy{ReleasePolicy::kDeferred, "deferred"},
    Policy{ReleasePolicy::kOnDemand, "on-demand"},
};

enum class Holder : std::uint8_t { kNone, kOne };

Planned plan_of(const char* name, const char* description, Holder holder, const rcu::Modes& modes) {
  Planned plan{name, description, measure::MountNamespace::kPrivate, {}};
  plan.make = [=]() -> Result<Scenario> {
    Scenario scenario{name, description, 50, {}};
    for (const auto& [policy, policy_name] : kPolicies) {
      Result<std::shared_ptr<Subject>> subject = make_subject(policy, modes);
      if (!subject) return std::unexpected(subject.error());
      for (const auto flags : {tree::UmountFlags::kNone, tree::UmountFlags::kDetach}) {
        const bool lazy = flags == tree::UmountFlags::kDetach;
        if (holder == Holder::kOne && !lazy) continue;  // EBUSY
        Side side;
        side.command = fmt::format("{} ({})", lazy ? "umount -l" : "umount", policy_name);
        side.role = scenario.sides.empty() ? Role::kReference : Role::kContender;
        side.prepare = [s = *subject, holder] { return s->prepare(holder == Holder::kOne); };
        side.run = [s = *subject, flags] { return s->umount(flags); };
        side.clean_up = [s = *subject] { return s->clean_up(); };
        scenario.sides.push_back(std::move(side));
      }
    }
    return scenario;
  };
  return plan;
}

}  // namespace

std::function<std::vector<Planned>(const std::string& unmoor)> set_up_tree(CLI::App& /*command*/) {
  return [](const std::string& /*unmoor*/) {
    return std::vector<Planned>{
        plan_of("idle", "nobody holds the mount; expedited grace periods", Holder::kNone, {}),
        plan_of("held", "somebody holds the mount; expedited grace periods", Holder::kOne, {}),
        plan_of("idle-normal", "nobody holds the mount; normal grace periods", Holder::kNone, {.normal = true}),
        plan_of("held-normal", "somebody holds the mount; normal grace periods", Holder::kOne, {.normal = true}),
    };
  };
}

}  // namespace unmoor::cli::bench
