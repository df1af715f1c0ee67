// SPDX-License-Identifier: MIT
#include "measure/rcu_guard.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "kernel/unique_fd.h"
#include "measure/guardian.h"

namespace unmoor::measure {
namespace {

using kernel::SystemCalls;
using kernel::UniqueFd;

// One changed knob. Plain data: the guardian uses it after a fork, where only system calls are allowed.
struct Change {
  int fd = -1;
  int before = 0;
  int wanted = 0;
};

std::optional<int> read_knob(const SystemCalls& calls, int fd) {
  std::array<char, 32> text{};
  const long got = calls.call(SYS_pread64, fd, SystemCalls::pointer(text.data()), text.size() - 1, 0);
  if (got <= 0) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + got, value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

long write_knob(const SystemCalls& calls, int fd, int value) {
  std::array<char, 16> text{};
  char* const end = std::to_chars(text.data(), text.data() + text.size() - 1, value).ptr;
  *end = '\n';
  const long size = end + 1 - text.data();
  const long written = calls.call(SYS_pwrite64, fd, SystemCalls::pointer(text.data()), size, 0);
  if (written < 0) return written;
  return written == size ? 0 : -EIO;
}

// Puts back what nobody else has written since; a knob that cannot be read is written to be safe. False when a write
// failed.
bool restore(const SystemCalls& calls, const std::array<Change, 2>& changes) {
  bool done = true;
  for (const Change& change : changes) {
    if (change.fd < 0 || read_knob(calls, change.fd).value_or(change.wanted) != change.wanted) continue;
    done = write_knob(calls, change.fd, change.before) == 0 && done;
  }
  return done;
}

// "1234 (name)" of the process that holds the flock on `fd`, as /proc/locks tells it; empty when it does not.
std::string lock_holder(int fd) {
  struct ::stat facts{};
  if (fstat(fd, &facts) != 0) return {};
  std::array<char, 64> wanted{};
  (void)std::snprintf(wanted.data(), wanted.size(), "%02x:%02x:%lu", major(facts.st_dev), minor(facts.st_dev),
                      static_cast<unsigned long>(facts.st_ino));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> locks(std::fopen("/proc/locks", "re"), &std::fclose);
  if (!locks) return {};
  std::array<char, 256> line{};
  while (std::fgets(line.data(), line.size(), locks.get()) != nullptr) {
    std::array<char, 16> kind{};
    std::array<char, 64> file{};
    int pid = 0;
    if (std::sscanf(line.data(), "%*d: %15s %*s %*s %d %63s", kind.data(), &pid, file.data()) != 3) continue;
    if (std::strcmp(kind.data(), "FLOCK") != 0 || std::strcmp(file.data(), wanted.data()) != 0 || pid <= 0) continue;
    std::string holder = std::to_string(pid);
    const std::string path = "/proc/" + holder + "/comm";
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> comm(std::fopen(path.c_str(), "re"), &std::fclose);
    std::array<char, 64> name{};
    if (comm && std::fgets(name.data(), name.size(), comm.get()) != nullptr) {
      name[std::strcspn(name.data(), "\n")] = '\0';
      holder += std::string(" (") + name.data() + ")";
    }
    return holder;
  }
  return {};
}

Result<void> lock(const SystemCalls& calls, int fd, std::chrono::milliseconds wait, const std::string& path) {
  const auto deadline = std::chrono::steady_clock::now() + wait;
  for (;;) {
    const long answer = calls.call(SYS_flock, fd, LOCK_EX | LOCK_NB);
    if (answer == 0) return {};
    if (answer != -EWOULDBLOCK && answer != -EINTR) return fail_from(answer, "flock", path);
    if (std::chrono::steady_clock::now() >= deadline) {
      const std::string holder = lock_holder(fd);
      return fail(EBUSY, "flock", holder.empty() ? path : path + ", locked by process " + holder);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

struct RcuGuard::State {
  explicit State(const SystemCalls& seam) : calls(seam) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  ~State() {
    if (::getpid() != owner) return;
    const bool restored = restore(calls, changes);
    if (guardian) guardian->dismiss(restored ? Guardian::Last::kNothing : Guardian::Last::kOnDeath);
    // Explicit, because a fork of ours that has not called exec still holds the open file.
    if (locked) (void)calls.call(SYS_flock, normal.get(), LOCK_UN);
  }

  const SystemCalls& calls;
  pid_t owner = ::getpid();
  std::optional<Guardian> guardian;
  bool locked = false;
  UniqueFd normal;
  UniqueFd expedited;
  std::array<Change, 2> changes{};
};

RcuGuard::RcuGuard(std::unique_ptr<State> state) : state_(std::move(state)) {}
RcuGuard::RcuGuard(RcuGuard&&) noexcept = default;
RcuGuard& RcuGuard::operator=(RcuGuard&&) noexcept = default;
RcuGuard::~RcuGuard() = default;

Result<RcuGuard> RcuGuard::set(const Options& options, const SystemCalls& calls) {
  auto state = std::make_unique<State>(calls);
  const std::string normal_path = options.directory + "/rcu_normal";
  const std::string expedited_path = options.directory + "/rcu_expedited";

  const long normal = calls.open(normal_path.c_str(), O_RDWR);
  if (normal < 0) return fail_from(normal, "open", normal_path);
  state->normal.reset(static_cast<int>(normal));
  if (options.knobs.expedited) {
    const long expedited = calls.open(expedited_path.c_str(), O_RDWR);
    if (expedited < 0) return fail_from(expedited, "open", expedited_path);
    state->expedited.reset(static_cast<int>(expedited));
  }

  if (const Result<void> locked = lock(calls, state->normal.get(), options.wait_for_lock, normal_path); !locked)
    return std::unexpected(locked.error());
  state->locked = true;

  std::array<Change, 2> changes{};
  const auto note = [&](std::size_t index, int fd, std::optional<int> wanted) {
    if (!wanted) return true;
    const std::optional<int> before = read_knob(calls, fd);
    if (before) changes[index] = {fd, *before, *wanted};
    return before.has_value();
  };
  if (!note(0, state->normal.get(), options.knobs.normal)) return fail(EIO, "read", normal_path);
  if (!note(1, state->expedited.get(), options.knobs.expedited)) return fail(EIO, "read", expedited_path);
  state->changes = changes;

  Result<Guardian> guardian =
      Guardian::start(calls, {changes[0].fd, changes[1].fd}, [&calls, &changes] { (void)restore(calls, changes); });
  if (!guardian) return std::unexpected(guardian.error());
  state->guardian.emplace(std::move(*guardian));

  for (const Change& change : changes) {
    if (change.fd < 0 || change.before == change.wanted) continue;
    const long written = write_knob(calls, change.fd, change.wanted);
    if (written < 0)
      return fail_from(written, "write", change.fd == state->normal.get() ? normal_path : expedited_path);
  }
  return RcuGuard(std::move(state));
}

bool RcuGuard::disturbed() const {
  return std::ranges::any_of(state_->changes, [this](const Change& change) {
    return change.fd >= 0 && read_knob(state_->calls, change.fd) != change.wanted;
  });
}

RcuKnobs read_rcu_knobs(const SystemCalls& calls, const std::string& directory) {
  const auto read = [&](const char* name) -> std::optional<int> {
    const long fd = calls.open((directory + name).c_str(), O_RDONLY);
    if (fd < 0) return std::nullopt;
    const UniqueFd owner(static_cast<int>(fd));
    return read_knob(calls, owner.get());
  };
  return {read("/rcu_normal"), read("/rcu_expedited")};
}

}  // namespace unmoor::measure
